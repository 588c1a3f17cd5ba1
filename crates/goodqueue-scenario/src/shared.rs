//! Remarks about probes that a hash put into one queue with another flow.

use std::collections::BTreeMap;

use goodqueue_tc::brief;

use crate::results::{Run, SharedQueue};

/// One sentence for each of these `runs` in which a probe often waited with another flow, and one
/// for those beyond the first few. A mean over seeds hides such a run.
#[must_use]
pub fn remarks(runs: &[&Run]) -> Vec<String> {
    let all: Vec<String> = runs.iter().filter_map(|run| remark(run)).collect();
    let beyond = all.len().saturating_sub(MOST);
    let mut told: Vec<String> = all.into_iter().take(MOST).collect();
    if beyond > 0 {
        told.push(format!("The same holds for {beyond} more of {} runs.", runs.len()));
    }
    told
}

/// Returns the remarks about `run`.
fn remark(run: &Run) -> Option<String> {
    let mut probes: BTreeMap<u32, Vec<&SharedQueue>> = BTreeMap::new();
    for shared in run.shared_queues.iter().filter(|shared| is_notable(shared)) {
        probes.entry(shared.flow).or_default().push(shared);
    }
    let told: Vec<String> = probes.iter().map(|(flow, places)| told(run, *flow, places)).collect();
    if told.is_empty() {
        return None;
    }
    let point: String = run.sweep.iter().map(|(key, value)| format!(", {key} = {value}")).collect();
    let latency = "The delay that it measures is not that of a flow by itself.";
    Some(format!("{}, seed {}{point}: {}. {latency}", brief(&run.qdisc), run.seed, told.join("; ")))
}

/// A tenth of the probe's packets: less is a flow of a web page now and then.
const fn is_notable(shared: &SharedQueue) -> bool {
    shared.met.saturating_mul(10) >= shared.packets
}

fn told(run: &Run, flow: u32, places: &[&SharedQueue]) -> String {
    let kind = |flow: u32| run.flows.get(flow as usize).map_or("flow", |flow| flow.kind.name());
    let places: Vec<String> = places
        .iter()
        .map(|shared| {
            let others: Vec<String> =
                shared.with.iter().map(|other| format!("{} {other}", kind(*other))).collect();
            let percent = (100 * shared.met).div_ceil(shared.packets.max(1));
            let hop = if shared.queue == "bottleneck" { "" } else { &*format!(" at {}", shared.queue) };
            format!("{}{hop} with {} ({percent} % of its packets)", shared.direction.name(), some(&others))
        })
        .collect();
    format!("{} {flow} shares its queue {}", kind(flow), places.join(", "))
}

/// A list of names, shortened.
fn some(names: &[String]) -> String {
    match names {
        [] => "another flow".to_owned(),
        [first] => first.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Largest number of runs with a remark of their own.
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use goodqueue_sim::Direction;

    use super::*;
    use crate::results::{FlowKind, FlowResult};

    fn run(seed: u64, met: u64) -> Run {
        let flow = |id, kind| FlowResult { id, kind, ..FlowResult::default() };
        let shared = SharedQueue {
            flow: 1,
            queue: "bottleneck".to_owned(),
            direction: Direction::Up,
            with: vec![0],
            packets: 100,
            met,
        };
        Run {
            qdisc: "fq_codel".to_owned(),
            seed,
            flows: vec![flow(0, FlowKind::Tcp), flow(1, FlowKind::Ping)],
            shared_queues: vec![shared],
            ..Run::default()
        }
    }

    #[test]
    fn a_probe_beside_a_flow_is_told_with_its_seed() {
        let alone = run(4, 3);
        let beside = run(5, 98);
        assert_eq!(
            remarks(&[&alone, &beside]),
            [
                "fq_codel, seed 5: ping 1 shares its queue up with tcp 0 (98 % of its packets). The delay that it measures is \
              not that of a flow by itself."
            ]
        );
    }

    #[test]
    fn many_such_runs_are_counted() {
        let runs: Vec<Run> = (0..9).map(|seed| run(seed, 50)).collect();
        let told = remarks(&runs.iter().collect::<Vec<_>>());
        assert_eq!((told.len(), told[3].as_str()), (4, "The same holds for 6 more of 9 runs."));
    }
}
