//! Ethernet flow control: a device whose buffer fills stops its neighbour (IEEE 802.3, Annex 31B).
//!
//! A device with little memory sends a PAUSE frame when its buffer is nearly full. The neighbour
//! completes the packet in transmission and then stops, so that the queue builds up in the
//! neighbour, where a discipline can manage it. All flows through the neighbour's port wait, also
//! those that do not need the full buffer (head-of-line blocking).
//!
//! The types here are values without a clock: the caller passes the time, the bytes in the buffer
//! and the duration of a pause.

use goodqueue::{Duration, Instant, Rate};

use goodqueue_link::capacity::UNLIMITED;

/// The PAUSE frames that a device sends to the link in front of its buffer.
///
/// `ethtool -A DEVICE tx on` makes Linux send them, and `rx on` obey them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// High water mark: with this number of bytes in its buffer, or more, the device stops the
    /// link (XOFF).
    pub high: u64,
    /// Low water mark: with this number of bytes or fewer the link may send again (XON).
    pub low: u64,
    /// Field `pause_time` of an XOFF frame, in quanta of 512 bit times. The link sends again after
    /// this time unless another XOFF has arrived.
    pub time: u16,
}

/// Length of a PAUSE frame in bytes, the smallest of Ethernet (IEEE 802.3, 31B.3).
pub(crate) const FRAME: u32 = 64;

/// Bits whose transmission takes one pause quantum (IEEE 802.3, 31B.2).
const QUANTUM_BITS: u64 = 512;

/// Returns the duration of a pause of this number of quanta on a link of this rate.
pub(crate) fn duration(time: u16, rate: Rate) -> Duration {
    match rate.as_bps() {
        0 => Duration::MAX, // a bit takes for ever
        _ if rate == UNLIMITED => Duration::ZERO,
        // The product is at most 3.4 * 10^16.
        bps => Duration::from_nanos(u64::from(time) * QUANTUM_BITS * 1_000_000_000 / bps),
    }
}

/// A device that sends PAUSE frames.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    config: Pause,
    /// Time at which the device requests the next pause unless its buffer has reached the low mark
    /// before; `None` after XON.
    renews_at: Option<Instant>,
}

/// Shortest time between two XOFF frames: our choice, so that a pause of a few bit times does not
/// fill the link with frames.
const LEAST_RENEWAL: Duration = Duration::from_micros(10);

impl Sender {
    pub(crate) const fn new(config: Pause) -> Self {
        Self { config, renews_at: None }
    }

    pub(crate) const fn config(&self) -> &Pause {
        &self.config
    }

    /// Returns the time at which to call [`Self::decide`] without a change of the buffer.
    pub(crate) const fn renews_at(&self) -> Option<Instant> {
        self.renews_at
    }

    /// Decides, after each change of the buffer, whether the device sends a PAUSE frame. Returns
    /// the frame's `pause_time`: that of XOFF, or 0 for XON. `lasts` is the duration of an XOFF.
    ///
    /// The standard leaves the time of the next XOFF open. The device sends it when half of the
    /// pause has passed, as Linux programs Intel's controllers (ixgbe, `FCRTV`).
    pub(crate) fn decide(&mut self, now: Instant, backlog: u64, lasts: Duration) -> Option<u16> {
        match self.renews_at {
            // XON comes first: a buffer below the low mark renews no pause.
            Some(_) if backlog <= self.config.low => {
                self.renews_at = None;
                return Some(0);
            }
            Some(renews_at) if now < renews_at => return None,
            None if backlog < self.config.high => return None,
            _ => {}
        }
        let half = Duration::from_nanos(lasts.as_nanos() / 2);
        self.renews_at = Some(now + half.max(LEAST_RENEWAL));
        Some(self.config.time)
    }
}

/// The pauses that a link has obeyed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PauseOutcome {
    /// PAUSE frames received, both XOFF and XON.
    pub frames: u64,
    /// Time for which the link was not allowed to begin a packet, whether it had one or not.
    pub time: Duration,
}

/// A link that obeys PAUSE frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    /// End of the present pause, or of the last one.
    until: Instant,
    /// Time up to which `seen` is complete.
    settled: Instant,
    seen: PauseOutcome,
}

impl Receiver {
    /// Starts a pause of this length, which replaces the present one. Returns its end.
    pub(crate) fn receive(&mut self, now: Instant, lasts: Duration) -> Instant {
        self.settle(now);
        self.seen.frames += 1;
        self.until = now + lasts;
        self.until
    }

    /// Forgets what it has seen before `now`.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.settle(now);
        self.seen = PauseOutcome::default();
    }

    pub(crate) fn finish(mut self, end: Instant) -> PauseOutcome {
        self.settle(end);
        self.seen
    }

    fn settle(&mut self, now: Instant) {
        // A pause that ended before `settled` is counted already, and `since` is then 0.
        self.seen.time += self.until.min(now).since(self.settled);
        self.settled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue::random::{Random, Xoshiro256PlusPlus};

    const LASTS: Duration = Duration::from_micros(100);
    const PAUSE: Pause = Pause { high: 3000, low: 1000, time: 20 };

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_quantum_is_the_time_of_512_bits() {
        let mbit = |mbit: u64| Rate::from_bps(mbit * 1_000_000);
        assert_eq!(duration(1, mbit(100)), Duration::from_nanos(5_120));
        assert_eq!(duration(u16::MAX, mbit(100)), Duration::from_nanos(335_539_200));
        assert_eq!(duration(u16::MAX, mbit(1000)), Duration::from_nanos(33_553_920));
        assert_eq!(duration(1, UNLIMITED), Duration::ZERO);
        assert_eq!(duration(1, mbit(0)), Duration::MAX);
    }

    #[test]
    fn a_device_says_xoff_at_the_high_mark_and_xon_at_the_low_mark() {
        let mut device = Sender::new(PAUSE);
        let steps = [
            (0, 2999, None),
            (1, 3000, Some(20)),
            (2, 4500, None),
            (3, 1001, None),
            (4, 1000, Some(0)),
            (5, 0, None),
            (6, 2999, None),
            (7, 3001, Some(20)),
        ];
        for (micros, backlog, expected) in steps {
            assert_eq!(device.decide(at(micros), backlog, LASTS), expected, "at {micros} us");
        }
    }

    #[test]
    fn a_device_above_its_low_mark_renews_the_pause_when_half_of_it_has_passed() {
        let mut device = Sender::new(PAUSE);
        assert_eq!(device.decide(at(0), 3000, LASTS), Some(20));
        assert_eq!(device.renews_at(), Some(at(50)));
        assert_eq!(device.decide(at(49), 5000, LASTS), None);
        assert_eq!(device.decide(at(50), 1001, LASTS), Some(20));
        assert_eq!(device.decide(at(99), 1000, LASTS), Some(0));
        assert_eq!(device.renews_at(), None);
        let short = Duration::from_nanos(1);
        assert_eq!(device.decide(at(200), 3000, short), Some(20));
        assert_eq!(device.renews_at(), Some(at(210)), "at most one frame in 10 us");
    }

    #[test]
    fn a_later_frame_replaces_the_pause_of_an_earlier_one() {
        let mut link = Receiver::default();
        assert_eq!(link.receive(at(10), LASTS), at(110));
        assert_eq!(link.receive(at(50), LASTS), at(150));
        assert_eq!(link.receive(at(60), Duration::ZERO), at(60), "XON");
        assert_eq!(link.receive(at(200), LASTS), at(300));
        // From 10 to 60 us, and from 200 us to the end of the run.
        let expected = PauseOutcome { frames: 4, time: Duration::from_micros(50 + 20) };
        assert_eq!(link.clone().finish(at(220)), expected);
        link.restart(at(250));
        // The last pause ends at 300 us.
        let rest = PauseOutcome { frames: 0, time: Duration::from_micros(50) };
        assert_eq!(link.finish(at(1000)), rest);
    }

    #[test]
    fn no_packet_is_lost_in_a_buffer_with_room_for_the_packets_on_the_way() {
        // A port of one packet per microsecond in front of a buffer that is emptied in bursts.
        // Frames take `distance` microseconds to the port, and packets as long from there.
        for seed in 0..50 {
            let mut random = Xoshiro256PlusPlus::stream(1, seed);
            let distance = u64::from(random.below(20));
            let mut device = Sender::new(PAUSE);
            let mut link = Receiver::default();
            let mut frames = Vec::new();
            let mut packets = Vec::new();
            let mut backlog = 0_u64;
            let mut paused_until = at(0);
            let mut most = 0;
            for now in 0..20_000 {
                if packets.first() == Some(&now) {
                    packets.remove(0);
                    backlog += 100;
                } else if random.below(3) == 0 {
                    backlog = backlog.saturating_sub(100 * u64::from(random.below(4)));
                }
                most = most.max(backlog);
                if let Some(time) = device.decide(at(now), backlog, LASTS) {
                    frames.push((now + distance, time));
                }
                if frames.first().is_some_and(|frame| frame.0 == now) {
                    let lasts = if frames.remove(0).1 == 0 { Duration::ZERO } else { LASTS };
                    paused_until = link.receive(at(now), lasts);
                }
                if at(now) >= paused_until {
                    packets.push(now + distance + 1);
                }
            }
            // Packets already on the way, those sent until the frame arrives, and one in
            // transmission.
            assert!(most <= PAUSE.high + 100 * (2 * distance + 2), "{most} bytes at {distance} us");
            assert!(most >= PAUSE.high, "the buffer never filled");
            let seen = link.finish(at(20_000));
            assert!(seen.frames > 0 && seen.time < Duration::from_micros(20_000));
        }
    }
}
