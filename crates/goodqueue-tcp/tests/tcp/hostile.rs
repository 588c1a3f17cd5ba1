//! Peers that lie, and values at the edge.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::{Config, DelayedAck, Flags, Receiver, SackBlocks, Segment, Sender};

use crate::pair::{MSS, Pair, at, controller, ms, quick};

fn established() -> Sender {
    let mut sender = Sender::new(quick(), controller("cubic")).expect("valid");
    sender.write(u64::MAX);
    sender.open(Instant::ZERO);
    assert!(sender.poll_transmit(Instant::ZERO).is_some());
    let flags = Flags::SYN | Flags::ACK;
    sender.on_segment(at(100), &Segment { ack: 1, window: 1 << 30, flags, ..Segment::default() });
    while sender.poll_transmit(at(100)).is_some() {}
    sender
}

fn ack(ack: u64, blocks: &[(u64, u64)]) -> Segment {
    let mut sack = SackBlocks::NONE;
    for block in blocks {
        assert!(sack.push(ack, block.0, block.1));
    }
    Segment { seq: 1, ack, window: 1 << 30, sack, flags: Flags::ACK, ..Segment::default() }
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_ignored() {
    let mut sender = established();
    // SND.NXT is 14,601 after ten segments.
    for hostile in [14_602, u64::MAX, 1 << 62] {
        sender.on_segment(at(200), &ack(hostile, &[]));
    }
    assert_eq!(sender.stats().invalid_acks, 3);
    assert_eq!((sender.bytes_acked(), sender.in_flight()), (0, 10 * MSS));
    sender.on_segment(at(200), &ack(0, &[]));
    assert_eq!(sender.bytes_acked(), 0);
}

#[test]
fn senseless_blocks_are_ignored() {
    let mut sender = established();
    let beyond = [(1461, 14_602), (20_000, 30_000), (14_601, 14_601)];
    sender.on_segment(at(200), &ack(1, &beyond));
    let inverted = [(5000, 3000), (3000, 1), (2921, 2921)];
    sender.on_segment(at(200), &ack(1, &inverted));
    sender.on_segment(at(200), &ack(1, &[(1 << 30, 2 << 30)]));
    assert_eq!((sender.pipe(), sender.recount_pipe()), (10 * MSS, 10 * MSS));
    // Three end beyond what was sent or are empty, three are inverted or empty, and one is far
    // away.
    assert_eq!(sender.stats().invalid_sack_blocks, 7);
    assert!(!sender.is_in_recovery());
    let mut sack = SackBlocks::NONE;
    assert!(!sack.push(0, 1 << 31, 1 << 32), "2^31 apart cannot be said");
}

#[test]
fn overlapping_blocks_count_each_byte_once() {
    let mut sender = established();
    let start = |n: u64| (n - 1) * MSS + 1;
    sender.on_segment(at(200), &ack(1, &[(start(2), start(4)), (start(3), start(5)), (start(2), start(5))]));
    assert_eq!(sender.pipe(), sender.recount_pipe());
    assert!(sender.is_in_recovery());
    sender.on_segment(at(200), &ack(1, &[(start(2) + 1, start(7) - 1), (1, start(10))]));
    sender.on_segment(at(200), &ack(start(3) + 5, &[(start(3), start(8)), (start(9), start(9) + 7)]));
    assert_eq!(sender.pipe(), sender.recount_pipe());
    while sender.poll_transmit(at(200)).is_some() {}
    assert_eq!(sender.pipe(), sender.recount_pipe());
}

#[test]
fn a_receiver_that_reneges_gets_the_data_again() {
    let mut sender = established();
    let start = |n: u64| (n - 1) * MSS + 1;
    sender.on_segment(at(200), &ack(1, &[(start(2), start(11))]));
    while sender.poll_transmit(at(200)).is_some() {}
    // It acknowledges the first segment alone, having thrown the others away.
    sender.on_segment(at(300), &ack(start(2), &[]));
    while sender.poll_transmit(at(300)).is_some() {}
    let due = sender.next_event().unwrap();
    let again = sender.poll_transmit(due).unwrap();
    assert_eq!((again.seq, sender.stats().timeouts), (start(2), 1));
    assert_eq!(sender.pipe(), sender.recount_pipe());
    assert_eq!(sender.pipe(), MSS);
}

#[test]
fn a_flood_of_duplicates_does_not_open_the_window() {
    let mut sender = established();
    for _ in 0..1000 {
        sender.on_segment(at(200), &ack(1, &[]));
        while sender.poll_transmit(at(200)).is_some() {}
    }
    assert_eq!((sender.in_flight(), sender.cwnd()), (10 * MSS, 10 * MSS));
}

#[test]
fn segments_far_outside_the_window_are_refused() {
    let mut receiver = Receiver::new(Config { rwnd: 10_000, ..quick() }).expect("valid");
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    receiver.poll_transmit(at(0));
    let flags = Flags::ACK | Flags::FIN;
    // The first begins at the end of the window; the last begins within it and ends beyond it.
    for seq in [10_001, 1 << 40, u64::MAX, u64::MAX - 5, 9_000] {
        receiver.on_segment(at(1), &Segment { seq, ack: 1, len: 1460, flags, ..Segment::default() });
        assert_eq!(receiver.poll_transmit(at(1)).map(|ack| ack.ack), Some(1));
    }
    assert_eq!((receiver.delivered(), receiver.stats().refused), (0, 5));
}

#[test]
fn every_mss_and_a_window_larger_than_the_receivers_work() {
    // 536 is the default MSS (RFC 9293 §3.7.1), and 65,495 the largest of IPv4.
    for mss in [1, 48, 536, 65_495] {
        let config = Config { mss, iw: 1000, rwnd: 20_000, ..quick() };
        let mut pair = Pair::new(config);
        let bytes = u64::from(mss * 500).min(100_000);
        pair.sender.write(bytes);
        pair.sender.close();
        pair.sender.open(Instant::ZERO);
        pair.finish();
        assert_eq!(pair.receiver.delivered(), bytes);
    }
}

#[test]
fn time_that_stands_still_or_goes_back_harms_nothing() {
    let mut sender = established();
    sender.on_segment(at(50), &ack(1461, &[]));
    sender.on_segment(Instant::MAX, &ack(2921, &[]));
    sender.on_segment(Instant::ZERO, &ack(4381, &[]));
    while sender.poll_transmit(Instant::ZERO).is_some() {}
    assert_eq!(sender.pipe(), sender.recount_pipe());
}

#[test]
fn a_configuration_out_of_range_names_the_field() {
    let refused = |config: Config| config.check().unwrap_err().parameter;
    assert_eq!(refused(Config { mss: 0, ..quick() }), "mss");
    // The option alone takes 12 bytes.
    assert_eq!(refused(Config { mss: 12, timestamps: true, ..quick() }), "mss");
    // With 40 bytes of headers one byte more than IPv4's longest packet.
    assert_eq!(refused(Config { mss: 65_496, ..quick() }), "mss");
    assert_eq!(refused(Config { iw: 0, ..quick() }), "iw");
    assert_eq!(refused(Config { rwnd: u32::MAX, ..quick() }), "rwnd");
    assert_eq!(refused(Config { min_rto: Duration::ZERO, ..quick() }), "min_rto");
    assert_eq!(refused(Config { min_rto: ms(90_000), ..quick() }), "min_rto");
    assert_eq!(refused(Config { max_rto: Duration::MAX, ..quick() }), "max_rto");
    let none = DelayedAck { every: 0, timeout: ms(40) };
    assert_eq!(refused(Config { delayed_ack: none, ..quick() }), "delayed_ack.every");
    assert!(Receiver::new(Config { iw: 0, ..quick() }).is_err());
    assert_eq!(
        Config { iw: 0, ..quick() }.check().unwrap_err().to_string(),
        "`iw 0` is not possible: allowed is 1 to 1000000 segments"
    );
}
