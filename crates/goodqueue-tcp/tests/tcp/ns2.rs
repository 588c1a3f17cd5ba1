//! ns-2's one-way agents, where they differ from the RFCs.

use goodqueue::Duration;
use goodqueue_tcp::{Config, DelayedAck};

use crate::pair::{MSS, Pair, at, profile};

fn agent(name: &str) -> Config {
    profile(name).settings
}

/// An ACK for each segment, a window of `segments` that does not grow much, and no timer for a
/// while.
fn window_of(segments: u32, name: &str) -> Config {
    Config {
        iw: segments,
        initial_ssthresh: u64::from(segments) * MSS,
        delayed_ack: DelayedAck::OFF,
        ..agent(name)
    }
}

#[test]
fn an_ack_that_covers_two_segments_opens_the_window_by_one() {
    let mut pair = Pair::bulk_with(Config { iw: 4, ..agent("ns2_sack1") }, "newreno_ns2");
    pair.run_until(at(190));
    assert_eq!(pair.sender.cwnd(), 4 * MSS);
    pair.run_until(at(210));
    assert_eq!(pair.sender.cwnd(), 6 * MSS, "two ACKs for four segments");
}

#[test]
fn the_window_keeps_its_half_segment_and_the_threshold_does_not() {
    let mut pair = Pair::bulk_with(window_of(21, "ns2_sack1"), "newreno_ns2").lose([1]);
    pair.run_until(at(205));
    assert!(pair.sender.is_in_recovery());
    assert_eq!(pair.sender.cwnd(), 21 * MSS / 2);
    assert_eq!(pair.sender.ssthresh(), 10 * MSS);
}

#[test]
fn every_hole_below_what_was_sacked_counts_as_lost() {
    // With one segment SACKED above it the 20th is not lost by RFC 6675, which asks for three.
    let mut pair = Pair::bulk_with(window_of(21, "ns2_sack1"), "newreno_ns2").lose([1, 20]);
    pair.run_until(at(2000));
    assert_eq!(pair.sender.stats().timeouts, 0);
    assert_eq!(pair.times_of(20).len(), 2);
}

#[test]
fn holes_at_the_end_are_mended_without_new_data_to_send_and_the_last_segment_waits_for_the_timer() {
    let transfer = |lost: [u64; 2]| {
        let config = window_of(20, "ns2_sack1");
        let mut pair = Pair::with(config, config, "newreno_ns2");
        pair.sender.write(20 * MSS);
        pair.sender.close();
        pair.sender.open(at(0));
        let mut pair = pair.lose(lost);
        pair.finish();
        (pair.sender.stats().timeouts, lost.map(|segment| pair.times_of(segment).len()))
    };
    assert_eq!(transfer([10, 12]), (0, [2, 2]));
    assert_eq!(transfer([10, 20]), (1, [2, 2]));
}

#[test]
fn a_round_trip_lasts_as_many_ticks_as_begin_in_it_by_the_clock_of_the_agent() {
    let round_trip = |phase_ms| {
        let coarse = Config {
            tick: Duration::from_millis(30),
            tick_phase: Duration::from_millis(phase_ms),
            ..agent("ns2_sack1")
        };
        let mut pair = Pair::bulk_with(coarse, "newreno_ns2");
        pair.run_until(at(110));
        pair.sender.srtt()
    };
    // 100 ms, from a tick on or from 25 ms after one.
    assert_eq!(round_trip(0), Some(Duration::from_millis(90)));
    assert_eq!(round_trip(25), Some(Duration::from_millis(120)));
}

#[test]
fn the_third_duplicate_sends_the_oldest_segment_and_no_other_even_if_there_is_room() {
    // Eight of a window of twenty: five are in the network when the third duplicate halves it to
    // ten.
    let config = window_of(20, "ns2_sack1");
    let mut pair = Pair::with(config, config, "newreno_ns2");
    pair.sender.write(8 * MSS);
    pair.sender.close();
    pair.sender.open(at(0));
    let mut pair = pair.lose([1, 3]);
    pair.finish();
    assert_eq!(pair.sender.stats().timeouts, 0);
    let resent: Vec<_> = pair.data.iter().filter(|(when, _)| *when >= at(200)).collect();
    assert_eq!(resent.len(), 2);
}

#[test]
fn the_last_segment_is_acknowledged_after_the_delay_as_there_is_no_fin() {
    let mut pair = Pair::with(agent("ns2_sack1"), agent("ns2_sack1"), "newreno_ns2");
    pair.sender.write(MSS);
    pair.sender.close();
    pair.sender.open(at(0));
    // It arrives at 150 ms, its ACK waits 100 ms and arrives at 300 ms.
    pair.run_until(at(290));
    assert!(!pair.sender.is_finished());
    pair.run_until(at(310));
    assert!(pair.sender.is_finished());
}

#[test]
fn an_ack_is_eight_bytes_longer_for_each_block() {
    let mut sack = goodqueue_tcp::SackBlocks::NONE;
    for block in 1..=3 {
        assert!(sack.push(0, 1000 * block, 1000 * block + 500));
    }
    let ack = goodqueue_tcp::Segment { sack, ..Default::default() };
    assert_eq!(ack.wire_len(&agent("ns2_sack1")), 40 + 24);
    // Kind, length and two bytes of padding as well.
    assert_eq!(ack.wire_len(&agent("rfc")), 40 + 28);
}

#[test]
fn after_a_lost_syn_the_window_begins_at_one_and_grows_slowly() {
    let config = Config { iw: 3, delayed_ack: DelayedAck::OFF, ..agent("ns2_sack1") };
    let mut pair = Pair::bulk_with(config, "newreno_ns2").lose([0]);
    // The SYN goes again after 3 s.
    pair.run_until(at(3110));
    assert_eq!((pair.sender.cwnd(), pair.sender.ssthresh()), (MSS, 2 * MSS));
    pair.run_until(at(3310));
    assert!(pair.sender.cwnd() < 3 * MSS, "not doubled");
}

#[test]
fn a_retransmission_that_is_lost_waits_for_the_timer() {
    let mut pair = Pair::bulk_with(window_of(8, "ns2_sack1"), "newreno_ns2").lose_times(1, 2);
    pair.run_until(at(3000));
    assert!(pair.sender.stats().timeouts >= 1);
    assert_eq!(pair.times_of(8).len(), 1, "what had arrived is acknowledged with the first");
    assert_eq!(pair.sender.stats().spurious, 0, "the receiver reports no duplicates");
}

#[test]
fn without_sack_one_hole_is_mended_per_round_trip() {
    let mut pair = Pair::bulk_with(window_of(20, "ns2_newreno"), "newreno_ns2").lose([3, 5, 7]);
    pair.run_until(at(2000));
    assert_eq!(pair.sender.stats().timeouts, 0);
    let again: Vec<_> = [3, 5, 7].map(|segment| pair.times_of(segment)[1]).into();
    assert_eq!(again, [at(200), at(300), at(400)]);
}

#[test]
fn the_first_data_acknowledges_the_handshake() {
    let mut pair = Pair::bulk_with(agent("ns2_sack1"), "newreno_ns2");
    pair.run_until(at(110));
    let lengths: Vec<_> = pair.data.iter().map(|(_, segment)| u64::from(segment.len)).collect();
    assert_eq!(lengths, [0, MSS, MSS]);
}

#[test]
fn a_full_last_segment_that_is_lost_comes_again_with_its_fin() {
    let config = window_of(10, "ns2_sack1");
    let mut pair = Pair::with(config, config, "newreno_ns2");
    pair.sender.write(10 * MSS);
    pair.sender.close();
    pair.sender.open(at(0));
    let mut pair = pair.lose_times(10, 2);
    pair.finish();
    assert_eq!(pair.times_of(10).len(), 3);
}

#[test]
fn the_agent_that_borrows_from_linux_sends_data_with_its_syn() {
    let mut pair = Pair::bulk_with(Config { iw: 4, timestamps: false, ..agent("ns2_linux") }, "cubic_ns2");
    pair.run_until(at(110));
    let sent: Vec<_> = pair.data.iter().map(|(when, segment)| (*when, u64::from(segment.len))).collect();
    assert_eq!(sent[..4], [(at(0), 0), (at(0), MSS), (at(0), MSS), (at(0), MSS)]);
    assert_eq!(sent[4..].iter().filter(|sent| sent.0 == at(100)).count(), 8, "slow start from four");
}

#[test]
fn it_finds_lost_retransmissions_and_keeps_its_window_while_it_does() {
    let config = Config { timestamps: false, ..window_of(20, "ns2_linux") };
    let mut pair = Pair::bulk_with(config, "cubic_ns2").lose_times(5, 4);
    pair.run_until(at(1500));
    assert_eq!(pair.times_of(5).len(), 5);
    assert_eq!(pair.sender.stats().timeouts, 0);
    assert_eq!(pair.sender.stats().fast_recoveries, 1);
}

#[test]
fn its_window_follows_the_threshold_one_segment_for_two_acks() {
    let config = Config { timestamps: false, ..window_of(20, "ns2_linux") };
    let mut pair = Pair::bulk_with(config, "cubic_ns2").lose([8]);
    pair.run_until(at(110));
    assert!(pair.sender.is_in_recovery());
    assert_eq!(pair.sender.cwnd(), pair.sender.ssthresh());
    // A segment for each of the eleven ACKs before the loss is found, and one more as the window
    // grows by one; then one for every other of the eight, the lost one first.
    let answers = pair.data.iter().filter(|(when, _)| *when == at(100)).count();
    assert_eq!(answers, 12 + 4);
}

#[test]
fn modules_with_the_least_window_of_reno_begin_a_recovery_with_half_of_the_threshold() {
    for (name, share) in [("cubic_ns2", 1), ("tcp_lp", 2), ("ledbat_ns2", 2)] {
        let config = Config { timestamps: true, ..window_of(20, "ns2_linux") };
        let mut pair = Pair::bulk_with(config, name).lose([8]);
        pair.run_while(|pair| !pair.sender.is_in_recovery());
        assert_eq!(pair.sender.cwnd() / MSS, pair.sender.ssthresh() / MSS / share, "{name}");
    }
}
