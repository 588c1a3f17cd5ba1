use super::*;

const MSS: u32 = 100;

fn sent(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(MSS, 1, false);
    for number in 0..segments {
        board.push(MSS, Instant::from_nanos(number));
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
            board.push(MSS, Instant::from_nanos(round));
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
    assert_eq!((board.lost(), board.pipe(), board.recount_pipe()), (400, 100, 100));
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
