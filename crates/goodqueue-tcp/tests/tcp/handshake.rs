//! Opening and closing.

use goodqueue::{Ecn, Instant};
use goodqueue_tcp::{Config, Flags};

use crate::pair::{Fate, MSS, Pair, at, ms, quick};

#[test]
fn syn_syn_ack_ack_and_data_right_after() {
    let mut pair = Pair::transfer(quick(), 1);
    pair.finish();
    let sent: Vec<_> = pair.data.iter().map(|(time, s)| (*time, s.seq, s.len, s.flags)).collect();
    assert_eq!(
        sent,
        [(at(0), 0, 0, Flags::SYN), (at(100), 1, 0, Flags::ACK), (at(100), 1, 1460, Flags::ACK | Flags::FIN),]
    );
    let answers: Vec<_> = pair.acks.iter().map(|(time, s)| (*time, s.seq, s.ack, s.flags)).collect();
    // The last ACK covers 1460 bytes, the SYN and the FIN.
    assert_eq!(answers, [(at(50), 0, 1, Flags::SYN | Flags::ACK), (at(150), 1, 1462, Flags::ACK)]);
    assert_eq!((pair.now, pair.sender.bytes_acked(), pair.receiver.delivered()), (at(200), MSS, MSS));
    assert!(pair.receiver.is_finished() && pair.receiver.is_established());
    assert_eq!(pair.sender.next_event(), None);
    assert_eq!(pair.receiver.next_event(), None);
}

#[test]
fn the_handshake_gives_the_first_rtt_sample() {
    let mut pair = Pair::bulk(quick());
    pair.run_while(|pair| !pair.sender.is_established());
    assert_eq!(pair.sender.srtt(), Some(ms(100)));
    // The least timeout (RFC 6298 §2.4).
    assert_eq!(pair.sender.rto(), ms(1000));
}

#[test]
fn a_lost_syn_is_sent_again_after_1_3_7_seconds() {
    let mut pair = Pair::transfer(quick(), 1).lose_times(0, 3);
    pair.finish();
    let syns: Vec<_> = pair.data.iter().filter(|e| e.1.flags.contains(Flags::SYN)).map(|e| e.0).collect();
    assert_eq!(syns, [at(0), at(1000), at(3000), at(7000)]);
    assert_eq!(pair.sender.stats().syn_retransmits, 3);
    // The fourth SYN is answered at 7100 ms, and the data a round trip later.
    assert_eq!(pair.now, at(7200));
}

#[test]
fn one_lost_syn_leaves_the_initial_window_two_make_it_one_segment() {
    for (lost, window) in [(1, 10), (2, 1)] {
        let mut pair = Pair::bulk(quick()).lose_times(0, lost);
        pair.run_while(|pair| !pair.sender.is_established());
        assert_eq!(pair.sender.cwnd(), window * MSS);
        // RFC 6298 §5.7
        assert_eq!(pair.sender.rto(), ms(3000));
    }
}

#[test]
fn a_timestamp_gives_the_round_trip_time_of_a_syn_that_was_sent_again() {
    let mut pair = Pair::bulk(Config { timestamps: true, ..quick() }).lose_times(0, 1);
    pair.run_while(|pair| !pair.sender.is_established());
    assert_eq!((pair.sender.srtt(), pair.sender.rto()), (Some(ms(100)), ms(1000)));
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut pair = Pair::transfer(quick(), 1);
    pair.ack_fates = vec![Fate::Lose];
    pair.finish();
    assert_eq!(pair.sender.bytes_acked(), MSS);
    // The SYN or its answer goes again after 1 s, and the rest takes two round trips.
    assert!(pair.now <= at(1300), "{:?}", pair.now);
}

#[test]
fn a_lost_third_ack_does_not_matter() {
    let mut pair = Pair::transfer(quick(), 3);
    pair.data_fates = vec![Fate::Deliver, Fate::Lose];
    assert_eq!(pair.finish(), at(200));
    // and without data the receiver asks again
    let mut silent = Pair::new(quick());
    silent.data_fates = vec![Fate::Deliver, Fate::Lose];
    silent.sender.open(Instant::ZERO);
    silent.run_until(at(2000));
    assert!(silent.receiver.is_established());
    assert_eq!(silent.receiver.stats().syn_retransmits, 1);
}

#[test]
fn ecn_is_used_if_both_ends_want_it() {
    let wants = Config { ecn: true, ..quick() };
    for (one, other, agreed) in [(wants, wants, true), (wants, quick(), false), (quick(), wants, false)] {
        let mut pair = Pair::with(one, other, "newreno");
        pair.sender.write(MSS);
        pair.sender.open(Instant::ZERO);
        pair.run_until(at(500));
        assert_eq!(pair.sender.uses_ecn(), agreed);
        let syn = pair.data[0].1;
        assert_eq!(syn.flags.contains(Flags::ECE | Flags::CWR), one.ecn);
        let ecn: Vec<_> = pair.data.iter().map(|entry| entry.1.ecn).collect();
        let data = if agreed { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(ecn, [Ecn::NotEct, Ecn::NotEct, data]);
        assert!(pair.acks.iter().all(|entry| entry.1.ecn == Ecn::NotEct));
    }
}

#[test]
fn a_fin_alone_closes_a_connection_that_sent_everything_before() {
    let mut pair = Pair::new(quick());
    pair.sender.write(100);
    pair.sender.open(Instant::ZERO);
    pair.run_until(at(1000));
    assert!(!pair.sender.is_finished());
    pair.sender.close();
    pair.sender.write(5);
    // The FIN leaves at 1000 ms.
    assert_eq!(pair.finish(), at(1100));
    assert_eq!((pair.sender.bytes_acked(), pair.receiver.delivered()), (100, 100));
}

#[test]
fn timestamps_take_twelve_bytes_and_are_echoed() {
    let config = Config { timestamps: true, ..quick() };
    let mut pair = Pair::transfer(config, 10);
    pair.finish();
    let full = pair.data[2].1;
    // 40 bytes of headers, and 12 of the option.
    assert_eq!((full.len, full.wire_len(&config)), (1448, 1500));
    // In microseconds: it left at 100 ms, and echoes the SYN/ACK of 50 ms.
    assert_eq!((full.ts_val, full.ts_ecr), (100_000, 50_000));
    let ack = pair.acks[1].1;
    assert_eq!((ack.ts_val, ack.ts_ecr, ack.wire_len(&config)), (150_000, 100_000, 52));
    assert_eq!(pair.receiver.delivered(), 10 * MSS);
}
