//! How the sender's window, in whole segments, follows the exact one. It moves by at most a segment
//! per ACK, so that a reduction stops no transmission for long (`prague_update_cwnd`).

use crate::congestion::Window;
use crate::congestion::whole::whole;

/// Least window in segments (`MIN_CWND_RTT`).
pub(super) const MIN_WINDOW: u64 = 2;

/// When the sender's window moves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Steps {
    /// Towards the exact window, rounded up.
    #[default]
    Rounded,
    /// Once a whole segment has gathered, up or down (TCP Prague 0.5 and 0.6).
    Gathered,
}

impl Steps {
    /// Returns the window of which a mark takes its share: the exact one is `window`.
    pub(super) fn to_cut(self, window: f64, sender: &Window) -> f64 {
        match self {
            Self::Rounded => window,
            Self::Gathered => sender.cwnd as f64,
        }
    }

    /// Moves the sender's window. Returns the exact one, which changes only where a debt is
    /// forgotten.
    pub(super) fn step(self, window: f64, sender: &mut Window, mss: u64) -> f64 {
        // `Config::check` refuses an MSS of 0, but no division may depend on it.
        let mss = mss.max(1);
        let least = MIN_WINDOW * mss;
        match self {
            Self::Rounded => {
                let target = whole(window).next_multiple_of(mss).max(least);
                if sender.cwnd > target {
                    sender.cwnd = target.max(sender.cwnd - mss);
                    sender.ssthresh = sender.ssthresh.min(sender.cwnd);
                } else {
                    sender.cwnd = target.min(sender.cwnd + mss);
                }
                window
            }
            Self::Gathered => {
                if window + mss as f64 <= sender.cwnd as f64 {
                    let lower = sender.cwnd.saturating_sub(mss);
                    sender.cwnd = lower.max(least);
                    sender.ssthresh = sender.cwnd;
                    // As in `prague_update_cwnd`, a debt below the least window is forgotten.
                    return if lower < least { least as f64 } else { window };
                }
                if window >= (sender.cwnd + mss) as f64 {
                    sender.cwnd += mss;
                }
                window
            }
        }
    }
}
