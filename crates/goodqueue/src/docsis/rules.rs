//! The rules by which `docsis` decides.

use crate::decision::rules;

rules! {
    /// Rules of both queues.
    pub(super) RULES;
    /// Queue protection moves the packet to C.
    SANCTION: "docsis.sanction" ["delay_l", "score", "critical_delay", "critical_score"];
    /// The probabilities of L since its last mark exceed 1.
    MARK: "docsis.mark" ["p_L", "marks_due"];
    /// The probabilities of L since its last mark do not exceed 1.
    NO_MARK: "docsis.no_mark" ["p_L", "marks_due"];
    /// C drops the packet.
    HIT_C: "docsis.hit_c" ["p_C", "delay_c", "target"];
    /// Burst allowance is left in C.
    BURST: "docsis.burst" ["burst"];
    /// C has not been a third full.
    INACTIVE: "docsis.inactive" [];
    /// C is too short for a drop.
    SHORT_C: "docsis.short_c" ["p_C"];
    /// The draw missed a packet in C.
    MISSED_C: "docsis.missed_c" ["p_C"];
}
