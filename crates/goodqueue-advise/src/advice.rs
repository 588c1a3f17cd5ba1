//! The answer, and what a caller hears while it is searched.

use goodqueue_scenario::choice::starves;
use goodqueue_scenario::measure::{STARVED_CAP, grade, voice_cap_of_most};
use goodqueue_scenario::results::{Grade, Results, Run};
use goodqueue_scenario::session::{NoWatch, Watch};
use schemars::JsonSchema;
use serde::Serialize;

use crate::setting::Setting;

/// What to set, and what it changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Advice {
    /// The line in words.
    pub line: String,
    /// Where the numbers about the line come from, and which are assumed.
    pub sources: String,
    /// Rates of the line in bit/s, towards the home and the Internet.
    pub rate_bps: [u64; 2],
    /// Base round-trip time in seconds.
    pub rtt_s: f64,
    /// Bytes of the buffers towards the home and the Internet: those of the kind of line, or those
    /// that explain the measured pings.
    pub buffer_bytes: [u64; 2],
    /// True if the buffers follow from measured pings.
    pub is_measured: bool,
    /// True if the router should stay as it is: nothing tried is clearly better.
    pub keep: bool,
    /// Without a shaper in the router.
    pub today: Measured,
    /// With the advice.
    pub advised: Measured,
    /// With other equipment and no shaper, if the kind of line knows some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
    /// Name of the discipline.
    pub discipline: String,
    /// Rates of the shapers in bit/s, towards the home and the Internet.
    pub shaped_bps: [u64; 2],
    /// The disciplines in tc's grammar, towards the home and the Internet.
    pub lines: [String; 2],
    /// What to do before and after the router is set. A step may have lines with commands.
    pub steps: Vec<String>,
    /// The configuration for routers.
    pub settings: Vec<Setting>,
    /// Why, in one sentence.
    pub reason: String,
    /// Latency per traffic mix, with the advice and today.
    pub mixes: Vec<InMix>,
    /// Everything that the search tried, the best first.
    pub tried: Vec<Tried>,
    /// The scenario of the search as a file for `goodqueue run`.
    pub scenario: String,
    /// The runs of the first mix, for a report.
    #[serde(skip)]
    pub results: Results,
}

/// Measurements of one setting, over traffic mixes and seeds.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Measured {
    /// Ping under load beyond the idle ping, mean of each run.
    pub latency_s: Spread,
    /// Goodput of TCP with the searched mix, towards the home and the Internet.
    pub goodput_bps: [f64; 2],
    /// Grade for the mean latency of the worst mix that fills both directions, lowered where calls
    /// fail in a mix. It is C at best if the setting takes more than half of the goodput from a
    /// direction.
    pub grade: Grade,
    /// Mean opinion score of calls (ITU-T G.107) in the mix where it is lowest; `null` if no call
    /// was judged.
    pub call_mos: Option<f64>,
    /// Mean ping under load of the searched mix; `null` if no ping of a run came back.
    pub ping_s: Option<f64>,
    /// 95th percentile of the pings in the mix where it is longest; `null` if no ping came back.
    pub late_ping_s: Option<f64>,
    /// Ping beyond the idle ping in the first ten seconds of that load, when its flows search for
    /// their rate; absent for other equipment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_s: Option<f64>,
    /// Mean ping beyond the idle ping with the worst mix that fills both directions.
    pub worst_s: f64,
}

/// Values of several runs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Number of runs.
    pub runs: usize,
}

/// A traffic mix.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct InMix {
    /// Its name.
    pub name: &'static str,
    /// Added latency today.
    pub today_s: Spread,
    /// Added latency with the advice.
    pub advised_s: Spread,
    /// Added latency with other equipment and no shaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_s: Option<Spread>,
    /// Goodput of TCP today, towards the home and the Internet.
    pub today_goodput_bps: [f64; 2],
    /// Goodput of TCP with the advice, towards the home and the Internet.
    pub advised_goodput_bps: [f64; 2],
}

/// Other equipment instead of a shaper.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Instead {
    /// What to get.
    pub equipment: &'static str,
    /// With it, and without a shaper.
    pub measured: Measured,
}

/// A setting that the search tried with one seed.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Tried {
    /// The disciplines in tc's grammar, towards the home and the Internet.
    pub lines: [String; 2],
    /// Mean ping under load beyond the idle ping.
    pub latency_s: f64,
    /// Goodput of TCP, towards the home and the Internet.
    pub goodput_bps: [f64; 2],
}

impl Spread {
    /// Summarises values; zeros if there are none.
    pub(crate) fn from_values(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let Some(first) = values.first().copied() else {
            return Self { mean: 0.0, min: 0.0, max: 0.0, runs: 0 };
        };
        #[expect(clippy::cast_precision_loss, reason = "a few runs")]
        let count = values.len() as f64;
        Self {
            mean: values.iter().sum::<f64>() / count,
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
            runs: values.len(),
        }
    }
}

impl Measured {
    /// Summarises runs: `full` with each mix that fills the line, and `all` with every mix.
    pub(crate) fn from_runs(full: &[&[Run]], all: &[&[Run]], first_s: Option<f64>) -> Self {
        let latency = |runs: &[Run]| Spread::from_values(runs.iter().map(added)).mean;
        let worst = full.iter().map(|runs| latency(runs)).fold(0.0, f64::max);
        let searched = full.first().copied().unwrap_or_default();
        // A mean over the other runs would hide a run in which no ping came back.
        let pings: Option<Vec<f64>> = searched.iter().map(|run| run.probes.ping_s.mean).collect();
        let voice = all.iter().filter_map(|runs| voice_cap_of_most(*runs));
        Self {
            latency_s: Spread::from_values(all.iter().flat_map(|runs| runs.iter()).map(added)),
            goodput_bps: goodput(searched),
            // A worse grade is greater, so calls can only lower it.
            grade: voice.fold(grade(worst), Grade::max),
            call_mos: all.iter().filter_map(|runs| call_mos(runs)).reduce(f64::min),
            ping_s: pings.filter(|pings| !pings.is_empty()).map(|pings| Spread::from_values(pings).mean),
            late_ping_s: all.iter().filter_map(|runs| late_ping(runs)).reduce(f64::max),
            first_s,
            worst_s: worst,
        }
    }

    /// Lowers the grade if a direction has less than half of the goodput of `today_bps`.
    pub(crate) fn cap(&mut self, today_bps: [f64; 2]) {
        let is_starved = (0..2).any(|side| starves(self.goodput_bps[side], today_bps[side]));
        if is_starved {
            self.grade = self.grade.max(STARVED_CAP);
        }
    }
}

/// Returns the mean opinion score of the calls of these runs.
fn call_mos(runs: &[Run]) -> Option<f64> {
    let scores: Vec<f64> = runs.iter().filter_map(|run| run.probes.voip.as_ref()?.mos).collect();
    (!scores.is_empty()).then(|| Spread::from_values(scores).mean)
}

/// Returns the 95th percentile of the pings of these runs: that of the middle run, as the caps of
/// grades are chosen.
fn late_ping(runs: &[Run]) -> Option<f64> {
    let mut all: Vec<f64> = runs.iter().filter_map(|run| run.probes.ping_s.p95).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// Returns the mean goodput of TCP, towards the home and the Internet.
pub(crate) fn goodput<'r>(runs: impl IntoIterator<Item = &'r Run> + Clone) -> [f64; 2] {
    let mean = |of: fn(&Run) -> f64| Spread::from_values(runs.clone().into_iter().map(of)).mean;
    [mean(|run| run.goodput.down), mean(|run| run.goodput.up)]
}

/// Ping beyond the idle ping. A run in which no ping was answered is as bad as it gets.
pub(crate) fn added(run: &Run) -> f64 {
    run.induced_latency_s.mean.unwrap_or(run.duration_s)
}

/// Observes a search, and may cancel it. Of [`Watch`] only the question whether to stop is asked:
/// the search has no fixed number of runs.
pub trait Observe: Watch {
    /// There is a first answer: the usual setting of such a line, after a short simulation.
    fn first(&self, answer: &First) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = answer;
    }

    /// The search has come this far: a fraction from 0 to 1.
    fn came(&self, fraction: f64) {
        let _ = fraction;
    }
}

impl Observe for NoWatch {}

/// The first answer. Nothing of it is verified yet.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct First {
    /// Name of the discipline.
    pub discipline: String,
    /// Rates of the shapers in bit/s, towards the home and the Internet.
    pub shaped_bps: [u64; 2],
    /// The disciplines in tc's grammar, towards the home and the Internet.
    pub lines: [String; 2],
    /// Mean ping under load beyond the idle ping in seconds: today, and with this setting.
    pub latency_s: [f64; 2],
    /// Goodput of TCP in bit/s towards the home and the Internet: today, and with this setting.
    pub goodput_bps: [[f64; 2]; 2],
}
