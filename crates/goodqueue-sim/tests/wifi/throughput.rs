//! The throughput of one station, compared with closed formulas.

use crate::channel::{Sender, channel, client, driver, ht, radio, run};
use crate::formulas::{close, mbits, paper_formula, standard_formula};
use goodqueue::Duration;
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::forming::Forming;

#[test]
fn the_papers_formula_gives_the_papers_values() {
    for (n, expected) in [(1.0, 44.4), (2.0, 67.5), (8.0, 110.5), (32.0, 131.4), (42.0, 133.4)] {
        close(paper_formula(n, 144.4), expected, 0.001, "144.4 Mbit/s");
    }
    close(paper_formula(2.0, 7.2), 6.53, 0.001, "7.2 Mbit/s");
}

#[test]
fn a_station_alone_gets_what_the_formulas_say() {
    let alone = |modulation, aggregate| {
        let mut config = channel(driver(1000), vec![client(radio(modulation, aggregate))]);
        // With a second aggregate prepared, the window of 64 numbers could not hold two of more
        // than 32 packets.
        config.forming = [Forming::Ahead(1); 2];
        let (seen, _) = run(&config, &[Sender::saturating(Direction::Down, 0)], 10_000);
        mbits(seen.arrived(Direction::Down, 0), 10_000)
    };
    let single_stream = ht(7, true);
    for n in [1, 2, 8, 32] {
        close(alone(single_stream, n), standard_formula(n, single_stream), 0.005, "MCS 7");
    }
    close(alone(single_stream, 32), paper_formula(32.0, 72.2), 0.01, "MCS 7, the paper's formula");
    let fast = ht(15, true);
    for n in [1, 2, 8, 32, 42] {
        close(alone(fast, n), standard_formula(n, fast), 0.005, "MCS 15");
    }
    close(alone(fast, 32), 131.4, 0.01, "MCS 15, n = 32, the paper's value");
    close(alone(fast, 42), 133.4, 0.01, "MCS 15, n = 42, the paper's value");
    // At 6 Mbit/s the answer takes longer than the paper assumes.
    close(alone(ht(0, true), 2), 6.53, 0.02, "MCS 0, n = 2, the paper's value");
}

#[test]
fn four_milliseconds_limit_a_slow_station_to_two_packets() {
    let mut slow = radio(ht(0, true), 32);
    slow.longest = Duration::from_millis(4);
    let (_, medium) =
        run(&channel(driver(1000), vec![client(slow)]), &[Sender::saturating(Direction::Down, 0)], 5_000);
    let [down, _] = medium.radio_stats(0);
    assert!(
        down.mpdus.abs_diff(2 * down.ppdus) <= 2,
        "but the first ones, which found the channel idle: {down:?}"
    );
}
