//! What the papers look at beside the figures that every run has.

use std::collections::BTreeMap;

use goodqueue_scenario::measure::{self, float};
use goodqueue_scenario::results::{FlowKind, FlowSeries, PerDirection, Run};
use goodqueue_scenario::run::{ExtraMeasurements, RunSpec};
use goodqueue_scenario::session::Measured;
use goodqueue_scenario::summary::series::pings_per_step;
use goodqueue_sim::{Direction, Outcome};
use serde::{Deserialize, Serialize};

use super::clock::seconds;
use super::{fetches, initial_windows};

/// A run with what claims need of it. A figure without a sample is `null`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DetailedRun {
    /// The figures that every run has.
    #[serde(flatten)]
    pub run: Run,
    /// The rest.
    pub details: Details,
}

/// What is counted only for claims.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Details {
    /// The `[[flows]]` of the scenario, in their order.
    pub groups: Vec<GroupResult>,
    /// Every sojourn time with its number of packets, in seconds, to three figures.
    pub sojourn_s: PerDirection<Vec<(f64, u64)>>,
    /// Longest time for which the queue down held more than each of the thresholds asked for, in
    /// seconds.
    pub spikes_s: Vec<f64>,
    /// Second longest of these times, in seconds; 0 if there was one at most.
    pub second_spikes_s: Vec<f64>,
    /// When the queue down was longest, in seconds from the start of the last group of flows.
    pub peak_after_s: Option<f64>,
    /// Share of the packets in the queue down, when that is longest, that belong to the initial
    /// window of a flow.
    pub initial_share: Option<f64>,
    /// Jain's index of the response times of the groups.
    pub jain_response: Option<f64>,
    /// Jain's index of the goodput of all TCP flows, both directions together.
    pub jain_goodput: Option<f64>,
    /// What waiting added to the voice of all calls, in seconds to a tenth of a millisecond, with
    /// its number of packets.
    pub voice_s: Vec<(f64, u64)>,
    /// Mean time to fetch a page, as the tool of Høiland-Jørgensen et al. computes it, in seconds;
    /// `null` if no page was completed.
    pub page_mean_s: Option<f64>,
    /// Mean round-trip time of the pings sent in each step of the series, in seconds.
    pub ping_steps_s: Vec<Option<f64>>,
    /// The share of the first of the `[[flows]]` in the goodput of all TCP flows in their
    /// direction, in each step of the series.
    pub share_steps: Vec<Option<f64>>,
    /// Jain's index of the goodput of all TCP flows in their direction, in each step of the series.
    pub jain_steps: Vec<Option<f64>>,
}

/// Flows that are alike.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GroupResult {
    /// Their share of the payload that TCP flows in their direction delivered.
    pub share: Option<f64>,
    /// Sum of their goodput over the time measured.
    pub goodput_bps: f64,
    /// From the first SYN of the first of them to the last acknowledgement of the last; `null` if
    /// one did not finish.
    pub response_s: Option<f64>,
    /// Jain's index of their goodput.
    pub jain: Option<f64>,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl Measured for DetailedRun {
    fn measure(spec: &RunSpec, outcome: &Outcome) -> Self {
        let mut run = Run::measure(spec, outcome);
        let details = Details::from_run(&spec.wanted, spec, outcome, &run);
        // No claim asks for the disciplines' own statistics, which would be nine tenths of what is
        // kept.
        run.tc_stats = None;
        if !spec.wanted.series {
            run.series = None;
        }
        Self { run, details }
    }

    fn run(&self) -> &Run {
        &self.run
    }

    fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }
}

impl Details {
    fn from_run(wanted: &ExtraMeasurements, spec: &RunSpec, outcome: &Outcome, run: &Run) -> Self {
        let starts: Vec<f64> = spec.config.flows.iter().map(|flow| seconds(flow.start.as_nanos())).collect();
        let groups = groups(wanted, run, &starts);
        let responses: Vec<f64> = groups.iter().filter_map(|group| group.response_s).collect();
        let tcp = run.flows.iter().filter(|flow| flow.kind == FlowKind::Tcp);
        let goodputs: Vec<f64> = tcp.map(|flow| flow.goodput_bps).collect();
        let histogram = |link: usize| {
            let recorded = outcome.links[link].sojourn.iter_recorded();
            recorded.map(|bar| (seconds(bar.value_iterated_to()), bar.count_at_value())).collect()
        };
        let mut details = Self {
            jain_response: measure::jain(&responses),
            jain_goodput: measure::jain(&goodputs),
            groups,
            sojourn_s: PerDirection { down: histogram(0), up: histogram(1) },
            voice_s: voice(outcome),
            page_mean_s: fetches::mean_of_run(spec, outcome),
            initial_share: wanted.initial_windows.then(|| initial_windows::share_at_peak(spec)).flatten(),
            ..Self::default()
        };
        if let Some(series) = &run.series {
            let queue = &series.queues.down.queue_packets;
            for above in &wanted.spikes {
                let (longest, second) = longest_two(queue, float(*above));
                details.spikes_s.push(longest * series.step_s);
                details.second_spikes_s.push(second * series.step_s);
            }
            // Of equal steps the first one counts. `max_by` alone would take the last one.
            let peak = (0_u32..).zip(queue).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
            let last_start = starts.iter().copied().fold(0.0, f64::max);
            // The packets of a step are those at its end.
            details.peak_after_s = peak.map(|(step, _)| (f64::from(step) + 1.0) * series.step_s - last_start);
            if wanted.series {
                details.ping_steps_s = pings_per_step(&series.pings, series.step_s, queue.len());
                let steps = goodput_per_step(run, &series.goodput_bps);
                details.share_steps = steps.iter().map(|flows| share_of_first(wanted, flows)).collect();
                details.jain_steps = steps.iter().map(|flows| measure::jain(flows)).collect();
            }
        }
        details
    }
}

/// The goodput of each TCP flow in the direction of the first flow, for each step of the series.
fn goodput_per_step(run: &Run, goodput: &[FlowSeries]) -> Vec<Vec<f64>> {
    // Shares of flows that do not meet in the same queue say nothing about the discipline.
    let Some(direction) = run.flows.first().map(|flow| flow.direction) else { return Vec::new() };
    let tcp = goodput.iter().filter(|of| {
        run.flows.iter().any(|flow| flow.id == of.id && is_tcp(&flow.kind) && flow.direction == direction)
    });
    let mut steps: Vec<Vec<f64>> = Vec::new();
    for of in tcp {
        steps.resize(steps.len().max(of.values.len()), Vec::new());
        for (step, value) in steps.iter_mut().zip(&of.values) {
            step.push(*value);
        }
    }
    steps
}

/// The share of the first of the `[[flows]]` in the goodput of all; `None` if nothing arrived.
fn share_of_first(wanted: &ExtraMeasurements, flows: &[f64]) -> Option<f64> {
    let first = wanted.groups.first().map_or(0, |count| usize::try_from(*count).unwrap_or(0));
    let all: f64 = flows.iter().sum();
    // Steps without a byte occur after a loss, and have no shares.
    (all > 0.0).then(|| flows.iter().take(first).sum::<f64>() / all)
}

/// The delay of each packet of a call above the least of its call.
fn voice(outcome: &Outcome) -> Vec<(f64, u64)> {
    let mut bars: BTreeMap<u64, u64> = BTreeMap::new();
    for flow in &outcome.flows {
        let arrived = || flow.one_way.iter().filter_map(|packet| packet.delay);
        let Some(least) = arrived().min() else { continue };
        for delay in arrived() {
            // Half of a tenth of a millisecond is added, so that the division rounds to the
            // nearest.
            let tenths = (delay.saturating_sub(least).as_nanos() + 50_000) / 100_000;
            *bars.entry(tenths).or_default() += 1;
        }
    }
    bars.into_iter().map(|(tenths, count)| (float(tenths) / 1e4, count)).collect()
}

fn groups(wanted: &ExtraMeasurements, run: &Run, starts: &[f64]) -> Vec<GroupResult> {
    let delivered = |direction: Direction| -> u64 {
        let all = run.flows.iter().filter(|flow| is_tcp(&flow.kind) && flow.direction == direction);
        all.map(|flow| flow.bytes_delivered).sum()
    };
    let mut first = 0;
    wanted
        .groups
        .iter()
        .map(|count| {
            let range = first..first + usize::try_from(*count).unwrap_or(0);
            first = range.end;
            let flows = &run.flows[range.clone()];
            let starts = &starts[range];
            let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
            let bytes: u64 = flows.iter().map(|flow| flow.bytes_delivered).sum();
            let all = flows.first().map_or(0, |flow| delivered(flow.direction));
            let ends: Option<Vec<f64>> =
                flows.iter().zip(starts).map(|(flow, start)| flow.fct_s.map(|fct| start + fct)).collect();
            let begin = starts.iter().copied().fold(f64::INFINITY, f64::min);
            GroupResult {
                share: (all > 0 && is_tcp(&flows[0].kind)).then(|| float(bytes) / float(all)),
                goodput_bps: float(bytes) * 8.0 / run.duration_s,
                response_s: ends
                    // The earliest start of no flows is infinite.
                    .filter(|ends| !ends.is_empty())
                    .map(|ends| ends.iter().copied().fold(0.0, f64::max) - begin),
                jain: measure::jain(&goodputs),
                timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            }
        })
        .collect()
}

/// A connection, at work all the time or at times.
const fn is_tcp(kind: &FlowKind) -> bool {
    matches!(kind, FlowKind::Tcp | FlowKind::TcpOnOff)
}

/// The greatest and the second greatest number of consecutive steps whose value is above
/// `threshold`.
pub(crate) fn longest_two(values: &[f64], threshold: f64) -> (f64, f64) {
    let mut lengths: Vec<u32> = values
        .split(|value| *value <= threshold)
        .map(|above| u32::try_from(above.len()).unwrap_or(u32::MAX))
        .collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let at = |rank: usize| f64::from(lengths.get(rank).copied().unwrap_or(0));
    (at(0), at(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_are_times_above_the_threshold_without_a_break_the_longest_first() {
        let (longest, second) = longest_two(&[11.0, 11.0, 10.0, 11.0, 12.0, 13.0, 0.0], 10.0);
        assert!((longest - 3.0).abs() < 1e-9 && (second - 2.0).abs() < 1e-9);
        let (longest, second) = longest_two(&[1.0], 10.0);
        assert!(longest.abs() < 1e-9 && second.abs() < 1e-9);
    }
}
