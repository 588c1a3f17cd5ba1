//! Losses that acknowledgements tell of.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::{Config, Flags, SackBlocks, Segment, Sender};

use crate::pair::{MSS, Pair, at, controller, ms, quick};

fn window_of(segments: u32, config: Config) -> Config {
    Config { iw: segments, initial_ssthresh: u64::from(segments) * MSS, ..config }
}

#[test]
fn one_loss_in_a_window_of_twenty_costs_one_retransmission_and_half_or_three_tenths_of_the_window() {
    // CUBIC leaves 0.7 of the window (RFC 9438 §4.6).
    for (name, left) in [("newreno", 10), ("cubic", 14)] {
        for prr in [true, false] {
            let config = Config { prr, ..window_of(20, quick()) };
            let mut pair = Pair::bulk_with(config, name).lose([1]);
            let (began, ended) = pair.through_recovery();
            // The window leaves at 100 ms, after the handshake, and its duplicates come a round
            // trip later.
            assert_eq!(began, at(200));
            assert_eq!(ended, at(300));
            assert_eq!(
                (pair.sender.cwnd(), pair.sender.ssthresh()),
                (left * MSS, left * MSS),
                "{name} {prr}"
            );
            pair.run_until(at(2000));
            let stats = pair.sender.stats();
            assert_eq!((stats.retransmits, stats.timeouts, stats.fast_recoveries), (1, 0, 1));
        }
    }
}

/// The ACKs of a window wait behind another flow's data on their way back. The retransmission
/// leaves 80 ms after the last ACK of new data and is answered 180 ms after it.
#[test]
fn duplicates_that_come_late_do_not_leave_the_retransmission_too_little_time() {
    for (rearm_in_recovery, sent, timeouts) in [(true, 2, 0), (false, 3, 1)] {
        let config = Config { min_rto: ms(150), rearm_in_recovery, ..window_of(20, quick()) };
        let mut pair = Pair::bulk(config).lose([101]);
        // The SYN/ACK, the ACKs of segments 1 to 100, and the first two duplicates.
        pair.ack_fates = vec![crate::pair::Fate::Deliver; 103];
        pair.ack_fates.resize(110, crate::pair::Fate::Delay(80));
        pair.run_until(at(1500));
        assert_eq!(pair.sender.stats().timeouts, timeouts, "{rearm_in_recovery}");
        assert_eq!(pair.times_of(101).len(), sent);
        assert_eq!(pair.sender.stats().fast_recoveries, 1);
    }
}

#[test]
fn without_sack_one_loss_costs_the_same() {
    let config = Config { sack: false, ..window_of(20, quick()) };
    let mut pair = Pair::bulk(config).lose([1]);
    let (began, ended) = pair.through_recovery();
    assert_eq!((began, ended), (at(200), at(300)));
    assert_eq!(pair.sender.ssthresh(), 10 * MSS);
    assert!(pair.sender.cwnd() <= 10 * MSS);
    pair.run_until(at(2000));
    assert_eq!((pair.sender.stats().retransmits, pair.sender.stats().timeouts), (1, 0));
}

#[test]
fn three_losses_take_one_round_with_sack_and_three_without() {
    for (sack, prr, rounds) in [(true, true, 1), (true, false, 1), (false, true, 3)] {
        let config = Config { sack, prr, ..window_of(20, quick()) };
        let mut pair = Pair::bulk(config).lose([1, 2, 3]);
        let (began, ended) = pair.through_recovery();
        assert_eq!(ended.since(began), ms(100 * rounds), "sack {sack}, prr {prr}");
        let stats = pair.sender.stats();
        assert_eq!((stats.retransmits, stats.timeouts, stats.fast_recoveries), (3, 0, 1));
        pair.run_until(at(3000));
        assert_eq!(pair.sender.stats().retransmits, 3);
        assert_eq!(pair.receiver.stats().duplicates, 0);
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    for sack in [true, false] {
        // Neither RFC 6675 nor RFC 6582 finds a retransmission lost.
        let mut pair = Pair::bulk(Config { sack, ..window_of(20, quick()) }).lose_times(1, 2);
        pair.run_until(at(4000));
        assert_eq!(pair.sender.stats().timeouts, 1, "sack {sack}");
        let times = pair.times_of(1);
        assert_eq!(times[0..2], [at(100), at(200)]);
        assert_eq!(pair.times_of(1).len(), 3);
        assert!(pair.receiver.delivered() > 100 * MSS);
    }
}

#[test]
fn limited_transmit_keeps_a_small_window_out_of_the_timeout() {
    for sack in [true, false] {
        for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
            // Three segments bring two duplicates at most, which are too few for fast recovery.
            let config = Config { limited_transmit, sack, ..window_of(3, quick()) };
            let mut pair = Pair::bulk(config).lose([1]);
            pair.run_until(at(3000));
            assert_eq!(pair.sender.stats().timeouts, timeouts, "sack {sack}, limited {limited_transmit}");
            assert_eq!(pair.sender.stats().retransmits, 1);
            if limited_transmit {
                // two new segments on the first two duplicates, and flight without them: 3/2 is
                // below the least, 2
                assert_eq!(pair.times_of(4), [at(200)]);
                assert_eq!(pair.times_of(5), [at(200)]);
                assert_eq!(pair.sender.ssthresh(), 2 * MSS);
            }
        }
    }
}

#[test]
fn reordering_by_two_places_retransmits_nothing() {
    for sack in [true, false] {
        let mut pair = Pair::transfer(Config { sack, ..quick() }, 30);
        // the first segment comes after the third
        pair.fates.insert((1, 1), crate::pair::Fate::Delay(1));
        // All others come later still, or more than two would overtake the first.
        pair.fates.extend((4..=10).map(|n| ((n, 1), crate::pair::Fate::Delay(2))));
        pair.finish();
        assert_eq!(pair.sender.stats().retransmits, 0);
        assert_eq!(pair.sender.stats().duplicate_acks, 2);
    }
}

#[test]
fn the_rescue_retransmission_mends_a_lost_tail_in_recovery() {
    // 10 segments; 1 and 10 are lost. 10 has nothing above it, so nothing shows it lost.
    let mut pair = Pair::transfer(quick(), 10).lose([1, 10]);
    assert_eq!(pair.finish(), at(300));
    assert_eq!((pair.sender.stats().retransmits, pair.sender.stats().timeouts), (2, 0));
}

#[test]
fn a_heavy_burst_of_losses_is_repaired_without_a_timeout() {
    let mut pair = Pair::transfer(window_of(100, quick()), 300).lose((1..=100).filter(|n| n % 2 == 1));
    pair.finish();
    // Every second one of a hundred was lost.
    assert_eq!((pair.sender.stats().retransmits, pair.sender.stats().timeouts), (50, 0));
    assert_eq!(pair.sender.stats().spurious, 0);
}

/// A sender with a window of `segments`, all of them out.
fn full_window(segments: u32, config: Config) -> Sender {
    let mut sender = Sender::new(window_of(segments, config), controller("newreno")).expect("valid");
    sender.write(u64::MAX);
    sender.open(Instant::ZERO);
    assert!(sender.poll_transmit(Instant::ZERO).is_some());
    let flags = Flags::SYN | Flags::ACK;
    let answer = Segment { ack: 1, window: 1 << 30, flags, ..Segment::default() };
    sender.on_segment(at(100), &answer);
    // With the ACK of the handshake.
    assert_eq!(drain(&mut sender, at(100)).len(), segments as usize + 1);
    sender
}

fn drain(sender: &mut Sender, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

/// An ACK of `acked` segments with blocks in segments, numbered from 1, end excluded.
fn ack(acked: u64, blocks: &[(u64, u64)]) -> Segment {
    let start = |number: u64| (number - 1) * MSS + 1;
    let mut sack = SackBlocks::NONE;
    for block in blocks {
        assert!(sack.push(start(acked + 1), start(block.0), start(block.1)));
    }
    Segment { seq: 1, ack: start(acked + 1), window: 1 << 30, sack, flags: Flags::ACK, ..Segment::default() }
}

#[test]
fn proportional_rate_reduction_sends_one_for_two_acks_when_the_window_halves() {
    let mut sender = full_window(20, quick());
    let mut sent = Vec::new();
    for top in 2..=20 {
        sender.on_segment(at(200), &ack(0, &[(2, top + 1)]));
        sent.push(drain(&mut sender, at(200)).len());
    }
    // two by limited transmit, the retransmission, one for each two ACKs until pipe is ssthresh,
    // then one for one
    assert_eq!(sent, [1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]);
    assert_eq!(sender.pipe(), 10 * MSS);
    // The window of 20, and the two of limited transmit.
    sender.on_segment(at(300), &ack(22, &[]));
    assert!(!sender.is_in_recovery());
    assert_eq!(sender.cwnd(), 10 * MSS);
}

#[test]
fn proportional_rate_reduction_does_not_burst_after_many_losses() {
    let mut sender = full_window(20, quick());
    // 1 to 15 are lost: pipe falls below ssthresh at once; each ACK sends what it delivered, no
    // more
    let mut sent = Vec::new();
    for top in 16..=20 {
        sender.on_segment(at(200), &ack(0, &[(16, top + 1)]));
        sent.push(drain(&mut sender, at(200)).len());
    }
    assert_eq!(sent, [1, 1, 1, 1, 1]);
    // progress without further losses: one more each
    sender.on_segment(at(300), &ack(1, &[(16, 21)]));
    assert_eq!(drain(&mut sender, at(300)).len(), 2);
}

#[test]
fn cutting_the_window_at_once_waits_for_half_a_window() {
    let mut sender = full_window(20, Config { prr: false, ..quick() });
    let mut sent = Vec::new();
    for top in 2..=20 {
        sender.on_segment(at(200), &ack(0, &[(2, top + 1)]));
        sent.push(drain(&mut sender, at(200)).len());
    }
    // After two by limited transmit and the retransmission, 19 are in the network. The next leaves
    // when ten more are SACKed, as the window is of ten.
    assert_eq!(sent, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn three_separate_ranges_show_a_loss_even_if_they_are_short() {
    let mut sender = Sender::new(quick(), controller("newreno")).expect("valid");
    sender.open(Instant::ZERO);
    assert!(sender.poll_transmit(Instant::ZERO).is_some());
    let flags = Flags::SYN | Flags::ACK;
    sender.on_segment(at(100), &Segment { ack: 1, window: 1 << 20, flags, ..Segment::default() });
    for _ in 0..10 {
        sender.write(10);
        drain(&mut sender, at(100));
    }
    let mut sack = SackBlocks::NONE;
    // Segments 3, 5 and 7.
    for start in [21, 41, 61] {
        assert!(sack.push(1, start, start + 10));
    }
    let report = Segment { seq: 1, ack: 1, window: 1 << 20, sack, flags: Flags::ACK, ..Segment::default() };
    sender.on_segment(at(200), &report);
    assert!(sender.is_in_recovery());
    assert_eq!(sender.pipe(), sender.recount_pipe());
    assert_eq!(drain(&mut sender, at(200)).first().map(|s| (s.seq, s.len)), Some((1, 10)));
    // The least timeout of RFC 6298 §2.4, from the retransmission on.
    let duration = Duration::from_secs(1);
    assert_eq!(sender.next_event(), Some(at(200) + duration));
}
