//! The rules by which COBALT decides.

use crate::codel::TARGET;
use crate::decision::rules;

rules! {
    /// Rules of COBALT.
    pub(crate) RULES;
    /// A signal of the phase is due.
    SIGNAL_DUE: "cobalt.signal_due" ["sojourn", TARGET.name, "signal", "drop_next"];
    /// BLUE's draw hit the packet.
    BLUE: "cobalt.blue" ["blue_prob"];
    /// A signal above the target.
    ABOVE_TARGET: "cobalt.above_target" ["sojourn", TARGET.name];
    /// The sojourn time is not above the target.
    ON_TIME: "cobalt.on_time" ["sojourn", TARGET.name];
    /// The last packet of a queue is never dropped.
    LAST_PACKET: "cobalt.last_packet" ["sojourn"];
    /// Above the target, and without a signal although the time has come.
    NOT_SIGNALLED: "cobalt.not_signalled" ["sojourn", TARGET.name];
    /// Above the target, and the next signal is later.
    NOT_DUE: "cobalt.not_due" ["sojourn", TARGET.name, "drop_next"];
}

rules! {
    /// Rules of a queue around the law.
    pub(crate) OF_QUEUE;
    /// A full queue drops its oldest packet.
    FULL: "cobalt.full" ["held", "allowed"];
}
