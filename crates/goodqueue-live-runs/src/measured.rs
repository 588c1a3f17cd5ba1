//! From the outcome of a live session to the results of a run.
//!
//! The measurements take the form of a simulation's outcome. From there on the same code computes
//! the results.

use goodqueue::gauge::Observation;
use goodqueue::{Count, Duration, Instant};
use goodqueue_live::meter::Step;
use goodqueue_live::observer::Direction;
use goodqueue_live::session::{FlowOutcome, SessionOutcome};
use goodqueue_live::traffic::{FlowTally, Sample};
use goodqueue_scenario::measure;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::RunSpec;
use goodqueue_sim as sim;

use crate::statistics::{discarded, seconds};

/// Computes the results from the session's outcome, given the form of a simulation's.
pub(crate) fn results(run: &RunSpec, outcome: &SessionOutcome) -> Run {
    let config = &run.config;
    let begin = Instant::ZERO + config.warmup;
    let measured = outcome.end.since(begin);
    let links = Direction::BOTH.map(|direction| {
        let link = outcome.bottleneck.link(direction);
        let meter = &link.meter;
        let mut seen = Observation::from_qdisc(link.qdisc(), outcome.end);
        seen.stats = link.stats();
        let sent = sim::Work::of_bytes(meter.sent_count().bytes);
        let capacity = config.links[direction.index()].capacity.between(begin, outcome.end);
        // A flow without end that was active all the time. Shorter loads are not measured.
        let is_loaded = config.flows.iter().any(|flow| {
            matches!(&flow.traffic, sim::Traffic::Tcp(tcp) if tcp.size.is_none())
                && flow.traffic.direction() == direction
                && flow.start <= begin
                && flow.stop.is_none_or(|stop| stop >= outcome.end)
        });
        sim::LinkOutcome {
            stats: link.stats().since(&outcome.before[direction.index()]),
            seen,
            sojourn: meter.sojourn().clone(),
            sojourn_mean: meter.sojourn_mean(),
            drops: *meter.drops(),
            sent,
            capacity,
            loaded: is_loaded.then_some(sim::Loaded { sent, capacity }),
            queue_mean: meter.length_mean(outcome.end),
            queue_max: meter.length_most() as u64,
            // Not measured in a live run.
            backlog_mean: None,
            spikes: Vec::new(),
            pauses: None,
        }
    });
    let bottleneck_packets = links.iter().map(|link| link.seen.stats.dequeued.packets).sum();
    let flows = config.flows.iter().zip(&outcome.flows).map(|(flow, seen)| {
        // A flow that stops or completes early has the throughput of the time in which it could
        // send.
        let until = outcome.end.min(flow.stop.unwrap_or(outcome.end));
        let until = until.min(seen.after.completed_at.unwrap_or(until));
        flow_outcome(&flow.traffic, seen, begin, until.since(flow.start.max(begin)))
    });
    let outcome = sim::Outcome {
        measured,
        end: Instant::ZERO + config.duration,
        links,
        hops: Vec::new(),
        wifi: None,
        flows: flows.collect(),
        series: config.series_step.map(|step| sim::Series {
            step,
            queues: outcome.steps.clone().map(|steps| steps.iter().map(bin).collect()),
            delivered: outcome.delivered.clone(),
        }),
        // Only a simulation has events.
        events: 0,
        bottleneck_packets,
        in_flight: Count::default(),
        synchronization: [None; 2],
        // Not measured in a live run.
        shared_queues: Vec::new(),
    };
    measure::run(run.labels.clone(), config, &outcome)
}

fn flow_outcome(
    traffic: &sim::Traffic,
    seen: &FlowOutcome,
    begin: Instant,
    active: Duration,
) -> sim::FlowOutcome {
    let before = &seen.before;
    let after = &seen.after;
    let measured = || seen.samples.iter().filter(|sample| sample.sent_at >= begin);
    let round_trip = |sample: &Sample| sim::traffic::RoundTrip { sent_at: sample.sent_at, time: sample.took };
    let one_way = |sample: &Sample| sim::traffic::OneWay { sent_at: sample.sent_at, delay: sample.took };
    let transfer = |sample: &Sample| sim::traffic::Transfer {
        begun_at: sample.sent_at,
        ended_at: sample.took.map(|took| sample.sent_at + took),
        bytes: sample.bytes,
    };
    sim::FlowOutcome {
        tally: tally(before, after),
        fates: seen.packets.map(|queue| sim::network::Fates {
            sent: queue.offered,
            arrived: queue.sent,
            dropped: queue.dropped,
        }),
        losses: None,
        first_delivery: None,
        active,
        // Not read from the kernel.
        delivery_rate: None,
        round_trips: match traffic {
            sim::Traffic::Ping(_) => measured().map(round_trip).collect(),
            _ => Vec::new(),
        },
        one_way: match traffic {
            sim::Traffic::Voip(_) => measured().map(one_way).collect(),
            _ => Vec::new(),
        },
        earlier: None,
        transfers: match traffic {
            sim::Traffic::Transfers(_) | sim::Traffic::Web(_) => measured().map(transfer).collect(),
            _ => Vec::new(),
        },
        playback: None,
    }
}

fn tally(before: &FlowTally, after: &FlowTally) -> sim::traffic::Tally {
    sim::traffic::Tally {
        delivered: after.delivered.saturating_sub(before.delivered),
        sent: after.sent.saturating_sub(before.sent),
        retransmits: after.retransmits.saturating_sub(before.retransmits),
        timeouts: after.timeouts.saturating_sub(before.timeouts),
        completed_at: after.completed_at,
    }
}

fn bin(step: &Step) -> sim::Bin {
    sim::Bin {
        packets: step.packets,
        sojourn_sum: step.sojourn_sum,
        sojourn_max: step.sojourn_most,
        sent: sim::Work::of_bytes(step.bytes),
        drops: step.drops,
        queue_packets: step.queued,
    }
}

/// Returns remarks on events that may have influenced the results.
pub(crate) fn remarks(outcome: &SessionOutcome) -> Vec<String> {
    let mut remarks = Vec::new();
    if outcome.kernel_drops > 0 {
        remarks.push(format!(
            "the kernel dropped {} packets in front of the bottleneck, because they were read too late",
            outcome.kernel_drops
        ));
    }
    remarks.extend(discarded(&outcome.bottleneck));
    let latest = outcome.counters.latest;
    if latest > NOTEWORTHY {
        let milliseconds = seconds(Instant::ZERO + latest) * 1e3;
        remarks.push(format!(
            "the bottleneck woke up as much as {milliseconds:.1} ms late, and more than 1 ms late {} times, because the machine is busy",
            outcome.counters.late
        ));
    }
    for (number, flow) in outcome.flows.iter().enumerate() {
        remarks.extend(flow.trouble.as_ref().map(|trouble| format!("flow {number}: {trouble}")));
    }
    remarks
}

/// A delay that is visible in the results.
const NOTEWORTHY: Duration = Duration::from_millis(5);
