use alloc::vec::Vec;

use super::*;

type Newest = Prague<Current>;

const MSS: u64 = 1000;

/// Feedback at `millis` of `delivered` segments of which `marked` were marked, with an RTT of 50 ms
/// and 100 segments in flight.
fn feedback(millis: u64, delivered: u64, marked: u64) -> Feedback {
    let rtt = Duration::from_millis(50);
    Feedback {
        now: Instant::from_nanos(millis * 1_000_000),
        una: millis * MSS,
        next: (millis + 50) * MSS,
        acked: delivered * MSS,
        delivered: delivered * MSS,
        lost: 0,
        pipe: 100 * MSS,
        pipe_before: 100 * MSS,
        until_departure: Duration::ZERO,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        one_way_delay: None,
        stamps: None,
        app_limited: false,
        clock_start_ms: 0,
        ecn_echo: marked > 0,
        marked: marked * MSS,
        accurate: true,
        in_recovery: false,
        own_slow_start: true,
        rate: None,
        mss: 1000,
        headers: 52,
    }
}

/// Beyond slow start with 100 segments.
fn avoiding() -> (Newest, Window) {
    let window = Window { cwnd: 100 * MSS, ssthresh: 100 * MSS };
    let prague = Prague { window: 100_000.0, has_marks: true, ..Prague::default() };
    (prague, window)
}

#[test]
fn the_first_mark_halves_the_window_which_falls_by_a_segment_per_ack() {
    let mut prague = Newest::default();
    let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
    prague.on_feedback(&feedback(0, 2, 0), &mut window);
    assert_eq!((prague.window, window.cwnd), (102_000.0, 102 * MSS));
    prague.on_feedback(&feedback(1, 2, 2), &mut window);
    assert_eq!((prague.window, window.cwnd, window.ssthresh), (51_000.0, 101 * MSS, 101 * MSS));
    prague.on_feedback(&feedback(2, 2, 2), &mut window);
    assert_eq!((prague.window, window.cwnd), (51_000.0, 100 * MSS));
}

#[test]
fn slow_start_lasts_until_an_ack_has_marked_packets_only() {
    let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
    let mut prague = Newest::default();
    prague.on_feedback(&feedback(0, 2, 0), &mut window);
    // The packet beside the marked one lets slow start go on, and its window replaces the halved
    // one.
    prague.on_feedback(&feedback(1, 2, 1), &mut window);
    assert_eq!((prague.window, window.cwnd, window.ssthresh), (103_000.0, 103 * MSS, u64::MAX));
    // Nothing cuts a second time within the round trip, and alpha is 0.
    prague.on_feedback(&feedback(2, 1, 1), &mut window);
    assert_eq!((prague.window, window.ssthresh), (103_000.0, u64::MAX));
}

#[test]
fn with_an_alpha_of_1_the_next_mark_cuts_nearly_half_again() {
    let mut prague = Newest::default();
    prague.set("alpha_mode", Value::Count(1));
    let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
    prague.on_feedback(&feedback(0, 2, 0), &mut window);
    prague.on_feedback(&feedback(1, 2, 2), &mut window);
    assert_eq!((prague.window, window.cwnd), (51_000.0, 101 * MSS));
    // A round later.
    prague.on_feedback(&feedback(52, 1, 0), &mut window);
    let before = prague.window;
    prague.on_feedback(&feedback(53, 1, 1), &mut window);
    assert!(prague.window < 0.6 * before, "{} of {before}", prague.window);
}

#[test]
fn alpha_moves_by_a_sixteenth_per_round_and_the_window_falls_by_half_of_it() {
    let (mut prague, mut window) = avoiding();
    prague.on_feedback(&feedback(50, 8, 4), &mut window);
    assert!((prague.alpha - 0.5 / 16.0).abs() < 1e-12, "half of the round was marked: {}", prague.alpha);
    let before = prague.window;
    // The ACK of what was sent by the first mark ends its event only when more is acknowledged.
    prague.on_feedback(&feedback(100, 4, 4), &mut window);
    assert!((prague.window - before).abs() < 1e-9);
    prague.on_feedback(&feedback(101, 4, 4), &mut window);
    assert!((prague.window - before * (1.0 - prague.alpha / 2.0)).abs() < 1e-6);
    // Once per round trip.
    let reduced = prague.window;
    prague.on_feedback(&feedback(102, 4, 4), &mut window);
    assert!((prague.window - reduced).abs() < 1e-9);
}

#[test]
fn a_mark_within_the_target_begins_an_event_that_cuts_nothing() {
    let (mut prague, mut window) = avoiding();
    (prague.rounds, prague.alpha) = (4, 0.5);
    // A path of 10 ms: what is sent at a mark is acknowledged 10 ms later.
    let at = |millis: u64| Feedback { next: (millis + 10) * MSS, ..feedback(millis, 1, 1) };
    let mut cuts = Vec::new();
    for millis in 1..100 {
        let before = prague.window;
        prague.on_feedback(&at(millis), &mut window);
        if prague.window < before {
            cuts.push(millis);
        }
    }
    // Events begin every 11 ms, so the first one after 25 ms is the third.
    assert_eq!(cuts, [1, 34, 67]);
}

#[test]
fn unmarked_bytes_grow_the_window_also_beside_marks() {
    let (mut prague, mut window) = avoiding();
    prague.event_end = Some(u64::MAX);
    prague.on_feedback(&feedback(1, 10, 4), &mut window);
    assert!((prague.window - (100_000.0 + 6.0 * 1000.0 * 1000.0 / 100_000.0)).abs() < 1e-9);
    let grown = prague.window;
    prague.on_feedback(&Feedback { in_recovery: true, ..feedback(2, 10, 0) }, &mut window);
    assert!((prague.window - grown).abs() < 1e-9, "not in recovery");
    prague.on_feedback(&Feedback { app_limited: true, ..feedback(3, 10, 0) }, &mut window);
    assert!((prague.window - grown).abs() < 1e-9, "not if the application lacks data");
    prague.on_feedback(&Feedback { pipe_before: 10 * MSS, ..feedback(4, 10, 0) }, &mut window);
    assert!(prague.window > grown, "also if pacing leaves the window empty");
}

#[test]
fn below_the_target_the_increase_falls_with_the_square_of_the_rtt() {
    let at = |millis| Feedback { srtt: Duration::from_millis(millis), ..feedback(1, 1, 0) };
    let mut prague = Newest { rounds: 3, ..Prague::default() };
    assert_eq!(prague.increase(&at(5)), 1.0, "not yet");
    prague.rounds = 4;
    // The square of 5 ms / 25 ms.
    assert!((prague.increase(&at(5)) - 0.04).abs() < 1e-12);
    assert_eq!([25, 50, 200].map(|millis| prague.increase(&at(millis))), [1.0; 3]);
    assert_eq!(prague.increase(&Feedback { accurate: false, ..at(5) }), 1.0);
}

#[test]
fn it_is_paced_at_the_rate_of_its_window_and_sends_250_us_at_a_time() {
    let (mut prague, mut window) = avoiding();
    prague.on_feedback(&feedback(1, 1, 0), &mut window);
    // 100 segments of 1000 bytes and their headers per 50 ms.
    assert_eq!(prague.pacing().rate, Some(2_104_000));
    assert_eq!(prague.pacing().burst, Some(1));
    prague.pace = Some(125e6);
    assert_eq!(prague.pacing().burst, Some(29), "1 Gbit/s brings 29 packets of 1052 bytes in 1/4096 s");
    // Without AccECN it is Reno.
    prague.on_feedback(&Feedback { accurate: false, ..feedback(2, 1, 0) }, &mut window);
    assert_eq!(prague.pacing().rate, None);
}

/// Feedback of a path of 5 ms with a window of 4 segments.
fn short(millis: u64, delivered: u64, marked: u64) -> Feedback {
    let rtt = Duration::from_millis(5);
    Feedback {
        srtt: rtt,
        rtt: Some(rtt),
        min_rtt: rtt,
        pipe: 3 * MSS,
        pipe_before: 4 * MSS,
        ..feedback(millis, delivered, marked)
    }
}

#[test]
fn a_window_of_few_segments_gives_way_to_a_rate() {
    let mut window = Window { cwnd: 4 * MSS, ssthresh: 4 * MSS };
    let mut prague = Newest { window: 3500.0, has_marks: true, rounds: 4, alpha: 0.4, ..Prague::default() };
    prague.on_feedback(&short(1, 1, 0), &mut window);
    assert!(prague.rate.decides);
    let rate = prague.rate.bytes;
    // A mark cuts the rate, and the window is what the rate brings in a round trip.
    prague.on_feedback(&short(2, 1, 1), &mut window);
    assert!((prague.rate.bytes - 0.8 * rate).abs() < 1e-6, "{} of {rate}", prague.rate.bytes);
    assert!((prague.window - prague.rate.window(1052.0) * 1000.0).abs() < 1e-9);
    // The rate grows by a packet per target, in steps of each packet that is not marked.
    let cut = prague.rate.bytes;
    prague.on_feedback(&short(3, 1, 0), &mut window);
    assert!(prague.rate.bytes > cut && prague.rate.bytes < 1.1 * cut);
    // 3 % more in the first half of the target and 3 % less in the second.
    prague.updated = Instant::from_nanos(4_000_000);
    let share = |prague: &Newest| prague.pace.expect("paced") / prague.rate.bytes;
    prague.on_feedback(&short(5, 1, 1), &mut window);
    assert!((share(&prague) - 1.03125).abs() < 1e-9);
    prague.on_feedback(&short(20, 1, 1), &mut window);
    assert!((share(&prague) - 0.96875).abs() < 1e-9);
    // A larger window takes over again.
    window.cwnd = 8 * MSS;
    prague.window = 8000.0;
    prague.on_feedback(&short(21, 1, 1), &mut window);
    assert!(!prague.rate.decides);
}

#[test]
fn a_loss_halves_the_window_and_an_undo_brings_it_back() {
    let (mut prague, _) = avoiding();
    let event = |signal| Congestion {
        now: Instant::ZERO,
        signal,
        cwnd: 100 * MSS,
        in_flight: 100 * MSS,
        mss: 1000,
        whole: true,
    };
    assert_eq!(prague.on_congestion(&event(Signal::Ecn)), 100 * MSS, "the feedback has answered it");
    assert_eq!(prague.on_congestion(&event(Signal::Loss)), 50 * MSS);
    prague.on_undo();
    assert_eq!(prague.window, 100_000.0);
    prague.window = 1.0;
    assert_eq!(prague.on_congestion(&event(Signal::Timeout)), 2 * MSS);
}

#[test]
fn the_window_is_rounded_up_to_segments() {
    let moved = |exact: f64| {
        let (mut prague, mut window) = avoiding();
        prague.window = exact;
        // The ACK adds a hundredth of its segment.
        prague.on_feedback(&feedback(1, 1, 0), &mut window);
        window.cwnd / MSS
    };
    assert_eq!([98_400.0, 99_400.0, 100_400.0].map(moved), [99, 100, 101]);
}

#[test]
fn behind_a_classic_aqm_a_mark_cuts_at_least_as_much_as_cubic() {
    for (falls_back, least) in [(0, 0.0), (1, 0.3125)] {
        let (mut prague, mut window) = avoiding();
        prague.set("ecn_fallback", Value::Count(falls_back));
        // The queue swings by 10 ms over a path of 20 ms, for 400 round trips.
        let at = |step: u64| Feedback {
            rtt: Some(Duration::from_millis(if step.is_multiple_of(2) { 25 } else { 35 })),
            min_rtt: Duration::from_millis(20),
            srtt: Duration::from_millis(30),
            ..feedback(step * 51, 2, u64::from(step.is_multiple_of(100)) * 2)
        };
        for step in 0..400 {
            prague.on_feedback(&at(step), &mut window);
        }
        let before = prague.window;
        prague.on_feedback(&at(400), &mut window);
        let share = 1.0 - prague.window / before;
        assert!((share - least).abs() < 0.02, "{share}");
    }
}
