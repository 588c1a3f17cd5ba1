use super::*;

/// A segment of 1460 bytes each millisecond.
fn bandwidth() -> Bandwidth {
    Bandwidth::of(1, 1000)
}

#[test]
fn what_is_in_flight_counts_as_it_will_be_when_the_next_burst_leaves() {
    let mut bbr = Bbr { mode: Mode::ProbeBandwidth, gain: Gain::ONE, ..Bbr::default() };
    bbr.bandwidth.take(1, bandwidth(), BANDWIDTH_ROUNDS);
    bbr.pace = 1_460_000;
    // In 4.1 ms four segments arrive.
    let feedback = feedback(Duration::from_micros(4100));
    assert_eq!(bbr.at_departure(14 * 1460, &feedback), 10);
    bbr.gain = Gain::of(bbr.params.gain_of(0));
    assert_eq!(bbr.at_departure(14 * 1460, &feedback), 12, "probing, with the burst itself");
    assert_eq!(bbr.at_departure(1460, &feedback), 0);
}

#[test]
fn the_cycle_begins_anywhere_but_where_it_drains() {
    let mut begun = [0; PHASES];
    for nanos in 0..700 {
        let mut bbr = Bbr::default();
        bbr.probe_bandwidth(Instant::from_nanos(nanos * 1_234_567));
        begun[bbr.phase] += 1;
    }
    assert_eq!(begun[1], 0);
    // A hundred for each of the seven others in the mean.
    assert!(begun.iter().enumerate().all(|(phase, &times)| phase == 1 || times > 60), "{begun:?}");
}

fn feedback(until_departure: Duration) -> Feedback {
    Feedback {
        now: Instant::ZERO,
        una: 0,
        next: 0,
        acked: 0,
        delivered: 0,
        lost: 0,
        pipe: 0,
        pipe_before: 0,
        until_departure,
        rtt: None,
        srtt: Duration::ZERO,
        min_rtt: Duration::ZERO,
        one_way_delay: None,
        stamps: None,
        app_limited: false,
        clock_start_ms: 0,
        ecn_echo: false,
        marked: 0,
        accurate: false,
        in_recovery: false,
        own_slow_start: true,
        rate: None,
        mss: 1460,
        headers: 52,
    }
}

/// An ACK at `millis` that delivers a segment, with `pipe` segments still in flight.
fn ack(millis: u64, pipe: u64, delivered: u64, sent_after: u64) -> Feedback {
    let now = Instant::from_nanos(millis * 1_000_000);
    let rate = RateSample {
        delivered: 1460,
        interval: Duration::from_millis(100),
        prior_delivered: sent_after * 1460,
        total: delivered * 1460,
        lost: 0,
        tx_in_flight: (pipe + 1) * 1460,
        lost_since: 0,
        app_limited: false,
    };
    Feedback {
        now,
        acked: 1460,
        delivered: 1460,
        pipe: pipe * 1460,
        pipe_before: (pipe + 1) * 1460,
        rtt: Some(Duration::from_millis(100)),
        srtt: Duration::from_millis(100),
        min_rtt: Duration::from_millis(100),
        rate: Some(rate),
        ..feedback(Duration::ZERO)
    }
}

#[test]
fn a_timeout_leaves_a_window_of_one_segment_also_within_recovery() {
    let mut bbr = Bbr { cwnd: 40, recovered_from: Recovery::Fast, ..Bbr::default() };
    bbr.on_timeout(40 * 1460);
    let mut window = Window { cwnd: 1460, ssthresh: u64::MAX / 2 };
    bbr.on_feedback(&Feedback { in_recovery: true, ..ack(1000, 0, 1, 0) }, &mut window);
    assert_eq!(window.cwnd, MIN_WINDOW * 1460, "the least window, not the forty segments of before");
}

#[test]
fn the_small_window_lasts_for_a_round_that_begins_with_it() {
    let mut bbr = Bbr { cwnd: 40, min_rtt: Some(Duration::from_millis(50)), ..Bbr::default() };
    (bbr.mode, bbr.round_end, bbr.delivered) = (Mode::ProbeBandwidth, 110 * 1460, 100 * 1460);
    let mut window = Window { cwnd: bbr.cwnd * 1460, ssthresh: u64::MAX / 2 };
    let mut tell = |bbr: &mut Bbr, millis, pipe, delivered, sent_after| {
        bbr.on_feedback(&ack(millis, pipe, delivered, sent_after), &mut window);
        bbr.mode == Mode::ProbeRtt
    };
    assert!(tell(&mut bbr, 10_500, 10, 101, 90), "the least RTT is older than ten seconds");
    assert!(tell(&mut bbr, 10_600, 4, 102, 91), "the window is small now");
    // Of a round that was under way already, more than 200 ms later.
    assert!(tell(&mut bbr, 10_900, 4, 103, 101));
    // What was sent with the small window.
    assert!(!tell(&mut bbr, 11_000, 4, 104, 102));
}

#[test]
fn a_reduction_that_is_taken_back_forgets_the_policer() {
    let mut bbr = Bbr { full: bandwidth(), full_rounds: 2, ..Bbr::default() };
    bbr.on_undo();
    assert_eq!((bbr.full.is_zero(), bbr.full_rounds), (true, 0));
    assert_eq!(bbr.policer.rate(), None);
}

#[test]
fn a_pause_of_the_application_puts_off_the_probe_for_the_least_rtt() {
    let after = |app_limited| {
        let mut bbr = Bbr { cwnd: 40, min_rtt: Some(Duration::from_millis(50)), ..Bbr::default() };
        (bbr.mode, bbr.is_full, bbr.gain) = (Mode::ProbeBandwidth, true, Gain::of(1.25));
        bbr.bandwidth.take(1, bandwidth(), BANDWIDTH_ROUNDS);
        let now = Instant::from_nanos(11_000_000_000);
        let srtt = Duration::ZERO;
        bbr.on_start(&Start { now, pause: Duration::from_secs(11), app_limited, srtt, cwnd: 0, mss: 1460 });
        let pace = bbr.pace;
        let mut window = Window { cwnd: bbr.cwnd * 1460, ssthresh: u64::MAX / 2 };
        bbr.on_feedback(&ack(11_100, 10, 101, 90), &mut window);
        (bbr.mode == Mode::ProbeRtt, pace)
    };
    let pace = bandwidth().pace(Gain::ONE, 1460);
    assert_eq!(after(true), (false, pace), "paced at the bandwidth, not above");
    assert!(after(false).0, "after a timeout it probes");
}

#[test]
fn the_first_pace_follows_the_round_trip_time_of_the_handshake() {
    // The SYN/ACK waited in a queue, and the first data did not.
    let mut bbr = Bbr::default();
    let srtt = Duration::from_millis(80);
    bbr.on_start(&Start {
        now: Instant::ZERO,
        pause: Duration::ZERO,
        app_limited: false,
        srtt,
        cwnd: 14_600,
        mss: 1460,
    });
    let pace = Bandwidth::of(10, 80_000).pace(Gain::of(bbr.params.startup_gain), 1460);
    assert_eq!(bbr.pace, pace);
    let mut window = Window { cwnd: 14_600, ssthresh: u64::MAX / 2 };
    let first = Feedback { rate: None, ..ack(50, 9, 1, 0) };
    bbr.on_feedback(&Feedback { srtt: Duration::from_millis(76), ..first }, &mut window);
    assert_eq!(bbr.pace, pace);
}

#[test]
fn the_syn_counts_among_the_ten_segments_until_which_the_window_grows() {
    // No bandwidth is known, so the target is smaller than the window.
    let mut bbr = Bbr::default();
    let mut window = Window { cwnd: 14_600, ssthresh: u64::MAX / 2 };
    for number in 1..=12 {
        bbr.on_feedback(&Feedback { rate: None, ..ack(100 + number, 9, number, 0) }, &mut window);
    }
    assert_eq!(window.cwnd, 18 * 1460, "eight of twelve ACKs");
}
