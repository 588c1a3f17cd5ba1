//! Congestion marks (RFC 3168).

use goodqueue::{Ecn, Instant};
use goodqueue_tcp::congestion::Needs;
use goodqueue_tcp::{Config, Flags, Receiver, Segment};

use crate::pair::{Fate, MSS, Pair, at, profile, quick};
use crate::profiles::{adaptive, data};

fn marked(window: u32, name: &str) -> Pair {
    let config = Config { ecn: true, iw: window, initial_ssthresh: u64::from(window) * MSS, ..quick() };
    Pair::bulk_with(config, name)
}

#[test]
fn marks_of_one_window_reduce_once_and_the_sender_says_so() {
    // CUBIC leaves 0.7 of the window (RFC 9438 §4.6).
    for (name, left) in [("newreno", 10), ("cubic", 14)] {
        let mut pair = marked(20, name);
        for segment in [3, 4, 9, 20] {
            pair.fates.insert((segment, 1), Fate::Mark);
        }
        // The ACKs of the next window come at 300 ms.
        pair.run_until(at(299));
        let stats = pair.sender.stats();
        assert_eq!((stats.ecn_reductions, stats.retransmits), (1, 0));
        // two segments were acknowledged and replaced before the first mark was heard of
        let cwnd = pair.sender.cwnd() / MSS;
        assert_eq!(cwnd, left, "{name}");
        let told: Vec<_> = pair.data.iter().filter(|e| e.1.flags == Flags::ACK | Flags::CWR).collect();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].1.ecn, Ecn::Ect0);
        pair.run_until(at(400));
        // the echo lasts from the first mark to the CWR
        let echoes: Vec<_> = pair.acks.iter().map(|e| e.1.flags.contains(Flags::ECE)).collect();
        let first = echoes.iter().skip(1).position(|&echo| echo).unwrap();
        assert_eq!(first, 2); // segment 3, as the SYN/ACK is skipped
        assert!(!echoes.last().unwrap());
        assert_eq!(pair.sender.stats().ecn_reductions, 1);
    }
}

#[test]
fn marks_in_each_window_reduce_in_each() {
    let mut pair = marked(40, "newreno");
    pair.data_fates = vec![Fate::Mark; 200];
    pair.run_until(at(799));
    let reductions = pair.sender.stats().ecn_reductions;
    assert!((3..=6).contains(&reductions), "{reductions}");
    assert!(pair.sender.cwnd() >= 2 * MSS);
    assert_eq!(pair.sender.stats().timeouts, 0);
}

#[test]
fn a_loss_and_marks_in_one_window_reduce_once() {
    let mut pair = marked(20, "newreno").lose([10]);
    for segment in [2, 12, 15] {
        pair.fates.insert((segment, 1), Fate::Mark);
    }
    pair.run_until(at(320));
    let stats = pair.sender.stats();
    assert_eq!((stats.ecn_reductions, stats.fast_recoveries, stats.retransmits), (1, 1, 1));
    assert_eq!(pair.sender.ssthresh(), 10 * MSS);
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    let mut pair = marked(20, "newreno").lose([1]);
    pair.run_until(at(400));
    let ecn: Vec<_> =
        pair.data.iter().filter(|e| e.1.seq == 1 && e.1.len > 0).map(|e| (e.0, e.1.ecn)).collect();
    assert_eq!(ecn, [(at(100), Ecn::Ect0), (at(200), Ecn::NotEct)]);
    let cwr = pair.data.iter().filter(|e| e.1.flags.contains(Flags::CWR)).count();
    assert_eq!(cwr, 2); // the SYN's, and one for the reduction
}

#[test]
fn marks_mean_nothing_if_ecn_was_not_agreed() {
    let mut pair = Pair::with(Config { ecn: true, ..quick() }, quick(), "newreno");
    pair.data_fates = vec![Fate::Mark; 100];
    pair.sender.write(50 * MSS);
    pair.sender.open(Instant::ZERO);
    pair.run_until(at(2000));
    assert_eq!(pair.sender.stats().ecn_reductions, 0);
    assert_eq!(pair.receiver.delivered(), 50 * MSS);
}

#[test]
fn a_segment_without_ecn_after_others_with_it_is_answered_quickly_by_linux() {
    let config = Config { ecn: true, quick_acks: 1, ..adaptive() };
    let mut receiver = Receiver::new(config).expect("valid");
    let syn = Segment { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..Segment::default() };
    receiver.on_segment(at(0), &syn);
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(0), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    let mut answered = |number, ecn| {
        receiver.on_segment(at(number), &Segment { ecn, ..data(number) });
        receiver.poll_transmit(at(number)).is_some()
    };
    assert!(answered(0, Ecn::Ect0), "the first one always is");
    assert!(!answered(1, Ecn::Ect0));
    assert!(answered(2, Ecn::NotEct), "it was probably sent again");
    assert!(answered(3, Ecn::Ect0));
    assert!(!answered(4, Ecn::Ect0));
}

#[test]
fn with_dctcp_linux_sends_everything_as_ecn_capable() {
    let linux = profile("linux").settings.suited_to(Needs::AccurateEcn);
    let mut pair = Pair::bulk_with(linux, "dctcp").lose([3]);
    pair.run_until(at(400));
    assert!(pair.sender.stats().retransmits > 0);
    assert!(pair.data.iter().chain(&pair.acks).all(|sent| sent.1.ecn == Ecn::Ect0));
    let older = profile("linux314").settings.suited_to(Needs::AccurateEcn);
    assert!(linux.ecn_on_all && !older.ecn_on_all);
}

#[test]
fn l4s_data_carries_ect_1_and_its_marks_are_heard() {
    let config =
        Config { l4s: true, iw: 20, initial_ssthresh: 20 * MSS, ..quick() }.suited_to(Needs::AccurateEcn);
    let mut pair = Pair::bulk_with(config, "dctcp");
    for segment in [3, 4, 9] {
        pair.fates.insert((segment, 1), Fate::Mark);
    }
    pair.run_until(at(400));
    let data: Vec<_> = pair.data.iter().filter(|sent| sent.1.len > 0).collect();
    assert!(!data.is_empty() && data.iter().all(|sent| sent.1.ecn == Ecn::Ect1));
    assert!(pair.acks.iter().all(|sent| sent.1.ecn == Ecn::NotEct));
    assert!(pair.sender.stats().ecn_reductions > 0);
    assert_eq!(pair.sender.stats().retransmits, 0);
}

#[test]
fn l4s_needs_an_accurate_echo() {
    let config = Config { l4s: true, ecn: true, ..quick() };
    assert!(config.check().expect_err("refused").to_string().contains("accurate echo"));
    assert!(config.suited_to(Needs::AccurateEcn).check().is_ok());
}
