//! The delivery rate that Linux would report of a sender.

use goodqueue::Instant;
use goodqueue_tcp::Config;

use crate::pair::{Fate, MSS, Pair, at, catalogue, controller, profile, quick};

fn reporting(config: Config) -> Config {
    Config { reports_rate: true, ..config }
}

/// A sender with a fixed window of 10 segments: its rate is a window per round trip of 100 ms.
fn steady() -> Pair {
    let limited = Config { rwnd: u32::try_from(10 * MSS).expect("small"), ..quick() };
    let mut pair = Pair::bulk(reporting(limited));
    pair.run_until(at(2000));
    pair
}

#[test]
fn a_steady_sender_reports_the_rate_at_which_it_delivers() {
    let mut pair = steady();
    pair.sender.restart_delivery_rate(pair.now);
    pair.run_until(at(4000));
    assert_eq!(pair.sender.mean_delivery_rate(pair.now), Some(10 * 10 * MSS));
}

#[test]
fn the_mean_begins_with_the_first_sample() {
    let mut pair = Pair::bulk(reporting(quick()));
    pair.run_until(at(150));
    assert_eq!(pair.sender.mean_delivery_rate(pair.now), None, "the handshake gives no sample");
    pair.run_until(at(400));
    assert!(pair.sender.mean_delivery_rate(pair.now).is_some());
}

#[test]
fn a_sender_that_is_not_asked_has_no_rate() {
    let mut pair = Pair::bulk(quick());
    pair.run_until(at(1000));
    assert_eq!(pair.sender.mean_delivery_rate(pair.now), None);
    // BBR takes samples for itself.
    let mut pair = Pair::bulk_with(profile("linux").settings, "bbr");
    pair.run_until(at(1000));
    assert_eq!(pair.sender.mean_delivery_rate(pair.now), None);
}

/// Everything that both ends sent, in a transfer with losses, marks and a timeout.
fn sent(config: Config, name: &str) -> impl PartialEq {
    let mut pair = Pair::with(config, config, name).lose([3, 7, 30, 31, 32, 60]).lose_times(8, 2);
    let fate = |number: u32| if number.is_multiple_of(25) { Fate::Mark } else { Fate::Deliver };
    pair.data_fates = (0..500).map(fate).collect();
    pair.sender.write(200_000);
    pair.sender.close();
    pair.sender.open(Instant::ZERO);
    pair.finish();
    assert_eq!(pair.sender.mean_delivery_rate(pair.now).is_some(), config.reports_rate, "{name}");
    (pair.data, pair.acks, pair.sender.cwnd(), pair.sender.ssthresh())
}

#[test]
fn a_sender_sends_the_same_whether_it_reports_or_not() {
    for profile in catalogue().profiles() {
        for name in catalogue().controllers().map(|about| about.name) {
            let config = profile.settings.suited_to(controller(name).about().needs);
            let [silent, reports] = [config, reporting(config)].map(|config| sent(config, name));
            assert!(silent == reports, "{} {name}", profile.name);
        }
    }
}
