//! Airtime fairness of the FQ-MAC.

use crate::channel::{Sender, channel, client, driver, ht, run};
use crate::formulas::{close, fraction, mbits, standard_formula};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::{ClientConfig, MacConfig, RadioConfig};

#[test]
fn the_fq_mac_gives_each_of_n_stations_an_nth_of_the_airtime() {
    for rates in [vec![0, 7], vec![0, 3, 7, 15], vec![0, 1, 2, 3, 4, 5, 6, 7, 12, 15]] {
        let clients: Vec<ClientConfig> =
            rates.iter().map(|&mcs| client(RadioConfig::new(ht(mcs, true)))).collect();
        let senders: Vec<Sender> =
            (0..rates.len()).map(|client| Sender::at(Direction::Down, client, 100)).collect();
        let (_, medium) = run(&channel(MacConfig::Fq(FqMacConfig::default()), clients), &senders, 20_000);
        let airtimes: Vec<u64> =
            (0..rates.len()).map(|client| medium.radio_stats(client)[0].airtime.as_nanos()).collect();
        let total: u64 = airtimes.iter().sum();
        for &airtime in &airtimes {
            close(fraction(airtime, total), 1.0 / fraction(rates.len() as u64, 1), 0.01, "share of airtime");
        }
    }
}

/// Returns the shares of airtime, and the throughputs in Mbit/s, of two stations at 144.4 Mbit/s
/// and one at 7.2 Mbit/s, each offered more than it can receive.
fn papers_three_stations(access_point: MacConfig) -> (Vec<f64>, Vec<f64>) {
    let stations = [15, 15, 0].map(|mcs| client(RadioConfig::new(ht(mcs, true))));
    let senders: Vec<Sender> = (0..3).map(|client| Sender::at(Direction::Down, client, 100)).collect();
    let (seen, medium) = run(&channel(access_point, stations.to_vec()), &senders, 20_000);
    let airtimes = [0, 1, 2].map(|client| medium.radio_stats(client)[0].airtime.as_nanos());
    let total: u64 = airtimes.iter().sum();
    let shares = airtimes.iter().map(|airtime| fraction(*airtime, total)).collect();
    (shares, (0..3).map(|client| mbits(seen.arrived(Direction::Down, client), 20_000)).collect())
}

#[test]
fn the_fq_mac_ends_the_anomaly_of_the_papers_three_stations() {
    let (fifo_shares, fifo) = papers_three_stations(driver(123));
    let (fair_shares, fair) = papers_three_stations(MacConfig::Fq(FqMacConfig::default()));
    assert!(
        (0.75..0.85).contains(&fifo_shares[2]),
        "the slow one holds most of the airtime: {fifo_shares:?}"
    );
    assert!(fair_shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.01), "{fair_shares:?}");
    let total = |rates: &[f64]| rates.iter().sum::<f64>();
    assert!(total(&fair) > 3.0 * total(&fifo), "{fifo:?} {fair:?}");
    let fast = ht(15, true);
    // A third of the time, with aggregates of 32 packets.
    for rate in &fair[..2] {
        close(*rate, standard_formula(32, fast) / 3.0, 0.05, "a fast station's throughput");
    }
}
