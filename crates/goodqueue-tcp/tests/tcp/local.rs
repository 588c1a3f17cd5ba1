//! What the sender's own host drops as it is sent: Linux hears of it at once, and offers again what
//! was refused.

use goodqueue::Instant;
use goodqueue_tcp::{Config, Flags, Segment};

use crate::pair::{Fate, MSS, Pair, at};
use crate::profiles::{settings, window_of};
use crate::undo::older;

fn reno(config: Config) -> Pair {
    Pair::bulk_with(config, "reno")
}

#[test]
fn what_the_hosts_own_queue_drops_halves_the_window_once_over_a_round_trip() {
    for profile in ["linux", "linux314", "linux32"] {
        let mut pair = reno(window_of(20, older(profile)));
        pair.fates.insert((30, 1), Fate::DropAtHost);
        if profile == "linux32" {
            pair.fates.insert((31, 1), Fate::DropAtHost);
        }
        pair.run_while(|pair| pair.sender.ssthresh() == 20 * MSS);
        let window = pair.sender.cwnd();
        let ssthresh = pair.sender.ssthresh();
        assert!((10 * MSS..=12 * MSS).contains(&ssthresh), "{profile}: {}", ssthresh / MSS);
        assert!(window > ssthresh, "{profile}: it shrinks by and by");
        pair.run_until(at(2000));
        assert!((2..=3).contains(&pair.times_of(30).len()), "{profile}: it counts as sent, and as lost");
        assert_eq!(pair.sender.stats().fast_recoveries, 1, "{profile}");
        assert_eq!(pair.sender.ssthresh(), ssthresh, "{profile}: one reduction for all of it");
    }
}

#[test]
fn with_ecn_the_receiver_hears_that_the_window_was_reduced() {
    for profile in ["linux", "linux314", "linux32"] {
        let mut pair = reno(Config { ecn: true, ..window_of(20, older(profile)) });
        pair.fates.insert((30, 1), Fate::DropAtHost);
        pair.run_until(at(2000));
        let with_cwr = |data: &Segment| data.len > 0 && data.flags.contains(Flags::CWR);
        let first = pair.data.iter().find(|(_, data)| with_cwr(data)).map(|(_, data)| data.seq);
        assert_eq!(first, Some(1 + 30 * MSS), "{profile}: the segment behind the one that was dropped");
    }
}

#[test]
fn in_linux_3_14_and_later_a_second_segment_that_the_host_drops_is_a_second_event() {
    for profile in ["linux", "linux314"] {
        let mut pair = reno(window_of(20, older(profile)));
        pair.fates.insert((30, 1), Fate::DropAtHost);
        pair.fates.insert((31, 1), Fate::DropAtHost);
        pair.run_while(|pair| pair.sender.ssthresh() == 20 * MSS);
        let ssthresh = pair.sender.ssthresh();
        pair.run_until(at(2000));
        // The window began to shrink before segment 31 left (`high_seq`), so the recovery that
        // begins meanwhile ends when segment 30 arrives.
        assert_eq!(pair.sender.stats().fast_recoveries, 2, "{profile}");
        assert!(pair.sender.ssthresh() < ssthresh, "{profile}");
    }
}

#[test]
fn in_linux_3_2_a_drop_at_the_host_leaves_no_more_than_what_is_in_flight() {
    // Before the segment that is dropped counts as sent, and one more.
    let mut pair = reno(window_of(20, older("linux32")));
    pair.fates.insert((16, 1), Fate::DropAtHost);
    pair.run_while(|pair| pair.sender.ssthresh() == 20 * MSS);
    assert_eq!(pair.sender.cwnd(), 16 * MSS);
    assert_eq!(pair.sender.pipe(), 16 * MSS, "nothing after it leaves");
}

#[test]
fn in_linux_3_2_a_mark_takes_the_window_of_cubic_to_its_threshold_and_no_further() {
    let config = Config { ecn: true, ..window_of(40, older("linux32")) };
    let mut pair = Pair::bulk_with(config, "cubic_linux");
    pair.fates.insert((50, 1), Fate::Mark);
    let mut least = u64::MAX;
    while pair.now < at(900) && pair.step() {
        if pair.sender.stats().ecn_reductions == 1 {
            least = least.min(pair.sender.cwnd());
        }
    }
    // Rate halving alone would take it to half in a round trip.
    assert_eq!(least, pair.sender.ssthresh());
}

#[test]
fn a_refused_segment_was_not_sent_and_goes_with_the_next_ack() {
    for profile in ["linux314", "linux32"] {
        let mut pair = reno(window_of(20, older(profile)));
        pair.fates.insert((16, 1), Fate::Refuse);
        pair.run_until(at(150));
        assert_eq!((pair.sender.in_flight(), pair.refused.len()), (15 * MSS, 1), "{profile}: 16 to 20 wait");
        assert_eq!(pair.sender.stats().data_segments, 15, "{profile}");
        assert!(pair.sender.ssthresh() <= 10 * MSS, "{profile}: it is congestion all the same");
        pair.run_until(at(2000));
        let stats = pair.sender.stats();
        assert_eq!((stats.retransmits, stats.timeouts, stats.fast_recoveries), (0, 0, 0), "{profile}");
        let times = pair.times_of(16);
        assert!(times.len() == 1 && times[0] >= at(200) && times[0] < at(300), "{profile}: {times:?}");
    }
}

#[test]
fn other_senders_count_it_as_sent_and_lost() {
    let mut pair = Pair::bulk(window_of(20, settings("rfc")));
    pair.fates.insert((16, 1), Fate::Refuse);
    pair.run_until(at(150));
    assert_eq!(pair.sender.in_flight(), 16 * 1460, "with the window that is left nothing more goes");
    pair.run_until(at(2000));
    assert_eq!(pair.sender.stats().retransmits, 1);
}

#[test]
fn with_nothing_in_flight_it_is_offered_again_after_a_timeout_and_then_every_half_second() {
    let mut pair = Pair::with(older("linux32"), older("linux32"), "reno");
    pair.sender.write(3 * MSS);
    pair.sender.open(Instant::ZERO);
    pair.run_until(at(99));
    pair.refuses_until = at(3000);
    pair.run_until(at(3200));
    let at_ms: Vec<_> = pair.refused.iter().map(|(when, _)| when.as_nanos() / 1_000_000).collect();
    // The ACK of the handshake is refused as well; then the RTO is 300 ms.
    assert_eq!(&at_ms[..4], [100, 100, 400, 700], "{at_ms:?}");
    assert_eq!(pair.sender.stats().timeouts, 0);
    pair.sender.close();
    pair.finish();
    assert_eq!(pair.receiver.delivered(), 3 * MSS);
    assert_eq!(pair.sender.stats().retransmits, 0);
}

#[test]
fn a_timeout_whose_retransmission_is_refused_does_not_back_off() {
    let mut pair = Pair::with(older("linux32"), older("linux32"), "reno");
    pair.sender.write(2 * MSS);
    pair.sender.open(Instant::ZERO);
    let mut pair = pair.lose([1, 2]);
    pair.run_until(at(200));
    pair.refuses_until = at(1500);
    pair.run_until(at(1650));
    let at_ms: Vec<_> = pair.refused.iter().map(|(when, _)| when.as_nanos() / 1_000_000).collect();
    assert_eq!(at_ms, [400, 700, 1000, 1300], "each 300 ms, which is the timeout");
    assert_eq!(pair.times_of(1), [at(100), at(1600)]);
    assert_eq!(pair.sender.stats().retransmits, 1);
    pair.sender.close();
    pair.finish();
    assert_eq!(pair.receiver.delivered(), 2 * MSS);
}

#[test]
fn whatever_is_refused_all_of_it_arrives_once_and_in_order() {
    for (seed, profile) in (1..40_u64).zip(["linux314", "linux32"].into_iter().cycle()) {
        let mut pair = Pair::with(older(profile), older(profile), "cubic");
        pair.sender.write(300 * MSS);
        pair.sender.close();
        pair.sender.open(Instant::ZERO);
        let mut state = seed;
        let mut draw = || {
            // Knuth's MMIX generator. Its upper bits are the more random ones.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 10
        };
        pair.data_fates = (0..3000)
            .map(|_| match draw() {
                0 => Fate::Lose,
                1 | 2 => Fate::Refuse,
                3 => Fate::DropAtHost,
                _ => Fate::Deliver,
            })
            .collect();
        pair.data_fates[..2].fill(Fate::Deliver);
        pair.finish();
        assert_eq!(pair.receiver.delivered(), 300 * MSS, "{profile} {seed}");
        let sent = pair.data.iter().filter(|(_, data)| data.len > 0).count() as u64;
        let stats = pair.sender.stats();
        assert_eq!(stats.data_segments + stats.retransmits, sent, "{profile} {seed}");
    }
}

#[test]
fn nothing_is_sent_again_while_the_hosts_own_queue_holds_the_whole_connection() {
    for profile in ["linux314", "linux32"] {
        // A probe of the tail would come before the timeout.
        let send_tuning = settings(profile).send_tuning;
        let config = Config { tail_loss_probe: false, send_tuning, ..older(profile) };
        let mut pair = Pair::with(config, config, "reno");
        pair.sender.write(2 * MSS);
        pair.sender.open(Instant::ZERO);
        let mut pair = pair.lose([1, 2]);
        pair.run_until(at(200));
        // Both segments and a copy of one: more than 5/4 of what the connection has written.
        pair.sender.set_in_host(3);
        pair.run_until(at(1050));
        assert_eq!(pair.times_of(1).len(), 1, "{profile}: {:?}", pair.times_of(1));
        assert_eq!(
            pair.sender.stats().timeouts,
            2,
            "{profile}: at 400 and 1000 ms, which counts all the same"
        );
        pair.sender.set_in_host(2);
        pair.run_until(at(2300));
        // 1200 ms after the second timeout.
        assert_eq!(pair.times_of(1).get(1), Some(&at(2200)), "{profile}");
        pair.sender.set_in_host(0);
        pair.sender.close();
        pair.finish();
        assert_eq!(pair.receiver.delivered(), 2 * MSS, "{profile}");
    }
}

#[test]
fn linux_sends_nothing_while_a_millisecond_of_its_segments_waits_in_the_hosts_queue() {
    for (profile, waits) in [("linux", true), ("rfc", false)] {
        let mut pair = reno(window_of(20, settings(profile)));
        pair.sender.set_host_queue(false);
        pair.run_until(at(1000));
        let sent = |pair: &Pair| pair.sender.stats().data_segments;
        let before = sent(&pair);
        pair.sender.set_in_host(10_000);
        // ACKs arrive, and open the window.
        pair.run_until(at(1150));
        assert_eq!(sent(&pair) == before, waits, "{profile}");
        assert_eq!(pair.sender.awaits_host(), waits, "{profile}");
        pair.sender.set_in_host(0);
        pair.run_until(at(1600));
        assert!(sent(&pair) > before, "{profile}");
        assert!(!pair.sender.awaits_host(), "{profile}");
    }
}

#[test]
fn a_queue_that_paces_gets_segments_before_their_departure() {
    let mut pair = reno(window_of(20, settings("linux")));
    pair.sender.set_host_queue(true);
    pair.run_until(at(1000));
    let rate = pair.sender.pacing_rate().expect("fq paces every controller");
    let per_round_trip = rate as f64 * pair.sender.srtt().expect("sampled").as_nanos() as f64 * 1e-9;
    let ratio = per_round_trip / pair.sender.cwnd() as f64;
    assert!((1.1..=2.0).contains(&ratio), "120 or 200 % of a window in a round trip: {ratio}");
    assert!(pair.sender.departure().is_some());
    let mut other = reno(window_of(20, settings("rfc")));
    other.sender.set_host_queue(true);
    other.run_until(at(1000));
    assert_eq!(other.sender.departure(), None, "a stack that does not know such queues");
}
