use super::*;
use crate::congestion::GrowthRule;

const MSS: u32 = 1460;

fn segments(count: u64) -> u64 {
    count * u64::from(MSS)
}

fn ack(now: Instant, rtt_ms: u64) -> Ack {
    let rtt = Duration::from_millis(rtt_ms);
    let acked = u64::from(MSS);
    Ack {
        now,
        acked,
        srtt: rtt,
        rtt: None,
        ssthresh: 0,
        mss: MSS,
        covered: 0,
        growth: GrowthRule::ABC,
        may_grow: true,
        ecn_echo: false,
    }
}

fn loss(cwnd: u64) -> Congestion {
    let now = Instant::ZERO;
    Congestion {
        now,
        signal: Signal::Loss,
        cwnd: segments(cwnd),
        in_flight: segments(cwnd),
        mss: MSS,
        whole: false,
    }
}

/// A controller in congestion avoidance at time 0 after a loss at `cwnd` segments, and its window.
fn after_loss(cwnd: u64) -> (Cubic, u64) {
    let mut cubic = Cubic::default();
    let reduced = cubic.on_congestion(&loss(cwnd));
    let window = cubic.on_ack(&mut ack(Instant::ZERO, 0), reduced);
    (cubic, window)
}

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() < tolerance, "{value} instead of {expected}");
}

#[test]
fn the_plateau_is_reached_after_k_seconds() {
    // K³ = 0.3 · plateau / 0.4, and the window after a second is 0.4 · (1 - K)³ + plateau (RFC 9438
    // §4.2).
    for (plateau, k, at_one_second) in
        [(10, 1.957, None), (50, 3.347, Some(44.83)), (100, 4.217, Some(86.68)), (500, 7.211, Some(404.15))]
    {
        let (cubic, window) = after_loss(plateau);
        let reduced = segments(plateau) * 7 / 10;
        assert!((reduced..reduced + u64::from(MSS) / 10).contains(&window));
        close(cubic.k, k, 0.001);
        let mss = f64::from(MSS);
        close(cubic.window_at(cubic.k, mss) / mss, bytes(plateau), 1e-9);
        close(cubic.window_at(0.0, mss) / mss, bytes(plateau) * 0.7, 1e-9);
        if let Some(expected) = at_one_second {
            close(cubic.window_at(1.0, mss) / mss, expected, 0.01);
        }
    }
}

#[test]
fn a_loss_below_the_last_plateau_makes_room() {
    let mut cubic = Cubic::default();
    assert_eq!(cubic.on_congestion(&loss(100)), segments(70));
    close(cubic.w_max / f64::from(MSS), 100.0, 1e-9);
    assert_eq!(cubic.on_congestion(&loss(80)), segments(56));
    // 80 · (1 + 0.7) / 2 (RFC 9438 §4.7).
    close(cubic.w_max / f64::from(MSS), 68.0, 1e-9);
}

#[test]
fn the_window_follows_the_function() {
    // RTT 100 ms: slow enough to be above what Reno would have, 70 + 0.529 * 10
    let (mut cubic, mut window) = after_loss(100);
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Duration::from_secs(1) {
        now += Duration::from_nanos(100_000_000 * u64::from(MSS) / window);
        window = cubic.on_ack(&mut ack(now, 100), window);
    }
    close(bytes(window) / f64::from(MSS), 86.68, 0.5);
}

#[test]
fn a_small_window_grows_as_fast_as_reno() {
    // cwnd 7 after a loss at 10, RTT 10 ms: W_est gains 0.529 per round up to the old window,
    // then 1.
    let (mut cubic, mut window) = after_loss(10);
    let mut now = Instant::ZERO;
    let mut rounds = 0.0;
    let mut rounds_to_plateau = 0.0;
    while rounds < 16.0 {
        let share = f64::from(MSS) / bytes(window);
        rounds += share;
        now += Duration::from_nanos(10_000_000 * u64::from(MSS) / window);
        window = cubic.on_ack(&mut ack(now, 10), window);
        if window < segments(10) {
            rounds_to_plateau = rounds;
        }
    }
    close(rounds_to_plateau, 3.0 / Law::default().alpha, 0.4);
    close(bytes(window) / f64::from(MSS), 10.0 + 16.0 - rounds_to_plateau, 0.5);
}

#[test]
fn the_target_is_at_most_half_a_window_away() {
    let (mut cubic, window) = after_loss(10);
    let hour = Instant::ZERO + Duration::from_secs(3600);
    let grown = cubic.on_ack(&mut ack(hour, 100), window);
    assert!(grown <= window + segments(1) / 2 + 1, "{grown}");
}

#[test]
fn time_without_use_does_not_count() {
    let (mut cubic, window) = after_loss(100);
    let (mut fresh, _) = after_loss(100);
    let hour = Duration::from_secs(3600);
    let idle = Instant::ZERO + hour;
    cubic.on_idle(idle, hour);
    let later = cubic.on_ack(&mut ack(idle + Duration::from_millis(100), 100), window);
    assert_eq!(later, fresh.on_ack(&mut ack(Instant::ZERO + Duration::from_millis(100), 100), window));
    let mut limited = Ack { may_grow: false, ..ack(idle + hour, 100) };
    assert_eq!(cubic.on_ack(&mut limited, window), window);
}

#[test]
fn after_a_timeout_the_plateau_is_where_avoidance_begins() {
    let mut cubic = Cubic::default();
    let timeout = Congestion { signal: Signal::Timeout, ..loss(100) };
    assert_eq!(cubic.on_congestion(&timeout), segments(70));
    let mut slow = Ack { ssthresh: segments(70), ..ack(Instant::ZERO, 0) };
    assert_eq!(cubic.on_ack(&mut slow, segments(1)), segments(2));
    cubic.on_ack(&mut ack(Instant::ZERO, 0), segments(70));
    close(cubic.k, 0.0, f64::EPSILON);
    close(cubic.w_max / f64::from(MSS), 70.0, 1e-9);
}

#[test]
fn windows_at_the_edge_of_the_range_are_survived() {
    for cwnd in [0, 1, 1 << 31, u64::MAX] {
        let mut cubic = Cubic::default();
        let event = Congestion { cwnd, in_flight: cwnd, ..loss(1) };
        assert!(cubic.on_congestion(&event) >= segments(2));
        for now in [Instant::MAX, Instant::ZERO, Instant::from_nanos(1)] {
            assert!(cubic.on_ack(&mut ack(now, 100), cwnd) >= cwnd / 2);
        }
    }
}
