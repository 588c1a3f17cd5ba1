//! What Linux's ends do that others see: segments in bursts, ACKs that are not delayed, windows
//! that grow, coarse timers.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::congestion::parameter::Value;
use goodqueue_tcp::{Config, Flags, Segment, Timers};

use crate::pair::{Pair, at, ms};
use crate::profiles::{adaptive, connected, data, linux, settings, window_of};

const MSS: u64 = 1460;

/// Segments of 1460 bytes beside the timestamps.
fn as_it_is(profile: &str) -> Config {
    Config { mss: 1472, ..settings(profile) }
}

fn pushed(pair: &Pair) -> Vec<bool> {
    pair.data
        .iter()
        .filter(|(_, data)| data.len > 0)
        .map(|(_, data)| data.flags.contains(Flags::PSH))
        .collect()
}

#[test]
fn the_last_segment_of_each_burst_is_pushed() {
    let mut pair = Pair::bulk(linux());
    pair.run_until(at(100));
    assert_eq!(pushed(&pair), [false, true].repeat(5));
}

#[test]
fn a_burst_of_linux_61_ends_with_its_piece_and_one_of_linux_73_takes_from_the_next_piece() {
    // A piece has at most half of the largest window: an odd number of segments here. A segment
    // that is pushed right after another one left alone.
    let has_single_segments = |fills_bursts| {
        let mut pair = Pair::bulk(Config { rwnd: 14_600, fills_bursts, ..linux() });
        pair.run_until(at(1000));
        // The first window leaves while it is written, when no other piece is there yet.
        pushed(&pair)[10..].windows(2).any(|two| two == [true, true])
    };
    assert!(has_single_segments(settings("linux61").fills_bursts));
    assert!(!has_single_segments(settings("linux").fills_bursts));
}

#[test]
fn the_last_segment_that_the_application_wrote_is_pushed() {
    let mut pair = Pair::transfer(linux(), 3);
    pair.finish();
    assert_eq!(pushed(&pair), [false, true, true]);
}

#[test]
fn what_is_left_of_the_window_waits_for_the_next_ack() {
    // Eleven segments: five bursts of two leave; as the first ACK will come soon, the eleventh
    // waits for it.
    let config =
        Config { delayed_ack: Config::default().delayed_ack, quick_acks: 0, ..window_of(11, linux()) };
    let mut pair = Pair::bulk(config);
    pair.run_until(at(100));
    assert_eq!(
        pair.data.iter().filter(|(_, data)| data.len > 0).count(),
        11,
        "nothing is out: no ACK will come"
    );
    pair.run_until(at(200));
    let sent = pair.sender.in_flight();
    assert!(pair.sender.cwnd() - sent <= MSS, "at most one is left out: {sent}");
}

#[test]
fn a_pushed_segment_is_acknowledged_at_once() {
    let mut receiver = connected(Config { adaptive_acks: true, mss: 100, ..adaptive() });
    receiver.on_segment(at(1), &data(0));
    assert!(receiver.poll_transmit(at(1)).is_none(), "the first of two waits");
    receiver.on_segment(at(1), &data(1));
    assert!(receiver.poll_transmit(at(1)).is_some());
    receiver.on_segment(at(2), &Segment { flags: Flags::ACK | Flags::PSH, ..data(2) });
    assert!(receiver.poll_transmit(at(2)).is_some());
}

#[test]
fn a_short_segment_is_acknowledged_at_once() {
    let mut receiver = connected(Config { adaptive_acks: true, mss: 101, ..adaptive() });
    receiver.on_segment(at(1), &data(0));
    assert!(receiver.poll_transmit(at(1)).is_some());
}

#[test]
fn the_window_grows_with_what_a_round_trip_brings() {
    let mut pair = Pair::bulk(as_it_is("linux"));
    pair.run_until(at(1000));
    let windows: Vec<u32> = pair.acks.iter().map(|(_, ack)| ack.window).collect();
    // The first is that of the SYN/ACK, which is never scaled (RFC 7323 §2.2).
    assert!(windows[0] < 65_536, "{}", windows[0]);
    assert!(windows.windows(2).all(|two| two[1] + 2 * 1460 >= two[0]), "it grows");
    let last = *windows.last().expect("some");
    assert!(u64::from(last) > pair.sender.in_flight(), "and never holds the sender back: {last}");
}

#[test]
fn while_the_window_of_linux_61_grows_no_ack_is_delayed() {
    let mut pair = Pair::bulk(as_it_is("linux61"));
    // 10, 20 and 40 segments; the sixteen quick ACKs end within the second round.
    pair.run_until(at(400));
    let acknowledged: Vec<u64> =
        pair.acks.windows(2).map(|two| (two[1].1.ack - two[0].1.ack) / MSS).collect();
    let singles = acknowledged.iter().rev().take(20).filter(|&&segments| segments == 1).count();
    assert!(singles >= 18, "{acknowledged:?}");
}

#[test]
fn the_window_is_never_larger_than_the_application_allows() {
    let mut pair = Pair::bulk(Config { rwnd: 20 * 1460, ..as_it_is("linux") });
    pair.run_until(at(2000));
    assert!(pair.acks.iter().all(|(_, ack)| ack.window <= 20 * 1460));
    assert!(pair.sender.in_flight() <= 20 * MSS);
}

#[test]
fn a_receiver_that_waited_in_vain_waits_longer_next_time_up_to_the_round_trip() {
    // The handshake took 100 ms.
    let config =
        Config { quick_acks: 0, timers: Timers::Exact, timestamps: false, mss: 100, ..settings("linux") };
    let mut receiver = goodqueue_tcp::Receiver::new(config).expect("valid");
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(100), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    let mut waited = Vec::new();
    for number in 0..4 {
        let now = at(1000 + number * 200);
        receiver.on_segment(now, &data(number));
        let due = receiver.next_event().expect("delayed");
        waited.push(due.since(now));
        assert!(receiver.poll_transmit(due).is_some());
    }
    assert_eq!(waited, [ms(40), ms(80), ms(100), ms(100)]);
}

#[test]
fn a_timeout_fires_at_the_end_of_a_slot_of_the_timer_wheel() {
    let mut pair =
        Pair::bulk(Config { timers: Timers::Wheel, tail_loss_probe: false, ..linux() }).lose(1..=10);
    pair.run_while(|pair| pair.sender.stats().timeouts == 0);
    // sent at 100, due 300 ms later, within slots of 8 ms
    assert_eq!(pair.now, at(408));
    let exact = Instant::ZERO + Duration::from_millis(400);
    assert_eq!(Timers::Wheel.expiry(at(100), ms(300)), exact + ms(8));
}

#[test]
fn the_probe_restarts_the_timeout() {
    // RFC 8985 §7.3: sent at 100; probed at 302; the timeout counts from there.
    let mut pair = Pair::bulk(linux()).lose(1..=11);
    pair.run_while(|pair| pair.sender.stats().timeouts == 0);
    assert_eq!(pair.sender.stats().tail_loss_probes, 1);
    assert_eq!(pair.now, at(302 + 300));
}

#[test]
fn a_probe_of_new_data_is_a_burst_of_its_own() {
    // The first window is lost, so the probe is the eleventh segment. The end of the burst before
    // it has left already, and a single segment carries no PSH.
    let mut pair = Pair::bulk(linux()).lose(1..=11);
    pair.run_while(|pair| pair.sender.stats().tail_loss_probes == 0);
    assert_eq!(pushed(&pair), [[false, true].repeat(5), vec![false]].concat());
}

#[test]
fn what_is_left_of_the_window_also_waits_while_the_pace_of_the_last_burst_lasts() {
    // Each 22 ms a burst of two. At 299.5 ms one segment of eleven is left, and the next ACK comes
    // half a millisecond later.
    let config = Config { delayed_ack: Config::default().delayed_ack, quick_acks: 0, ..linux() };
    let mut pair = Pair::bulk_with(config, "fixed");
    pair.sender.set_parameter("window", Value::Count(11)).expect("valid");
    pair.sender.set_parameter("rate", Value::Count(8 * 2 * MSS * 1_000_000 / 22_110)).expect("valid");
    pair.run_until(at(340));
    let sent =
        |from: u64, to: u64| pair.data.iter().filter(|(time, _)| at(from) < *time && *time < at(to)).count();
    assert_eq!([sent(290, 300), sent(299, 301)], [0, 2]);
}

#[test]
fn a_paced_sender_has_no_more_out_than_its_send_buffer_holds() {
    // The path has no bottleneck, so only the buffer of 4 MB bounds the startup of BBR.
    let mut pair = Pair::bulk_with(linux(), "bbr");
    let mut most = 0;
    while pair.now < at(1800) && pair.step() {
        most = most.max(pair.sender.in_flight());
    }
    assert!((3_000_000..4 << 20).contains(&most), "{most}");
}

#[test]
fn a_repeated_syn_ack_waits_for_the_timer_wheel() {
    let mut receiver = goodqueue_tcp::Receiver::new(settings("linux")).expect("valid");
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert!(receiver.poll_transmit(at(0)).is_some());
    assert_eq!(receiver.next_event(), Some(Timers::Wheel.expiry(at(0), ms(1000))));
    assert!(receiver.next_event() > Some(at(1000)));
}

#[test]
fn the_timestamp_tells_which_syn_ack_was_answered() {
    let config = Config { quick_acks: 0, timers: Timers::Exact, mss: 100, ..settings("linux") };
    let stamp = |time: Instant| u32::try_from(time.as_nanos() / 1000).expect("early");
    let mut receiver = goodqueue_tcp::Receiver::new(config).expect("valid");
    let syn = Segment { flags: Flags::SYN, ts_val: 1, ..Segment::default() };
    for time in [at(1000), at(1950)] {
        receiver.on_segment(time, &syn);
        assert!(receiver.poll_transmit(time).is_some());
    }
    // The first of them took a second to come back.
    let answer = Segment { seq: 1, ack: 1, flags: Flags::ACK, ts_val: 2, ts_ecr: stamp(at(1000)), ..syn };
    receiver.on_segment(at(2000), &answer);
    let mut waited = Vec::new();
    for number in 0..4 {
        let now = at(3000 + number * 300);
        receiver.on_segment(now, &Segment { ts_val: stamp(now), ts_ecr: stamp(at(2000)), ..data(number) });
        let due = receiver.next_event().expect("delayed");
        waited.push(due.since(now));
        assert!(receiver.poll_transmit(due).is_some());
    }
    // It waits for a second segment up to 200 ms. A round trip of 50 ms would allow 50 ms.
    assert_eq!(waited, [ms(40), ms(80), ms(160), ms(200)]);
}

#[test]
fn pauses_between_segments_count_in_ticks_of_the_kernels_clock() {
    let config = Config { quick_acks: 1, timestamps: false, mss: 100, ..settings("linux") };
    let mut receiver = goodqueue_tcp::Receiver::new(config).expect("valid");
    let micros = |micros: u64| at(0) + Duration::from_micros(micros);
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(300), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    receiver.on_segment(micros(1_000_000), &data(0));
    assert!(receiver.poll_transmit(micros(1_000_000)).is_some(), "the first is quick");
    receiver.on_segment(micros(1_030_020), &data(1));
    assert_eq!(receiver.next_event(), Some(at(1081)), "a pause of 30 ticks: half of 40, and 30");
    receiver.on_segment(micros(1_030_050), &data(2));
    assert!(receiver.poll_transmit(micros(1_030_050)).is_some());
    // Half of 50 and half of 40, then 29.9 ms in which 29 ticks began: half of 45, rounded down,
    // and 29.
    receiver.on_segment(micros(1_059_950), &data(3));
    assert_eq!(receiver.next_event(), Some(at(1111)));
}
