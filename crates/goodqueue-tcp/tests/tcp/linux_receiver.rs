//! When Linux's receiver acknowledges what comes out of order, and what the ACK says.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::{Config, Flags, Receiver, Segment};

use crate::pair::{Pair, at, profile};
use crate::profiles::{data, settings};

/// A connection with segments of 100 bytes and a handshake of 50 ms, which began at 0.
fn receiver(config: Config) -> Receiver {
    let mut receiver = Receiver::new(config).expect("valid");
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(50), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    receiver
}

/// Without quick ACKs at first; a window that does not grow leaves it so.
fn calm() -> Config {
    // Segments of 100 bytes beside the timestamps.
    calm_of("linux")
}

fn calm_of(profile: &str) -> Config {
    Config { mss: 112, quick_acks: 0, ..settings(profile) }
}

fn take(receiver: &mut Receiver, now: Instant, segment: &Segment) -> Option<Segment> {
    receiver.on_segment(now, segment);
    let ack = receiver.poll_transmit(now);
    assert!(receiver.poll_transmit(now).is_none(), "never two at once");
    ack
}

fn ranges(ack: &Segment) -> Vec<(u64, u64)> {
    ack.sack.iter(ack.ack).map(|(start, end)| (start / 100, end / 100)).collect()
}

fn micros(millis: u64, micros: u64) -> Instant {
    at(millis) + Duration::from_micros(micros)
}

/// Three duplicates that are never delayed, of a gap after `first` segments, in the
/// millisecond 100.
fn three_duplicates(receiver: &mut Receiver, first: u64) {
    for number in first + 1..=first + 3 {
        assert!(take(receiver, at(100), &data(number)).is_some());
    }
}

#[test]
fn sacks_that_waited_bear_the_time_of_the_last_data_in_linux_61_and_their_own_in_linux_73() {
    // 1 ms, which is less than a twentieth of the RTT, and a slack of 100 or 10 µs.
    for (profile, slack, bears) in [("linux61", 100, 102_000), ("linux", 10, 103_010)] {
        let mut receiver = receiver(calm_of(profile));
        three_duplicates(&mut receiver, 0);
        assert!(take(&mut receiver, at(102), &data(4)).is_none());
        let due = micros(103, slack);
        assert_eq!(receiver.next_event(), Some(due), "{profile}");
        let ack = receiver.poll_transmit(due).expect("due");
        assert_eq!((ack.ts_val, ranges(&ack)), (bears, vec![(1, 5)]), "{profile}");
    }
}

#[test]
fn the_timer_of_a_delayed_ack_that_has_gone_sends_waiting_sacks() {
    let mut receiver = receiver(calm());
    // Pushed: the timer is set for 40 ms, and then the application answers.
    let segment = Segment { flags: Flags::ACK | Flags::PSH, ..data(0) };
    assert!(take(&mut receiver, at(60), &segment).is_some());
    three_duplicates(&mut receiver, 1);
    let arrival = micros(100, 500);
    assert!(take(&mut receiver, arrival, &data(5)).is_none());
    assert_eq!(receiver.next_event(), Some(at(101)), "and not 1.01 ms after the segment");
    let ack = receiver.poll_transmit(at(101)).expect("due");
    assert_eq!((ack.ts_val, ranges(&ack)), (101_000, vec![(2, 6)]), "this timer looks at the clock");
    assert!(take(&mut receiver, at(102), &data(6)).is_none());
    assert_eq!(receiver.next_event(), Some(micros(103, 10)), "it runs out once");
}

#[test]
fn a_third_range_makes_waiting_sacks_go_and_waits_itself() {
    let mut receiver = receiver(calm());
    three_duplicates(&mut receiver, 0);
    assert!(take(&mut receiver, at(102), &data(5)).is_none(), "a second range waits");
    let ack = take(&mut receiver, micros(102, 500), &data(7)).expect("what waited goes");
    assert_eq!(ranges(&ack), [(5, 6), (1, 4)]);
    assert_eq!(receiver.next_event(), None, "and the third range waits for whatever is next");
    assert!(take(&mut receiver, at(103), &data(8)).is_none());
    let due = micros(104, 10);
    let ack = receiver.poll_transmit(due).expect("due");
    assert_eq!(ranges(&ack), [(7, 9), (5, 6), (1, 4)]);
}

#[test]
fn pauses_are_those_of_data_in_order() {
    // A gap was open for longer than a timeout: what fills it makes ACKs quick, whatever came out
    // of order meanwhile. Data in order came last at 100 ms. After a handshake of 50 ms the timeout
    // is 250 ms.
    for (filled, quick) in [(250, false), (480, true)] {
        let mut receiver = receiver(Config { quick_acks: 16, ..calm() });
        for number in 0..20 {
            receiver.on_segment(at(100), &data(number));
            receiver.poll_transmit(at(100));
        }
        three_duplicates(&mut receiver, 20);
        receiver.on_segment(at(filled - 1), &data(25));
        while receiver.poll_transmit(at(filled - 1)).is_some() {}
        assert!(take(&mut receiver, at(filled), &data(20)).is_some());
        let answers = (26..40).filter(|&number| take(&mut receiver, at(filled), &data(number)).is_some());
        // The first of three duplicates was the ACK of what filled the gap: nothing was read then,
        // and less than offered is free.
        assert_eq!(answers.count(), if quick { 14 } else { 2 });
    }
}

#[test]
fn a_small_window_has_one_quick_ack_for_two_segments_of_it() {
    // Where not even two segments fit, Linux gives two.
    for (segments, quick) in [(1, 2), (3, 1), (10, 5), (25, 12), (200, 16)] {
        let rwnd = segments * 100;
        let mut receiver = receiver(Config { quick_acks: 16, rwnd, ..calm() });
        let answered: Vec<bool> =
            (0..40).map(|number| take(&mut receiver, at(60), &data(number)).is_some()).collect();
        let at_once = answered.iter().take_while(|&&answered| answered).count();
        // The segment after the quick ACKs waits for a second one.
        assert_eq!(at_once, quick, "{segments} segments: {answered:?}");
    }
}

#[test]
fn without_data_in_order_acks_of_linux_6_1_are_not_quick() {
    // The first segment is lost: after three duplicates, SACKs wait as they do later.
    let mut receiver = receiver(Config { quick_acks: 16, ..calm() });
    three_duplicates(&mut receiver, 0);
    assert!(take(&mut receiver, at(102), &data(4)).is_none());
}

#[test]
fn what_a_syn_carries_counts_on_the_wire() {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let ack = Segment { flags: Flags::ACK, ..Segment::default() };
    for profile in ["linux", "linux314", "linux32"] {
        // 40 bytes of headers and 12 of timestamps; a SYN has 8 bytes of other options.
        assert_eq!((syn.wire_len(&settings(profile)), ack.wire_len(&settings(profile))), (60, 52));
    }
    let bare = Config { timestamps: false, ..settings("linux") };
    // Without timestamps a SYN has 12 bytes of options, unless the stack does not count them.
    assert_eq!((syn.wire_len(&bare), syn.wire_len(&settings("rfc"))), (52, 40));
}

#[test]
fn linux_7_3_acknowledges_22_segments_one_by_one_and_6_1_acknowledges_16() {
    for (name, single) in [("linux61", 16), ("linux", 22)] {
        let mut pair = Pair::bulk_with(profile(name).settings, "reno");
        pair.run_until(at(700));
        let covered: Vec<u64> =
            pair.acks.windows(2).map(|acks| (acks[1].1.ack - acks[0].1.ack) / 1448).collect();
        let quick = covered.iter().take_while(|&&segments| segments == 1).count();
        assert_eq!(quick, single, "{name}: {covered:?}");
    }
}
