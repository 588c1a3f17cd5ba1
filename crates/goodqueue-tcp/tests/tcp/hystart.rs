//! `HyStart++`: what the round-trip time does to slow start.
//!
//! The RTT is 100 ms, ten segments leave at 100 ms, twenty (numbers 11 to 30) at 200. Round 1 are
//! the ACKs of the first ten; what is out when the tenth comes, 28 segments, is round 2; its eighth
//! sample is the ACK of number 18.

use goodqueue_tcp::{Config, HyStart};

use crate::pair::{Fate, MSS, Pair, at, profile, quick};

const ENDLESS: u64 = u64::MAX;

fn with_hystart() -> Config {
    Config { hystart: HyStart::Rfc9406, ..quick() }
}

/// The segments from `first` on, as many as `delays` has, come so many milliseconds later; all
/// after them as the last one.
fn later(mut pair: Pair, first: usize, delays: &[u64]) -> Pair {
    // The SYN and the ACK of its answer go before the first segment.
    pair.data_fates = vec![Fate::Deliver; first + 1];
    pair.data_fates.extend(delays.iter().map(|by| Fate::Delay(*by)));
    let last = delays.last().copied().unwrap_or(0);
    pair.data_fates.resize(20_000, Fate::Delay(last));
    pair
}

fn bulk(config: Config) -> Pair {
    Pair::bulk(config)
}

#[test]
fn a_rise_of_an_eighth_ends_the_doubling_and_a_smaller_one_does_not() {
    // An eighth of 100 ms is 12.5 ms. The first eight ACKs of round 2 bring a segment each, the
    // next twelve three in all.
    for (rise, window) in [(12, 40), (13, 31)] {
        for name in ["newreno", "reno", "cubic"] {
            let mut pair = later(Pair::bulk_with(with_hystart(), name), 11, &[rise]);
            pair.run_until(at(350));
            assert_eq!(pair.sender.cwnd(), window * MSS, "{name}, {rise} ms");
            assert_eq!(pair.sender.ssthresh(), ENDLESS);
        }
    }
}

#[test]
fn without_it_no_rise_does() {
    for hystart in [HyStart::Own, HyStart::Off] {
        let mut pair = later(bulk(Config { hystart, ..quick() }), 11, &[80]);
        pair.run_until(at(450));
        assert_eq!(pair.sender.cwnd(), 40 * MSS);
    }
}

#[test]
fn fewer_than_eight_samples_say_nothing() {
    // With four segments at first round 2 has six samples, and with each round the RTT is what it
    // was in the last.
    for (iw, ends) in [(4, false), (5, true)] {
        let first = usize::try_from(iw).unwrap() + 1;
        let mut pair = later(bulk(Config { iw, ..with_hystart() }), first, &[40]);
        pair.run_until(at(1000));
        assert_eq!(pair.sender.ssthresh() < ENDLESS, ends, "{iw} segments at first");
    }
}

#[test]
fn in_conservative_slow_start_the_window_grows_by_a_quarter_per_round_trip() {
    let mut pair = later(bulk(with_hystart()), 11, &[13]);
    pair.run_until(at(350));
    assert_eq!(pair.sender.cwnd(), 31 * MSS);
    pair.run_until(at(460));
    assert_eq!(pair.sender.cwnd(), 31 * MSS + 31 * MSS / 4);
    let before = pair.sender.cwnd();
    pair.run_until(at(573)); // a round trip has 113 ms
    let grown = pair.sender.cwnd() - before;
    assert!((9 * MSS..=before / 4).contains(&grown), "{grown} bytes on {before}");
}

#[test]
fn after_five_rounds_of_it_congestion_avoidance_begins_where_the_window_is() {
    let mut pair = later(bulk(with_hystart()), 11, &[13]);
    // Rounds 2 to 6 are of 113 ms.
    pair.run_until(at(100 + 100 + 5 * 113 - 1));
    assert_eq!(pair.sender.ssthresh(), ENDLESS);
    pair.run_until(at(100 + 100 + 5 * 113));
    let threshold = pair.sender.ssthresh();
    let window = pair.sender.cwnd();
    assert!((50 * MSS..80 * MSS).contains(&threshold), "{threshold}");
    assert!((threshold..=threshold + MSS).contains(&window), "{window}");
    pair.run_until(at(100 + 100 + 10 * 113));
    let grown = pair.sender.cwnd() - window;
    assert!((4 * MSS..=6 * MSS).contains(&grown), "{grown} bytes in five round trips");
    assert_eq!(pair.sender.ssthresh(), threshold);
}

#[test]
fn a_false_alarm_returns_to_slow_start() {
    // The 20 segments of one round trip come 30 ms later, no other does.
    let mut delays = [30; 21];
    delays[20] = 0;
    let mut pair = later(bulk(with_hystart()), 11, &delays);
    pair.run_until(at(400));
    assert_eq!(pair.sender.cwnd(), 31 * MSS);
    // The ACKs of numbers 29 to 36 are the eight samples of round 3 that show it: six more at a
    // quarter, then one each.
    pair.run_until(at(500));
    assert_eq!(pair.sender.cwnd(), 31 * MSS + 6 * MSS / 4 + 25 * MSS);
    let before = pair.sender.cwnd();
    pair.run_until(at(560));
    let grown = pair.sender.cwnd() - before;
    assert!(grown >= before - MSS, "{before} bytes, then {grown} more: it doubles again");
    pair.run_until(at(900));
    assert_eq!(pair.sender.ssthresh(), ENDLESS);
}

#[test]
fn a_loss_a_mark_or_a_timeout_ends_it_and_a_later_slow_start_is_the_standard_one() {
    // The delay rises after what ends the first slow start: it makes no difference any more.
    let stories = [("loss", 1, Fate::Lose), ("mark", 1, Fate::Mark), ("timeout", 2, Fate::Lose)];
    for (what, transmissions, fate) in stories {
        let windows = |hystart: HyStart| {
            let config = Config { hystart, ecn: true, iw: 40, ..quick() };
            let mut pair = later(bulk(config), 60, &[30]);
            pair.fates = (1..=transmissions).map(|number| ((5, number), fate)).collect();
            let mut windows = Vec::new();
            for step in 2..400 {
                pair.run_until(at(10 * step));
                windows.push(pair.sender.cwnd() / MSS);
            }
            assert!(pair.sender.ssthresh() < ENDLESS, "{what}");
            let stats = pair.sender.stats();
            assert_eq!(stats.timeouts > 0, what == "timeout");
            assert_eq!(stats.ecn_reductions > 0, what == "mark");
            windows
        };
        assert_eq!(windows(HyStart::Rfc9406), windows(HyStart::Own), "{what}");
    }
}

#[test]
fn an_ack_of_more_than_eight_segments_counts_for_eight() {
    let acks = |every: u32| {
        let delayed_ack = goodqueue_tcp::DelayedAck { every, ..Config::default().delayed_ack };
        let mut pair = bulk(Config { delayed_ack, hystart: HyStart::Rfc9406, ..quick() });
        pair.run_until(at(220));
        pair.sender.cwnd() / MSS
    };
    // Two ACKs of five segments count whole, one of ten counts for eight.
    assert_eq!((acks(5), acks(10)), (20, 18));
}

#[test]
fn linux_cubic_has_its_own_unless_another_or_none_is_asked_for() {
    let windows = |hystart: HyStart| {
        let linux = profile("linux").settings;
        let config = Config { hystart, delayed_ack: quick().delayed_ack, ..linux };
        let mut pair = later(Pair::bulk_with(config, "cubic_linux"), 11, &[20]);
        pair.run_until(at(1200));
        let whole = pair.sender.cwnd() % u64::from(config.payload());
        assert_eq!(whole, 0, "its window stays one of whole segments");
        (pair.sender.ssthresh() < ENDLESS, pair.sender.cwnd() / u64::from(config.payload()))
    };
    let own = windows(HyStart::Own);
    let off = windows(HyStart::Off);
    let rfc = windows(HyStart::Rfc9406);
    assert!(own.0 && rfc.0 && !off.0, "{own:?} {off:?} {rfc:?}");
    assert!(own.1 < rfc.1 && rfc.1 < off.1, "CSS grows on for five rounds: {own:?} {rfc:?} {off:?}");
}
