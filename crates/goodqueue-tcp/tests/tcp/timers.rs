//! The retransmission timer.

use goodqueue::Instant;
use goodqueue_tcp::{Config, Flags, Segment, Sender};

use crate::pair::{MSS, Pair, at, controller, ms, quick};

#[test]
fn a_lost_tail_waits_for_the_timer() {
    // The ninth is acknowledged at 200 ms. The timeout is the least one, or at most that of a first
    // sample: the RTT and four times half of it.
    for (min_rto, retransmitted) in [(1000, 1200), (200, 500)] {
        let mut pair = Pair::transfer(Config { min_rto: ms(min_rto), ..quick() }, 10).lose([10]);
        pair.run_until(at(210));
        let due = pair.sender.next_event().unwrap();
        let finished = pair.finish();
        assert_eq!(pair.sender.stats().timeouts, 1);
        assert_eq!(pair.times_of(10), [at(100), due]);
        assert_eq!(finished, due + ms(100));
        assert!(due <= at(retransmitted), "{due:?}");
    }
}

#[test]
fn the_timer_doubles_and_the_threshold_is_set_once() {
    let mut pair = Pair::transfer(quick(), 20).lose(1..=10);
    for transmission in 2..=4 {
        pair.fates.insert((1, transmission), crate::pair::Fate::Lose);
    }
    pair.run_until(at(7200));
    // Timeouts of 1, 2 and 4 s.
    assert_eq!(pair.times_of(1), [at(100), at(1100), at(3100), at(7100)]);
    assert_eq!(pair.sender.ssthresh(), 5 * MSS);
    assert_eq!(pair.sender.cwnd(), MSS);
    pair.finish();
    assert_eq!(pair.sender.stats().timeouts, 4);
    assert_eq!(pair.receiver.delivered(), 20 * MSS);
}

#[test]
fn a_retransmitted_segment_gives_no_sample_and_leaves_the_back_off() {
    let mut pair = Pair::new(quick());
    pair.sender.open(Instant::ZERO);
    pair.sender.write(MSS);
    let mut pair = pair.lose_times(1, 2);
    pair.run_until(at(3300));
    assert_eq!(pair.sender.bytes_acked(), MSS);
    assert_eq!(pair.sender.srtt(), Some(ms(100)));
    // Each of two timeouts doubled it.
    assert_eq!(pair.sender.rto(), ms(4000));
    pair.sender.write(MSS);
    pair.run_until(at(3500));
    assert_eq!(pair.sender.rto(), ms(1000));
}

#[test]
fn after_a_timeout_slow_start_repairs_the_whole_window() {
    for sack in [true, false] {
        let mut pair = Pair::transfer(Config { sack, ..quick() }, 40).lose(1..=10);
        let finished = pair.finish();
        let stats = pair.sender.stats();
        assert_eq!((stats.timeouts, stats.retransmits, stats.fast_recoveries), (1, 10, 0), "sack {sack}");
        // The first goes again at 1100 ms, and its ACK lets the second go.
        assert_eq!(pair.times_of(2), [at(100), at(1200)]);
        assert!(finished < at(2500), "{finished:?}");
    }
}

#[test]
fn thirty_losses_in_a_row_leave_a_window_of_one_segment() {
    for name in ["newreno", "cubic"] {
        let config = quick();
        let mut pair = Pair::with(config, config, name);
        pair.sender.write(30 * MSS);
        pair.sender.close();
        pair.sender.open(Instant::ZERO);
        let mut pair = pair.lose_times(1, 30);
        pair.run_while(|pair| pair.sender.stats().timeouts < 29);
        // the first transmission, the fast retransmission and those of 28 timeouts were lost
        assert_eq!(pair.times_of(1).len(), 31);
        assert_eq!(pair.sender.cwnd(), MSS);
        assert!(pair.sender.ssthresh() >= 2 * MSS);
        assert_eq!(pair.sender.rto(), ms(60_000)); // the greatest one (`max_rto`)
        pair.finish();
        assert_eq!(pair.receiver.delivered(), 30 * MSS);
    }
}

#[test]
fn a_timer_due_now_runs_and_an_idle_connection_has_none() {
    let mut sender = Sender::new(quick(), controller("newreno")).expect("valid");
    assert_eq!((sender.next_event(), sender.poll_transmit(at(0))), (None, None));
    sender.open(at(0));
    assert!(sender.poll_transmit(at(0)).is_some());
    assert_eq!(sender.next_event(), Some(at(1000)));
    assert_eq!(sender.poll_transmit(at(999)), None);
    assert!(sender.poll_transmit(at(1000)).is_some_and(|segment| segment.flags == Flags::SYN));
    let flags = Flags::SYN | Flags::ACK;
    sender.on_segment(at(1100), &Segment { ack: 1, window: 1000, flags, ..Segment::default() });
    assert!(sender.poll_transmit(at(1100)).is_some());
    assert_eq!((sender.next_event(), sender.poll_transmit(Instant::MAX)), (None, None));
}

#[test]
fn new_acknowledgements_put_the_timer_off() {
    let mut pair = Pair::bulk(quick()).lose([1]);
    pair.run_until(at(150));
    assert_eq!(pair.sender.next_event(), Some(at(1100)));
    pair.run_until(at(350));
    // The retransmission was acknowledged at 300 ms.
    assert!(pair.sender.next_event() >= Some(at(1300)));
}

#[test]
fn linux_3_2_begins_with_the_round_trip_time_of_earlier_connections_and_waits_by_it() {
    use crate::undo::older;
    let lost_tail_after = |remembered: u64, deviation: u64| {
        let remembered_rtt = ms(remembered);
        let remembered_rttvar = ms(deviation);
        let config = Config { remembered_rtt, remembered_rttvar, ..older("linux32") };
        let mut pair = Pair::with(config, config, "reno");
        pair.sender.write(3 * MSS);
        pair.sender.open(Instant::ZERO);
        let mut pair = pair.lose([1, 2, 3]);
        pair.run_until(at(60_000));
        (pair.times_of(1)[1], pair.sender.stats().timeouts)
    };
    let lost_tail = |remembered: u64| lost_tail_after(remembered, remembered);
    // Four times the mean deviation is waited for beside the RTT.
    assert_eq!(lost_tail(5000).0, at(100 + 5 * 5000));
    assert_eq!(lost_tail_after(5000, 2000).0, at(100 + 5000 + 4 * 2000));
    // What is shorter than the handshake's is not remembered.
    assert_eq!(lost_tail(99), lost_tail(0));
    // Sent at 100 ms, with a timeout of the RTT and 200 ms.
    assert_eq!(lost_tail(0).0, at(400));
    let error = Config { remembered_rtt: ms(1), ..Config::default() }.check().unwrap_err();
    assert!(error.to_string().contains("remembered_rtt"), "{error}");
}
