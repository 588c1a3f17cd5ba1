//! TCP Prague 0.7 as it was developed for Linux 5.15, the kernel of many published tests.
//!
//! One deviation from the cited source, where the first mark halves the window. Alpha begins at 1
//! here: the published runs on Linux 5.15.72 agree better with this start (`docs/l4s-tests.md`).
//!
//! The kernel as released needs `v0 = 1512ns` and `d0 = 1608ns`: its alpha got 24 bits, while the
//! logarithms of `V0` and `D0` remained those for 20.

use goodqueue_tcp::congestion::Window;
use goodqueue_tcp::congestion::prague::{BEGINS_AT_ONE, Prague, RateMode, Release};

/// Prague with the rules of this release.
pub type Prague515 = Prague<Release515>;

/// The release.
#[derive(Clone, Copy, Default, Debug)]
pub struct Release515;

impl Release for Release515 {
    const NAME: &'static str = "prague_515";
    const SUMMARY: &'static str = "Prague for Linux 5.15: alpha begins at 1, growth by the sender's window";
    const REFERENCE: &'static str = "TCP Prague 0.7 for Linux 5.15, L4STeam/tcp-prague commit 90aea47";
    const ALPHA_MODE: u64 = BEGINS_AT_ONE;
    // Window and rate do not take each other's value when they change places.
    const RATE: RateMode = RateMode::Kept;

    fn divisor(_window: f64, sender: &Window) -> f64 {
        sender.cwnd as f64
    }

    fn paced(_window: f64, sender: &Window, _mss: u64) -> u64 {
        sender.cwnd
    }
}
