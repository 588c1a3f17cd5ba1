use alloc::vec::Vec;

use super::*;
use crate::segment::SackBlocks;

const MSS: u32 = 100;

fn sent(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(MSS, 1, false);
    for number in 0..segments {
        board.push(MSS, Instant::from_nanos(number), true);
    }
    board
}

fn blocks(ack: u64, list: &[(u64, u64)]) -> SackBlocks {
    let mut blocks = SackBlocks::NONE;
    for block in list {
        assert!(blocks.push(ack, block.0, block.1));
    }
    blocks
}

#[test]
fn the_ring_grows_and_goes_round() {
    let mut board = sent(5);
    let mut ack = 1;
    for round in 0..200 {
        for _ in 0..3 {
            board.push(MSS, Instant::from_nanos(round), true);
        }
        ack += 200;
        assert_eq!(board.acknowledge(ack).delivered, 200);
        assert_eq!((board.pipe(), board.outstanding()), (board.recount_pipe(), 500 + (round + 1) * 100));
    }
    assert_eq!(board.position(ack), board.first);
    assert_eq!(board.position(ack + 300), board.first + 3);
}

#[test]
fn more_than_two_segments_above_make_a_loss() {
    let mut board = sent(10);
    assert_eq!(board.sack(1, &blocks(1, &[(301, 501)])), (200, 0));
    assert_eq!((board.lost(), board.pipe()), (0, 800));
    assert_eq!(board.sack(1, &blocks(1, &[(601, 701), (301, 501)])), (100, 0));
    // above 1 to 3 there are 300 bytes; above 6 only 100
    assert_eq!((board.lost(), board.pipe()), (300, 400));
    assert!(board.is_front_lost());
    assert_eq!(board.sack(1, &blocks(1, &[(601, 901), (301, 501)])), (200, 0));
    // The sixth has three above it; the tenth alone is still in the network.
    assert_eq!((board.lost(), board.pipe(), board.recount_pipe()), (400, 100, 100));
}

#[test]
fn two_ranges_that_one_ack_tells_of_first_are_not_out_of_order() {
    let mut board = Scoreboard::new(MSS, 1, true);
    for number in 0..10 {
        board.push(MSS, Instant::from_nanos(number), true);
    }
    // The ACK of the fourth segment was lost; that of the eighth names it too, the newest first.
    board.begin_ack(Instant::MAX, Instant::MAX);
    assert_eq!(board.sack(1, &blocks(1, &[(701, 801), (301, 401)])), (200, 0));
    assert_eq!((board.arrivals().reordered, board.arrivals().displaced), (false, 0));
    // What comes in between later was overtaken by one.
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.sack(1, &blocks(1, &[(601, 801), (301, 401)]));
    assert_eq!((board.arrivals().reordered, board.arrivals().displaced), (true, 2));
}

#[test]
fn lost_segments_come_in_order_then_holes_then_the_last() {
    let mut board = sent(10);
    board.sack(1, &blocks(1, &[(401, 601), (801, 901)]));
    let mut order = Vec::new();
    while let Some((position, record)) = board.next_lost() {
        board.resent(position, Instant::ZERO);
        order.push(record.seq);
    }
    assert_eq!(order, [1, 101, 201, 301]);
    assert_eq!(board.next_hole().map(|hole| hole.1.seq), Some(601));
    let hole = board.next_hole().map_or(0, |hole| hole.0);
    board.resent(hole, Instant::ZERO);
    assert_eq!(board.next_hole().map(|next| next.1.seq), Some(701));
    board.resent(hole + 1, Instant::ZERO);
    assert!(board.next_hole().is_none(), "above the highest SACKed nothing is suspected");
    assert_eq!(board.rescue().map(|last| last.1.seq), Some(901));
    assert_eq!(board.pipe(), board.recount_pipe());
    // 4 lost and resent, 2 not lost but resent, 1 untouched
    assert_eq!(board.pipe(), 400 + 2 * 200 + 100);
}

#[test]
fn a_timeout_keeps_what_is_sacked_unless_the_receiver_reneged() {
    let mut board = sent(10);
    board.sack(1, &blocks(1, &[(401, 601)]));
    board.time_out(Instant::MAX, false);
    assert_eq!((board.pipe(), board.sacked(), board.lost()), (0, 200, 800));
    assert_eq!(board.next_lost().map(|lost| lost.1.seq), Some(1));
    board.acknowledge(401);
    board.time_out(Instant::MAX, false);
    assert_eq!((board.pipe(), board.sacked(), board.lost()), (0, 0, 600));
    assert_eq!(board.next_lost().map(|lost| lost.1.seq), Some(401));
    assert_eq!(board.sack(401, &blocks(401, &[(501, 601)])), (100, 0), "it can be SACKed again");
    assert_eq!(board.pipe(), board.recount_pipe());
}

#[test]
fn only_whole_segments_sent_once_give_a_sample() {
    let mut board = sent(4);
    assert_eq!(board.acknowledge(50).sent, None);
    assert_eq!(board.acknowledge(201).sent, Some(Instant::from_nanos(1)));
    let front = board.front().map_or(0, |front| front.0);
    board.mark_front_lost();
    board.resent(front, Instant::from_nanos(9));
    assert_eq!(board.acknowledge(401).sent, None);
    assert!(board.is_empty());
}

/// Bursts of two, sent at 0, 2, 4 and so on.
fn bursts(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(MSS, 1, true);
    for number in 0..2 * count {
        board.push(MSS, Instant::from_nanos(number / 2 * 2), number % 2 == 0);
    }
    board
}

#[test]
fn what_is_sacked_lies_together_and_what_is_cut_does_not() {
    let mut board = bursts(5);
    assert_eq!(board.pieces(), 5);
    // The second of a burst is cut off; what follows is joined with it segment by segment.
    board.sack(1, &blocks(1, &[(101, 201)]));
    assert_eq!(board.pieces(), 6);
    board.sack(1, &blocks(1, &[(101, 301)]));
    assert_eq!(board.pieces(), 6, "the rest of the second burst is left");
    board.sack(1, &blocks(1, &[(101, 401)]));
    assert_eq!(board.pieces(), 5);
    board.sack(1, &blocks(1, &[(501, 801), (101, 401)]));
    assert_eq!(board.pieces(), 5, "one, what was SACKed, one, what was SACKed, one burst");
    board.sack(1, &blocks(1, &[(101, 801)]));
    assert_eq!(board.pieces(), 3, "a hole was filled");
    board.cut(8, 1);
    assert_eq!(board.pieces(), 4, "one of a burst is sent again");
    assert_eq!(board.acknowledge(801).delivered, 100);
    assert_eq!(board.pieces(), 2);
    let mut board = bursts(5);
    board.acknowledge(101);
    assert_eq!(board.pieces(), 5, "half of a burst is a piece too");
}

#[test]
fn a_loss_counts_though_the_ack_takes_off_another() {
    let mut board = bursts(3);
    let newest = |board: &Scoreboard| board.arrivals().newest.expect("something arrived");
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.sack(1, &blocks(1, &[(401, 501)]));
    let latest = Instant::from_nanos(10);
    let found = board.detect(latest, newest(&board), Duration::ZERO);
    assert_eq!((found.lost, board.lost()), (400, 400));
    let (position, _) = board.front().expect("lost");
    board.resent(position, Instant::from_nanos(20));
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.acknowledge(101);
    let found = board.detect(Instant::from_nanos(30), newest(&board), Duration::ZERO);
    assert_eq!((found.lost, board.lost()), (100, 400), "one less, and one more");
}

#[test]
fn the_rtt_of_the_last_arrival_counted_is_that_of_the_highest_acknowledged() {
    let mut board = bursts(3);
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.acknowledge(201);
    board.sack(201, &blocks(201, &[(401, 501)]));
    let arrivals = board.arrivals();
    assert_eq!(arrivals.newest.map(|newest| newest.sent), Some(Instant::from_nanos(4)));
    assert_eq!(arrivals.highest.1, Instant::ZERO);
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.sack(201, &blocks(201, &[(501, 601)]));
    assert_eq!(board.arrivals().highest.1, Instant::from_nanos(4));
}

#[test]
fn a_new_segment_shows_that_a_retransmission_of_the_same_instant_is_lost() {
    let mut board = bursts(3);
    let later = Instant::from_nanos(100);
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.sack(1, &blocks(1, &[(501, 601)]));
    let newest = board.arrivals().newest.expect("the sixth arrived");
    assert_eq!(board.detect(later, newest, Duration::ZERO).lost, 500);
    let (position, _) = board.front().expect("lost");
    board.resent(position, later);
    board.push(MSS, later, true);
    board.begin_ack(Instant::MAX, Instant::MAX);
    board.sack(1, &blocks(1, &[(601, 701)]));
    let newest = board.arrivals().newest.expect("the seventh arrived");
    let found = board.detect(Instant::from_nanos(200), newest, Duration::ZERO);
    assert!(found.retransmission);
    assert_eq!(found.lost, 100);
}
