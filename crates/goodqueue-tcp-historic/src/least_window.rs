//! The least window that a module of Linux names for a reduction (`min_cwnd`, until Linux 3.6).

use goodqueue_tcp::machinery::Core;

/// Modules with Reno's least window, by the names of our controllers. CUBIC's has none.
const RENOS: &[&str] = &["reno", "newreno", "tcp_lp", "vegas", "nice", "ledbat", "ledbat_ns2"];

/// Half of the threshold for modules with Reno's least window (`tcp_reno_min_cwnd()`), and the
/// threshold for those without one (`tcp_cwnd_min()`). In bytes.
pub(crate) fn least_window(core: &Core) -> u64 {
    if RENOS.contains(&core.controller.about().name) {
        core.ssthresh / core.mss / 2 * core.mss
    } else {
        core.ssthresh
    }
}
