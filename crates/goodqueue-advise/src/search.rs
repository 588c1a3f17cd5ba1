//! The search: rates of the shapers first, then the discipline and its parameters, then a
//! verification with other seeds and other traffic.

use goodqueue::Duration;
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::run::series::default_step;
use goodqueue_scenario::run::{Watch, results};
use goodqueue_scenario::scenario::Names;
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::{Advice, InMix, Instead, Measured, Spread, Tried, added, goodput};
use crate::fitted::fitted;
use crate::kind::Equipment;
use crate::manager::Manager;
use crate::managers::managers;
use crate::mix::{MARKED, Mix, SEARCHED, VERIFIED};
use crate::model::{Model, Router};
use crate::places::place;
use crate::question::Question;
use crate::settings::settings;
use crate::setup::Setup;
use crate::simulated::simulated;
use crate::words;

/// Returns advice for a line. `threads`: of the simulation, 0 for one per processor. `None` if
/// `watch` cancels; its other methods are not called.
///
/// # Errors
/// Measured pings that no buffer explains, or a trace that cannot be read.
pub fn advise(question: &Question, threads: usize, watch: &dyn Watch) -> Result<Option<Advice>, Diagnostic> {
    let mut model = Model::new(question);
    if let Some(measured) = question.measured {
        let Some(of_line) = fitted(&model, measured, threads, watch)? else { return Ok(None) };
        model = of_line;
    }
    let mut search = Search { model: &model, threads, watch, tried: Vec::new() };
    let managers = managers();
    let Some(mut best) = search.rates(&*managers[0])? else { return Ok(None) };
    let variants: Vec<Box<dyn Manager>> =
        managers.iter().flat_map(|manager| manager.variants(question)).collect();
    let all = managers.iter().chain(&variants).map(|manager| Setup { manager: &**manager, ..best });
    let Some(choice) = search.best(all.collect(), &[SEARCHED, MARKED])? else { return Ok(None) };
    best = choice;
    let Some(checked) = verified(&model, &best, threads, watch)? else { return Ok(None) };
    let mut tried = search.tried;
    tried.sort_by(|one, other| one.latency_s.total_cmp(&other.latency_s));
    Ok(Some(answer(&model, &best, checked, tried)))
}

struct Search<'s> {
    model: &'s Model<'s>,
    threads: usize,
    watch: &'s dyn Watch,
    tried: Vec<Tried>,
}

impl Search<'_> {
    /// Finds the rates of the shapers.
    fn rates<'m>(&mut self, manager: &'m dyn Manager) -> Result<Option<Setup<'m>>, Diagnostic> {
        let with = |shares: [u64; 2]| Setup { manager, shares, accounts: true };
        let mut best: Option<Setup<'_>> = None;
        for number in 0.. {
            let round = self.model.question.kind.shares.round(number, best.map(|best| best.shares));
            if round.is_empty() {
                break;
            }
            best = self.best(round.into_iter().map(with).collect(), &[SEARCHED])?;
            if best.is_none() {
                return Ok(None);
            }
        }
        Ok(best)
    }

    /// Simulates some settings and returns the best: of those that add hardly more latency than the
    /// one that adds least, the one with the most goodput. Both are means over the mixes. Among
    /// equals the first wins.
    fn best<'m>(&mut self, setups: Vec<Setup<'m>>, mixes: &[Mix]) -> Result<Option<Setup<'m>>, Diagnostic> {
        let question = self.model.question;
        let routers: Vec<Router> =
            setups.iter().enumerate().map(|(n, setup)| router(n, setup, question)).collect();
        let documents = mixes.iter().map(|mix| self.model.scenario(mix, &routers, SEARCH_SEED));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let Some(runs) = simulated(&documents, None, self.threads, self.watch)? else { return Ok(None) };
        let results: Vec<Tried> = routers
            .iter()
            .enumerate()
            .map(|(number, router)| {
                let runs = runs.iter().skip(number).step_by(routers.len());
                let mean = |of: &dyn Fn(&Run) -> f64| Spread::of(runs.clone().map(of)).mean;
                Tried {
                    lines: router.lines.clone(),
                    latency_s: mean(&added),
                    goodput_bps: [mean(&|run| run.goodput.down), mean(&|run| run.goodput.up)],
                }
            })
            .collect();
        let least = results.iter().map(|tried| tried.latency_s).fold(f64::INFINITY, f64::min);
        let rtt_s = seconds(question.rtt);
        let mut best: Option<(usize, f64)> = None;
        for (number, tried) in results.iter().enumerate() {
            let used = use_of_line(tried, question);
            let hardly_more = tried.latency_s <= least * (1.0 + SHARE) + SECONDS + RTT_SHARE * rtt_s;
            if hardly_more && best.is_none_or(|(_, most)| used > most + SAME_USE) {
                best = Some((number, used));
            }
        }
        self.tried.extend(results);
        Ok(best.map(|(number, _)| setups[number]))
    }
}

/// Returns the goodput relative to the rates of the line, mean of both directions.
fn use_of_line(tried: &Tried, question: &Question) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate of a line")]
    let [down, up] = question.rates.map(|rate| rate.as_bps() as f64);
    (tried.goodput_bps[0] / down + tried.goodput_bps[1] / up) / 2.0
}

fn router(number: usize, setup: &Setup<'_>, question: &Question) -> Router {
    Router { label: format!("{number}: {}", setup.manager.name()), lines: setup.lines(question) }
}

/// Runs without any shaper, with the advice, and with the advice without the line's encapsulation.
struct Verified {
    /// For each mix: the runs today and with the advice.
    mixes: Vec<(&'static Mix, [Vec<Run>; 2])>,
    /// With the first mix: the runs without the line's encapsulation.
    without: Vec<Run>,
    /// With other equipment and no shaper: the runs of each mix.
    instead: Option<(Equipment, Vec<Vec<Run>>)>,
    /// The first mix as a result.
    results: Results,
}

fn verified(
    model: &Model<'_>,
    best: &Setup<'_>,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Option<Verified>, Diagnostic> {
    let question = model.question;
    let advised = Router { label: ADVICE.to_owned(), lines: best.lines(question) };
    let blind = Setup { accounts: false, ..*best };
    let without =
        Router { label: format!("{} without overhead", best.manager.name()), lines: blind.lines(question) };
    let mut searched = vec![Router::unmanaged(), advised.clone()];
    let other = searched.clone();
    if without.lines != advised.lines {
        searched.push(without);
    }
    // The search has seen the first seed.
    let seeds: Vec<u64> = (SEARCH_SEED + 1..=SEARCH_SEED + question.effort.seeds).collect();
    let mut documents = Vec::new();
    for (number, mix) in VERIFIED.iter().enumerate() {
        let routers = if number == 0 { &searched } else { &other };
        for seed in &seeds {
            documents.push(model.scenario(mix, routers, *seed)?);
        }
    }
    let other_equipment =
        question.kind.instead.map(|other| Question { kind: other.kind, ..question.clone() });
    if let Some(other) = &other_equipment {
        let model = Model { question: other, buffers: model.buffers };
        for (mix, seed) in VERIFIED.iter().flat_map(|mix| seeds.iter().map(move |seed| (mix, seed))) {
            documents.push(model.scenario(mix, &[Router::unmanaged()], *seed)?);
        }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run")]
    let step = default_step(Duration::from_millis((model.seconds() * 1e3) as u64));
    let series = question.effort.series.then_some(step);
    let Some(runs) = simulated(&documents, series, threads, watch)? else { return Ok(None) };
    let (first, rest) = runs.split_at(seeds.len() * searched.len());
    let (rest, instead) = rest.split_at((VERIFIED.len() - 1) * seeds.len() * other.len());
    let of = |runs: &[Run], routers: &[Router], router: usize| {
        runs.iter().skip(router).step_by(routers.len()).cloned().collect::<Vec<_>>()
    };
    let mut mixes = vec![(&VERIFIED[0], [0, 1].map(|router| of(first, &searched, router)))];
    for (mix, runs) in VERIFIED[1..].iter().zip(rest.chunks(seeds.len() * other.len())) {
        mixes.push((mix, [0, 1].map(|router| of(runs, &other, router))));
    }
    let last = searched.len() - 1;
    let scenario = Sweep::new(&documents[0], &Names::default())?.point(0)?.1.to_json();
    let in_order = (0..searched.len()).flat_map(|router| of(first, &searched, router)).collect();
    let instead = instead.chunks(seeds.len()).map(<[Run]>::to_vec).collect();
    Ok(Some(Verified {
        mixes,
        without: of(first, &searched, last),
        instead: question.kind.instead.map(|equipment| (equipment, instead)),
        results: results(scenario, in_order),
    }))
}

fn answer(model: &Model<'_>, best: &Setup<'_>, checked: Verified, tried: Vec<Tried>) -> Advice {
    let question = model.question;
    let measured = |router: usize| {
        let all: Vec<&Run> = checked.mixes.iter().flat_map(|(_, runs)| &runs[router]).collect();
        Measured::of(&checked.mixes[0].1[router].iter().collect::<Vec<_>>(), &all)
    };
    let (today, advised) = (measured(0), measured(1));
    let without = Spread::of(checked.without.iter().map(added)).mean;
    let mixes = checked.mixes.iter().enumerate().map(|(number, (mix, runs))| InMix {
        name: mix.name,
        today_s: Spread::of(runs[0].iter().map(added)),
        advised_s: Spread::of(runs[1].iter().map(added)),
        instead_s: checked.instead.as_ref().map(|(_, mixes)| Spread::of(mixes[number].iter().map(added))),
        today_goodput_bps: goodput(&runs[0]),
        advised_goodput_bps: goodput(&runs[1]),
    });
    let instead = checked.instead.as_ref().map(|(equipment, mixes)| Instead {
        equipment: equipment.how,
        measured: Measured::of(
            &mixes[0].iter().collect::<Vec<_>>(),
            &mixes.iter().flatten().collect::<Vec<_>>(),
        ),
    });
    let routers = [Router::unmanaged(), Router { label: best.manager.name(), lines: best.lines(question) }];
    let mut advice = Advice {
        line: words::line(question),
        sources: question.kind.source.to_owned(),
        rate_bps: question.rates.map(|rate| rate.as_bps()),
        rtt_s: seconds(question.rtt),
        buffer_bytes: model.buffers,
        is_measured: question.measured.is_some(),
        keep: today.latency_s.mean - advised.latency_s.mean < WORTH_S,
        reason: String::new(),
        mixes: mixes.collect(),
        discipline: best.manager.name(),
        shaped_bps: best.rates(question).map(|rate| rate.as_bps()),
        lines: best.lines(question),
        settings: settings(question, best),
        today,
        advised,
        instead,
        tried,
        scenario: model.text(&SEARCHED, &routers, SEARCH_SEED),
        results: checked.results,
    };
    advice.reason = place(question.kind.bottleneck).reason(question, &advice, without);
    advice
}

/// Returns a time in seconds.
#[expect(clippy::cast_precision_loss, reason = "a round-trip time")]
fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// How results call a router with the advice.
const ADVICE: &str = "advice";
const SEARCH_SEED: u64 = 1;
/// A setting that adds this share, this time and this share of the round-trip time more is hardly
/// worse: nobody feels the difference.
const SHARE: f64 = 0.25;
const SECONDS: f64 = 0.002;
const RTT_SHARE: f64 = 0.04;
/// Difference in the use of the line that is no difference.
const SAME_USE: f64 = 0.002;
/// A shaper that saves less is not worth its price.
const WORTH_S: f64 = 0.005;
