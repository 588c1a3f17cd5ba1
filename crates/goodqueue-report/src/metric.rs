//! The metrics of the tables and of the sweep chart, each defined once.

use goodqueue::Direction;
use goodqueue_scenario::results::{FlowResult, LinkResult, Run, SpikeResult, Summary, VoipResult};

use goodqueue_scenario::summary::Estimate;

use crate::escape::clip;
use crate::group::Grouped;

/// One column of a table.
pub(crate) struct Metric {
    /// Heading above several columns.
    pub(crate) group: String,
    /// Heading of the column.
    pub(crate) name: String,
    /// Unit; may be empty.
    pub(crate) unit: &'static str,
    /// Whether large or small values are better.
    pub(crate) better: Better,
    /// Number of digits shown.
    pub(crate) digits: Digits,
    /// Table that contains the column.
    pub(crate) table: Table,
    /// Computes the value, in this unit, from a run.
    pub(crate) of: Of,
}

type Of = Box<dyn Fn(&Run, Direction) -> Option<f64>>;

/// The tables of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Table {
    /// Latency, goodput, and the quality that users of the traffic perceive.
    Main,
    /// Losses, and shares of flows.
    Losses,
    /// Time for which queues were longer than given levels.
    Spikes,
    /// Queues outside the bottleneck.
    Queues,
    /// Shares of the airtime of a WiFi channel.
    Air,
}

impl Table {
    /// All tables, in the order of the page.
    pub(crate) const ALL: [Self; 5] = [Self::Main, Self::Losses, Self::Spikes, Self::Queues, Self::Air];
}

/// The number of digits of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Digits {
    /// Three significant digits.
    Three,
    /// This number of digits after the point.
    AfterPoint(usize),
}

/// Which values of a column are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Better {
    /// Large values.
    High,
    /// Small values.
    Low,
    /// Neither: more drops, for example, are not worse in themselves.
    Neither,
}

/// Returns all columns, left to right.
fn metrics(grouped: &Grouped<'_>) -> Vec<Metric> {
    let mut all = main();
    all.extend(losses());
    all.extend(spikes(grouped));
    all.extend(queues(grouped));
    all.extend(air(grouped));
    all
}

fn main() -> Vec<Metric> {
    let main = |group, name, unit, better, of: fn(&Run, Direction) -> Option<f64>| Metric {
        group: String::from(group),
        name: String::from(name),
        unit,
        better,
        digits: match group {
            PACKETS => Digits::AfterPoint(0),
            FAIRNESS => Digits::AfterPoint(3),
            VOICE if better == Better::High => Digits::AfterPoint(2),
            _ => Digits::Three,
        },
        table: Table::Main,
        of: Box::new(of),
    };
    vec![
        main("Goodput", "down", "Mbit/s", Better::High, |r, _| Some(r.goodput.down / 1e6)),
        main("Goodput", "up", "Mbit/s", Better::High, |r, _| Some(r.goodput.up / 1e6)),
        main("Induced latency", "mean", "ms", Better::Low, |r, _| ms(r.induced_latency_s.mean)),
        main("Induced latency", "p95", "ms", Better::Low, |r, _| ms(r.induced_latency_s.p95)),
        main("Induced latency", "p99", "ms", Better::Low, |r, _| ms(r.induced_latency_s.p99)),
        main(SOJOURN, "p50", "ms", Better::Low, |r, l| ms(link(r, l).sojourn_s.p50)),
        main(SOJOURN, "p95", "ms", Better::Low, |r, l| ms(link(r, l).sojourn_s.p95)),
        main(SOJOURN, "p99", "ms", Better::Low, |r, l| ms(link(r, l).sojourn_s.p99)),
        main(PACKETS, "dropped", "", Better::Neither, |r, _| packets(r, |l| l.packets.dropped)),
        main(PACKETS, "marked", "", Better::Neither, |r, _| packets(r, |l| l.packets.marked)),
        main(FAIRNESS, "goodput", "", Better::High, |r, l| match l {
            Direction::Down => r.fairness.jain_goodput,
            Direction::Up => r.fairness.jain_goodput_up.or(r.fairness.jain_goodput),
        }),
        main(VOICE, "lost", "%", Better::Low, |r, _| percent(voice(r)?.loss)),
        main(VOICE, "delay", "ms", Better::Low, |r, _| ms(voice(r)?.one_way_delay_s.mean)),
        main(VOICE, "jitter", "ms", Better::Low, |r, _| ms(voice(r)?.jitter_s)),
        main(VOICE, "MOS", "", Better::High, |r, _| voice(r)?.mos),
        main(PAGES, "p50", "ms", Better::Low, |r, _| ms(r.probes.web.as_ref()?.page_fetch_s.p50)),
        main(PAGES, "p95", "ms", Better::Low, |r, _| ms(r.probes.web.as_ref()?.page_fetch_s.p95)),
        main(VIDEO, "bit rate", "Mbit/s", Better::High, |r, _| {
            Some(r.probes.video.as_ref()?.bitrate_bps? / 1e6)
        }),
        main(VIDEO, "stalled", "s", Better::Low, |r, _| Some(r.probes.video.as_ref()?.stalled_s)),
        main(TRANSFERS, "p50", "ms", Better::Low, |r, _| ms(r.completion.as_ref()?.time_s.p50)),
        main(TRANSFERS, "p95", "ms", Better::Low, |r, _| ms(r.completion.as_ref()?.time_s.p95)),
        main(TRANSFERS, "p99", "ms", Better::Low, |r, _| ms(r.completion.as_ref()?.time_s.p99)),
        main(GROUPS, "mean", "ms", Better::Low, |r, _| ms(r.mean_response_s())),
        main(GROUPS, "max", "ms", Better::Low, |r, _| ms(r.max_response_s())),
    ]
}

fn losses() -> Vec<Metric> {
    let more = |group: &str, name: &str, unit, better, of: fn(&Run, Direction) -> Option<f64>| {
        beside(Table::Losses, group, name, unit, better, Box::new(of))
    };
    let of_link = |group: &'static str| {
        vec![
            more(group, "events per flow", "", Better::Neither, |r, l| r.loss_events(l.name())),
            more(group, "packets per event", "", Better::Neither, |r, l| r.packets_per_loss_event(l.name())),
            more(group, "synchronized", "%", Better::Low, |r, l| {
                percent(match l {
                    Direction::Down => r.loss_synchronization.down,
                    Direction::Up => r.loss_synchronization.up,
                })
            }),
        ]
    };
    let mut all = of_link(LOSSES);
    all.push(Metric {
        digits: Digits::AfterPoint(3),
        ..more("Jain index", "drops", "", Better::High, |r, _| r.fairness.jain_drop_share)
    });
    all.push(more("Mean queue", "of limit", "%", Better::Neither, |r, l| percent(link(r, l).queue_share)));
    all.push(more("Share of TCP", "in bytes", "%", Better::Neither, |r, _| {
        let other = |flow: &FlowResult| flow.cc.is_none() && flow.kind != "ping" && flow.bytes_delivered > 0;
        if r.flows.iter().any(other) { percent(r.tcp_share) } else { None }
    }));
    all
}

/// Returns the columns about time above the levels of the queue length.
fn spikes(grouped: &Grouped<'_>) -> Vec<Metric> {
    let watched = runs(grouped).map(|run| &run.bottleneck.down.spikes).max_by_key(|spikes| spikes.len());
    let of_one = |(number, spike): (usize, &SpikeResult)| {
        let group = format!("Queue above {} B", spike.above_bytes);
        let metric = |name: &str, time: fn(&SpikeResult) -> f64| {
            let of = move |run: &Run, l: Direction| Some(time(link(run, l).spikes.get(number)?) * 1e3);
            beside(Table::Spikes, &group, name, "ms", Better::Low, Box::new(of))
        };
        [metric("longest", |spike| spike.longest_s), metric("in all", |spike| spike.total_s)]
    };
    watched.into_iter().flatten().enumerate().flat_map(of_one).collect()
}

/// Returns the columns about queues outside the bottleneck.
fn queues(grouped: &Grouped<'_>) -> Vec<Metric> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs(grouped).flat_map(Run::other_queues) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_one = |name: &&str| {
        let group = format!("Sojourn time in {}", clip(name, 40));
        let metric = |which: &str, quantile: fn(&Summary) -> Option<f64>| {
            let name = (*name).to_owned();
            let of = move |run: &Run, link: Direction| {
                let queues = run.other_queues();
                let sojourn = queues.iter().find(|queue| queue.0 == name)?.1;
                ms(quantile(match link {
                    Direction::Down => sojourn.down,
                    Direction::Up => sojourn.up,
                }))
            };
            beside(Table::Queues, &group, which, "ms", Better::Low, Box::new(of))
        };
        [metric("p50", |of| of.p50), metric("p95", |of| of.p95), metric("p99", |of| of.p99)]
    };
    names.iter().take(MOST_QUEUES).flat_map(of_one).collect()
}

/// Returns the columns about the stations' shares of a WiFi channel's airtime.
fn air(grouped: &Grouped<'_>) -> Vec<Metric> {
    let stations = runs(grouped).filter_map(|run| run.wifi.as_ref()).max_by_key(|wifi| wifi.stations.len());
    let Some(channel) = stations.filter(|wifi| wifi.stations.len() > 1) else { return Vec::new() };
    let jain = |run: &Run, _| run.wifi.as_ref()?.jain_airtime();
    let mut all = vec![Metric {
        digits: Digits::AfterPoint(3),
        ..beside(Table::Air, AIRTIME, "Jain index", "", Better::High, Box::new(jain))
    }];
    all.extend(channel.stations.iter().take(MOST_STATIONS).enumerate().map(|(number, station)| {
        let name = format!("station {}", station.client);
        let of = move |run: &Run, _| percent(run.wifi.as_ref()?.stations.get(number)?.airtime_share);
        beside(Table::Air, AIRTIME, &name, "%", Better::Neither, Box::new(of))
    }));
    all
}

fn beside(table: Table, group: &str, name: &str, unit: &'static str, better: Better, of: Of) -> Metric {
    let (group, name) = (group.to_owned(), name.to_owned());
    Metric { group, name, unit, better, digits: Digits::Three, table, of }
}

pub(crate) const SOJOURN: &str = "Sojourn time";
pub(crate) const LOSSES: &str = "Losses";
pub(crate) const PACKETS: &str = "Packets";
const FAIRNESS: &str = "Jain index";
const VOICE: &str = "Voice";
const PAGES: &str = "Page fetch";
const VIDEO: &str = "Video";
const TRANSFERS: &str = "Flow completion";
const GROUPS: &str = "Group response";
const AIRTIME: &str = "Airtime";
/// Groups about traffic that only some scenarios have.
const OF_SOME_TRAFFIC: [&str; 5] = [VOICE, PAGES, VIDEO, TRANSFERS, GROUPS];
/// Largest number of stations with a column.
const MOST_STATIONS: usize = 16;
/// Largest number of other queues with columns.
const MOST_QUEUES: usize = 5;

/// Returns the columns of this report: those about the link, and those for which any run has a
/// value.
pub(crate) fn columns(grouped: &Grouped<'_>) -> Vec<Metric> {
    let mut all = metrics(grouped);
    all.retain(|metric| {
        let always = metric.table == Table::Main && !OF_SOME_TRAFFIC.contains(&metric.group.as_str());
        always || runs(grouped).any(|run| (metric.of)(run, grouped.link).is_some())
    });
    all
}

fn runs<'g>(grouped: &'g Grouped<'g>) -> impl Iterator<Item = &'g Run> {
    grouped.points.iter().flat_map(|point| point.runs.iter().flatten()).copied()
}

fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 1e2)
}

/// The mean of a metric over the seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// Mean.
    pub(crate) mean: f64,
    /// Half width of its 95 % confidence interval; `None` with one value.
    pub(crate) ci95: Option<f64>,
}

impl Spread {
    /// Computes the mean of the values that exist and are finite.
    pub(crate) fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.flatten().filter(|v| v.is_finite()).collect();
        Estimate::of(&values).map(|Estimate { mean, ci95, .. }| Self { mean, ci95 })
    }
}

/// Converts a count to a divisor.
pub(crate) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// Returns one direction of the bottleneck.
pub(crate) fn link(run: &Run, link: Direction) -> &LinkResult {
    match link {
        Direction::Down => &run.bottleneck.down,
        Direction::Up => &run.bottleneck.up,
    }
}

fn voice(run: &Run) -> Option<&VoipResult> {
    run.probes.voip.as_ref()
}

fn ms(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|s| s * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "a count of packets to show, far below 2^53")]
fn packets(run: &Run, of: fn(&LinkResult) -> u64) -> Option<f64> {
    Some(of(&run.bottleneck.down).saturating_add(of(&run.bottleneck.up)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_none_one_and_several() {
        assert_eq!(Spread::of([None, Some(f64::NAN)].into_iter()), None);
        assert_eq!(Spread::of([Some(3.0), None].into_iter()), Some(Spread { mean: 3.0, ci95: None }));
        let two = Spread::of([Some(1.0), Some(3.0)].into_iter()).unwrap();
        // Student's t with one degree of freedom, times the standard error of 1.
        assert!((two.mean - 2.0).abs() < 1e-12 && (two.ci95.unwrap() - 12.7062).abs() < 1e-9);
    }
}
