//! The quality of voice calls.

use goodqueue::{Duration, Instant};
use goodqueue_sim::FlowOutcome;
use goodqueue_sim::traffic::{Earlier, Jitter, LossRuns, OneWay, PATIENCE};

use super::delays::{Delays, above, in_seconds};
use crate::emodel::{self, CONCEALED, NOT_CONCEALED};
use crate::results::{LossPattern, VoipResult};
use crate::scenario::CallReceiver;
use crate::statistics::{float, seconds};

/// The packets of a call that were sent in the time measured, in the order in which they were sent.
#[derive(Clone, Copy)]
pub(super) struct Packets<'o> {
    /// Those that the simulator summed up.
    earlier: Option<&'o Earlier>,
    /// The others.
    latest: &'o [OneWay],
}

impl<'o> From<&'o FlowOutcome> for Packets<'o> {
    fn from(seen: &'o FlowOutcome) -> Self {
        Self { earlier: seen.earlier.as_deref(), latest: &seen.one_way }
    }
}

impl Packets<'_> {
    fn shortest(&self) -> Option<Duration> {
        let latest = self.latest.iter().filter_map(|packet| packet.delay);
        latest.chain(self.earlier.and_then(|earlier| earlier.shortest)).min()
    }
}

/// One call.
pub(super) fn call(packets: Packets<'_>, hearing: CallReceiver, end: Instant) -> VoipResult {
    let fates = fates(packets, end);
    let latest = || packets.latest.iter().filter_map(|packet| packet.delay);
    let shortest = packets.shortest();
    let lost = fates.lost;
    let sent = fates.packets;
    let late = hearing.playout.zip(shortest).map(|(buffer, shortest)| {
        let bound = shortest + buffer;
        let late = latest().filter(|delay| *delay > bound).count() as u64;
        late + packets.earlier.map_or(0, |earlier| above(earlier, bound))
    });
    let one_way_delay_s = delays(&[packets]).summary();
    let share = |count: u64| (sent > 0).then(|| float(count) / float(sent));
    let heard_after = match (hearing.playout, shortest) {
        // A de-jitter buffer plays all packets as late as the latest one that it accepts.
        (Some(buffer), Some(shortest)) => Some(seconds(shortest + buffer)),
        _ => one_way_delay_s.mean,
    };
    let robustness = if hearing.concealment { CONCEALED } else { NOT_CONCEALED };
    // Without a de-jitter buffer no packet is too late.
    let mos = share(lost + late.unwrap_or(0)).map(|not_heard| match heard_after {
        Some(delay) => emodel::mos(emodel::rating(delay, not_heard, robustness)),
        // Nothing arrived: the lowest score.
        None => emodel::mos(0.0),
    });
    VoipResult {
        sent,
        lost,
        loss: share(lost),
        late,
        loss_pattern: pattern(fates),
        one_way_delay_s,
        delay_variation_s: variation(&[packets]).summary(),
        jitter_s: jitter(packets),
        mos,
    }
}

/// Combines several calls: delays of all packets, and means over the calls for metrics of a call.
pub(super) fn together(calls: &[VoipResult], packets: &[Packets<'_>]) -> Option<VoipResult> {
    let (first, rest) = calls.split_first()?;
    if rest.is_empty() {
        return Some(first.clone());
    }
    let sum = |of: fn(&VoipResult) -> u64| calls.iter().map(of).sum::<u64>();
    let mean = |of: fn(&VoipResult) -> Option<f64>| {
        let values: Vec<f64> = calls.iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len() as u64))
    };
    let sent = sum(|call| call.sent);
    let lost = sum(|call| call.lost);
    // Only calls with a de-jitter buffer have late packets.
    let late: Vec<u64> = calls.iter().filter_map(|call| call.late).collect();
    Some(VoipResult {
        sent,
        lost,
        loss: (sent > 0).then(|| float(lost) / float(sent)),
        late: (!late.is_empty()).then(|| late.iter().sum()),
        loss_pattern: LossPattern {
            runs: sum(|call| call.loss_pattern.runs),
            mean_run: mean(|call| call.loss_pattern.mean_run),
            longest_run: calls.iter().map(|call| call.loss_pattern.longest_run).max().unwrap_or(0),
            mean_distance: mean(|call| call.loss_pattern.mean_distance),
        },
        one_way_delay_s: delays(packets).summary(),
        delay_variation_s: variation(packets).summary(),
        jitter_s: mean(|call| call.jitter_s),
        mos: mean(|call| call.mos),
    })
}

/// Returns the delays of all packets.
fn delays(calls: &[Packets<'_>]) -> Delays {
    let latest = calls.iter().flat_map(|call| call.latest).map(|packet| packet.delay);
    let mut all = Delays::from_exact(in_seconds(latest));
    for earlier in calls.iter().filter_map(|call| call.earlier) {
        all.add_earlier(earlier, 0.0);
    }
    all
}

/// Returns by how much the delay of each packet exceeds the shortest one of its call.
fn variation(calls: &[Packets<'_>]) -> Delays {
    let latest = calls.iter().flat_map(|call| {
        let shortest = call.shortest().unwrap_or_default();
        call.latest.iter().map(move |packet| packet.delay.map(|delay| delay.saturating_sub(shortest)))
    });
    let mut all = Delays::from_exact(in_seconds(latest));
    for call in calls {
        if let Some(earlier) = call.earlier {
            all.add_earlier(earlier, seconds(call.shortest().unwrap_or_default()));
        }
    }
    all
}

/// Returns the losses among the packets whose fate is known. A packet is lost if one sent after it
/// has arrived, or if it did not in [`PATIENCE`]; the last packets may be on their way when the run
/// ends, and are not counted.
fn fates(packets: Packets<'_>, end: Instant) -> LossRuns {
    let mut losses = packets.earlier.map(|earlier| earlier.losses).unwrap_or_default();
    let last_arrived = packets.latest.iter().rposition(|packet| packet.delay.is_some());
    for (number, packet) in packets.latest.iter().enumerate() {
        if last_arrived.is_none_or(|last| number > last) && end.since(packet.sent_at) <= PATIENCE {
            break;
        }
        losses.add(packet.delay.is_none());
    }
    losses
}

/// How packets were lost: one by one, or many in a row (RFC 3357: loss distance and loss runs).
pub(super) fn pattern(losses: LossRuns) -> LossPattern {
    let mean = |sum: u64, count: u64| (count > 0).then(|| float(sum) / float(count));
    LossPattern {
        runs: losses.runs,
        mean_run: mean(losses.lost, losses.runs),
        longest_run: losses.longest,
        // Between the runs there is one distance less than there are runs.
        mean_distance: mean(losses.between(), losses.runs.saturating_sub(1)),
    }
}

/// The interarrival jitter of RFC 3550 §6.4.1 in seconds: its mean over the packets, in the order
/// in which they arrived.
fn jitter(packets: Packets<'_>) -> Option<f64> {
    let latest = packets.latest.iter();
    let mut arrived: Vec<(Instant, Duration)> =
        latest.filter_map(|packet| Some((packet.sent_at + packet.delay?, packet.delay?))).collect();
    // The sort is stable: packets that arrived at the same instant stay in the order of sending.
    arrived.sort_by_key(|packet| packet.0);
    let mut jitter: Jitter = packets.earlier.map(|earlier| earlier.jitter).unwrap_or_default();
    arrived.into_iter().for_each(|packet| jitter.add(packet.1));
    jitter.mean_s()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(delays_ms: &[Option<u64>]) -> Vec<OneWay> {
        let packet = |(number, delay): (u64, &Option<u64>)| OneWay {
            sent_at: Instant::from_nanos(number * 20_000_000),
            delay: delay.map(Duration::from_millis),
        };
        (0..).zip(delays_ms).map(packet).collect()
    }

    fn all(latest: &[OneWay]) -> Packets<'_> {
        Packets { earlier: None, latest }
    }

    fn judged(latest: &[OneWay], hearing: CallReceiver, end: Instant) -> VoipResult {
        call(all(latest), hearing, end)
    }

    const END: Instant = Instant::from_nanos(1_000_000_000);
    const PLAIN: CallReceiver = CallReceiver { playout: None, concealment: true };

    #[test]
    fn what_is_on_its_way_at_the_end_is_not_lost() {
        let result = judged(&packets(&[Some(30), None, Some(30), Some(50), None, None]), PLAIN, END);
        // A later packet arrived after the second one. Nothing arrived after the last two.
        assert_eq!((result.sent, result.lost, result.loss), (4, 1, Some(0.25)));
        assert_eq!(result.one_way_delay_s.count, 3);
        let later = END + Duration::from_secs(10);
        // Now both have had more than their 10 s.
        assert_eq!(judged(&packets(&[Some(30), None, None]), PLAIN, later).lost, 2);
        assert_eq!(judged(&packets(&[None, None]), PLAIN, END).loss, None, "nothing is known");
        let dead = judged(&packets(&[None, None]), PLAIN, later);
        assert_eq!((dead.loss, dead.mos), (Some(1.0), Some(1.0)));
        assert_eq!(judged(&[], PLAIN, END), VoipResult::default());
    }

    #[test]
    fn a_de_jitter_buffer_turns_late_packets_into_lost_ones_and_jitter_into_delay() {
        let sent = packets(&[Some(100), Some(130), Some(161), Some(100), Some(159)]);
        let open = judged(&sent, PLAIN, END);
        // The delays sum to 650 ms over five packets.
        let mean = emodel::mos(emodel::rating(0.130, 0.0, CONCEALED));
        assert!((open.mos.unwrap() - mean).abs() < 1e-9 && open.late.is_none());
        let buffered = judged(&sent, CallReceiver { playout: Some(Duration::from_millis(60)), ..PLAIN }, END);
        // Played 60 ms after the shortest delay of 100 ms; the one of 161 ms is late, one of five.
        let expected = emodel::mos(emodel::rating(0.160, 0.2, CONCEALED));
        assert!((buffered.mos.unwrap() - expected).abs() < 1e-9);
        assert_eq!((buffered.late, buffered.lost), (Some(1), 0));
        let plain = judged(&sent, CallReceiver { concealment: false, ..PLAIN }, END);
        assert!(plain.mos == open.mos, "without loss there is nothing to conceal");
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // Transit times 10, 26, 26, 10 ms: |D| = 16, 0, 16; J = 1, 0.9375, 1.87890625.
        let result = judged(&packets(&[Some(10), Some(26), Some(26), Some(10)]), PLAIN, END);
        assert!((result.jitter_s.unwrap() - (1.0 + 0.9375 + 1.878_906_25) / 3e3).abs() < 1e-12);
        assert_eq!(result.delay_variation_s.max, Some(0.016));
        assert_eq!(judged(&packets(&[Some(10), None]), PLAIN, END).jitter_s, None);
    }

    #[test]
    fn a_call_whose_packets_were_summed_up_is_judged_like_one_with_all_packets() {
        let delay = |number: u64| (number % 11 != 4).then_some(20 + number * 7 % 60);
        let delays: Vec<_> = (0..5000).map(delay).collect();
        let sent = packets(&delays);
        let end = Instant::from_nanos(200_000_000_000);
        let buffer = CallReceiver { playout: Some(Duration::from_millis(50)), ..PLAIN };
        let exact = judged(&sent, buffer, end);
        let mut earlier = Earlier::new(3);
        sent[..4000].chunks(500).for_each(|chunk| earlier.add(chunk));
        let parts = Packets { earlier: Some(&earlier), latest: &sent[4000..] };
        let summed = call(parts, buffer, end);
        assert_eq!((summed.sent, summed.lost, summed.late), (exact.sent, exact.lost, exact.late));
        assert_eq!(summed.loss_pattern, exact.loss_pattern);
        assert_eq!(summed.one_way_delay_s.count, exact.one_way_delay_s.count);
        let near = |one: Option<f64>, other: Option<f64>| (one.unwrap() - other.unwrap()).abs() < 1e-3;
        assert!(near(summed.jitter_s, exact.jitter_s) && near(summed.mos, exact.mos));
        for of in [|call: &VoipResult| call.one_way_delay_s, |call: &VoipResult| call.delay_variation_s] {
            let summed = of(&summed);
            let exact = of(&exact);
            assert!(near(summed.mean, exact.mean) && near(summed.p50, exact.p50), "{summed:?} {exact:?}");
            assert!(near(summed.p99, exact.p99) && near(summed.max, exact.max), "{summed:?} {exact:?}");
        }
    }

    #[test]
    fn losses_in_a_row_are_one_run() {
        let of = |text: &str| {
            let mut losses = LossRuns::default();
            text.chars().for_each(|c| losses.add(c == 'x'));
            pattern(losses)
        };
        let seen = of(".xx...x....xxx");
        let run = seen.mean_run.unwrap();
        let distance = seen.mean_distance.unwrap();
        assert_eq!((seen.runs, seen.longest_run), (3, 3));
        // Runs of 2, 1 and 3 losses begin at the places 1, 6 and 11.
        assert!((run - 2.0).abs() < 1e-12 && (distance - 5.0).abs() < 1e-12);
        assert_eq!(of("..."), LossPattern::default());
    }

    #[test]
    fn several_calls_share_one_result() {
        let good = packets(&[Some(20), Some(20)]);
        let bad = packets(&[Some(40), None, Some(44)]);
        let calls = [judged(&good, PLAIN, END), judged(&bad, PLAIN, END)];
        let both = together(&calls, &[all(&good), all(&bad)]).unwrap();
        assert_eq!((both.sent, both.lost, both.loss), (5, 1, Some(0.2)));
        // 44 ms are 4 above the shortest of their call, and 24 above that of the other.
        assert_eq!((both.one_way_delay_s.count, both.delay_variation_s.max), (4, Some(0.004)));
        assert!((both.mos.unwrap() - (calls[0].mos.unwrap() + calls[1].mos.unwrap()) / 2.0).abs() < 1e-12);
        assert_eq!(together(&calls[..1], &[all(&good)]).as_ref(), Some(&calls[0]));
        assert_eq!(together(&[], &[]), None);
    }
}
