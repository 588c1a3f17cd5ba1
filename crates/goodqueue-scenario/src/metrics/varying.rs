//! Metrics whose number depends on the scenario: thresholds of queues, hops, WiFi stations.

use goodqueue_tc::printable;

use super::metric::Better::{High, Low, Neither};
use super::metric::Digits::{AfterPoint, Three};
use super::metric::{DirectionColumns, Group, Metric, MetricFn, P50, P95, P99, Table, link, ms, percent};
use crate::results::{Run, SpikeResult, Summary};

/// First words of the title of the sojourn times in another queue.
pub const SOJOURN_IN: &str = "Sojourn time in ";
/// A terminal has no room for the airtime of more stations than this.
const MOST_STATIONS: usize = 6;

/// The parts of a scenario on which these metrics depend.
#[derive(Default)]
pub(super) struct Parts {
    /// Thresholds of queues in bytes.
    thresholds: Vec<String>,
    /// Names of the queues outside the bottleneck.
    queues: Vec<String>,
    /// Numbers of the WiFi stations.
    stations: Vec<String>,
}

impl Parts {
    /// Returns all parts that any of these runs has.
    pub(super) fn from_runs(runs: &[&Run]) -> Self {
        let watched = runs.iter().map(|run| &run.bottleneck.down.spikes).max_by_key(|spikes| spikes.len());
        let mut queues: Vec<String> = Vec::new();
        for (name, _) in runs.iter().flat_map(|run| run.other_queues()) {
            if !queues.iter().any(|known| known == name) {
                queues.push(name.to_owned());
            }
        }
        let channels = runs.iter().filter_map(|run| run.wifi.as_ref());
        // One station has all of the airtime.
        let channel = channels.filter(|wifi| wifi.stations.len() > 1).max_by_key(|wifi| wifi.stations.len());
        Self {
            thresholds: watched.into_iter().flatten().map(|spike| spike.above_bytes.to_string()).collect(),
            queues,
            stations: channel
                .into_iter()
                .flat_map(|wifi| &wifi.stations)
                .map(|station| station.client.to_string())
                .collect(),
        }
    }

    /// Returns one part of each sort, under a placeholder, for the documentation.
    pub(super) fn placeholders() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self { thresholds: one("N"), queues: one("NAME"), stations: one("N") }
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> =
            self.thresholds.iter().enumerate().map(|(number, above)| spike(number, above)).collect();
        groups.extend(self.queues.iter().map(|name| queue(name)));
        groups.extend(air(&self.stations));
        groups
    }
}

/// Time for which the queue held more bytes than threshold `number`.
fn spike(number: usize, above: &str) -> Group {
    let time = |name: &str, of: fn(&SpikeResult) -> f64, doc| {
        let of = move |run: &Run, side| Some(of(link(run, side).spikes.get(number)?) * 1e3);
        Metric::new(name, "ms", Low, of, doc)
    };
    let metrics = vec![
        time("longest", |spike| spike.longest_s, "longest uninterrupted time above the threshold")
            .at(&format!("bottleneck.{{}}.spikes.{number}.longest_s")),
        time("in all", |spike| spike.total_s, "total time above the threshold")
            .at(&format!("bottleneck.{{}}.spikes.{number}.total_s")),
    ];
    let heading = format!("{{}} above {above} B\nms\nlongest/in all");
    Group {
        table: Table::Spikes,
        is_always_there: false,
        hides_zeros: false,
        ..Group::new(&format!("Queue above {above} B"), &heading, DirectionColumns::Loaded, metrics)
    }
}

/// Time in a queue outside the bottleneck.
fn queue(name: &str) -> Group {
    let quantile = |which: &str, of: fn(&Summary) -> Option<f64>, doc| {
        let key = format!("queues.{name}.{{}}.sojourn_s.{which}");
        let name = name.to_owned();
        let of = move |run: &Run, side| {
            let queues = run.other_queues();
            let sojourn = &queues.iter().find(|queue| queue.0 == name)?.1;
            ms(of(sojourn.get(side)))
        };
        Metric::new(which, "ms", Low, of, doc).at(&key)
    };
    let metrics = vec![
        quantile("p50", P50, "time that packets spent in this queue, median"),
        quantile("p95", P95, "its 95th percentile"),
        quantile("p99", P99, "its 99th percentile"),
    ];
    // A scenario chooses the name, which must not control the terminal.
    let shown = printable::line(name);
    let heading = format!("{shown} {{}}\nms\np50/p95/p99");
    Group {
        table: Table::Queues,
        is_always_there: false,
        hides_zeros: false,
        ..Group::new(&format!("{SOJOURN_IN}{shown}"), &heading, DirectionColumns::Loaded, metrics)
    }
}

/// Airtime of the stations. With many stations the terminal shows the least, the median and the
/// most instead of every station.
fn air(stations: &[String]) -> Vec<Group> {
    if stations.is_empty() {
        return Vec::new();
    }
    let count = stations.len();
    let share = |name: &str, of: MetricFn| {
        Metric::new(name, "%", Neither, of, "share of the station in the airtime of all stations")
            .digits(Three, AfterPoint(0))
    };
    let mut metrics: Vec<Metric> = stations
        .iter()
        .enumerate()
        .map(|(number, station)| {
            let of = move |run: &Run, _| percent(run.wifi.as_ref()?.stations.get(number)?.airtime_share);
            share(&format!("station {station}"), Box::new(of))
                .at(&format!("wifi.stations.{number}.airtime_share"))
        })
        .collect();
    let which = if count <= MOST_STATIONS {
        stations.join("/")
    } else {
        metrics = metrics.into_iter().map(Metric::only_in_report).collect();
        for (name, rank) in [("least", 0), ("median", count / 2), ("most", count - 1)] {
            let of = move |run: &Run, _| percent(ranked(run, rank));
            metrics.push(share(name, Box::new(of)).only_in_terminal());
        }
        format!("least/median/most of {count}")
    };
    let jain = |run: &Run, _| run.wifi.as_ref()?.jain_airtime();
    let jain = Metric::new("Jain index", "", High, jain, "fairness of the airtime")
        .digits(AfterPoint(3), AfterPoint(2))
        .at("wifi.jain_airtime");
    let group = |heading: &str, metrics| Group {
        table: Table::Air,
        is_always_there: false,
        hides_zeros: false,
        ..Group::new("Airtime", heading, DirectionColumns::One, metrics)
    };
    vec![
        group(&format!("airtime of station\n%\n{which}"), metrics),
        group("Jain index\nof airtime\n", vec![jain]),
    ]
}

/// Returns the airtime share of the station with this rank, smallest first.
fn ranked(run: &Run, rank: usize) -> Option<f64> {
    let stations = &run.wifi.as_ref()?.stations;
    let mut shares: Vec<f64> = stations.iter().filter_map(|station| station.airtime_share).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(rank).copied()
}
