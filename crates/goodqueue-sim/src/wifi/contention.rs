//! Channel access: the distributed coordination function with the categories of EDCA (IEEE
//! 802.11-2012 §9.19.2).
//!
//! All nodes hear each other. When the medium becomes idle, slot boundaries follow after `SIFS +
//! AIFSN * slot`, one slot apart. At each of its boundaries an access function sends if its
//! back-off counter is 0, and otherwise decrements the counter. A counter therefore decreases by
//! one in a busy slot too, as in Bianchi's model (2000). Functions that send at the same boundary
//! collide.
//!
//! After frames without an answer, idle time begins at a different instant for each node
//! (§9.19.2.3). Nodes that heard the frames add the difference of EIFS. A sender waits until its
//! answer can no longer arrive, or until the longest of the colliding frames ends, whichever is
//! later.

use goodqueue::random::Random;
use goodqueue::{Duration, Instant};

use super::phy::{SIFS, SLOT};

/// The access categories of EDCA, least urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AccessCategory {
    /// Background.
    Bk,
    /// Best effort.
    Be,
    /// Video.
    Vi,
    /// Voice.
    Vo,
}

/// Parameters of an access category (IEEE 802.11-2012 Table 8-105, for OFDM PHYs). IEEE 802.11-2020
/// Table 9-155 has longer TXOP limits: 4.096 ms for video and 2.080 ms for voice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edca {
    /// Number of slots for which the medium must be idle after SIFS.
    pub aifsn: u32,
    /// Smallest contention window.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Longest transmission opportunity; `None` for one PPDU of any length.
    pub txop: Option<Duration>,
}

impl AccessCategory {
    /// All categories, in order.
    pub const ALL: [Self; 4] = [Self::Bk, Self::Be, Self::Vi, Self::Vo];

    /// Returns the position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the category of a packet with this DSCP. Its three upper bits are the 802.1D user
    /// priority: 1 and 2 are background, 4 and 5 video, 6 and 7 voice (as in Linux; RFC 8325 §2.3
    /// describes it).
    #[must_use]
    pub const fn of_dscp(dscp: u8) -> Self {
        match (dscp >> 3) & 7 {
            1 | 2 => Self::Bk,
            0 | 3 => Self::Be,
            4 | 5 => Self::Vi,
            _ => Self::Vo,
        }
    }

    /// Returns the standard's parameters.
    #[must_use]
    pub const fn edca(self) -> Edca {
        let (aifsn, cw_min, cw_max, txop) = match self {
            Self::Bk => (7, 15, 1023, None),
            Self::Be => (3, 15, 1023, None),
            Self::Vi => (2, 7, 15, Some(Duration::from_micros(3_008))),
            Self::Vo => (2, 3, 7, Some(Duration::from_micros(1_504))),
        };
        Edca { aifsn, cw_min, cw_max, txop }
    }
}

/// The back-off of one access category of one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Backoff {
    edca: Edca,
    window: u32,
    failures: u32,
    counter: u64,
}

impl Backoff {
    pub(crate) const fn new(edca: Edca) -> Self {
        Self { edca, window: edca.cw_min, failures: 0, counter: 0 }
    }

    /// Returns the time at which a frame that has been ready since `ready` is sent, if the medium
    /// has been idle since `idle` and stays idle.
    pub(crate) fn sends_at(&self, idle: Instant, ready: Instant) -> Instant {
        let first = self.first_boundary(idle);
        // A frame that becomes ready between two boundaries goes at the later one.
        let late = ready.since(first).as_nanos().div_ceil(SLOT.as_nanos());
        first + SLOT.saturating_mul(self.counter.max(late))
    }

    /// Counts down for the time from `idle` to `busy`, when another node's frame makes the medium
    /// busy.
    pub(crate) fn hears(&mut self, idle: Instant, busy: Instant) {
        let first = self.first_boundary(idle);
        if busy >= first {
            // A category does one thing at each boundary of slots, the first one included: it
            // counts down, or it sends (IEEE 802.11-2012 §9.19.2.3).
            let boundaries = busy.since(first).as_nanos() / SLOT.as_nanos() + 1;
            self.counter = self.counter.saturating_sub(boundaries);
        }
    }

    /// Draws a back-off for a frame that arrived while the medium was busy and no other frame
    /// waited (§9.19.2.3).
    pub(crate) fn arrived_while_busy(&mut self, random: &mut impl Random) {
        if self.counter == 0 {
            self.draw(random);
        }
    }

    /// Draws a new back-off after a frame that was answered.
    pub(crate) fn succeeded(&mut self, random: &mut impl Random) {
        (self.window, self.failures) = (self.edca.cw_min, 0);
        self.draw(random);
    }

    /// Draws a new back-off after a frame that was not answered.
    pub(crate) fn failed(&mut self, random: &mut impl Random) {
        self.failures += 1;
        if self.failures < SHORT_RETRY_LIMIT {
            // Contention windows are one less than a power of two (IEEE 802.11).
            self.window = (2 * self.window + 1).min(self.edca.cw_max);
        } else {
            (self.window, self.failures) = (self.edca.cw_min, 0);
        }
        self.draw(random);
    }

    fn draw(&mut self, random: &mut impl Random) {
        // The window itself is a possible back-off (IEEE 802.11-2012 §9.3.3).
        self.counter = u64::from(random.below(self.window + 1));
    }

    fn first_boundary(&self, idle: Instant) -> Instant {
        idle + SIFS + SLOT.saturating_mul(u64::from(self.edca.aifsn))
    }
}

/// Number of consecutive failures after which the contention window is reset
/// (`dot11ShortRetryLimit`, IEEE 802.11-2012 §9.19.2.5). IEEE 802.11-2020 §10.23.2.2 resets it one
/// failure later.
pub const SHORT_RETRY_LIMIT: u32 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::random::Xoshiro256PlusPlus;

    const IDLE: Instant = Instant::from_nanos(1_000_000);
    // SIFS of 16 us and three slots of 9 us.
    const AIFS_BE: Duration = Duration::from_micros(43);

    fn counting(counter: u64) -> Backoff {
        Backoff { counter, ..Backoff::new(AccessCategory::Be.edca()) }
    }

    #[test]
    fn best_effort_waits_43_microseconds_and_its_back_off() {
        assert_eq!(counting(0).sends_at(IDLE, Instant::ZERO), IDLE + AIFS_BE);
        assert_eq!(counting(5).sends_at(IDLE, Instant::ZERO), IDLE + AIFS_BE + SLOT.saturating_mul(5));
    }

    #[test]
    fn a_frame_that_comes_while_the_medium_is_idle_goes_at_the_next_boundary() {
        let first = IDLE + AIFS_BE;
        let late = first + SLOT.saturating_mul(100) + Duration::from_nanos(1);
        // The back-off of 5 slots was over long before; the next boundary is the 101st.
        assert_eq!(counting(5).sends_at(IDLE, late), first + SLOT.saturating_mul(101));
    }

    #[test]
    fn the_counter_goes_down_in_idle_slots_and_in_the_busy_one() {
        let first = IDLE + AIFS_BE;
        let mut backoff = counting(10);
        backoff.hears(IDLE, first + SLOT.saturating_mul(3));
        assert_eq!(backoff.counter, 6, "boundaries 0, 1, 2 and the busy 3");
        backoff.hears(IDLE, first - Duration::from_nanos(1));
        assert_eq!(backoff.counter, 6, "more urgent traffic came before the first boundary");
    }

    #[test]
    fn the_window_doubles_to_its_largest_and_begins_anew_after_seven_failures() {
        let mut random = Xoshiro256PlusPlus::new(1);
        let mut backoff = counting(0);
        let windows: Vec<u32> = (0..8)
            .map(|_| {
                backoff.failed(&mut random);
                assert!(backoff.counter <= u64::from(backoff.window));
                backoff.window
            })
            .collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 15, 31]);
        backoff.succeeded(&mut random);
        assert_eq!(backoff.window, 15);
    }

    #[test]
    fn code_points_choose_the_category() {
        // Their upper three bits are 0, 1, 5, 4, 6, 5 and 3.
        let names = [0, 8, 46, 34, 48, 40, 24].map(AccessCategory::of_dscp);
        use AccessCategory::{Be, Bk, Vi, Vo};
        assert_eq!(names, [Be, Bk, Vi, Vi, Vo, Vi, Be], "EF (46) is user priority 5: video");
    }
}
