//! TCP Prague 0.7 as it was developed for Linux 5.15, the kernel of many published tests.

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
    const RATE: RateMode = RateMode::Kept;

    fn divisor(_window: f64, sender: &Window) -> f64 {
        sender.cwnd as f64
    }

    fn paced(_window: f64, sender: &Window, _mss: u64) -> u64 {
        sender.cwnd
    }
}
