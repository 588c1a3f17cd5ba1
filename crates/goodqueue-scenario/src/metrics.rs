//! The catalogue of metrics.
//!
//! A metric is a number of a run with its name, its unit, the better end, and its digits. The
//! tables of the terminal, the report and the documentation iterate over this catalogue, so that a
//! new metric is one entry here. A metric that the runs do not hold yet is measured in
//! [`measure`](crate::measure) first; the summary over seeds and the exports then contain it, too.

use std::fmt::Write as _;

use goodqueue_sim::Direction;

use crate::results::{FlowResult, LinkResult, Run, SpikeResult, Summary, VideoResult, VoipResult};
use crate::statistics::float;

/// Metrics that stand beside each other under one heading.
pub struct Group {
    /// Heading in the report.
    pub title: String,
    /// Heading of the column in the terminal: name, unit and metrics, a line each. `{}` stands for
    /// the direction.
    pub heading: String,
    /// The table that the group belongs to.
    pub table: Table,
    /// How the directions are shown.
    pub sides: Sides,
    /// Whether the report shows the group even if no run has a value.
    pub is_always_there: bool,
    /// Whether the group says something about a run.
    pub applies: fn(&Run) -> bool,
    /// The metrics from left to right.
    pub metrics: Vec<Metric>,
}

/// One number of a run.
pub struct Metric {
    /// Name below the heading of its group.
    pub name: String,
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// Which values are better.
    pub better: Better,
    /// Digits in the report; `None`: not shown there.
    pub report: Option<Digits>,
    /// Digits in the terminal; `None`: not shown there.
    pub terminal: Option<Digits>,
    /// Whether the terminal shows the confidence interval over the seeds.
    pub interval: bool,
    /// Whether live runs are compared with simulated ones by it.
    pub compared: bool,
    /// The value in this unit. The direction matters unless the group's sides are [`Sides::One`].
    pub of: Of,
    /// What the metric is, for the documentation.
    pub doc: &'static str,
}

/// Computes a metric of a run.
pub type Of = Box<dyn Fn(&Run, Direction) -> Option<f64>>;

/// The tables of the terminal and the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// What people look at first: latency, goodput, what users of the traffic see.
    Main,
    /// How packets were lost, and shares.
    Losses,
    /// How long queues were longer than a threshold.
    Spikes,
    /// The queues that are not at the bottleneck.
    Queues,
    /// The airtime of stations.
    Air,
}

impl Table {
    /// All tables in the order of the page.
    pub const ALL: [Self; 5] = [Self::Main, Self::Losses, Self::Spikes, Self::Queues, Self::Air];
}

/// How a group shows the two directions. The terminal shows both: as one column if the group has
/// one metric, otherwise as a column each. The report has one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sides {
    /// There is one value for both.
    One,
    /// The report shows the direction that carries the load.
    Loaded,
    /// The same, or the value of the downlink if there is none.
    LoadedOrDown,
    /// The report shows the sum.
    Sum,
}

/// Digits of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Digits {
    /// Three significant digits.
    Three,
    /// This number of digits after the point.
    AfterPoint(usize),
}

/// Which values of a metric are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Large values.
    High,
    /// Small values.
    Low,
    /// Neither: more drops are no fault in themselves.
    Neither,
}

impl Group {
    /// The number that the report shows where `loaded` carries the load.
    #[must_use]
    pub fn in_report(&self, metric: &Metric, run: &Run, loaded: Direction) -> Option<f64> {
        let value = |direction| (metric.of)(run, direction);
        match self.sides {
            _ if !(self.applies)(run) => None,
            Sides::One | Sides::Loaded => value(loaded),
            Sides::LoadedOrDown => value(loaded).or_else(|| value(Direction::Down)),
            Sides::Sum => Some(value(Direction::Down)? + value(Direction::Up)?),
        }
    }
}

/// A column of the terminal.
pub struct Column<'g> {
    /// Name, unit and metrics, a line each.
    pub heading: String,
    /// The numbers in a cell, from left to right, each in one direction.
    pub parts: Vec<(&'g Metric, Direction)>,
}

impl Group {
    /// Returns the group's columns in the terminal.
    #[must_use]
    pub fn columns(&self) -> Vec<Column<'_>> {
        let shown: Vec<&Metric> = self.metrics.iter().filter(|metric| metric.terminal.is_some()).collect();
        let column = |heading: String, parts| Column { heading, parts };
        let of_side = |side: Direction| {
            let parts = shown.iter().map(|metric| (*metric, side)).collect();
            column(self.heading.replace("{}", side.name()), parts)
        };
        match (self.sides, shown.as_slice()) {
            (_, []) => Vec::new(),
            (Sides::One, _) => vec![of_side(Direction::Down)],
            (_, [metric]) => {
                vec![column(self.heading.clone(), Direction::BOTH.map(|side| (*metric, side)).into())]
            }
            _ => Direction::BOTH.map(of_side).into(),
        }
    }
}

impl<'g> Column<'g> {
    /// Returns the parts by which live runs are compared with simulated ones, as columns of their
    /// own.
    pub fn compared(&self) -> impl Iterator<Item = Column<'g>> {
        let mut lines = self.heading.split('\n');
        let name = lines.next().unwrap_or_default().to_owned();
        let names: Vec<String> =
            self.heading.rsplit('\n').next().unwrap_or_default().split('/').map(str::to_owned).collect();
        self.parts.iter().zip(names).filter(|((metric, _), _)| metric.compared).map(move |(part, which)| {
            Column { heading: format!("{name}\n{}\n{which}", part.0.unit), parts: vec![*part] }
        })
    }
}

/// Returns the catalogue for these runs: the fixed entries, and those that depend on the hops,
/// thresholds and stations that the runs have.
#[must_use]
pub fn catalogue(runs: &[&Run]) -> Vec<Group> {
    let mut all = main();
    all.extend(traffic());
    all.extend(losses());
    all.extend(spikes(runs));
    all.extend(queues(runs));
    all.extend(air(runs));
    all
}

/// Returns the fixed entries of the catalogue as a page of documentation.
#[must_use]
pub fn documentation() -> String {
    let mut text = String::from(
        "# Metrics\n\nTimes in results are in seconds and rates in bit/s; tables show the units below.\n\n\
         | metric | unit | better | meaning |\n|---|---|---|---|\n",
    );
    for group in catalogue(&[]) {
        for metric in &group.metrics {
            let better = match metric.better {
                Better::High => "higher",
                Better::Low => "lower",
                Better::Neither => "",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {}, {} | {} | {better} | {} |",
                group.title, metric.name, metric.unit, metric.doc
            );
        }
    }
    text
}

/// A group of the main table that is always shown.
fn group(title: &str, heading: &str, sides: Sides, metrics: Vec<Metric>) -> Group {
    let (title, heading) = (title.to_owned(), heading.to_owned());
    Group { title, heading, table: Table::Main, sides, is_always_there: true, applies: |_| true, metrics }
}

/// A metric with three digits everywhere.
fn metric(
    name: &str,
    unit: &'static str,
    better: Better,
    of: impl Fn(&Run, Direction) -> Option<f64> + 'static,
    doc: &'static str,
) -> Metric {
    let digits = Some(Digits::Three);
    let (name, of) = (name.to_owned(), Box::new(of));
    Metric { name, unit, better, report: digits, terminal: digits, interval: false, compared: false, of, doc }
}

impl Metric {
    fn digits(mut self, report: Digits, terminal: Digits) -> Self {
        (self.report, self.terminal) = (Some(report), Some(terminal));
        self
    }

    fn with_interval(mut self) -> Self {
        self.interval = true;
        self
    }

    fn compared(mut self) -> Self {
        self.compared = true;
        self
    }

    fn only_in_report(mut self) -> Self {
        self.terminal = None;
        self
    }

    fn only_in_terminal(mut self) -> Self {
        self.report = None;
        self
    }
}

/// Goodput, latency, drops: every run has them.
fn main() -> Vec<Group> {
    use Better::{High, Low, Neither};
    use Digits::{AfterPoint, Three};
    let goodput = |name: &str, of: fn(&Run) -> f64, doc| {
        metric(name, "Mbit/s", High, move |run, _| Some(of(run) / 1e6), doc)
            .digits(Three, AfterPoint(2))
            .with_interval()
            .compared()
    };
    let induced = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        metric(name, "ms", Low, move |run, _| ms(of(&run.induced_latency_s)), doc)
    };
    let sojourn = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        metric(name, "ms", Low, move |run, side| ms(of(&link(run, side).sojourn_s)), doc)
    };
    let packets = |name: &str, of: fn(&LinkResult) -> u64, doc| {
        metric(name, "", Neither, move |run, side| Some(float(of(link(run, side)))), doc)
            .digits(AfterPoint(0), AfterPoint(0))
    };
    let jain = |run: &Run, side| match side {
        Direction::Down => run.fairness.jain_goodput,
        Direction::Up => run.fairness.jain_goodput_up,
    };
    vec![
        group(
            "Goodput",
            "goodput\nMbit/s\ndown/up",
            Sides::One,
            vec![
                goodput("down", |run| run.goodput.down, "payload that TCP flows delivered to the clients"),
                goodput("up", |run| run.goodput.up, "payload that TCP flows delivered to the servers"),
            ],
        ),
        group(
            "Induced latency",
            "induced latency\nms\nmean/p95/p99",
            Sides::One,
            vec![
                induced("mean", |of| of.mean, "round-trip time of pings less that of the empty path, mean")
                    .with_interval()
                    .compared(),
                induced("p95", |of| of.p95, "its 95th percentile"),
                induced("p99", |of| of.p99, "its 99th percentile"),
            ],
        ),
        group(
            SOJOURN,
            "sojourn {}\nms\np50/p95/p99",
            Sides::Loaded,
            vec![
                sojourn("p50", |of| of.p50, "time that packets spent in the bottleneck's queue, median")
                    .compared(),
                sojourn("p95", |of| of.p95, "its 95th percentile"),
                sojourn("p99", |of| of.p99, "its 99th percentile"),
            ],
        ),
        group(
            PACKETS,
            "drops\n\ndown/up",
            Sides::Sum,
            vec![packets("dropped", |of| of.packets.dropped, "packets that the discipline dropped")],
        ),
        group(
            PACKETS,
            "marks\n\ndown/up",
            Sides::Sum,
            vec![packets("marked", |of| of.packets.marked, "packets that the discipline marked CE")],
        ),
        group(
            "Jain index",
            "Jain index\n\ndown/up",
            Sides::LoadedOrDown,
            vec![
                metric("goodput", "", High, jain, "fairness of the goodput of TCP flows: 1 if all are equal")
                    .digits(AfterPoint(3), AfterPoint(2)),
            ],
        ),
    ]
}

/// What users of traffic see that only some scenarios have.
fn traffic() -> Vec<Group> {
    use Better::{High, Low};
    use Digits::{AfterPoint, Three};
    let two = AfterPoint(2);
    let of_some = |title, heading, applies, metrics| Group {
        applies,
        is_always_there: false,
        ..group(title, heading, Sides::One, metrics)
    };
    let video = |run: &Run, of: fn(&VideoResult) -> Option<f64>| of(run.probes.video.as_ref()?);
    let page = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        metric(name, "ms", Low, move |run, _| ms(of(&run.probes.web.as_ref()?.page_fetch_s)), doc)
    };
    let completion = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        metric(name, "ms", Low, move |run, _| ms(of(&run.completion.as_ref()?.time_s)), doc)
    };
    vec![
        of_some(
            VOICE,
            "voice\n%, ms, MOS\nlost/one way/score",
            |run| run.probes.voip.is_some(),
            vec![
                metric(
                    "lost",
                    "%",
                    Low,
                    |run, _| percent(voice(run)?.loss),
                    "packets of calls that were lost",
                )
                .digits(Three, two),
                metric(
                    "delay",
                    "ms",
                    Low,
                    |run, _| ms(voice(run)?.one_way_delay_s.mean),
                    "one-way delay, mean",
                )
                .compared(),
                metric("jitter", "ms", Low, |run, _| ms(voice(run)?.jitter_s), "jitter of RFC 3550")
                    .only_in_report(),
                metric("MOS", "", High, |run, _| voice(run)?.mos, "score of the E-model, from 1 to 4.5")
                    .digits(two, two),
            ],
        ),
        of_some(
            VIDEO,
            "video\nMbit/s, s, s\nrate/stalled/shown after",
            |run| run.probes.video.is_some(),
            vec![
                metric(
                    "bit rate",
                    "Mbit/s",
                    High,
                    move |run, _| video(run, |of| of.bitrate_bps.map(|bits| bits / 1e6)),
                    "bit rate of the segments shown",
                )
                .digits(Three, two),
                metric(
                    "stalled",
                    "s",
                    Low,
                    move |run, _| video(run, |of| Some(of.stalled_s)),
                    "time without a picture",
                )
                .digits(Three, AfterPoint(1)),
                metric(
                    "shown after",
                    "s",
                    Low,
                    move |run, _| video(run, |of| of.shown_after_s),
                    "time to the first picture",
                )
                .digits(Three, AfterPoint(1))
                .only_in_terminal(),
            ],
        ),
        of_some(
            PAGES,
            "page fetch\nms\np50/p95",
            |run| run.probes.web.is_some(),
            vec![
                page("p50", |of| of.p50, "time to fetch a page, median").compared(),
                page("p95", |of| of.p95, "its 95th percentile"),
            ],
        ),
        of_some(
            TRANSFERS,
            "completion\nms\np50/p95/p99",
            |run| run.completion.is_some(),
            vec![
                completion("p50", |of| of.p50, "completion time of flows of given size, median").compared(),
                completion("p95", |of| of.p95, "its 95th percentile"),
                completion("p99", |of| of.p99, "its 99th percentile"),
            ],
        ),
        of_some(
            GROUPS,
            "groups\nms\nmean/max",
            |run| !run.groups.is_empty(),
            vec![
                metric(
                    "mean",
                    "ms",
                    Low,
                    |run, _| ms(run.mean_response_s()),
                    "response time of groups of transfers, mean",
                ),
                metric("max", "ms", Low, |run, _| ms(run.max_response_s()), "the longest of them"),
            ],
        ),
    ]
}

/// How packets were lost, and shares.
fn losses() -> Vec<Group> {
    use Better::{High, Low, Neither};
    use Digits::{AfterPoint, Three};
    let of_losses = |title: &str, heading: &str, sides, metric: Metric| Group {
        table: Table::Losses,
        is_always_there: false,
        ..group(title, heading, sides, vec![metric])
    };
    let rival = |run: &Run| {
        let is_rival =
            |flow: &FlowResult| flow.cc.is_none() && flow.kind != "ping" && flow.bytes_delivered > 0;
        run.flows.iter().any(is_rival)
    };
    let synchronized = |run: &Run, side| percent(*run.loss_synchronization.get(side));
    vec![
        of_losses(
            LOSSES,
            "loss events\nper TCP flow\ndown/up",
            Sides::Loaded,
            metric(
                "events per flow",
                "",
                Neither,
                |run, side| run.loss_events(side.name()),
                "loss events of a TCP flow, mean",
            ),
        ),
        of_losses(
            LOSSES,
            "packets lost\nper event\ndown/up",
            Sides::Loaded,
            metric(
                "packets per event",
                "",
                Neither,
                |run, side| run.packets_per_loss_event(side.name()),
                "packets dropped in a loss event, mean",
            ),
        ),
        of_losses(
            LOSSES,
            "synchronized\n% of flows\ndown/up",
            Sides::Loaded,
            metric(
                "synchronized",
                "%",
                Low,
                synchronized,
                "flows that lose packets in the same congestion period",
            )
            .digits(Three, AfterPoint(0)),
        ),
        of_losses(
            "Jain index",
            "Jain index\nof drops\n",
            Sides::One,
            metric("drops", "", High, |run, _| run.fairness.jain_drop_share, "fairness of the drops")
                .digits(AfterPoint(3), AfterPoint(2)),
        ),
        of_losses(
            "Mean queue",
            "mean queue\n% of limit\ndown/up",
            Sides::Loaded,
            metric(
                "of limit",
                "%",
                Neither,
                |run, side| percent(link(run, side).queue_share),
                "mean backlog as a share of the limit",
            ),
        ),
        Group {
            applies: rival,
            ..of_losses(
                "Share of TCP",
                "TCP's share\n% of bytes\n",
                Sides::One,
                metric(
                    "in bytes",
                    "%",
                    Neither,
                    |run, _| percent(run.tcp_share),
                    "share of TCP in the bytes delivered",
                )
                .digits(Three, AfterPoint(0)),
            )
        },
    ]
}

/// For each threshold, the time with more bytes than that in the queue.
fn spikes(runs: &[&Run]) -> Vec<Group> {
    let watched = runs.iter().map(|run| &run.bottleneck.down.spikes).max_by_key(|spikes| spikes.len());
    let of_one = |(number, spike): (usize, &SpikeResult)| {
        let above = spike.above_bytes;
        let time = |name: &str, of: fn(&SpikeResult) -> f64, doc| {
            let of = move |run: &Run, side| Some(of(link(run, side).spikes.get(number)?) * 1e3);
            metric(name, "ms", Better::Low, of, doc)
        };
        let metrics = vec![
            time("longest", |spike| spike.longest_s, "longest time without a break"),
            time("in all", |spike| spike.total_s, "all such time"),
        ];
        let heading = format!("{{}} above {above} B\nms\nlongest/in all");
        Group {
            table: Table::Spikes,
            is_always_there: false,
            ..group(&format!("Queue above {above} B"), &heading, Sides::Loaded, metrics)
        }
    };
    watched.into_iter().flatten().enumerate().map(of_one).collect()
}

/// Time in the queues that are not at the bottleneck.
fn queues(runs: &[&Run]) -> Vec<Group> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flat_map(|run| run.other_queues()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_one = |name: &&str| {
        let quantile = |which: &str, of: fn(&Summary) -> Option<f64>| {
            let name = (*name).to_owned();
            let of = move |run: &Run, side| {
                let queues = run.other_queues();
                let sojourn = &queues.iter().find(|queue| queue.0 == name)?.1;
                ms(of(sojourn.get(side)))
            };
            metric(which, "ms", Better::Low, of, "time that packets spent in this queue")
        };
        let metrics =
            vec![quantile("p50", |of| of.p50), quantile("p95", |of| of.p95), quantile("p99", |of| of.p99)];
        let heading = format!("{name} {{}}\nms\np50/p95/p99");
        Group {
            table: Table::Queues,
            is_always_there: false,
            ..group(&format!("{SOJOURN_IN}{name}"), &heading, Sides::Loaded, metrics)
        }
    };
    names.iter().map(of_one).collect()
}

/// The airtime of several stations: of each, or in the terminal of the least, the median and the
/// most if they are many.
fn air(runs: &[&Run]) -> Vec<Group> {
    let channels = runs.iter().filter_map(|run| run.wifi.as_ref()).filter(|wifi| wifi.stations.len() > 1);
    let Some(channel) = channels.max_by_key(|wifi| wifi.stations.len()) else { return Vec::new() };
    let count = channel.stations.len();
    let share = |name: &str, of: Of| {
        let metric = metric(name, "%", Better::Neither, of, "share of the station in the airtime of all");
        metric.digits(Digits::Three, Digits::AfterPoint(0))
    };
    let mut metrics: Vec<Metric> = channel
        .stations
        .iter()
        .enumerate()
        .map(|(number, station)| {
            let of = move |run: &Run, _| percent(run.wifi.as_ref()?.stations.get(number)?.airtime_share);
            share(&format!("station {}", station.client), Box::new(of))
        })
        .collect();
    let which = if count <= MOST_STATIONS {
        let numbers: Vec<String> =
            channel.stations.iter().map(|station| station.client.to_string()).collect();
        numbers.join("/")
    } else {
        metrics = metrics.into_iter().map(Metric::only_in_report).collect();
        for (name, rank) in [("least", 0), ("median", count / 2), ("most", count - 1)] {
            let of = move |run: &Run, _| percent(ranked(run, rank));
            metrics.push(share(name, Box::new(of)).only_in_terminal());
        }
        format!("least/median/most of {count}")
    };
    let jain = metric(
        "Jain index",
        "",
        Better::High,
        |run, _| run.wifi.as_ref()?.jain_airtime(),
        "fairness of the airtime",
    )
    .digits(Digits::AfterPoint(3), Digits::AfterPoint(2));
    let of_air = |heading: &str, metrics| Group {
        table: Table::Air,
        is_always_there: false,
        ..group(AIRTIME, heading, Sides::One, metrics)
    };
    vec![
        of_air(&format!("airtime of station\n%\n{which}"), metrics),
        of_air("Jain index\nof airtime\n", vec![jain]),
    ]
}

/// The station's share of this rank, the least first.
fn ranked(run: &Run, rank: usize) -> Option<f64> {
    let stations = &run.wifi.as_ref()?.stations;
    let mut shares: Vec<f64> = stations.iter().filter_map(|station| station.airtime_share).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(rank).copied()
}

fn link(run: &Run, direction: Direction) -> &LinkResult {
    run.bottleneck.link(direction)
}

fn voice(run: &Run) -> Option<&VoipResult> {
    run.probes.voip.as_ref()
}

fn ms(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|s| s * 1e3)
}

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 1e2)
}

/// Title of the sojourn times at the bottleneck.
pub const SOJOURN: &str = "Sojourn time";
/// Begin of the title of the sojourn times in another queue.
pub const SOJOURN_IN: &str = "Sojourn time in ";
/// Title of the losses.
pub const LOSSES: &str = "Losses";
/// Title of the counts of packets.
pub const PACKETS: &str = "Packets";
const VOICE: &str = "Voice";
const PAGES: &str = "Page fetch";
const VIDEO: &str = "Video";
const TRANSFERS: &str = "Flow completion";
const GROUPS: &str = "Group response";
const AIRTIME: &str = "Airtime";
/// The shares of more stations than these do not fit beside each other in a terminal.
const MOST_STATIONS: usize = 6;
