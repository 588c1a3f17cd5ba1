//! One run of the show.

use goodqueue::Instant;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::RunSpec;
use goodqueue_scenario::session::{Measured as _, refused};
use goodqueue_sim as sim;
use goodqueue_sim::story::{NoStory, Which, story};
use goodqueue_sim::witness::Story;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::log::{Log, exact, nanos};
use crate::path::Path;

/// Numbers for each flow in [`Column::flows`].
pub(crate) const FLOW: usize = 5;

/// A run with one discipline.
pub(crate) struct Column {
    run: RunSpec,
    played: sim::Run<'static>,
    log: Log,
    probes: Vec<Probe>,
}

/// A flow of probes.
#[derive(Default)]
struct Probe {
    flow: usize,
    /// Probes seen so far.
    seen: usize,
    /// Indexes of those without an answer.
    pending: Vec<usize>,
}

impl Column {
    pub(crate) fn new(run: RunSpec, path: &Path) -> Result<Self, Diagnostic> {
        // The configuration is kept as well, because a story makes the run again.
        let played = sim::Run::owned(run.config.clone())
            .map_err(|error| Diagnostic::new(error.to_string()))?
            .observed_everywhere();
        let is_probe: Vec<bool> = run.config.flows.iter().map(|flow| flow.traffic.is_probe()).collect();
        let probes = is_probe.iter().enumerate().filter(|(_, probe)| **probe);
        let probes = probes.map(|(flow, _)| Probe { flow, ..Probe::default() }).collect();
        let log = Log::new(path.capacity.clone(), path.hops.clone(), is_probe);
        Ok(Self { run, played, log, probes })
    }

    pub(crate) const fn spec(&self) -> &RunSpec {
        &self.run
    }

    pub(crate) fn advance(&mut self, to: Instant) -> Result<(), Diagnostic> {
        self.played.advance(to, Some(&mut self.log)).map_err(|error| refused(&self.run, &error))
    }

    pub(crate) fn now(&self) -> Instant {
        self.played.now()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.played.is_over()
    }

    /// Returns the records of packets since the last call.
    pub(crate) fn packets(&mut self) -> Vec<f64> {
        self.log.take()
    }

    /// Returns the probes answered since the last call: flow, time of sending, round-trip time.
    pub(crate) fn answers(&mut self) -> Vec<f64> {
        let mut answers = Vec::new();
        for Probe { flow, seen, pending } in &mut self.probes {
            let all = self.played.so_far().round_trips(*flow);
            // A show has at most 100,000 pings (`limits`), so the run keeps all of them and their
            // indexes stay.
            pending.extend(*seen..all.len());
            *seen = all.len();
            pending.retain(|&index| {
                let Some(time) = all[index].time else { return true };
                answers.extend([exact(*flow as u64), nanos(all[index].sent_at), exact(time.as_nanos())]);
                false
            });
        }
        answers
    }

    /// Returns the state of every flow: received bytes, congestion window, bytes in flight,
    /// smoothed RTT in nanoseconds, retransmissions. The last four are -1 for a flow that is not a
    /// single connection, and the bytes in flight for one of QUIC.
    pub(crate) fn flows(&self) -> Vec<f64> {
        let mut values = Vec::with_capacity(FLOW * self.run.config.flows.len());
        for flow in 0..self.run.config.flows.len() {
            values.push(exact(self.played.so_far().received(flow)));
            values.extend(self.played.so_far().sender(flow).map_or([-1.0; FLOW - 1], |sender| {
                let in_flight = sender.in_flight.map_or(-1.0, exact);
                let [cwnd, srtt, retransmits] =
                    [sender.cwnd, sender.srtt.as_nanos(), sender.retransmits].map(exact);
                [cwnd, in_flight, srtt, retransmits]
            }));
        }
        values
    }

    /// Returns the story of a packet whose fate is known. The run is made again up to its fate.
    pub(crate) fn story(&self, number: u64) -> Result<Story, NoStory> {
        let lines = [0, 1].map(|direction: usize| tc::to_tc(&self.run.config.links[direction].qdisc));
        story(&self.run.config, Which::Number(number), [&lines[0], &lines[1]])
    }

    /// Ends the run and returns its metrics.
    pub(crate) fn finish(self) -> Run {
        let outcome = self.played.finish();
        Run::measure(&self.run, &outcome)
    }
}
