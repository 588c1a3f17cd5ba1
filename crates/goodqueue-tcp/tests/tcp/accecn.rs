//! Accurate ECN (RFC 9768).

use goodqueue::{Ecn, Instant};
use goodqueue_tcp::accecn::{code_of, field_of};
use goodqueue_tcp::congestion::Needs;
use goodqueue_tcp::{Config, Flags, Segment, Sender};

use crate::pair::{Fate, MSS, Pair, at, controller, profile, quick};

fn accurate() -> Config {
    Config { ecn: true, accecn: true, ..quick() }
}

/// Also with ECN-capable SYNs and ACKs.
fn whole(l4s: bool) -> Config {
    Config { accurate_ecn_echo: true, ecn_on_all: true, l4s, ..accurate() }
}

fn window(config: Config, segments: u32) -> Config {
    Config { iw: segments, initial_ssthresh: u64::from(segments) * MSS, ..config }
}

/// The ACE fields of everything that both ends sent.
fn ace(sent: &[(Instant, Segment)]) -> Vec<u8> {
    sent.iter().map(|sent| sent.1.flags.ace()).collect()
}

#[test]
fn the_handshake_reports_the_ecn_field_of_the_syn_and_of_the_syn_ack() {
    // RFC 9768 §3.1.2 table 2 and §3.2.2.1 table 3.
    let settings = [
        (accurate(), Fate::Deliver, Ecn::NotEct),
        (whole(false), Fate::Deliver, Ecn::Ect0),
        (whole(true), Fate::Deliver, Ecn::Ect1),
        (whole(false), Fate::Mark, Ecn::Ce),
    ];
    for (config, fate, field) in settings {
        let mut pair = Pair::bulk(config);
        pair.data_fates = vec![fate];
        pair.ack_fates = vec![fate];
        pair.run_until(at(120));
        let [syn, third] = [pair.data[0].1, pair.data[1].1];
        assert_eq!(syn.flags, Flags::SYN | Flags::AE | Flags::CWR | Flags::ECE);
        assert_eq!(pair.acks[0].1.flags, (Flags::SYN | Flags::ACK).with_ace(code_of(field)));
        assert_eq!(field_of(third.flags.ace()), Some(field), "the ACK of the SYN/ACK");
        assert!(pair.acks[0].1.ecn_option().is_some() && third.ecn_option().is_some());
        // All other segments count marked packets, from 5 on. A marked SYN/ACK counts.
        let first = if field == Ecn::Ce { 6 } else { 5 };
        assert!(ace(&pair.data)[2..].iter().all(|ace| *ace == first));
        assert!(pair.sender.uses_ecn());
    }
}

#[test]
fn an_end_without_accecn_gets_classic_ecn_or_none() {
    let classic = Config { ecn: true, ..quick() };
    let scalable = Config { l4s: true, accurate_ecn_echo: true, ..accurate() };
    for (sends, receives, has_ecn) in [
        (accurate(), classic, true),
        (classic, accurate(), true),
        (accurate(), quick(), false),
        (quick(), accurate(), false),
        // Classic feedback is too coarse for ECT(1) (RFC 9331 §4.2).
        (scalable, classic, false),
    ] {
        let mut pair = Pair::with(sends, receives, "newreno");
        pair.fates.insert((3, 1), Fate::Mark);
        pair.sender.write(u64::MAX);
        pair.sender.open(Instant::ZERO);
        pair.run_until(at(500));
        assert_eq!(pair.sender.uses_ecn(), has_ecn);
        assert_eq!(pair.sender.stats().ecn_reductions, u64::from(has_ecn));
        assert!(pair.data.iter().skip(1).all(|sent| !sent.1.flags.contains(Flags::AE)));
        let reports = pair.data.iter().skip(1).filter(|sent| sent.1.flags.contains(Flags::CWR)).count();
        assert_eq!(reports, usize::from(has_ecn), "classic ECN reports the reduction");
    }
}

#[test]
fn the_second_repeated_syn_asks_for_no_ecn() {
    // RFC 9768 §3.1.4.
    let mut pair = Pair::bulk(whole(false)).lose_times(0, 2);
    pair.run_until(at(4000));
    let syns: Vec<_> = pair.data.iter().filter(|sent| sent.1.flags.contains(Flags::SYN)).collect();
    // A SYN that asks for AccECN has all three bits (RFC 9768 §3.1.1).
    assert_eq!(syns.iter().map(|sent| sent.1.flags.ace()).collect::<Vec<_>>(), [7, 7, 0]);
    assert_eq!(syns.iter().map(|sent| sent.1.ecn).collect::<Vec<_>>(), [Ecn::Ect0, Ecn::NotEct, Ecn::NotEct]);
    assert!(!pair.sender.uses_ecn());
}

#[test]
fn marks_are_counted_in_packets_and_bytes_and_reduce_once_per_round_trip() {
    let mut pair = Pair::bulk(window(accurate(), 20));
    for segment in [3, 4, 9] {
        pair.fates.insert((segment, 1), Fate::Mark);
    }
    pair.run_until(at(299));
    let stats = *pair.sender.stats();
    assert_eq!((stats.ecn_reductions, stats.marks, stats.retransmits), (1, 3, 0));
    // Half of 20, and one for the ten ACKs without a new mark.
    assert_eq!((pair.sender.ssthresh(), pair.sender.cwnd()), (10 * MSS, 11 * MSS));
    // The counter begins at 5, and its three bits wrap to 0 with the third mark.
    assert_eq!(ace(&pair.acks)[1..=10], [5, 5, 6, 7, 7, 7, 7, 7, 0, 0]);
    let option = pair.acks[20].1.ecn_option().expect("each ACK has it");
    assert_eq!((option.ce(), option.ect0(), option.ect1()), (Some(3 * 1460), Some(17 * 1460), Some(0)));
    // No segment reports the reduction: its bit is part of the counter.
    assert!(ace(&pair.data)[2..].iter().all(|ace| *ace == 5));
    // Only the answer to the SYN/ACK has an option.
    assert_eq!(pair.data.iter().filter(|sent| sent.1.ecn_option().is_some()).count(), 1);
}

#[test]
fn a_mark_is_acknowledged_at_once_and_so_is_each_second_one() {
    // RFC 9768 §3.2.2.5.1.
    let delayed = Config { ecn: true, accecn: true, ..Config::default() };
    let delayed =
        Config { delayed_ack: goodqueue_tcp::DelayedAck { every: 8, ..delayed.delayed_ack }, ..delayed };
    let mut pair = Pair::bulk(delayed);
    for segment in [2, 3, 4, 5, 7] {
        pair.fates.insert((segment, 1), Fate::Mark);
    }
    pair.run_until(at(151));
    let acked: Vec<u64> = pair.acks.iter().map(|sent| (sent.1.ack - 1) / MSS).collect();
    assert_eq!(acked, [0, 2, 4, 7], "the first mark, the second one after it, the next change");
}

#[test]
fn the_count_is_exact_though_most_acks_are_lost() {
    for marked in [1, 2, 5] {
        let mut pair = Pair::bulk(Config { idle_restart: false, ..window(accurate(), 60) });
        let fate = |number: usize| if number.is_multiple_of(marked) { Fate::Mark } else { Fate::Deliver };
        pair.data_fates = (0..400).map(fate).collect();
        pair.ack_fates =
            (0..2000).map(|number| if number % 9 == 0 { Fate::Deliver } else { Fate::Lose }).collect();
        pair.run_until(at(2000));
        let counted = pair.receiver.stats().marked;
        assert!(counted > 60 / marked as u64);
        let reported = pair.sender.stats().marks;
        // Of nine ACKs eight are lost, so the last marks may not be reported yet.
        assert!(reported <= counted && reported + 9 >= counted, "{reported} of {counted}");
    }
}

#[test]
fn a_field_that_is_cleared_on_the_way_ends_ecn() {
    // RFC 9768 §3.2.2.4.
    let mut sender = open(whole(false), code_of(Ecn::Ect0));
    assert!(sender.uses_ecn());
    sender.on_segment(at(200), &Segment { seq: 1, ack: 1 + MSS, ..answer(0) });
    assert!(!sender.uses_ecn());
    assert_eq!(sender.poll_transmit(at(200)).map(|segment| segment.ecn), Some(Ecn::NotEct));
}

#[test]
fn a_syn_whose_ecn_field_was_changed_on_the_way_ends_ecn() {
    // RFC 9768 §3.2.2.3. A reserved answer stands for an unchanged field (§3.1.3).
    for (arrived, allowed) in [(Ecn::Ect0, true), (Ecn::Ce, true), (Ecn::NotEct, false), (Ecn::Ect1, false)] {
        assert_eq!(open(whole(false), code_of(arrived)).uses_ecn(), allowed, "{arrived:?}");
        assert_eq!(open(accurate(), code_of(arrived)).uses_ecn(), arrived == Ecn::NotEct);
    }
    // 0b101 is the reserved code.
    assert!(open(whole(false), 0b101).uses_ecn());
}

/// A server's segment with these header bits.
fn answer(ace: u8) -> Segment {
    Segment { ack: 1, window: 1 << 20, flags: Flags::ACK.with_ace(ace), ..Segment::default() }
}

/// A sender whose SYN was answered so.
fn open(config: Config, ace: u8) -> Sender {
    let mut sender = Sender::new(config, controller("newreno")).expect("valid");
    sender.write(u64::MAX);
    sender.open(Instant::ZERO);
    assert!(sender.poll_transmit(Instant::ZERO).is_some());
    let syn_ack = Segment { flags: Flags::SYN | answer(ace).flags, ..answer(ace) };
    sender.on_segment(at(100), &syn_ack);
    while sender.poll_transmit(at(100)).is_some() {}
    sender
}

#[test]
fn marked_acks_are_counted_in_data() {
    let mut pair = Pair::bulk(whole(false));
    pair.ack_fates = [0, 3, 4].iter().fold(vec![Fate::Deliver; 10], |mut fates, &ack| {
        fates[ack] = Fate::Mark;
        fates
    });
    pair.run_until(at(700));
    assert_eq!(ace(&pair.data).last(), Some(&0), "5 and the marks of the SYN/ACK and two ACKs");
}

#[test]
fn an_ack_that_was_overtaken_changes_no_count() {
    let mut pair = Pair::bulk(window(accurate(), 20));
    pair.fates.insert((2, 1), Fate::Lose);
    for segment in 5..9 {
        pair.fates.insert((segment, 1), Fate::Mark);
    }
    // The ACK of segment 3, which reports no mark yet, arrives after all others.
    pair.ack_fates = vec![Fate::Deliver; 20];
    pair.ack_fates[2] = Fate::Delay(30);
    pair.run_until(at(400));
    assert_eq!(pair.sender.stats().marks, 4);
}

#[test]
fn linux_has_the_option_on_every_segment() {
    // Linux 7.3.4 with `tcp_ecn` 3 sent a SYN of 74 bytes with the Ethernet header, a SYN/ACK of
    // 86, ACKs of 78 and data of 1514, all but the first two with ECT(0).
    let config = Config { ecn: true, accecn: true, ..profile("linux").settings };
    let mut pair = Pair::bulk_with(config, "cubic");
    pair.run_until(at(400));
    let full = pair.data.iter().find(|sent| sent.1.len > 0).expect("data").1;
    // 12 bytes of timestamps and 12 of counters leave 1436 of 1460.
    assert_eq!((full.len, full.wire_len(&config)), (1436, 1500));
    let lengths = [pair.data[0], pair.acks[0], pair.data[1], *pair.acks.last().expect("an ACK")];
    assert_eq!(lengths.map(|sent| sent.1.wire_len(&config) + 14), [74, 86, 78, 78]);
    let all = pair.data.iter().chain(&pair.acks);
    for sent in all {
        let is_syn = sent.1.flags.contains(Flags::SYN);
        assert_eq!(sent.1.ecn, if is_syn { Ecn::NotEct } else { Ecn::Ect0 });
    }
}

#[test]
fn dctcp_hears_the_same_marks_by_either_feedback() {
    for name in ["rfc", "linux"] {
        let reductions = |accecn| {
            let config = Config { accecn, ..profile(name).settings }.suited_to(Needs::AccurateEcn);
            let mut pair = Pair::bulk_with(config, "dctcp");
            pair.data_fates =
                (0..3000).map(|n| if n % 7 == 0 { Fate::Mark } else { Fate::Deliver }).collect();
            pair.run_until(at(3000));
            assert_eq!(pair.sender.stats().retransmits, 0);
            pair.sender.cwnd() / u64::from(config.payload())
        };
        let [classic, accurate] = [reductions(false), reductions(true)];
        assert!(classic.abs_diff(accurate) <= 2, "{name}: {classic} and {accurate} segments");
    }
}

#[test]
fn accecn_needs_ecn_and_a_stack_that_has_it() {
    let error = |config: Config| config.check().expect_err("refused").to_string();
    assert!(error(Config { accecn: true, ..quick() }).contains("false without ECN"));
    let old = profile("linux314").settings;
    assert!(error(Config { ecn: true, accecn: true, ..old }).contains("with the stack `linux3`"));
}
