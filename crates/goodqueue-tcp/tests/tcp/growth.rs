//! How the window grows.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::Config;

use crate::pair::{Fate, MSS, Pair, at, quick};

/// Data segments sent at each time.
fn rounds(pair: &Pair) -> Vec<(Instant, usize)> {
    let mut rounds: Vec<(Instant, usize)> = Vec::new();
    for (time, _) in pair.data.iter().filter(|entry| entry.1.len > 0) {
        match rounds.last_mut() {
            Some(last) if last.0 == *time => last.1 += 1,
            _ => rounds.push((*time, 1)),
        }
    }
    rounds
}

#[test]
fn sixty_kilobytes_take_three_rounds_after_the_handshake() {
    let mut pair = Pair::new(quick());
    pair.sender.write(60_000);
    pair.sender.close();
    pair.sender.open(Instant::ZERO);
    assert_eq!(pair.finish(), at(400));
    assert_eq!(rounds(&pair), [(at(100), 10), (at(200), 20), (at(300), 12)]);
    assert_eq!(pair.receiver.delivered(), 60_000);
    // 60,000 bytes are 42 segments; the SYN and the ACK of its answer count, too.
    assert_eq!(pair.sender.stats().segments, 42 + 2);
}

#[test]
fn slow_start_doubles_with_an_ack_each_and_grows_by_half_with_delayed_acks() {
    let mut each = Pair::bulk(quick());
    each.run_until(at(400));
    let counts: Vec<_> = rounds(&each).iter().map(|round| round.1).collect();
    assert_eq!(counts, [10, 20, 40, 80]);
    let mut delayed = Pair::bulk(Config::default());
    delayed.run_until(at(200));
    assert_eq!(delayed.sender.cwnd(), 15 * MSS);
    // The SYN/ACK, and one for each two of ten segments.
    assert_eq!(delayed.acks.len(), 6);
}

#[test]
fn congestion_avoidance_adds_a_segment_per_round() {
    for config in [quick(), Config::default()] {
        let mut pair = Pair::bulk(Config { initial_ssthresh: 10 * MSS, ..config });
        pair.run_until(at(199));
        assert_eq!(pair.sender.cwnd(), 10 * MSS);
        pair.run_until(at(250));
        assert_eq!(pair.sender.cwnd(), 11 * MSS);
        pair.run_until(at(950));
        let segments = pair.sender.cwnd() / MSS;
        // Seven further round trips have ended, and each adds one at most.
        assert!((16..=18).contains(&segments), "{segments}");
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for name in ["newreno", "cubic"] {
        let mut pair = Pair::with(quick(), quick(), name);
        pair.sender.open(Instant::ZERO);
        for round in 1..20 {
            pair.sender.write(3 * MSS);
            pair.run_until(at(round * 100));
        }
        assert_eq!(pair.sender.cwnd(), 10 * MSS);
        assert_eq!(pair.sender.stats().idle_restarts, 0);
    }
}

#[test]
fn after_idle_it_restarts_from_the_initial_window() {
    for (restart, expected) in [(true, 10), (false, 21)] {
        let mut pair = Pair::new(Config { idle_restart: restart, ..quick() });
        pair.sender.open(Instant::ZERO);
        pair.sender.write(30 * MSS);
        pair.run_until(at(3000));
        // the last round of 20 filled the window until its first ACK came
        assert_eq!(pair.sender.cwnd(), 21 * MSS);
        pair.sender.write(1000 * MSS);
        pair.run_until(at(3001));
        assert_eq!(pair.sender.in_flight(), expected * MSS);
        assert_eq!(pair.sender.stats().idle_restarts, u64::from(restart));
    }
}

#[test]
fn cubic_returns_to_its_plateau() {
    let config = Config { initial_ssthresh: 100 * MSS, iw: 100, ..quick() };
    let mut pair = Pair::bulk_with(config, "cubic").lose([1]);
    pair.through_recovery();
    assert_eq!(pair.sender.ssthresh(), 70 * MSS);
    let start = pair.now;
    let mut segments_after = |seconds: u64| {
        pair.run_until(start + Duration::from_secs(seconds));
        pair.sender.cwnd() as f64 / MSS as f64
    };
    // W(1 s) = 86.68, W(K = 4.217 s) = 100; the window is an RTT ahead of what it was when last
    // acknowledged
    let first = segments_after(1);
    assert!((first - 86.7).abs() < 1.5, "{first}");
    // K is 4.2 s, so the window is at its plateau from 4 s on.
    let plateau = segments_after(4);
    assert!((plateau - 100.0).abs() < 0.5, "{plateau}");
    // W(8 s) = 121.7.
    assert!(segments_after(8) > 115.0);
}

#[test]
fn the_mean_rate_under_periodic_loss_is_that_of_the_model() {
    // Every n-th packet lost: the window saws between W/2 and W, 3/8 W^2 packets a tooth (Mathis et
    // al. 1997).
    for (period, sack) in [(200, true), (200, false), (1000, true)] {
        let mut pair = Pair::bulk(Config { sack, initial_ssthresh: 20 * MSS, ..quick() });
        pair.data_fates =
            (1..200_000).map(|n| if n % period == 0 { Fate::Lose } else { Fate::Deliver }).collect();
        pair.run_until(at(200_000));
        // The mean of a saw between W/2 and W is 3/4 W.
        let window = 0.75 * (f64::from(period) * 8.0 / 3.0).sqrt();
        // 200 s have 2000 round trips.
        let measured = pair.receiver.delivered() as f64 / MSS as f64 / 2000.0;
        let ratio = measured / window;
        assert!((0.85..1.15).contains(&ratio), "period {period}, sack {sack}: {measured} against {window}");
    }
}

#[test]
fn cubic_s_average_window_under_periodic_loss_is_that_of_the_rfc_less_fast_convergence() {
    // RFC 9438 §5.1, equation 6: with one loss in 1 / p segments the window is (C (3 + β) / (4 (1 -
    // β)))^(1/4) · RTT^(3/4) / p^(3/4) segments in the mean, here 187; a Reno-friendly window
    // (equation 4 of §4.3) would be 122. The equation knows no fast convergence (§4.7), which may
    // put the plateau at (1 + β) / 2 of the window, from where it comes back by a fraction of a
    // segment per epoch.
    const SEGMENTS: u64 = 10_000;
    let c = 0.4_f64;
    let beta = 0.7_f64;
    let rtt = 0.1_f64;
    let p = 1.0 / SEGMENTS as f64;
    let expected = libm::pow(c * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25) * libm::pow(rtt / p, 0.75);
    let config = Config { initial_ssthresh: 200 * MSS, ..quick() };
    let mut pair = Pair::bulk_with(config, "cubic").lose((1..=6).map(|number| number * SEGMENTS));
    let mut began = Vec::new();
    for _ in 0..6 {
        began.push(pair.through_recovery().0);
    }
    // The first losses find a window that does not come from this loss rate.
    let epochs: Vec<f64> =
        began[3..].windows(2).map(|two| two[1].since(two[0]).as_nanos() as f64 / 1e9).collect();
    let mean = epochs.iter().sum::<f64>() / epochs.len() as f64;
    let window = SEGMENTS as f64 * rtt / mean;
    let least = expected * f64::midpoint(1.0, beta);
    let is_near = (least..=expected).contains(&window);
    assert!(is_near, "{window} segments, expected {least} to {expected}; {epochs:?}");
}
