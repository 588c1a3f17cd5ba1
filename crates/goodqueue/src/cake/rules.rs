//! The rules by which CAKE decides.

use super::config::BANDWIDTH;
use crate::decision::rules;

rules! {
    /// Rules of CAKE, beside those of COBALT.
    pub(super) RULES;
    /// The packet was put into the queue of its flow.
    QUEUED: "cake.queued" ["flow", "tin", "flow_packets", "flow_backlog", "set"];
    /// The shaper let the packet go.
    SHAPED: "cake.shaped" ["sojourn", BANDWIDTH.name];
    /// A later acknowledgement made the packet redundant.
    SUPERSEDED: "cake.superseded" [];
    /// The longest queue loses packets when the memory is used up.
    FULL: "cake.full" ["held", "allowed"];
}
