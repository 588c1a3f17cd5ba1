//! The quality of voice calls.

use goodqueue::{Duration, Instant};
use goodqueue_sim::traffic::OneWay;

use crate::emodel::{self, CONCEALED, NOT_CONCEALED};
use crate::results::{LossPattern, VoipResult};
use crate::scenario::Hearing;
use crate::statistics::{exact_summary, float, seconds};

/// One call, or none of it: the packets sent in the time measured, in the order in which they were
/// sent.
pub(super) fn call(packets: &[OneWay], hearing: Hearing, end: Instant) -> VoipResult {
    let fates = fates(packets, end);
    let delays: Vec<f64> = packets.iter().filter_map(|packet| packet.delay).map(seconds).collect();
    let shortest = packets.iter().filter_map(|packet| packet.delay).min();
    let variation: Vec<f64> = shortest.map_or_else(Vec::new, |shortest| {
        let arrived = packets.iter().filter_map(|packet| packet.delay);
        arrived.map(|delay| seconds(delay.saturating_sub(shortest))).collect()
    });
    let lost = fates.iter().filter(|lost| **lost).count() as u64;
    let late = hearing.playout.zip(shortest).map(|(buffer, shortest)| {
        let latest = shortest + buffer;
        packets.iter().filter_map(|packet| packet.delay).filter(|delay| *delay > latest).count() as u64
    });
    let one_way_delay_s = exact_summary(&delays);
    let share = |count: u64| (!fates.is_empty()).then(|| float(count) / float(fates.len() as u64));
    let heard_after = match (hearing.playout, shortest) {
        (Some(buffer), Some(shortest)) => Some(seconds(shortest + buffer)),
        _ => one_way_delay_s.mean,
    };
    let robustness = if hearing.concealment { CONCEALED } else { NOT_CONCEALED };
    let mos = share(lost + late.unwrap_or(0)).map(|not_heard| match heard_after {
        Some(delay) => emodel::mos(emodel::rating(delay, not_heard, robustness)),
        // Nothing arrived: the lowest score.
        None => emodel::mos(0.0),
    });
    VoipResult {
        sent: fates.len() as u64,
        lost,
        loss: share(lost),
        late,
        loss_pattern: pattern(&fates),
        one_way_delay_s,
        delay_variation_s: exact_summary(&variation),
        jitter_s: jitter(packets),
        mos,
    }
}

/// Combines several calls: delays of all packets, and means over the calls for metrics of a call.
pub(super) fn together(calls: &[VoipResult], packets: &[&[OneWay]]) -> Option<VoipResult> {
    let (first, rest) = calls.split_first()?;
    if rest.is_empty() {
        return Some(first.clone());
    }
    let delays = packets.iter().flat_map(|call| call.iter()).filter_map(|packet| packet.delay);
    let variation = packets.iter().flat_map(|call| {
        let arrived = call.iter().filter_map(|packet| packet.delay);
        let shortest = arrived.clone().min().unwrap_or_default();
        arrived.map(move |delay| seconds(delay.saturating_sub(shortest)))
    });
    let sum = |of: fn(&VoipResult) -> u64| calls.iter().map(of).sum::<u64>();
    let mean = |of: fn(&VoipResult) -> Option<f64>| {
        let values: Vec<f64> = calls.iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len() as u64))
    };
    let (sent, lost) = (sum(|call| call.sent), sum(|call| call.lost));
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
        one_way_delay_s: exact_summary(&delays.map(seconds).collect::<Vec<_>>()),
        delay_variation_s: exact_summary(&variation.collect::<Vec<_>>()),
        jitter_s: mean(|call| call.jitter_s),
        mos: mean(|call| call.mos),
    })
}

/// Of each packet whose fate is known, whether it was lost. A packet is lost if one sent after it
/// has arrived, or if it did not in [`PATIENCE`]; the last packets may be on their way when the run
/// ends, and are not counted.
fn fates(packets: &[OneWay], end: Instant) -> Vec<bool> {
    let last_arrived = packets.iter().rposition(|packet| packet.delay.is_some());
    packets
        .iter()
        .enumerate()
        .take_while(|(number, packet)| {
            last_arrived.is_some_and(|last| *number <= last) || end.since(packet.sent_at) > PATIENCE
        })
        .map(|(_, packet)| packet.delay.is_none())
        .collect()
}

/// How packets were lost: one by one, or many in a row (RFC 3357: loss distance and loss runs).
pub(super) fn pattern(fates: &[bool]) -> LossPattern {
    let mut runs: Vec<u64> = Vec::new();
    let mut begins: Vec<u64> = Vec::new();
    let mut before = false;
    for (number, &lost) in (0_u64..).zip(fates) {
        match (lost, before) {
            (true, false) => {
                runs.push(1);
                begins.push(number);
            }
            (true, true) => {
                if let Some(run) = runs.last_mut() {
                    *run += 1;
                }
            }
            _ => {}
        }
        before = lost;
    }
    let mean = |sum: u64, count: u64| (count > 0).then(|| float(sum) / float(count));
    let between = begins.last().zip(begins.first()).map_or(0, |(last, first)| last - first);
    LossPattern {
        runs: runs.len() as u64,
        mean_run: mean(runs.iter().sum(), runs.len() as u64),
        longest_run: runs.iter().copied().max().unwrap_or(0),
        mean_distance: mean(between, (begins.len() as u64).saturating_sub(1)),
    }
}

/// The interarrival jitter of RFC 3550 §6.4.1 in seconds: its mean over the packets, in the order
/// in which they arrived.
fn jitter(packets: &[OneWay]) -> Option<f64> {
    let mut arrived: Vec<(Instant, Duration)> =
        packets.iter().filter_map(|packet| Some((packet.sent_at + packet.delay?, packet.delay?))).collect();
    arrived.sort_by_key(|packet| packet.0);
    let (mut jitter, mut sum) = (0.0, 0.0);
    for pair in arrived.windows(2) {
        // The difference of transit times is that of the spacings at the receiver and at the
        // sender.
        let change = seconds(pair[0].1.max(pair[1].1).saturating_sub(pair[0].1.min(pair[1].1)));
        jitter += (change - jitter) / 16.0;
        sum += jitter;
    }
    let changes = arrived.len().saturating_sub(1) as u64;
    (changes > 0).then(|| sum / float(changes))
}

/// Time after which a packet counts as lost, as for pings.
const PATIENCE: Duration = Duration::from_secs(10);

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

    const END: Instant = Instant::from_nanos(1_000_000_000);
    const PLAIN: Hearing = Hearing { playout: None, concealment: true };

    #[test]
    fn what_is_on_its_way_at_the_end_is_not_lost() {
        let heard = call(&packets(&[Some(30), None, Some(30), Some(50), None, None]), PLAIN, END);
        assert_eq!((heard.sent, heard.lost, heard.loss), (4, 1, Some(0.25)));
        assert_eq!(heard.one_way_delay_s.count, 3);
        let later = END + Duration::from_secs(10);
        assert_eq!(call(&packets(&[Some(30), None, None]), PLAIN, later).lost, 2);
        assert_eq!(call(&packets(&[None, None]), PLAIN, END).loss, None, "nothing is known");
        let dead = call(&packets(&[None, None]), PLAIN, later);
        assert_eq!((dead.loss, dead.mos), (Some(1.0), Some(1.0)));
        assert_eq!(call(&[], PLAIN, END), VoipResult::default());
    }

    #[test]
    fn a_de_jitter_buffer_turns_late_packets_into_lost_ones_and_jitter_into_delay() {
        let sent = packets(&[Some(100), Some(130), Some(161), Some(100), Some(159)]);
        let open = call(&sent, PLAIN, END);
        let mean = emodel::mos(emodel::rating(0.130, 0.0, CONCEALED));
        assert!((open.mos.unwrap() - mean).abs() < 1e-9 && open.late.is_none());
        let buffered = call(&sent, Hearing { playout: Some(Duration::from_millis(60)), ..PLAIN }, END);
        let expected = emodel::mos(emodel::rating(0.160, 0.2, CONCEALED));
        assert!((buffered.mos.unwrap() - expected).abs() < 1e-9);
        assert_eq!((buffered.late, buffered.lost), (Some(1), 0));
        let plain = call(&sent, Hearing { concealment: false, ..PLAIN }, END);
        assert!(plain.mos == open.mos, "without loss there is nothing to conceal");
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // Transit times 10, 26, 26, 10 ms: |D| = 16, 0, 16; J = 1, 0.9375, 1.87890625.
        let heard = call(&packets(&[Some(10), Some(26), Some(26), Some(10)]), PLAIN, END);
        assert!((heard.jitter_s.unwrap() - (1.0 + 0.9375 + 1.878_906_25) / 3e3).abs() < 1e-12);
        assert_eq!(heard.delay_variation_s.max, Some(0.016));
        assert_eq!(call(&packets(&[Some(10), None]), PLAIN, END).jitter_s, None);
    }

    #[test]
    fn losses_in_a_row_are_one_run() {
        let lost = |text: &str| text.chars().map(|c| c == 'x').collect::<Vec<_>>();
        let seen = pattern(&lost(".xx...x....xxx"));
        let (run, distance) = (seen.mean_run.unwrap(), seen.mean_distance.unwrap());
        assert_eq!((seen.runs, seen.longest_run), (3, 3));
        assert!((run - 2.0).abs() < 1e-12 && (distance - 5.0).abs() < 1e-12);
        assert_eq!(pattern(&lost("...")), LossPattern::default());
    }

    #[test]
    fn several_calls_share_one_result() {
        let (good, bad) = (packets(&[Some(20), Some(20)]), packets(&[Some(40), None, Some(44)]));
        let calls = [call(&good, PLAIN, END), call(&bad, PLAIN, END)];
        let all = together(&calls, &[&good, &bad]).unwrap();
        assert_eq!((all.sent, all.lost, all.loss), (5, 1, Some(0.2)));
        assert_eq!((all.one_way_delay_s.count, all.delay_variation_s.max), (4, Some(0.004)));
        assert!((all.mos.unwrap() - (calls[0].mos.unwrap() + calls[1].mos.unwrap()) / 2.0).abs() < 1e-12);
        assert_eq!(together(&calls[..1], &[&good]).as_ref(), Some(&calls[0]));
        assert_eq!(together(&[], &[]), None);
    }
}
