//! What releases of TCP Prague for Linux do in different ways. The default of each item is what
//! the newest one does.

use core::fmt::Debug;

use crate::congestion::Window;
use crate::congestion::whole::whole;

/// Least window in segments (`MIN_CWND_RTT`).
pub const MIN_WINDOW: u64 = 2;

/// How a rate takes the place of a small window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateMode {
    /// Never.
    None,
    /// From the last pace on, and the window as it was.
    Kept,
    /// Each is made from the other when they change places.
    Exact,
}

/// A release. Windows are in bytes: `window` is the exact one, with fractions, and `sender` has
/// that of the sender, in whole segments.
pub trait Release: Clone + Default + Debug + Send + Sync + 'static {
    /// Name of the controller in scenarios.
    const NAME: &'static str;
    /// The controller whose name profiles translate to this one.
    const VARIANT_OF: Option<&'static str> = Some("prague");
    /// One line for lists.
    const SUMMARY: &'static str;
    /// The documents that define it.
    const REFERENCE: &'static str;
    /// Default of `alpha_mode`.
    const ALPHA_MODE: u64 = 0;
    /// Default of `transition`.
    const TRANSITION: u64 = 4;
    /// How a rate takes the place of the window where that is small.
    const RATE: RateMode = RateMode::Exact;

    /// Returns the window by which growth is divided.
    #[must_use]
    fn divisor(window: f64, sender: &Window) -> f64 {
        let _ = sender;
        window
    }

    /// Returns the window of which a mark takes its share.
    #[must_use]
    fn to_cut(window: f64, sender: &Window) -> f64 {
        let _ = sender;
        window
    }

    /// Returns the window that goes over a round trip, if less is in flight.
    #[must_use]
    fn paced(window: f64, sender: &Window, mss: u64) -> u64 {
        let _ = sender;
        whole(window) / mss.max(1) * mss
    }

    /// Returns the exact window after slow start grew the sender's by `bytes`. A cut that has not
    /// reached the sender yet is forgotten.
    #[must_use]
    fn after_slow_start(window: f64, sender: &Window, bytes: u64) -> f64 {
        let _ = (window, bytes);
        sender.cwnd as f64
    }

    /// Moves the sender's window towards the exact one, by at most a segment per ACK, so that a
    /// reduction stops no transmission for long (`prague_update_cwnd`). Returns the exact one,
    /// which changes only where a debt is forgotten.
    #[must_use]
    fn step(window: f64, sender: &mut Window, mss: u64) -> f64 {
        let mss = mss.max(1);
        let target = whole(window).next_multiple_of(mss).max(MIN_WINDOW * mss);
        if sender.cwnd > target {
            sender.cwnd = target.max(sender.cwnd - mss);
            sender.ssthresh = sender.cwnd;
        } else {
            sender.cwnd = target.min(sender.cwnd + mss);
        }
        window
    }
}

/// TCP Prague 0.7 as it is developed for Linux 6.
#[derive(Clone, Copy, Default, Debug)]
pub struct Current;

impl Release for Current {
    const NAME: &'static str = "prague";
    const VARIANT_OF: Option<&'static str> = None;
    const SUMMARY: &'static str =
        "L4S: cut by half of the smoothed share of marked packets, paced, less RTT-dependent";
    const REFERENCE: &'static str =
        "draft-briscoe-iccrg-prague-congestion-control-04; TCP Prague 0.7 for Linux 6";
}
