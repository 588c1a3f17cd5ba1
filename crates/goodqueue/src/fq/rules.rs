//! The rules by which `fq` decides.

use crate::decision::rules;

rules! {
    /// Rules of `fq`.
    pub(super) RULES;
    /// The planned departure is beyond the horizon.
    BEYOND_HORIZON: "fq.beyond_horizon" [];
    /// The packet left much later than planned.
    LATE: "fq.late" [];
    /// A full band drops the packet that arrives.
    FULL_BAND: "fq.full_band" ["held", "allowed"];
    /// A full flow drops the packet that arrives.
    FULL_FLOW: "fq.full_flow" ["held", "allowed"];
}
