//! When the receiver acknowledges, and what it reports.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::{Config, DelayedAck, Flags, Receiver, Segment};

use crate::pair::{at, ms, quick};

fn connected(config: Config) -> Receiver {
    let mut receiver = Receiver::new(config).expect("valid");
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert!(receiver.poll_transmit(at(0)).is_some());
    let ack = Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() };
    receiver.on_segment(at(0), &ack);
    assert_eq!(receiver.poll_transmit(at(0)), None);
    receiver
}

/// Segments are 100 bytes here; number n starts at 100 n + 1.
fn data(number: u64) -> Segment {
    Segment { seq: number * 100 + 1, ack: 1, len: 100, flags: Flags::ACK, ..Segment::default() }
}

fn blocks(segment: &Segment) -> Vec<(u64, u64)> {
    segment.sack.iter(segment.ack).map(|(start, end)| ((start - 1) / 100, (end - 1) / 100)).collect()
}

/// What comes back at once for segment `number`.
fn answer(receiver: &mut Receiver, now: Instant, number: u64) -> Option<(u64, Vec<(u64, u64)>)> {
    receiver.on_segment(now, &data(number));
    let ack = receiver.poll_transmit(now)?;
    assert_eq!(receiver.poll_transmit(now), None);
    Some(((ack.ack - 1) / 100, blocks(&ack)))
}

#[test]
fn every_second_segment_is_acknowledged_at_once_and_a_single_one_after_the_delay() {
    let mut receiver = connected(Config::default());
    assert_eq!(answer(&mut receiver, at(10), 0), None);
    // The RFCs' profile waits 40 ms.
    assert_eq!(receiver.next_event(), Some(at(50)));
    assert_eq!(answer(&mut receiver, at(20), 1), Some((2, vec![])));
    assert_eq!(receiver.next_event(), None);
    assert_eq!(answer(&mut receiver, at(30), 2), None);
    assert_eq!(receiver.poll_transmit(at(69)), None);
    assert_eq!(receiver.poll_transmit(at(70)).map(|ack| ack.ack), Some(301));
    assert_eq!(receiver.next_event(), None);
}

#[test]
fn the_delay_and_the_count_are_configurable() {
    let delayed_ack = DelayedAck { every: 4, timeout: ms(500) };
    let mut receiver = connected(Config { delayed_ack, ..Config::default() });
    for number in 0..3 {
        assert_eq!(answer(&mut receiver, at(10 + number), number), None);
    }
    // The wait counts from the first segment, which came at 10 ms.
    assert_eq!(receiver.next_event(), Some(at(510)));
    assert_eq!(answer(&mut receiver, at(20), 3), Some((4, vec![])));
    let mut quick = connected(quick());
    assert_eq!(answer(&mut quick, at(20), 0), Some((1, vec![])));
}

#[test]
fn out_of_order_segments_and_filled_gaps_are_acknowledged_at_once() {
    let mut receiver = connected(Config::default());
    assert_eq!(answer(&mut receiver, at(1), 1), Some((0, vec![(1, 2)])));
    assert_eq!(answer(&mut receiver, at(1), 2), Some((0, vec![(1, 3)])));
    assert_eq!(answer(&mut receiver, at(1), 5), Some((0, vec![(5, 6), (1, 3)])));
    assert_eq!(answer(&mut receiver, at(1), 0), Some((3, vec![(5, 6)])));
    assert_eq!(answer(&mut receiver, at(1), 3), Some((4, vec![(5, 6)])));
    assert_eq!(answer(&mut receiver, at(1), 4), Some((6, vec![])));
    assert_eq!(answer(&mut receiver, at(1), 6), None);
    assert_eq!(receiver.delivered(), 700);
    assert_eq!(receiver.stats().out_of_order, 3);
}

#[test]
fn the_most_recent_blocks_come_first_and_at_most_three() {
    let mut receiver = connected(Config::default());
    answer(&mut receiver, at(1), 2);
    answer(&mut receiver, at(1), 4);
    answer(&mut receiver, at(1), 6);
    assert_eq!(answer(&mut receiver, at(1), 8), Some((0, vec![(8, 9), (6, 7), (4, 5)])));
    assert_eq!(answer(&mut receiver, at(1), 3), Some((0, vec![(2, 5), (8, 9), (6, 7)])));
    assert_eq!(answer(&mut receiver, at(1), 7), Some((0, vec![(6, 9), (2, 5)])));
}

#[test]
fn duplicates_are_acknowledged_at_once_and_reported_first() {
    let mut receiver = connected(Config::default());
    answer(&mut receiver, at(1), 0);
    answer(&mut receiver, at(1), 1);
    answer(&mut receiver, at(1), 4);
    assert_eq!(answer(&mut receiver, at(1), 0), Some((2, vec![(0, 1), (4, 5)])));
    assert_eq!(answer(&mut receiver, at(1), 4), Some((2, vec![(4, 5), (4, 5)])));
    assert_eq!(answer(&mut receiver, at(1), 6), Some((2, vec![(6, 7), (4, 5)])));
    assert_eq!(receiver.stats().duplicates, 2);
    assert_eq!(receiver.delivered(), 200);
}

#[test]
fn without_sack_no_block_is_sent() {
    let mut receiver = connected(Config { sack: false, ..Config::default() });
    assert_eq!(answer(&mut receiver, at(1), 3), Some((0, vec![])));
    assert_eq!(answer(&mut receiver, at(1), 3), Some((0, vec![])));
}

#[test]
fn overlapping_segments_deliver_each_byte_once() {
    let mut receiver = connected(Config::default());
    let piece = |seq, len| Segment { seq, ack: 1, len, flags: Flags::ACK, ..Segment::default() };
    for (seq, len, delivered) in [(1, 50, 50), (21, 60, 80), (201, 100, 80), (151, 100, 80), (1, 400, 400)] {
        receiver.on_segment(at(1), &piece(seq, len));
        receiver.poll_transmit(at(1));
        assert_eq!(receiver.delivered(), delivered);
    }
    assert_eq!(receiver.next_event(), None);
}

#[test]
fn a_fin_that_comes_early_ends_the_data_when_it_is_its_turn() {
    let mut receiver = connected(Config::default());
    let mut last = data(1);
    last.flags |= Flags::FIN;
    receiver.on_segment(at(1), &last);
    assert!(!receiver.is_finished());
    receiver.on_segment(at(2), &data(0));
    assert!(receiver.is_finished());
    assert_eq!(receiver.delivered(), 200);
    // 200 bytes, the SYN and the FIN.
    assert_eq!(receiver.poll_transmit(at(2)).map(|ack| ack.ack), Some(202));
}

#[test]
fn a_receiver_that_never_saw_a_syn_says_nothing() {
    let mut receiver = Receiver::new(Config::default()).expect("valid");
    receiver.on_segment(at(0), &data(0));
    assert_eq!((receiver.poll_transmit(at(0)), receiver.delivered()), (None, 0));
    assert_eq!(receiver.next_event().map(|time| time.since(at(0))), None::<Duration>);
}
