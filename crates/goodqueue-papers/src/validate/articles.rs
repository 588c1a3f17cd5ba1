//! Experiments of articles, as ns-2.35 had them.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::{Duration, Instant};
use goodqueue_scenario::run::RunSpec;
use goodqueue_scenario::session::side_by_side;
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::packet::Payload;
use goodqueue_sim::{Direction, FlowId, LinkOutcome, Observer, Outcome};
use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

use super::measured::{Measured, each, means, runs_of};

/// Load transients (Järvinen & Kojo 2014): two groups of short transfers, the second up to 0.65 s
/// after the first.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Transients {
    qdisc: String,
    /// Transfers of each group.
    flows: u32,
    runs: u32,
}

/// Bytes of a group, and of a segment.
const GROUP: u64 = 360_000;
const MSS: u64 = 1460;
/// Sets of runs, to tell how far chance moves the figures of one.
const SETS: u32 = 10;
/// From the queue to the client: 6 ms for 1500 bytes at 2 Mbit/s, and the 70 ms of the access link
/// (Järvinen & Kojo 2014, §IV).
const TO_CLIENT: Duration = Duration::from_millis(76);

impl Transients {
    fn scenario(&self) -> String {
        // The round-trip time of 162 ms is twice the 11 ms in front of the queue and the 70 ms
        // behind it (Järvinen & Kojo 2014, §IV). A packet of ns-2 has no link header.
        let flows = self.flows;
        let qdisc = &self.qdisc;
        let runs = self.runs * SETS;
        // ns-2 sends whole packets, and was asked for one more, for the SYN, which it does not
        // count.
        let size = (self.segments() + 1) * MSS;
        format!(
            r#"
duration = "60s"
seeds = {runs}
qdiscs = [{{ label = "set-up", down = "{qdisc}", up = "pfifo limit 1000" }}]
[link]
down = "2mbit"
up = "2mbit"
rtt = "162ms"
framing = 0
[[hops]]
name = "server"
side = "server"
down = "100mbit"
delay = "11ms"
[tcp]
profile = "ns2_sack1"
cc = "newreno"
iw = 3
[[flows]]
count = {flows}
size = "{size}b"
[[flows]]
count = {flows}
size = "{size}b"
start_jitter = "650ms"
together = true
"#
        )
    }

    /// Of each transfer.
    fn segments(&self) -> u64 {
        (GROUP / u64::from(self.flows)).div_ceil(MSS)
    }

    /// The figures, means over sets of as many runs as the reference has, and how far they are
    /// apart between sets: the reference is one such set.
    pub(super) fn measure(&self) -> Result<Measured, Diagnostic> {
        let runs = runs_of(&self.scenario())?;
        let runs = side_by_side(runs.len(), 0, |number| self.run(&runs[number]))?;
        let sets: Result<Vec<_>, _> = runs.chunks(self.runs as usize).map(figures).collect();
        let sets = sets?;
        let figures = means(&sets);
        let squares = sets.iter().map(|set| {
            set.iter().map(|(name, value)| (name.clone(), (value - figures[name]).powi(2))).collect()
        });
        let squares: Vec<BTreeMap<String, f64>> = squares.collect();
        let count = sets.len() as f64;
        // The variance of a sample divides by one less than the count.
        let sd = |mean_square: f64| (mean_square * count / (count - 1.0)).sqrt();
        let spreads = means(&squares).into_iter().map(|(name, square)| (name, sd(square))).collect();
        Ok(Measured { figures, spreads })
    }

    fn run(&self, run: &RunSpec) -> Result<Run, Diagnostic> {
        let mut received = Received { last: self.segments() * MSS, ..Received::default() };
        let outcome = goodqueue_sim::Run::new(&run.config)
            .and_then(|simulated| simulated.to_end(|_| true, Some(&mut received)))
            .map_err(|error| Diagnostic::new(error.to_string()))?;
        let times = run.config.flows.iter().zip((0..).map(FlowId::new)).map(|(flow, number)| {
            // A transfer without a packet that arrived has no end. The median over the runs
            // tolerates some of these.
            received.complete_at.get(&number).map_or(f64::INFINITY, |end| seconds(end.since(flow.start)))
        });
        // A group is answered when the last of its transfers is.
        let times: Vec<f64> = times.collect();
        let group = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
        let (first, second) = times.split_at(self.flows as usize);
        let [down, _] = outcome.links;
        Ok(Run { down, responses: [group(first), group(second)] })
    }
}

/// A replication.
struct Run {
    down: LinkOutcome,
    responses: [f64; 2],
}

/// When clients have their files.
#[derive(Default)]
struct Received {
    /// The last byte of a file.
    last: u64,
    /// Of each flow: when every segment so far was sent for the first time.
    complete_at: BTreeMap<FlowId, Instant>,
    seen: BTreeSet<(FlowId, u64)>,
}

impl Observer for Received {
    fn arrived(&mut self, _visit: &Visit) {}

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        let (Direction::Down, Payload::Tcp(segment)) = (visit.direction, &visit.packet.payload) else {
            return;
        };
        let is_new = fate == Fate::Sent
            && segment.len > 0
            // The extra packet, which ns-2 does not count, comes behind the last byte.
            && segment.seq <= self.last
            && self.seen.insert((visit.packet.flow, segment.seq));
        if is_new {
            self.complete_at.insert(visit.packet.flow, at + TO_CLIENT);
        }
    }
}

fn figures(runs: &[Run]) -> Result<BTreeMap<String, f64>, Diagnostic> {
    let mut figures = BTreeMap::new();
    let mut pooled = None;
    for Run { down, .. } in runs {
        match &mut pooled {
            None => pooled = Some(down.sojourn.clone()),
            Some(all) => all
                .add(&down.sojourn)
                .map_err(|error| Diagnostic::new(format!("delays cannot be pooled: {error}")))?,
        }
    }
    if let Some(pooled) = pooled {
        figures
            .insert("queuing delay, 95th percentile".to_owned(), pooled.value_at_quantile(0.95) as f64 / 1e9);
        figures.insert("queuing delay, greatest".to_owned(), pooled.max() as f64 / 1e9);
    }
    let of_runs = |figure: &dyn Fn(&Run) -> f64| median(runs.iter().map(figure).collect());
    let greatest = of_runs(&|run| run.down.sojourn.max() as f64 / 1e9);
    figures.insert("greatest of a run, median".to_owned(), greatest);
    figures.insert("response time, first group".to_owned(), of_runs(&|run| run.responses[0]));
    figures.insert("response time, second group".to_owned(), of_runs(&|run| run.responses[1]));
    let drops: u64 = runs.iter().map(|run| run.down.drops.iter().sum::<u64>()).sum();
    figures.insert("drops per run".to_owned(), drops as f64 / runs.len() as f64);
    Ok(figures)
}

/// Ten long flows (after Gong et al. 2014).
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct LongFlows {
    qdisc: String,
    runs: u32,
}

impl LongFlows {
    fn scenario(&self) -> String {
        let runs = self.runs;
        let qdisc = &self.qdisc;
        format!(
            r#"
duration = "60s"
seeds = {runs}
qdiscs = [{{ label = "set-up", down = "{qdisc}", up = "pfifo limit 1000" }}]
[link]
down = "4mbit"
up = "4mbit"
rtt = "50ms"
framing = 0
[tcp]
profile = "ns2_newreno"
cc = "newreno"
[[flows]]
count = 10
start_jitter = "100ms"
"#
        )
    }

    pub(super) fn measure(&self) -> Result<Measured, Diagnostic> {
        Ok(means(&each(&runs_of(&self.scenario())?, |_, outcome| long_flows(outcome))?).into())
    }
}

fn long_flows(outcome: &Outcome) -> BTreeMap<String, f64> {
    const RATE: f64 = 4e6;
    let down = &outcome.links[Direction::Down.index()];
    let bits = down.sent.bits();
    [
        ("queue length, mean", down.queue_mean),
        ("utilisation", bits / seconds(outcome.measured) / RATE),
        ("queuing delay, 95th percentile", down.sojourn.value_at_quantile(0.95) as f64 / 1e9),
        ("drops per run", down.drops.iter().sum::<u64>() as f64),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}
