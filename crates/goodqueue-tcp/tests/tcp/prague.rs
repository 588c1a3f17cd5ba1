//! Prague: the senders' side of L4S.

use goodqueue::{Ecn, Instant};
use goodqueue_tcp::congestion::Needs;
use goodqueue_tcp::{Config, Flags};

use crate::pair::{Fate, MSS, Pair, at, profile, quick};

#[test]
fn all_packets_of_both_ends_are_ect_1() {
    // Also SYN, SYN/ACK, ACKs and retransmissions (RFC 9331 §4.1, §4.3 requirement 8; ECN++).
    for name in ["rfc", "linux"] {
        let config = profile(name).settings.suited_to(Needs::L4s);
        let mut pair = Pair::bulk_with(config, "prague").lose([3]);
        pair.run_until(at(600));
        assert!(pair.sender.stats().retransmits > 0);
        assert!(pair.data.iter().chain(&pair.acks).all(|sent| sent.1.ecn == Ecn::Ect1), "{name}");
        assert_eq!(pair.data[0].1.flags, Flags::SYN | Flags::AE | Flags::CWR | Flags::ECE);
    }
}

#[test]
fn it_is_paced_over_the_round_trip() {
    let mut pair = Pair::bulk_with(Config { iw: 20, ..quick() }.suited_to(Needs::L4s), "prague");
    pair.fates.insert((20, 1), Fate::Mark);
    pair.run_until(at(1000));
    let sent: Vec<Instant> =
        pair.data.iter().filter(|sent| sent.0 >= at(800) && sent.1.len > 0).map(|sent| sent.0).collect();
    assert!(sent.len() > 20);
    // A round trip has 100 ms. No gap is longer than a tenth of it.
    assert!(sent.windows(2).all(|pair| pair[1].since(pair[0]) < crate::pair::ms(10)));
}

#[test]
fn a_share_of_marks_holds_the_window_at_two_marks_per_round_trip() {
    // A window W with the share p of marks grows by 1 - p and falls by W p / 2 per round trip, so
    // there are about two marks.
    for every in [10, 20, 40] {
        let mut pair = Pair::bulk_with(quick().suited_to(Needs::L4s), "prague");
        let fate = |number: u32| if number.is_multiple_of(every) { Fate::Mark } else { Fate::Deliver };
        pair.data_fates = (0..40_000).map(fate).collect();
        pair.run_until(at(40_000));
        let window = pair.sender.cwnd() / MSS;
        let expected = 2 * u64::from(every);
        assert!(window.abs_diff(expected) <= expected / 4, "each {every}th: {window} segments");
        assert_eq!(pair.sender.stats().retransmits, 0);
    }
}

#[test]
fn without_accecn_it_is_reno_without_ecn() {
    let wants = quick().suited_to(Needs::L4s);
    let marked = |receives: Config| {
        let mut pair = Pair::with(wants, receives, "prague");
        pair.data_fates = vec![Fate::Mark; 2000];
        pair.sender.write(u64::MAX);
        pair.sender.open(Instant::ZERO);
        pair.fates.insert((40, 1), Fate::Lose);
        pair.run_until(at(450));
        pair
    };
    for receives in [quick(), Config { ecn: true, ..quick() }] {
        let pair = marked(receives);
        assert!(!pair.sender.uses_ecn() && pair.sender.pacing_rate().is_none());
        assert!(pair.data.iter().skip(1).all(|sent| sent.1.ecn == Ecn::NotEct));
        // Only the loss reduced the window.
        assert_eq!(pair.sender.stats().fast_recoveries, 1);
        assert!(pair.sender.cwnd() > 10 * MSS);
    }
    assert!(marked(wants).sender.uses_ecn());
}

#[test]
fn a_stack_without_accecn_runs_it_without_ecn() {
    let old = Config { ecn: true, ..profile("linux314").settings }.suited_to(Needs::L4s);
    assert!(!old.ecn && old.check().is_ok());
    let mut pair = Pair::bulk_with(old, "prague");
    pair.run_until(at(500));
    assert!(pair.data.iter().all(|sent| sent.1.ecn == Ecn::NotEct));
    assert!(pair.receiver.delivered() > 50 * MSS);
}
