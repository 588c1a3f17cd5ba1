//! TCP Prague 0.5 of 2020, which the L4S tests of that year used. Its exact window is a carry: a
//! sum of changes beside the sender's window, which moves once a whole segment has gathered.

use goodqueue_tcp::congestion::Window;
use goodqueue_tcp::congestion::prague::{BEGINS_AT_ONE, MIN_WINDOW, Prague, RateMode, Release};

/// Prague with the rules of this release.
pub type Prague05 = Prague<Release05>;

/// The release.
#[derive(Clone, Copy, Default, Debug)]
pub struct Release05;

impl Release for Release05 {
    const NAME: &'static str = "prague_05";
    const SUMMARY: &'static str = "Prague of 2020: alpha begins at 1, no independence of the round-trip time";
    const REFERENCE: &'static str = "TCP Prague 0.5 for Linux, L4STeam/linux commit b256dae";
    const ALPHA_MODE: u64 = BEGINS_AT_ONE;
    /// `prague_rtt_scaling` is 0.
    const TRANSITION: u64 = 1_000_000;
    const RATE: RateMode = RateMode::None;

    fn divisor(_window: f64, sender: &Window) -> f64 {
        sender.cwnd as f64
    }

    fn to_cut(_window: f64, sender: &Window) -> f64 {
        sender.cwnd as f64
    }

    fn paced(_window: f64, sender: &Window, _mss: u64) -> u64 {
        sender.cwnd
    }

    fn after_slow_start(window: f64, _sender: &Window, bytes: u64) -> f64 {
        window + bytes as f64
    }

    fn step(window: f64, sender: &mut Window, mss: u64) -> f64 {
        let mss = mss.max(1);
        let least = MIN_WINDOW * mss;
        if window + mss as f64 <= sender.cwnd as f64 {
            let lower = sender.cwnd.saturating_sub(mss);
            sender.cwnd = lower.max(least);
            sender.ssthresh = sender.cwnd;
            // A debt below the least window is forgotten.
            return if lower < least { least as f64 } else { window };
        }
        if window >= (sender.cwnd + mss) as f64 {
            sender.cwnd += mss;
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn the_window_moves_once_a_whole_segment_has_gathered() {
        let moved = |window: f64| {
            let mut sender = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
            assert_eq!(Release05::step(window, &mut sender, MSS), window);
            sender.cwnd / MSS
        };
        assert_eq!([99_400.0, 100_400.0].map(moved), [100, 100]);
        assert_eq!([99_000.0, 101_000.0].map(moved), [99, 101]);
    }

    #[test]
    fn no_debt_is_kept_below_two_segments() {
        let mut sender = Window { cwnd: 2 * MSS, ssthresh: u64::MAX };
        assert_eq!(Release05::step(500.0, &mut sender, MSS), 2000.0);
        assert_eq!((sender.cwnd, sender.ssthresh), (2 * MSS, 2 * MSS));
    }

    #[test]
    fn growth_and_cuts_are_of_the_senders_window_and_slow_start_keeps_the_debt() {
        let sender = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
        assert_eq!(Release05::divisor(50_500.0, &sender), 100_000.0);
        assert_eq!(Release05::to_cut(50_500.0, &sender), 100_000.0);
        assert_eq!(Release05::after_slow_start(50_500.0, &sender, 2 * MSS), 52_500.0);
    }
}
