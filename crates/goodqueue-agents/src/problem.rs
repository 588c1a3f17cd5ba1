//! Scored problems: fixed lines to learn from, and lines that judge.
//!
//! `aqm-v1`: every 15 ms the policy sees the control interval that ended and returns the
//! probability of a mark or drop for the next one. Each line lasts ten seconds and is drawn from
//! the default [`AqmRanges`]. A line's result is its mean [reward](crate::reward). The score is the
//! mean over the 16 held-out lines; the eight training lines never change.
//!
//! A discipline in tc's grammar is judged on the same lines by the same rewards. It decides packet
//! by packet, where a policy decides per interval.

use goodqueue::{AnyConfig, Direction, Duration, Link};
use goodqueue_sim::Outcome;
use goodqueue_tc::diagnostic::{Diagnostic, unknown};
use rayon::prelude::*;

use crate::aqm::{AqmControl, AqmEnvironment, AqmRanges, AqmSettings};
use crate::draw::{Split, seconds};
use crate::environment::{Environment as _, Step, checked};
use crate::policy::{Policy, PolicyMaker};
use crate::score::{LineScore, Panel, Score};

/// A problem.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    name: &'static str,
    settings: AqmSettings,
    panels: Panels,
}

/// Numbers of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Panels {
    /// Lines to learn from.
    pub training: u64,
    /// Lines that judge.
    pub held_out: u64,
}

/// What is scored.
#[derive(Clone, Copy)]
pub enum Candidate<'a> {
    /// A policy that decides in each control interval.
    Policy(&'a dyn PolicyMaker),
    /// A discipline as in tc, such as `codel target 5ms ecn`.
    Qdisc(&'a str),
}

/// The disciplines of the problem's table.
pub const TABLE: &[&str] = &["pfifo limit 1000", "codel ecn", "pie ecn", "fq_codel"];

impl Problem {
    /// The names of all problems.
    pub const NAMES: [&'static str; 1] = ["aqm-v1"];

    /// Returns the problem of this name.
    ///
    /// # Errors
    /// There is no such problem.
    pub fn by_name(name: &str) -> Result<Self, Diagnostic> {
        if name != Self::NAMES[0] {
            return Err(unknown("problem", name, &Self::NAMES));
        }
        let settings = AqmSettings {
            ranges: AqmRanges::default(),
            split: Split::Training,
            control: AqmControl::Probability,
            interval: Duration::from_millis(15),
            duration: Duration::from_secs(10),
        };
        Ok(Self { name: Self::NAMES[0], settings, panels: Panels { training: 8, held_out: 16 } })
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the numbers of lines.
    #[must_use]
    pub const fn panels(&self) -> Panels {
        self.panels
    }

    /// Returns the seeds of a panel's lines. `seed` selects the held-out lines.
    #[must_use]
    pub fn seeds(&self, split: Split, seed: u64) -> Vec<u64> {
        match split {
            Split::Training => (0..self.panels.training).collect(),
            Split::HeldOut => {
                // Without the mixing, neighbouring seeds would share all lines but one.
                let base = goodqueue::random::mix_64(seed);
                (0..self.panels.held_out).map(|line| base.wrapping_add(line)).collect()
            }
        }
    }

    /// Scores a candidate. `jobs` is the number of threads (0: one for each processor; 1: the
    /// calling thread). It does not change the score.
    ///
    /// # Errors
    /// The candidate failed; the message names the line and the time.
    pub fn score(
        &self,
        name: &str,
        candidate: Candidate<'_>,
        seed: u64,
        jobs: usize,
    ) -> Result<Score, Diagnostic> {
        let training = self.panel(candidate, Split::Training, seed, jobs)?;
        let held_out = self.panel(candidate, Split::HeldOut, seed, jobs)?;
        let problem = self.name.to_owned();
        let policy = name.to_owned();
        Ok(Score { problem, policy, score: held_out.reward, seed, training, held_out })
    }

    /// Judges a candidate on one panel alone, for searches.
    ///
    /// # Errors
    /// As [`Self::score`].
    pub fn panel(
        &self,
        candidate: Candidate<'_>,
        split: Split,
        seed: u64,
        jobs: usize,
    ) -> Result<Panel, Diagnostic> {
        let seeds = self.seeds(split, seed);
        let one = |(number, &seed): (usize, &u64)| {
            self.line(candidate, split, seed)
                .map_err(|error| error.prefixed(&format!("{} line {number}", split.name())))
        };
        let lines: Result<Vec<LineScore>, Diagnostic> = if jobs == 1 {
            seeds.iter().enumerate().map(one).collect()
        } else {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
            let threads =
                threads.map_err(|error| Diagnostic::new(format!("threads cannot be started: {error}")))?;
            // One seed at a time, so that no thread is idle while another one has several left.
            threads.install(|| seeds.par_iter().with_max_len(1).enumerate().map(one).collect())
        };
        Ok(Panel::from_lines(lines?))
    }

    /// Judges a candidate on one line.
    fn line(&self, candidate: Candidate<'_>, split: Split, seed: u64) -> Result<LineScore, Diagnostic> {
        let control = match candidate {
            Candidate::Policy(_) => AqmControl::Probability,
            Candidate::Qdisc(line) => AqmControl::Qdisc(Box::new(discipline(line)?)),
        };
        let mut policy = match candidate {
            Candidate::Policy(maker) => Some(maker.make()?),
            Candidate::Qdisc(_) => None,
        };
        let mut environment = AqmEnvironment::new(AqmSettings { split, control, ..self.settings.clone() });
        environment.begin(seed)?;
        let mut rewards = 0.0;
        let mut used = 0.0;
        let mut steps = 0.0;
        loop {
            let Step { reward, is_over } =
                step(&mut environment, policy.as_deref_mut(), steps).map_err(|error| {
                    let at = steps * seconds(self.settings.interval);
                    error.prefixed(&format!("at {at:.3} s"))
                })?;
            rewards += reward;
            used += environment.seen().utilization;
            steps += 1.0;
            if is_over {
                break;
            }
        }
        let Some(line) = environment.line().cloned() else { return Err(crate::environment::not_begun()) };
        let Some(outcome) = environment.finish() else { return Err(crate::environment::not_begun()) };
        let down = &outcome.links[Direction::Down.index()];
        Ok(LineScore {
            seed,
            rate: line.rate.as_bps(),
            rtt: seconds(line.rtt),
            flows: line.flows,
            ecn: line.ecn,
            reward: rewards / steps,
            utilization: used / steps,
            // There is no mean if no packet has left the queue.
            sojourn: down.sojourn_mean.unwrap_or(0.0),
            ping: ping(&outcome, line.rtt),
            dropped: down.stats.dropped().packets,
            marked: down.stats.marked.packets,
        })
    }
}

/// Asks the policy and simulates one interval. The first interval of a line has probability 0.
fn step(
    environment: &mut AqmEnvironment,
    policy: Option<&mut (dyn Policy + '_)>,
    steps: f64,
) -> Result<Step, Diagnostic> {
    let Some(policy) = policy else { return environment.step(0.0) };
    // Before the first interval there is nothing to see.
    let probability = if steps > 0.0 { policy.decide(environment.seen())? } else { 0.0 };
    let probability = checked(probability, [0.0, 1.0]).map_err(|_| {
        Diagnostic::new(format!("the policy returned {probability}"))
            .allowed("a probability from 0 to 1")
            .help("clip the probability, and divide by nothing that can be 0")
    })?;
    environment.step_with(probability)
}

/// Returns the mean induced latency of the pings.
fn ping(outcome: &Outcome, rtt: Duration) -> f64 {
    let answered = outcome.flows.iter().flat_map(|flow| &flow.round_trips).filter_map(|trip| trip.time);
    let (count, sum) = answered.fold((0.0, 0.0), |(count, sum): (f64, f64), time| {
        (count + 1.0, sum + seconds(time.saturating_sub(rtt)))
    });
    // Without an answer the mean is 0.
    sum / count.max(1.0)
}

/// Reads a discipline.
fn discipline(line: &str) -> Result<AnyConfig, Diagnostic> {
    goodqueue_tc::parse(line, &Link::default()).map_err(|error| error.in_argument("policy", line))
}
