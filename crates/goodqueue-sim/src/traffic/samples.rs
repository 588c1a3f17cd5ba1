//! The delays of a probe's packets: one by one as long as they fit, and summed up beyond that.

use goodqueue::{Duration, Instant};
use hdrhistogram::Histogram;

/// A packet and the time until it, or its answer, arrived.
pub trait Sample: Copy {
    /// A packet that was sent at this time and has not arrived.
    fn sent(at: Instant) -> Self;
    /// Returns the time at which it was sent.
    fn sent_at(&self) -> Instant;
    /// Returns the time until it arrived, if it did.
    fn time(&self) -> Option<Duration>;
    /// Sets the time until it arrived.
    fn arrive(&mut self, time: Duration);
}

/// A probe and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// Time at which the probe was sent.
    pub sent_at: Instant,
    /// Time until the answer arrived; `None` if it has not arrived.
    pub time: Option<Duration>,
}

/// A packet whose one-way delay is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneWay {
    /// Time at which the packet was sent.
    pub sent_at: Instant,
    /// Time until it arrived; `None` if it has not arrived.
    pub delay: Option<Duration>,
}

/// Implements [`Sample`] for a structure with the time in this field.
macro_rules! sample {
    ($name:ident.$time:ident) => {
        impl Sample for $name {
            fn sent(at: Instant) -> Self {
                Self { sent_at: at, $time: None }
            }
            fn sent_at(&self) -> Instant {
                self.sent_at
            }
            fn time(&self) -> Option<Duration> {
                self.$time
            }
            fn arrive(&mut self, time: Duration) {
                self.$time = Some(time);
            }
        }
    };
}

sample!(RoundTrip.time);
sample!(OneWay.delay);

/// The samples of a flow, numbered in the order of sending.
#[derive(Debug)]
pub(super) struct Samples<S> {
    /// The latest ones.
    latest: Vec<S>,
    /// Number of the first of them.
    first: u64,
    earlier: Option<Box<Earlier>>,
    room: Room,
    /// Earlier samples are not measured.
    from: Instant,
}

/// How many samples a flow keeps one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// When a flow has twice as many, it sums up the first half.
    pub(crate) samples: usize,
    /// Significant digits of the sums.
    pub(crate) digits: u8,
}

impl Room {
    /// Room for everything. It is a part of the largest number, so that its double does not
    /// overflow.
    pub(crate) const UNLIMITED: Self = Self { samples: usize::MAX / 16, digits: 3 };
}

/// The samples that a flow no longer has one by one: those sent in the measured time.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Their times in nanoseconds.
    pub times: Histogram<u64>,
    /// Sum of these times in seconds.
    pub sum_s: f64,
    /// Shortest of these times.
    pub shortest: Option<Duration>,
    /// The losses among them. A packet is lost if it did not arrive within [`PATIENCE`].
    pub losses: LossRuns,
    /// Changes from each time to the next one.
    pub jitter: Jitter,
    /// Every `stride`-th of all samples since the start, with the time of sending.
    pub thinned: Vec<RoundTrip>,
    /// Distance of the numbers in `thinned`.
    pub stride: u64,
    /// Number of the first sample that the flow has one by one.
    pub next: u64,
}

/// The interarrival jitter of RFC 3550 §6.4.1, packet by packet in the order of arrival.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Jitter {
    last: Option<Duration>,
    now_s: f64,
    sum_s: f64,
    changes: u64,
}

/// How packets were lost, in the order of sending (RFC 3357: loss distance and loss runs).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LossRuns {
    /// Packets whose fate is known.
    pub packets: u64,
    /// Packets lost.
    pub lost: u64,
    /// Times that packets were lost in a row; a single loss counts as one.
    pub runs: u64,
    /// Longest row.
    pub longest: u64,
    /// Length of the row that has not ended.
    current: u64,
    /// Numbers of the packets with which the first and the last row began.
    begins: Option<(u64, u64)>,
}

impl<S: Sample> Samples<S> {
    /// Creates an empty list with room for everything.
    pub(super) const fn new() -> Self {
        Self { latest: Vec::new(), first: 0, earlier: None, room: Room::UNLIMITED, from: Instant::ZERO }
    }

    /// Limits the samples that are kept one by one.
    pub(super) const fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// Forgets earlier samples, at the end of the warm-up.
    pub(super) fn measure_from(&mut self, now: Instant) {
        self.from = now;
        if let Some(earlier) = &mut self.earlier {
            // The samples keep their numbers, because `thinned` has every `stride`-th of them.
            **earlier =
                Earlier { next: earlier.next, stride: earlier.stride, ..Earlier::new(self.room.digits) };
        }
    }

    /// Adds a sample, and returns its number.
    pub(super) fn send(&mut self, now: Instant) -> u64 {
        let half = self.room.samples;
        // Packets that may still arrive stay, so the next attempt comes after another half only.
        if self.latest.len() >= 2 * half && self.latest.len().is_multiple_of(half) {
            self.sum_up(now);
        }
        self.latest.push(S::sent(now));
        self.sent() - 1
    }

    /// Notes the arrival of a packet. Returns true for the first copy of one that is kept.
    pub(super) fn arrive(&mut self, number: u64, time: Duration) -> bool {
        // Nothing more is counted for a packet that was summed up.
        let index = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        let Some(sample) = index.and_then(|index| self.latest.get_mut(index)) else { return false };
        // A path may duplicate packets (`netem duplicate`).
        let is_first = sample.time().is_none();
        if is_first {
            sample.arrive(time);
        }
        is_first
    }

    /// Returns the number of samples since the start.
    pub(super) fn sent(&self) -> u64 {
        self.first + self.latest.len() as u64
    }

    /// Returns the latest samples.
    pub(super) fn latest(&self) -> &[S] {
        &self.latest
    }

    /// Returns the sums of those before.
    pub(super) fn earlier(&self) -> Option<&Earlier> {
        self.earlier.as_deref()
    }

    /// Sums up the first half of the samples, without those that may still arrive.
    #[cold]
    fn sum_up(&mut self, now: Instant) {
        let half = self.room.samples;
        let is_known = |sample: &S| sample.time().is_some() || now.since(sample.sent_at()) > PATIENCE;
        // Packets that may still arrive must not keep all later ones in memory. Those of the first
        // half then count as lost.
        let count = if self.latest.len() >= MOST_HALVES * half {
            half
        } else {
            self.latest[..half].iter().take_while(|sample| is_known(sample)).count()
        };
        let digits = self.room.digits;
        let earlier = self.earlier.get_or_insert_with(|| Box::new(Earlier::new(digits)));
        let warm = self.latest[..count].iter().take_while(|sample| sample.sent_at() < self.from).count();
        earlier.next += warm as u64;
        earlier.add(&self.latest[warm..count]);
        self.latest.drain(..count);
        self.first += count as u64;
    }
}

impl Earlier {
    /// Returns the sums of no samples, with 2 or 3 significant digits.
    ///
    /// # Panics
    /// Another number of digits.
    #[must_use]
    pub fn new(digits: u8) -> Self {
        assert!(digits == 2 || digits == 3, "{digits} digits");
        let times = Histogram::new(digits).unwrap_or_else(|_| unreachable!("these digits are possible"));
        Self {
            times,
            sum_s: 0.0,
            shortest: None,
            losses: LossRuns::default(),
            jitter: Jitter::default(),
            thinned: Vec::new(),
            stride: 1,
            next: 0,
        }
    }

    /// Adds samples in the order of sending.
    pub fn add<S: Sample>(&mut self, samples: &[S]) {
        samples.iter().for_each(|sample| self.add_one(sample.sent_at(), sample.time()));
        let mut arrived: Vec<_> =
            samples.iter().filter_map(|one| Some((one.sent_at() + one.time()?, one.time()?))).collect();
        // A stable sort: packets that arrive together keep the order of sending.
        arrived.sort_by_key(|packet| packet.0);
        arrived.into_iter().for_each(|packet| self.jitter.add(packet.1));
    }

    fn add_one(&mut self, sent_at: Instant, time: Option<Duration>) {
        if self.next.is_multiple_of(self.stride) {
            if self.thinned.len() == MOST_THINNED {
                let mut number = 0_u32;
                self.thinned.retain(|_| {
                    number += 1;
                    // The first one stays, so that the others are at multiples of twice the stride.
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            self.thinned.push(RoundTrip { sent_at, time });
        }
        self.next += 1;
        self.losses.add(time.is_none());
        if let Some(time) = time {
            // It grows as needed; a time of 584 years fits.
            let _ = self.times.record(time.as_nanos());
            self.sum_s += seconds(time);
            self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
        }
    }
}

impl Jitter {
    /// Adds the time until the next packet arrived. The difference of two such times is that of the
    /// spacings at the receiver and at the sender.
    pub fn add(&mut self, time: Duration) {
        if let Some(last) = self.last.replace(time) {
            // RFC 3550 takes the absolute value, and a `Duration` has no sign.
            let change = seconds(last.max(time).saturating_sub(last.min(time)));
            // The gain of 1/16 is that of RFC 3550 §6.4.1.
            self.now_s += (change - self.now_s) / 16.0;
            self.sum_s += self.now_s;
            self.changes += 1;
        }
    }

    /// Returns the mean over the packets in seconds, or `None` with fewer than two.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "packets of a run")]
    pub fn mean_s(&self) -> Option<f64> {
        (self.changes > 0).then(|| self.sum_s / self.changes as f64)
    }
}

impl LossRuns {
    /// Adds the next packet.
    pub fn add(&mut self, lost: bool) {
        if lost {
            if self.current == 0 {
                self.runs += 1;
                let first = self.begins.map_or(self.packets, |begins| begins.0);
                self.begins = Some((first, self.packets));
            }
            self.current += 1;
            self.lost += 1;
            self.longest = self.longest.max(self.current);
        } else {
            self.current = 0;
        }
        self.packets += 1;
    }

    /// Returns the number of packets from the beginning of the first row to that of the last one.
    #[must_use]
    pub fn between(&self) -> u64 {
        self.begins.map_or(0, |(first, last)| last - first)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a time in seconds is a result in floating point")]
fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// Time after which a packet counts as lost.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Halves of the room that a flow may fill while packets may still arrive.
const MOST_HALVES: usize = 8;
/// Samples that stand for all that are summed up, in figures.
const MOST_THINNED: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Sends a packet each 10 ms. Every seventh is lost, the others take 20 ms and more.
    fn simulate(samples: &mut Samples<OneWay>, numbers: std::ops::Range<u64>) {
        for number in numbers {
            assert_eq!(samples.send(at(10 * number)), number);
            if let Some(before) = number.checked_sub(2).filter(|before| before % 7 != 3) {
                samples.arrive(before, Duration::from_millis(20 + before % 5));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_summed_up_and_the_sums_agree_with_all_samples() {
        let mut all = Samples::new();
        let mut bounded = Samples::new();
        bounded.set_room(Room { samples: 1024, digits: 3 });
        for samples in [&mut all, &mut bounded] {
            simulate(samples, 0..50_000);
        }
        assert!(all.earlier().is_none() && all.latest().len() == 50_000);
        let earlier = bounded.earlier().expect("more than fit");
        // Twice the room, and a half before the next attempt.
        assert!(bounded.latest().len() < 3 * 1024, "{}", bounded.latest().len());
        assert_eq!((all.sent(), bounded.sent()), (50_000, 50_000));
        assert_eq!(earlier.next + bounded.latest().len() as u64, 50_000);
        assert_eq!(bounded.latest(), &all.latest()[usize::try_from(earlier.next).unwrap()..]);
        let summed = &all.latest()[..usize::try_from(earlier.next).unwrap()];
        let mut losses = LossRuns::default();
        summed.iter().for_each(|sample| losses.add(sample.delay.is_none()));
        assert_eq!(earlier.losses, losses);
        assert_eq!(earlier.times.len(), losses.packets - losses.lost);
        assert_eq!(earlier.shortest, Some(Duration::from_millis(20)));
        let sum: f64 = summed.iter().filter_map(|sample| sample.delay).map(seconds).sum();
        assert!((earlier.sum_s - sum).abs() < 1e-6);
        // The times are 20 to 24 ms in equal parts.
        assert_eq!(earlier.times.value_at_quantile(0.5) / 100_000, 220);
        assert!(earlier.jitter.mean_s().is_some_and(|jitter| (0.001..0.003).contains(&jitter)));
        let count = earlier.thinned.len() as u64;
        assert!(count <= 2048 && count >= earlier.next / earlier.stride, "{count} of {}", earlier.next);
        assert!(
            earlier
                .thinned
                .iter()
                .all(|one| summed.contains(&OneWay { sent_at: one.sent_at, delay: one.time }))
        );
    }

    #[test]
    fn a_packet_that_may_still_arrive_is_not_summed_up() {
        let mut samples = Samples::<RoundTrip>::new();
        samples.set_room(Room { samples: 64, digits: 2 });
        let first = samples.send(at(0));
        for number in 1..300 {
            let number = samples.send(at(number));
            samples.arrive(number, Duration::from_millis(1));
        }
        assert!(samples.arrive(first, Duration::from_millis(299)));
        assert!(!samples.arrive(first, Duration::from_millis(300)), "a second copy");
        for number in 300..2000 {
            samples.send(at(number));
        }
        // Eight halves, and one before the next attempt.
        assert!(samples.latest().len() <= 64 * 9, "{} without an answer", samples.latest().len());
        assert_eq!(samples.earlier().expect("summed up").times.max() / 1_000_000, 299);
    }

    #[test]
    fn samples_of_the_warm_up_are_not_measured() {
        let mut samples = Samples::new();
        samples.set_room(Room { samples: 1024, digits: 3 });
        simulate(&mut samples, 0..10_000);
        samples.measure_from(at(100_000));
        simulate(&mut samples, 10_000..20_000);
        let earlier = samples.earlier().expect("more than fit");
        assert_eq!(earlier.losses.packets, earlier.next - 10_000);
        assert!(earlier.thinned.iter().all(|sample| sample.sent_at >= at(100_000)));
    }
}
