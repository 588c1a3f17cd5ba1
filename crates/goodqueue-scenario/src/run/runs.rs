//! The runs of a scenario with its sweep. Each run is created when its turn comes, so that memory
//! holds only the active runs.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::Duration;
use goodqueue_tc::diagnostic::Diagnostic;

use super::point::PointRuns;
use super::series::Steps;
use super::spec::{PacketFile, RunSpec};
use crate::files::Existing;
use crate::results::ScenarioRecord;
use crate::scenario::Scenario;
use crate::sweep::{Point, Sweep};

/// Runs by their numbers.
pub trait Runs: Sync {
    /// Number of runs.
    fn count(&self) -> usize;

    /// The run of this number.
    ///
    /// # Errors
    /// There is none, or a setting that the simulator refuses.
    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic>;
}

impl Runs for [RunSpec] {
    fn count(&self) -> usize {
        self.len()
    }

    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic> {
        self.get(number).map(Cow::Borrowed).ok_or_else(|| no_run(number))
    }
}

impl<R: Runs + ?Sized> Runs for &R {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic> {
        (**self).spec(number)
    }
}

impl Runs for Vec<RunSpec> {
    fn count(&self) -> usize {
        self.len()
    }

    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic> {
        self.as_slice().spec(number)
    }
}

/// All runs of a scenario, in the order of points, disciplines and seeds.
#[derive(Debug)]
pub struct ScenarioRuns<'n> {
    sweep: Sweep<'n>,
    /// The first point of the sweep.
    first: Scenario,
    steps: Steps,
    /// For each point of the sweep, the number of runs up to its last one.
    ends: Vec<usize>,
    /// Disciplines at all points together.
    disciplines: usize,
    /// Whether results have the statistics of the queues.
    tc_stats: bool,
    /// Files for the packets of each run, for each time they were asked for.
    packets: Vec<Vec<PathBuf>>,
    /// Points that were resolved last, by their numbers.
    recent: Mutex<VecDeque<(usize, Arc<PointRuns>)>>,
}

impl<'n> ScenarioRuns<'n> {
    /// The runs of `sweep`, all of whose points are tried. `series`: the step of time series, if
    /// wanted.
    ///
    /// # Errors
    /// A point that does not resolve, a setting that the simulator refuses, an option of the
    /// command line that changes no run, or results that would take more than a gigabyte.
    pub fn new(sweep: Sweep<'n>, series: Option<Duration>) -> Result<Self, Diagnostic> {
        Self::with(sweep, Steps::Given(series))
    }

    /// The runs of `sweep`, with these time series.
    ///
    /// # Errors
    /// As [`ScenarioRuns::new`].
    pub fn with(sweep: Sweep<'n>, steps: Steps) -> Result<Self, Diagnostic> {
        let mut ends = Vec::with_capacity(sweep.count());
        let mut held = Held::default();
        let mut disciplines = 0;
        let mut without_effect: Option<Vec<Diagnostic>> = None;
        let mut first = None;
        for number in 0..sweep.count() {
            let point = sweep.point(number)?;
            let idle = sweep.without_effect(number, &point.1)?;
            without_effect = Some(match without_effect {
                // An option is refused only if it changes no point of the sweep.
                Some(earlier) => earlier.into_iter().filter(|option| idle.contains(option)).collect(),
                None => idle,
            });
            if first.is_none() {
                first = Some(point.1.clone());
            }
            let runs = point_runs(point, steps, false);
            // Seeds differ in nothing that could be refused.
            runs.spec(0)?;
            ends.push(ends.last().copied().unwrap_or(0) + runs.count());
            disciplines += runs.disciplines();
            held.add(&runs, sweep.count() > 1);
        }
        if let Some(option) = without_effect.into_iter().flatten().next() {
            return Err(option);
        }
        held.check()?;
        // A sweep has at least one point, so the second arm is never taken.
        let first = match first {
            Some(first) => first,
            None => sweep.point(0)?.1,
        };
        let tc_stats = false;
        let packets = Vec::new();
        let recent = Mutex::default();
        Ok(Self { sweep, first, steps, ends, disciplines, tc_stats, packets, recent })
    }

    /// Number of disciplines at all points of the sweep together.
    #[must_use]
    pub const fn disciplines(&self) -> usize {
        self.disciplines
    }

    /// The sweep.
    #[must_use]
    pub const fn sweep(&self) -> &Sweep<'n> {
        &self.sweep
    }

    /// Returns the scenario as results contain it: the first point of the sweep, and the values of
    /// each swept key.
    #[must_use]
    pub fn record(&self) -> ScenarioRecord {
        let mut scenario = self.first.to_json();
        let swept = self.sweep.values();
        if !swept.is_empty() {
            scenario["sweep"] = serde_json::json!(swept);
        }
        ScenarioRecord::from_json(scenario)
    }

    /// The resolved scenario; of a sweep, its first point.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.first
    }

    /// Has the results contain the statistics of the queues as `tc` prints them. They take more
    /// memory than all other metrics of a run.
    pub const fn keep_tc_stats(&mut self) {
        self.tc_stats = true;
    }

    /// Has the packets of each run written to the file of its number.
    pub(crate) fn write_packets(&mut self, files: Vec<PathBuf>) {
        self.packets.push(files);
    }

    /// The point of this number. Runs of the same point share it.
    fn point(&self, number: usize) -> Result<Arc<PointRuns>, Diagnostic> {
        // A point in the list is whole, even after a panic.
        let recent = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, point)) = recent().iter().find(|(known, _)| *known == number) {
            return Ok(Arc::clone(point));
        }
        // The lock is free while a point resolves. Two threads may then resolve the same one.
        let point = Arc::new(point_runs(self.sweep.point(number)?, self.steps, self.tc_stats));
        let mut recent = recent();
        recent.push_front((number, Arc::clone(&point)));
        recent.truncate(RECENT);
        Ok(point)
    }
}

impl Runs for ScenarioRuns<'_> {
    fn count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic> {
        let point = self.ends.partition_point(|end| *end <= number);
        if point == self.ends.len() {
            return Err(no_run(number));
        }
        let begin = point.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut run = self.point(point)?.spec(number - begin)?;
        // The names of several files follow from the one that the user typed.
        let existing = if self.count() > 1 { Existing::Replaced } else { Existing::Used };
        let files = self.packets.iter().filter_map(|files| files.get(number).cloned());
        run.packets = files.map(|path| PacketFile { path, existing }).collect();
        Ok(Cow::Owned(run))
    }
}

fn point_runs(point: Point, steps: Steps, tc_stats: bool) -> PointRuns {
    let (step, series_use) = steps.of_run(point.1.duration, point.1.flow_count());
    PointRuns::new(point, step).with_series(series_use).with_tc_stats(tc_stats)
}

/// The parts of all results, which memory holds until the last run has finished.
#[derive(Clone, Copy, Default)]
struct Held {
    runs: u64,
    /// Runs with swept values.
    swept: u64,
    flows: u64,
    /// Means of a discipline over seeds, and differences of two disciplines.
    means: u64,
    /// Values in time series.
    values: u64,
}

impl Held {
    /// Adds the runs of a point of the sweep.
    fn add(&mut self, point: &PointRuns, is_swept: bool) {
        let runs = point.count() as u64;
        let disciplines = point.disciplines() as u64;
        // One seed has no mean.
        let is_repeated = runs > disciplines;
        // Each discipline is compared with those before it.
        let pairs = disciplines.saturating_mul(disciplines.saturating_sub(1)) / 2;
        let means = if is_repeated { disciplines.saturating_add(pairs) } else { 0 };
        // Sums that end at their limit are still far above what `check` allows.
        self.runs = self.runs.saturating_add(runs);
        self.swept = self.swept.saturating_add(if is_swept { runs } else { 0 });
        self.flows = self.flows.saturating_add(point.flows().saturating_mul(runs));
        self.means = self.means.saturating_add(means);
        self.values = self.values.saturating_add(point.series_values().saturating_mul(runs));
    }

    /// Returns roughly the bytes of the results without time series.
    const fn bytes(self) -> u64 {
        self.runs
            .saturating_mul(RUN_BYTES)
            .saturating_add(self.swept.saturating_mul(SWEPT_BYTES))
            .saturating_add(self.flows.saturating_mul(FLOW_BYTES))
            .saturating_add(self.means.saturating_mul(MEANS_BYTES))
    }

    fn check(self) -> Result<(), Diagnostic> {
        let Self { runs, flows, means, values, .. } = self;
        if self.bytes() > MOST_BYTES {
            let means = if means == 0 {
                String::new()
            } else {
                format!(" and {means} means over seeds and differences of disciplines")
            };
            let message = format!(
                "the scenario makes {runs} runs with {flows} flows in all{means}; the results take about {} MB",
                self.bytes() / 1_000_000
            );
            return Err(Diagnostic::new(message)
                .allowed(format!("at most {} MB: all results are held until the end", MOST_BYTES / 1_000_000))
                .help("sweep fewer values, lower `seeds`, or have fewer flows or disciplines"));
        }
        if values > MAX_VALUES {
            let message = format!("the time series of all runs have about {values} values");
            return Err(Diagnostic::new(message)
                .allowed(format!(
                    "at most {MAX_VALUES} values: the series of all runs are held until the end"
                ))
                .help(
                    "choose a longer step with `--series`, fewer runs, or no output that has time series",
                ));
        }
        Ok(())
    }
}

/// The error of a number that is not the number of a run.
#[must_use]
pub fn no_run(number: usize) -> Diagnostic {
    Diagnostic::new(format!("there is no run {number}"))
}

/// Resolved points that are kept for their other runs: more than threads usually work on.
const RECENT: usize = 32;
/// Memory for a run without its flows, with the values from which its means are computed. This
/// value and the next ones come from the resident memory of 4,000 to 100,000 runs.
const RUN_BYTES: u64 = 5_400;
/// Memory for the swept values of a run.
const SWEPT_BYTES: u64 = 900;
/// Memory for the result of a flow.
const FLOW_BYTES: u64 = 470;
/// Memory for the mean, or difference, of every metric of a discipline.
const MEANS_BYTES: u64 = 9_000;
/// Memory for all results without time series.
const MOST_BYTES: u64 = 1_050_000_000;
/// Values in the time series of all runs together. One takes 8 or 16 bytes.
const MAX_VALUES: u64 = 40_000_000;
