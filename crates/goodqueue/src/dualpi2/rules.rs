//! The rules by which `dualpi2` decides.

use crate::decision::rules;

rules! {
    /// Rules of both queues.
    pub(super) RULES;
    /// The queue is overloaded.
    OVERLOAD: "dualpi2.overload" ["p'", "p_C = p'^2"];
    /// L is beyond its threshold.
    STEP: "dualpi2.step" ["sojourn", "step"];
    /// A draw hit a packet in L.
    HIT_L: "dualpi2.hit_l" ["p'_L", "p_CL = k p'"];
    /// Two draws hit a packet in C.
    HIT_C: "dualpi2.hit_c" ["p_C = p'^2", "p'"];
    /// Too few packets for a mark in L.
    SHORT_L: "dualpi2.short_l" ["p'_L", "p_CL = k p'"];
    /// The draw missed a packet in L.
    MISSED_L: "dualpi2.missed_l" ["p'_L", "p_CL = k p'"];
    /// Too few packets for a signal in C.
    SHORT_C: "dualpi2.short_c" ["p_C = p'^2"];
    /// The draws missed a packet in C.
    MISSED_C: "dualpi2.missed_c" ["p_C = p'^2"];
}
