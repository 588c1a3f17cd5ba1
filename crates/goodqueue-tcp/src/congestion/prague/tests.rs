use super::*;

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
fn avoiding() -> (Prague, Window) {
    let window = Window { cwnd: 100 * MSS, ssthresh: 100 * MSS };
    let prague = Prague { window: 100_000.0, has_marks: true, ..Prague::default() };
    (prague, window)
}

#[test]
fn the_first_mark_ends_slow_start_and_halves_the_window_by_a_segment_per_ack() {
    let mut prague = Prague::default();
    let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
    prague.on_feedback(&feedback(0, 2, 0), &mut window);
    assert_eq!((prague.window, window.cwnd), (102_000.0, 102 * MSS));
    prague.on_feedback(&feedback(1, 2, 2), &mut window);
    assert_eq!((prague.window, window.cwnd, window.ssthresh), (51_000.0, 101 * MSS, 51 * MSS));
    prague.on_feedback(&feedback(2, 2, 2), &mut window);
    assert_eq!((prague.window, window.cwnd), (51_000.0, 100 * MSS));
}

#[test]
fn with_an_alpha_of_1_slow_start_lasts_until_an_ack_has_marked_packets_only() {
    let mut prague = Prague::default();
    prague.set("alpha_mode", Value::Count(1));
    let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
    prague.on_feedback(&feedback(0, 2, 0), &mut window);
    // The mark halves the window, and the packet beside it still lets slow start add one.
    prague.on_feedback(&feedback(1, 2, 1), &mut window);
    assert_eq!((prague.window, window.cwnd), (102_000.0 / 2.0 + 1000.0, 103 * MSS));
    assert_eq!(window.ssthresh, u64::MAX);
    prague.on_feedback(&feedback(2, 1, 1), &mut window);
    assert_eq!((prague.window, window.cwnd, window.ssthresh), (52_000.0, 102 * MSS, 102 * MSS));
    // A round later the next mark cuts nearly half again, while the default has forgotten the
    // first.
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
    prague.on_feedback(&feedback(100, 4, 4), &mut window);
    assert!((prague.window - before * (1.0 - 0.5 / 32.0)).abs() < 1e-6);
    // Once per round trip.
    let reduced = prague.window;
    prague.on_feedback(&feedback(101, 4, 4), &mut window);
    assert!((prague.window - reduced).abs() < 1e-9);
}

#[test]
fn unmarked_bytes_grow_the_window_also_beside_marks() {
    let (mut prague, mut window) = avoiding();
    prague.reduction_end = u64::MAX;
    prague.on_feedback(&feedback(1, 10, 4), &mut window);
    assert!((prague.window - (100_000.0 + 6.0 * 1000.0 * 1000.0 / 100_000.0)).abs() < 1e-9);
    let grown = prague.window;
    prague.on_feedback(&Feedback { in_recovery: true, ..feedback(2, 10, 0) }, &mut window);
    assert!((prague.window - grown).abs() < 1e-9, "not in recovery");
    prague.on_feedback(&Feedback { pipe_before: 10 * MSS, ..feedback(3, 10, 0) }, &mut window);
    assert!((prague.window - grown).abs() < 1e-9, "not if the window is not used");
}

#[test]
fn below_the_target_the_increase_falls_with_the_square_of_the_rtt() {
    let at = |millis| Feedback { srtt: Duration::from_millis(millis), ..feedback(1, 1, 0) };
    let mut prague = Prague { rounds: 3, ..Prague::default() };
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
    let rate = prague.pacing().rate.expect("paced");
    // 100 segments of 1000 bytes and their headers per 50 ms. The window is a segment larger.
    assert!((2_104_000..2_130_000).contains(&rate), "{rate}");
    assert_eq!(prague.pacing().burst, Some(1));
    prague.pace = Some(125e6);
    assert_eq!(prague.pacing().burst, Some(29), "1 Gbit/s brings 29 packets of 1052 bytes in 1/4096 s");
    // Without AccECN it is Reno.
    prague.on_feedback(&Feedback { accurate: false, ..feedback(2, 1, 0) }, &mut window);
    assert_eq!(prague.pacing().rate, None);
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
fn with_a_carry_the_window_moves_once_a_whole_segment_has_gathered() {
    let moved = |carry: u64, exact: f64| {
        let (mut prague, mut window) = avoiding();
        prague.set("carry", Value::Count(carry));
        prague.window = exact;
        // The ACK adds a hundredth of its segment.
        prague.on_feedback(&feedback(1, 1, 0), &mut window);
        window.cwnd / MSS
    };
    assert_eq!([99_400.0, 100_400.0].map(|exact| moved(0, exact)), [100, 101], "rounded up");
    assert_eq!([99_400.0, 100_400.0].map(|exact| moved(1, exact)), [100, 100]);
    assert_eq!([98_900.0, 101_000.0].map(|exact| moved(1, exact)), [99, 101]);
}

#[test]
fn with_a_carry_a_mark_cuts_the_senders_window_which_stops_at_two_segments() {
    let (mut prague, mut window) = avoiding();
    prague.set("carry", Value::Count(1));
    (prague.window, prague.alpha) = (100_900.0, 0.01);
    prague.on_feedback(&feedback(1, 1, 1), &mut window);
    assert_eq!((prague.window, window.cwnd), (100_900.0 - 500.0, 100 * MSS), "half a segment of 100");
    window = Window { cwnd: 2 * MSS, ssthresh: 2 * MSS };
    prague.window = 500.0;
    prague.on_feedback(&feedback(2, 1, 1), &mut window);
    assert_eq!((prague.window, window.cwnd), (2000.0, 2 * MSS), "no debt is kept below them");
}
