//! Linux before RACK: losses by forward acknowledgement, and what that kernel's timers and windows
//! did.

use goodqueue::Instant;
use goodqueue_tcp::{Config, Flags, SackBlocks, Segment, Sender};

use crate::pair::{Fate, Pair, at, controller, ms};
use crate::profiles::{linux, settings, window_of};
use crate::undo::older;

const MSS: u64 = 1460;

fn reno(config: Config) -> Pair {
    Pair::bulk_with(config, "reno")
}

#[test]
fn one_sack_far_ahead_is_evidence_enough() {
    // Four are lost: the fifth, SACKed, lies five segments forward, and all but the last three
    // before it are taken for lost.
    let mut pair = reno(window_of(20, older("linux314"))).lose(1..=4);
    pair.run_until(at(200));
    assert!(pair.sender.is_in_recovery());
    assert_eq!(pair.times_of(1), [at(100), at(200)]);
    pair.run_until(at(600));
    assert!((1..=4).all(|segment| pair.times_of(segment).len() == 2));
    assert_eq!(pair.sender.stats().fast_recoveries, 1);
}

#[test]
fn counting_sacked_segments_needs_three_for_the_same_losses() {
    let counts = Config { prr: true, timestamps: true, mss: 1472, ..older("rfc") };
    assert_eq!(counts.stack.name, "rfc");
    let losses = |config: Config| reno(window_of(20, config)).lose([1, 2]);
    let mut pair = losses(counts);
    pair.run_while(|pair| !pair.sender.is_in_recovery());
    let sacked = pair.sender.in_flight() - pair.sender.pipe();
    assert!(sacked >= 3 * MSS, "{sacked}");
    // Forward of the second hole two SACKed segments are enough.
    let mut pair = losses(older("linux314"));
    pair.run_until(at(199));
    assert!(!pair.sender.is_in_recovery());
    pair.run_while(|pair| !pair.sender.is_in_recovery());
    assert_eq!(pair.sender.stats().duplicate_acks, 2);
}

#[test]
fn a_retransmission_that_is_lost_is_found_by_what_was_sent_after_it() {
    for name in ["linux314", "linux32"] {
        let mut pair = reno(window_of(20, older(name))).lose_times(1, 3);
        pair.run_until(at(3000));
        let stats = pair.sender.stats();
        assert_eq!((stats.timeouts, stats.fast_recoveries, stats.undone), (0, 1, 0), "{name}");
        let times = pair.times_of(1);
        assert_eq!((times.len(), times[1]), (4, at(200)), "{name}");
        // What was sent after a retransmission is SACKed a round trip later: 200, 300 and 400 ms.
        assert!(times[3] <= at(420), "{name}: {times:?}");
    }
}

#[test]
fn reordering_once_seen_ends_forward_acknowledgement() {
    // The second segment comes when the third to the eighth have: sent again in vain, and the
    // reduction is taken back.
    let mut pair = reno(window_of(20, older("linux314")));
    pair.fates.insert((2, 1), Fate::Delay(20));
    for segment in [60, 61, 62] {
        pair.fates.insert((segment, 1), Fate::Delay(20));
    }
    pair.run_until(at(320));
    let before = pair.sender.stats().retransmits;
    assert_eq!((before, pair.sender.stats().undone), (1, 1));
    pair.run_until(at(900));
    assert_eq!(pair.sender.stats().retransmits, before, "as late again: now it waits");
    // A loss is found all the same, later.
    let mut pair = pair.lose([400]);
    pair.run_until(at(6000));
    assert_eq!((pair.times_of(400).len(), pair.sender.stats().timeouts), (2, 0));
}

#[test]
fn a_recovery_upon_another_is_not_taken_for_reordering() {
    // The 22nd is lost while the first is mended, and is itself sent again before that recovery
    // ends; the ACK of the last hole of the second recovery answers to a retransmission of the
    // first one.
    let stamped = Config { mss: 1472, timestamps: true, ..linux() };
    for config in [stamped, older("linux314")] {
        for further in 22..=28 {
            let mut pair = reno(window_of(20, config)).lose([1, 22, further]);
            pair.run_until(at(1500));
            let stats = pair.sender.stats();
            assert_eq!((stats.undone, stats.timeouts), (0, 0), "{further}");
            assert!(stats.fast_recoveries >= 1);
        }
    }
}

#[test]
fn linux_3_14_takes_a_timeout_for_spurious_when_what_was_sacked_before_is_acknowledged() {
    // Segments 1 and 2 of 3 are lost, and the early retransmission of the first, too. The third was
    // SACKed: its cumulative acknowledgement counts as that of an original.
    let of = |name: &str| {
        let config = Config { early_retransmit: false, ..window_of(3, older(name)) };
        let mut pair = Pair::with(config, config, "reno");
        pair.sender.write(3 * MSS);
        pair.sender.open(Instant::ZERO);
        let mut pair = pair.lose([1]);
        pair.run_until(at(2000));
        (pair.sender.stats().timeouts, pair.sender.stats().undone)
    };
    assert_eq!(of("linux314"), (1, 1));
    assert_eq!(of("linux32"), (1, 0));
}

#[test]
fn a_probe_comes_in_place_of_a_timeout_that_would_come_before_it() {
    let mut pair = Pair::with(older("linux314"), older("linux314"), "reno");
    pair.sender.write(10 * MSS);
    pair.sender.close();
    pair.sender.open(Instant::ZERO);
    let mut pair = pair.lose([10]);
    pair.finish();
    // The ninth is acknowledged at 200 ms; a single segment would be waited for one and a half
    // round trips and 200 ms.
    assert_eq!(pair.times_of(10), [at(100), at(200 + 300)]);
    assert_eq!(pair.sender.stats().timeouts, 0);
}

#[test]
fn slow_start_goes_on_at_the_threshold_itself() {
    let grown = |name: &str| {
        let mut pair = reno(window_of(10, older(name)));
        pair.run_while(|pair| pair.sender.bytes_acked() == 0);
        pair.sender.cwnd() / MSS
    };
    assert_eq!(grown("linux314"), 11);
    assert_eq!(grown("linux32"), 11);
    let mut pair = reno(window_of(10, linux()));
    pair.run_while(|pair| pair.sender.bytes_acked() == 0);
    assert_eq!(pair.sender.cwnd() / MSS, 10);
}

#[test]
fn beyond_it_the_window_grows_with_the_ack_after_as_many_as_it_has_segments() {
    // Eleven segments from the first ACK on: eleven further ACKs, and the twelfth.
    let mut pair = reno(window_of(10, older("linux314")));
    pair.run_while(|pair| pair.sender.bytes_acked() < 12 * MSS);
    assert_eq!(pair.sender.cwnd() / MSS, 11);
    pair.run_while(|pair| pair.sender.bytes_acked() < 13 * MSS);
    assert_eq!(pair.sender.cwnd() / MSS, 12);
}

#[test]
fn marks_take_a_segment_from_the_window_for_two_acks_in_linux_3_2() {
    let config = Config { ecn: true, ..window_of(20, older("linux32")) };
    let mut pair = reno(config);
    pair.fates.insert((1, 1), Fate::Mark);
    pair.run_while(|pair| pair.sender.stats().ecn_reductions == 0);
    assert_eq!(
        (pair.sender.cwnd() / MSS, pair.sender.ssthresh() / MSS),
        (20, 10),
        "one of 21 is acknowledged"
    );
    for acks in 1..=8 {
        pair.run_while(|pair| pair.sender.bytes_acked() < (1 + 2 * acks) * MSS);
        assert_eq!(pair.sender.cwnd() / MSS, 20 - acks);
    }
}

#[test]
fn linux_3_2_has_room_for_three_segments_when_something_is_amiss() {
    // The application pauses with a large window; a lone duplicate then leaves little of it.
    let config = window_of(40, older("linux32"));
    let mut pair = Pair::with(config, config, "reno");
    pair.sender.write(40 * MSS);
    pair.sender.open(Instant::ZERO);
    pair.run_until(at(250));
    pair.sender.write(2 * MSS);
    let mut pair = pair.lose([41]);
    pair.run_until(at(355));
    assert_eq!(pair.sender.stats().duplicate_acks, 1);
    assert_eq!(pair.sender.cwnd(), pair.sender.pipe() + 3 * MSS);
}

#[test]
fn in_linux_3_2_each_ack_that_advances_gives_a_sample_also_of_what_was_sent_twice() {
    let srtt = |name: &str| {
        let mut pair = reno(window_of(20, older(name))).lose([1]);
        pair.run_while(|pair| pair.sender.bytes_acked() == 0);
        pair.sender.srtt().expect("sampled")
    };
    assert_eq!(srtt("linux32"), ms(100), "from the retransmission's stamp");
    assert!(settings("linux32").timed_by_stamps);
}

/// The receiver has everything below segment `next`, and the segments of `sacked`, and offers
/// `window` bytes.
fn answer(next: u64, sacked: &[(u64, u64)], window: u32) -> Segment {
    let ack = 1 + next * MSS;
    let mut sack = SackBlocks::NONE;
    for &(start, end) in sacked {
        sack.push(ack, 1 + start * MSS, 1 + end * MSS);
    }
    Segment { ack, sack, window, flags: Flags::ACK, ..Segment::default() }
}

/// The numbers of the segments that leave now.
fn sent(sender: &mut Sender, millis: u64) -> Vec<u64> {
    core::iter::from_fn(|| sender.poll_transmit(at(millis))).map(|segment| segment.seq / MSS).collect()
}

#[test]
fn an_ack_that_enlarges_the_window_is_no_duplicate() {
    for name in ["linux314", "linux32"] {
        for (window, again) in [(100_000, true), (103_000, false)] {
            let mut sender = Sender::new(window_of(20, older(name)), controller("reno")).unwrap();
            sender.write(u64::MAX);
            sender.open(Instant::ZERO);
            assert_eq!(sent(&mut sender, 0), [0]);
            sender.on_segment(at(100), &Segment { flags: Flags::SYN | Flags::ACK, ..answer(0, &[], 65_535) });
            assert_eq!(sent(&mut sender, 100).len(), 21, "the ACK and 20 segments");
            // Segments 0 and 18 are lost, and only the first is found so.
            sender.on_segment(at(200), &answer(0, &[(19, 20), (1, 18)], 100_000));
            assert!(sent(&mut sender, 200).contains(&0));
            sender.on_segment(at(300), &answer(18, &[(19, 20)], 100_000));
            assert!(!sent(&mut sender, 300).contains(&18), "{name}");
            // One more beyond it is not yet evidence for FACK, but a duplicate is.
            sender.on_segment(at(301), &answer(18, &[(19, 21)], window));
            assert_eq!(sent(&mut sender, 301).contains(&18), again, "{name}: {window}");
        }
    }
}

#[test]
fn what_is_suspected_to_be_lost_is_sent_again_while_the_application_has_written_nothing_new() {
    // The send buffer of Linux 3.14 holds 20 segments at first. Segments 0 and 16 are lost. The
    // latter is not yet taken for lost when the window has room for one more.
    let config = Config { send_tuning: settings("linux314").send_tuning, ..window_of(20, older("linux314")) };
    let mut sender = Sender::new(config, controller("reno")).unwrap();
    sender.write(u64::MAX);
    sender.open(Instant::ZERO);
    assert_eq!(sent(&mut sender, 0), [0]);
    sender.on_segment(at(100), &Segment { flags: Flags::SYN | Flags::ACK, ..answer(0, &[], 65_535) });
    assert_eq!(sent(&mut sender, 100).len(), 21);
    sender.on_segment(at(200), &answer(0, &[(1, 16)], 100_000));
    assert_eq!(sent(&mut sender, 200), [0]);
    sender.on_segment(at(201), &answer(0, &[(17, 18), (1, 16)], 100_000));
    assert_eq!(sent(&mut sender, 201), [16]);
}

#[test]
fn in_slow_start_of_linux_3_14_a_short_segment_counts_as_one() {
    let config = Config { iw: 1, ..older("linux314") };
    let mut pair = Pair::with(config, config, "reno");
    pair.sender.write(300);
    pair.sender.open(Instant::ZERO);
    pair.run_until(at(1000));
    assert_eq!(pair.sender.cwnd(), 2 * MSS);
}

#[test]
fn the_send_buffer_of_linux_3_14_holds_964_segments_of_4352_bytes() {
    // 4 MB hold 963 segments, and one more is begun while any memory is free.
    let mut pair = reno(settings("linux314"));
    let mut most = 0;
    for _ in 0..20_000 {
        assert!(pair.step());
        most = most.max(pair.sender.in_flight());
    }
    assert_eq!(most.div_ceil(1448), 964);
}
