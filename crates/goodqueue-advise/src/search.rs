//! The search: the buffers of a measured line, a first answer, then both rates of the shapers, then
//! the discipline and its parameters.

use std::collections::VecDeque;

use goodqueue_scenario::choice::{Candidate, SAME_USE, best, most};
use goodqueue_scenario::results::Run;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use crate::advice::{Advice, First, Observe, Spread, Tried, added};
use crate::kind::Shares;
use crate::managers::managers;
use crate::model::{Mix, Model, NEAR_AND_FAR, Router, SEARCH_SEED, SEARCHED, SPEED_TEST, Span};
use crate::question::{Measurement, Question};
use crate::setting::{Manager, Setup};
use crate::simulated::Simulator;
use crate::verification::{answer, verified};

/// Returns advice for a line. `threads`: of the simulation, 0 for one per processor. `None` if
/// the observer cancels.
///
/// # Errors
/// Measured pings that no line has or no buffer explains, or a trace that cannot be read.
pub fn advise(
    question: &Question,
    threads: usize,
    observer: &dyn Observe,
) -> Result<Option<Advice>, Diagnostic> {
    let simulator = Simulator { threads, observer };
    let mut model = Model::new(question);
    if let Some(measured) = question.measured {
        // The field is public, so it need not come from `with_measurement`.
        measured.check()?;
        let Some(of_line) = fitted(&model, measured, &simulator)? else { return Ok(None) };
        model = of_line;
    }
    let managers = managers(question);
    let pairs = question.kind.shares.pairs();
    let with = |shares: [u64; 2]| Setup { manager: &*managers[0], shares, accounts: true };
    let Some(guess) = pairs.first().map(|shares| with(*shares)) else { return Ok(None) };
    let Some(first) = first(&model.lasting(Span::first(question)), &guess, &simulator)? else {
        return Ok(None);
    };
    observer.first(&first);

    // The rates must also hold on a line that is a hundredth slower than the model.
    let compared = model.slower(Span::compared(question));
    let mut search = Search { model: &compared, simulator, tried: Vec::new() };
    let with_pairs = pairs.into_iter().map(with).collect();
    let rates = match question.kind.shares {
        Shares::Apart { .. } => search.fastest(with_pairs)?,
        Shares::Together(_) => search.best_together(with_pairs)?,
    };
    let Some(rates) = rates else { return Ok(None) };
    let variants: Vec<Box<dyn Manager>> =
        managers.iter().flat_map(|manager| manager.variants(question)).collect();
    let others =
        managers[1..].iter().chain(&variants).map(|manager| Setup { manager: &**manager, ..rates.setup });
    let Some(chosen) = search.preferred(rates, others.collect())? else { return Ok(None) };

    let Some(checked) = verified(&model, &chosen, &simulator)? else { return Ok(None) };
    let mut tried = search.tried;
    tried.sort_by(|one, other| one.latency_s.total_cmp(&other.latency_s));
    Ok(Some(answer(&model, &chosen, checked, tried)))
}

/// Simulates today and the usual setting of such a line.
fn first(
    model: &Model<'_>,
    guess: &Setup<'_>,
    simulator: &Simulator<'_>,
) -> Result<Option<First>, Diagnostic> {
    let routers = [Router::unmanaged(), router(0, guess, model.question)];
    let documents = [model.scenario(&NEAR_AND_FAR, &routers, SEARCH_SEED)?];
    let Some(runs) = simulator.runs(&documents, [0.0, 0.05])? else { return Ok(None) };
    let of = |router: usize| candidate(std::slice::from_ref(&runs[router]));
    Ok(Some(First {
        discipline: guess.manager.name(),
        shaped_bps: guess.rates(model.question).map(|rate| rate.as_bps()),
        lines: guess.lines(model.question),
        latency_s: [of(0).latency_s, of(1).latency_s],
        goodput_bps: [of(0).goodput_bps, of(1).goodput_bps],
    }))
}

struct Search<'s> {
    model: &'s Model<'s>,
    simulator: Simulator<'s>,
    tried: Vec<Tried>,
}

/// A setting, and what it does with each load of the search.
type Found<'m> = (Setup<'m>, Vec<Run>);

/// A setting that was tried.
#[derive(Clone, Copy)]
struct Rated<'m> {
    setup: Setup<'m>,
    /// With the first load.
    first: Candidate,
    /// With all loads, as means.
    all: Candidate,
}

impl Search<'_> {
    /// Simulates settings with some of the loads. `None` if the observer cancels.
    fn runs<'m>(
        &self,
        setups: Vec<Setup<'m>>,
        mixes: &[Mix],
        part: [f64; 2],
    ) -> Result<Option<Vec<Found<'m>>>, Diagnostic> {
        // A scenario has at least one router.
        if setups.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let question = self.model.question;
        let routers: Vec<Router> =
            setups.iter().enumerate().map(|(number, setup)| router(number, setup, question)).collect();
        let documents = mixes.iter().map(|mix| self.model.scenario(mix, &routers, SEARCH_SEED));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let Some(runs) = self.simulator.runs(&documents, part)? else { return Ok(None) };
        let mut found: Vec<Found<'m>> = setups.into_iter().map(|setup| (setup, Vec::new())).collect();
        let count = found.len();
        for (number, run) in runs.into_iter().enumerate() {
            // Runs come load by load, each with all settings.
            found[number % count].1.push(run);
        }
        Ok(Some(found))
    }

    /// Simulates settings with all loads, and notes that they were tried.
    fn tried<'m>(
        &mut self,
        setups: Vec<Setup<'m>>,
        part: [f64; 2],
    ) -> Result<Option<Vec<Rated<'m>>>, Diagnostic> {
        let Some(found) = self.runs(setups, SEARCHED, part)? else { return Ok(None) };
        Ok(Some(found.into_iter().map(|found| self.noted(found)).collect()))
    }

    /// Notes that a setting was tried.
    fn noted<'m>(&mut self, found: Found<'m>) -> Rated<'m> {
        let (setup, runs) = found;
        // Runs of a setting are in the order of the loads.
        let rated = Rated { setup, first: candidate(&runs[..1]), all: candidate(&runs) };
        self.tried.push(Tried {
            lines: setup.lines(self.model.question),
            latency_s: rated.all.latency_s,
            goodput_bps: rated.all.goodput_bps,
        });
        rated
    }

    /// Returns the best rates of the shapers where each direction has its own shaper: a faster one
    /// carries more. The candidates are then compared by these rates, because the goodput of a
    /// short run varies more between seeds than between neighbouring rates.
    ///
    /// No setting adds less latency than the slowest one, so this one is tried at once. The fastest
    /// ones are tried with it and after it, as long as one of them could be better.
    fn fastest<'m>(&mut self, mut setups: Vec<Setup<'m>>) -> Result<Option<Rated<'m>>, Diagnostic> {
        let question = self.model.question;
        let of_rates = |setup: &Setup<'_>| {
            #[expect(clippy::cast_precision_loss, reason = "rates of shapers")]
            let goodput_bps = setup.rates(question).map(|rate| rate.as_bps() as f64);
            Candidate { goodput_bps, ..Candidate::default() }
        };
        let most = most(&setups.iter().map(of_rates).collect::<Vec<_>>());
        let share = |setup: &Setup<'_>| of_rates(setup).share_of(most);
        setups.sort_by(|one, other| share(other).total_cmp(&share(one)));
        let count = setups.len();
        let mut waiting = VecDeque::from(setups);
        let ends = [waiting.pop_front(), waiting.pop_back()].into_iter().flatten().collect();
        let Some(mut all) = self.tried(ends, [0.05, 0.1])? else { return Ok(None) };
        // Twice as many each time: few if the first ones decide, and many side by side otherwise.
        for batch in (1..).map(|round| 1 << round) {
            let by_rates: Vec<Candidate> = all
                .iter()
                .map(|rated| Candidate { latency_s: rated.all.latency_s, ..of_rates(&rated.setup) })
                .collect();
            let could_be_better =
                |setup: &Setup<'_>| !is_decided(&by_rates, &of_rates(setup), question.rtt_s());
            let next: Vec<Setup<'m>> =
                waiting.iter().take(batch).copied().take_while(could_be_better).collect();
            if next.is_empty() {
                return Ok(best(&by_rates, question.rtt_s()).map(|number| all[number]));
            }
            waiting.drain(..next.len());
            #[expect(clippy::cast_precision_loss, reason = "a few settings")]
            let part = [next.len(), 0].map(|last| 0.3 - 0.2 * (waiting.len() + last) as f64 / count as f64);
            let least_s = by_rates.iter().map(|of| of.latency_s).fold(f64::INFINITY, f64::min);
            let Some(found) = self.hardest_load_first(next, least_s, part)? else { return Ok(None) };
            all.extend(found);
        }
        Ok(None)
    }

    /// Simulates settings with the last load first, which fills the queues most. A setting that
    /// then adds too much beside `least_s`, even if the other loads add nothing, sees no other
    /// load.
    fn hardest_load_first<'m>(
        &mut self,
        setups: Vec<Setup<'m>>,
        least_s: f64,
        part: [f64; 2],
    ) -> Result<Option<Vec<Rated<'m>>>, Diagnostic> {
        let (others, hardest) = SEARCHED.split_at(SEARCHED.len() - 1);
        let middle = f64::midpoint(part[0], part[1]);
        let Some(mut promising) = self.runs(setups, hardest, [part[0], middle])? else { return Ok(None) };
        let rtt_s = self.model.question.rtt_s();
        let is_slow = |found: &mut (_, Vec<_>)| !may_be_responsive(&candidate(&found.1), least_s, rtt_s);
        let slow: Vec<_> = promising.extract_if(.., is_slow).collect();
        let setups = promising.iter().map(|(setup, _)| *setup).collect();
        let Some(found) = self.runs(setups, others, [middle, part[1]])? else { return Ok(None) };
        // Runs of a setting are in the order of the loads.
        let promising = found.into_iter().zip(promising).map(|((setup, mut runs), (_, last))| {
            runs.extend(last);
            (setup, runs)
        });
        Ok(Some(promising.chain(slow).map(|found| self.noted(found)).collect()))
    }

    /// Returns the best rates of shapers that share a medium.
    fn best_together<'m>(&mut self, setups: Vec<Setup<'m>>) -> Result<Option<Rated<'m>>, Diagnostic> {
        let Some(all) = self.tried(setups, [0.05, 0.3])? else { return Ok(None) };
        let candidates: Vec<Candidate> = all.iter().map(|rated| rated.all).collect();
        Ok(best(&candidates, self.model.question.rtt_s()).map(|number| all[number]))
    }

    /// Returns the best setting, but the usual one unless another is clearly better: a real line
    /// has other traffic than this load. The other settings see the second load only if the first
    /// one leaves them a chance.
    fn preferred<'m>(
        &mut self,
        usual: Rated<'m>,
        others: Vec<Setup<'m>>,
    ) -> Result<Option<Setup<'m>>, Diagnostic> {
        let Some(found) = self.runs(others, &SEARCHED[..1], [0.3, 0.4])? else { return Ok(None) };
        let rtt_s = self.model.question.rtt_s();
        let mut promising = Vec::new();
        for found in found {
            if may_be_better(&candidate(&found.1), &usual, rtt_s) {
                promising.push(found);
            } else {
                self.noted(found);
            }
        }
        let setups = promising.iter().map(|(setup, _)| *setup).collect();
        let Some(second) = self.runs(setups, &SEARCHED[1..], [0.4, 0.5])? else { return Ok(None) };
        // The usual setting is first, so that it wins among equals and is number 0 below.
        let mut all = vec![usual];
        for ((setup, mut runs), (_, others)) in promising.into_iter().zip(second) {
            runs.extend(others);
            all.push(self.noted((setup, runs)));
        }
        let candidates: Vec<Candidate> = all.iter().map(|rated| rated.all).collect();
        let Some(number) = best(&candidates, rtt_s) else { return Ok(None) };
        let is_clearly_better = clearly_better(&candidates[number], &usual.all, most(&candidates), rtt_s);
        Ok(Some(all[if is_clearly_better { number } else { 0 }].setup))
    }
}

/// True if a setting carries clearly more than the usual one, or adds clearly less latency.
fn clearly_better(other: &Candidate, usual: &Candidate, most: [f64; 2], rtt_s: f64) -> bool {
    let carries_more = other.share_of(most) > usual.share_of(most) * (1.0 + CLEAR);
    carries_more || !usual.is_hardly_slower_than(other.latency_s, rtt_s)
}

/// True if a setting may be clearly better than the usual one with all loads, after the first one:
/// it carries half as much more as it has to, or could add clearly less latency even if the other
/// loads add none.
fn may_be_better(first: &Candidate, usual: &Rated<'_>, rtt_s: f64) -> bool {
    let most = most(&[*first, usual.first]);
    let carries_more = first.share_of(most) > usual.first.share_of(most) * (1.0 + CLEAR / 2.0);
    carries_more || !usual.all.is_hardly_slower_than(least_of_mean(first.latency_s), rtt_s)
}

/// Returns the means of runs with the same setting.
fn candidate(runs: &[Run]) -> Candidate {
    let mean = |of: &dyn Fn(&Run) -> f64| Spread::from_values(runs.iter().map(of)).mean;
    Candidate {
        latency_s: mean(&added),
        goodput_bps: [mean(&|run| run.goodput.down), mean(&|run| run.goodput.up)],
        ..Candidate::default()
    }
}

fn router(number: usize, setup: &Setup<'_>, question: &Question) -> Router {
    Router { label: format!("{number}: {}", setup.manager.name()), lines: setup.lines(question) }
}

/// Share of goodput by which another setting than the usual one is clearly better. Less than a
/// tenth depends on the load, and the usual setting has advantages that one load does not show,
/// such as fairness between hosts.
const CLEAR: f64 = 0.1;

/// True if a setting may add hardly more latency than `least_s` with all loads, after one of them:
/// even if the others add none.
fn may_be_responsive(one_load: &Candidate, least_s: f64, rtt_s: f64) -> bool {
    let mean = Candidate { latency_s: least_of_mean(one_load.latency_s), ..*one_load };
    mean.is_hardly_slower_than(least_s, rtt_s)
}

/// Returns the least mean over all loads, after one of them.
#[expect(clippy::cast_precision_loss, reason = "a few loads")]
fn least_of_mean(latency_s: f64) -> f64 {
    latency_s / SEARCHED.len() as f64
}

/// True if neither the setting `next`, which carries this much, nor one that carries less can be
/// better than the best of those that were tried. One of these is the slowest setting, and no other
/// adds less latency.
fn is_decided(tried: &[Candidate], next: &Candidate, rtt_s: f64) -> bool {
    let most = most(tried);
    let Some(number) = best(tried, rtt_s) else { return false };
    tried[number].share_of(most) > next.share_of(most) + SAME_USE
}

/// Returns the line with the buffers with which its ping under load is the measured one. Both
/// buffers keep their ratio. `None` if the observer cancels.
///
/// # Errors
/// No buffer gives this ping.
fn fitted<'q>(
    model: &Model<'q>,
    measured: Measurement,
    simulator: &Simulator<'_>,
) -> Result<Option<Model<'q>>, Diagnostic> {
    #[expect(clippy::cast_precision_loss, reason = "a round-trip time")]
    let wanted = (measured.loaded.as_nanos() - measured.idle.as_nanos()) as f64 / 1e9;
    let compared = model.lasting(Span::compared(model.question));
    // Coarse, then fine. The latency grows with the buffer.
    // The factors of a round are evenly spaced on a logarithmic scale.
    let mut low: f64 = SMALLEST;
    let mut high: f64 = LARGEST;
    for round in 0..ROUNDS {
        let ratio = libm::pow(high / low, 1.0 / f64::from(POINTS - 1));
        let factors: Vec<f64> = (0..POINTS).map(|point| low * libm::pow(ratio, f64::from(point))).collect();
        let documents = factors
            .iter()
            .map(|factor| compared.scaled(*factor).scenario(&SPEED_TEST, &[Router::unmanaged()], 1))
            .collect::<Result<Vec<_>, _>>()?;
        // Most questions have no measured pings, so this part has no share of the progress.
        let Some(runs) = simulator.runs(&documents, [0.0, 0.0])? else { return Ok(None) };
        let latencies: Vec<f64> = runs.iter().map(added).collect();
        let Some(first_above) = latencies.iter().position(|latency| *latency >= wanted) else {
            return Err(Diagnostic::new(format!(
                "no buffer of this line makes pings take {}",
                units::show_time(measured.loaded)
            ))
            .help("check the rates: pings as long as this belong to a slower line"));
        };
        // If even the smallest buffer is enough, no smaller interval is left.
        if round + 1 == ROUNDS || first_above == 0 {
            low = factors[first_above.saturating_sub(1)];
            high = factors[first_above];
            let below = latencies[first_above.saturating_sub(1)];
            let above = latencies[first_above];
            let share =
                // Both are the same point if the smallest buffer is enough, and equal latencies
                // have no share.
                if above > below { ((wanted - below) / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
            return Ok(Some(model.scaled(low + (high - low) * share)));
        }
        (low, high) = (factors[first_above - 1], factors[first_above]);
    }
    Ok(Some(model.scaled(high)))
}

/// Factors of the buffers of the kind of line.
const SMALLEST: f64 = 1.0 / 64.0;
const LARGEST: f64 = 64.0;
/// Buffers tried in a round.
const POINTS: i32 = 6;
// Each round takes a fifth of the interval on its logarithmic scale, so the third one narrows the
// factor of 4096 to 1.07.
const ROUNDS: usize = 3;

#[cfg(test)]
mod tests {
    use goodqueue::Duration;
    use goodqueue_scenario::session::NoWatch;

    use super::*;

    fn with(latency_ms: f64, mbit: f64) -> Candidate {
        Candidate { latency_s: latency_ms / 1e3, goodput_bps: [mbit; 2], ..Candidate::default() }
    }

    #[test]
    fn pings_that_no_line_has_are_refused_however_they_were_given() {
        for (idle, loaded, problem) in [
            (20, 10, "is below the idle ping"),
            (0, 10, "no line has such pings"),
            (20, 60_001, "no line has such pings"),
        ] {
            let given =
                Measurement { idle: Duration::from_millis(idle), loaded: Duration::from_millis(loaded) };
            let question = Question::new("40mbit/10mbit", "cable").unwrap();
            let refused = question.clone().with_measurement(given).unwrap_err().to_string();
            assert!(refused.contains(problem), "{refused}");
            // The fields are public.
            let question = Question { measured: Some(given), ..question };
            assert_eq!(advise(&question, 1, &NoWatch).unwrap_err().to_string(), refused);
        }
    }

    #[test]
    fn a_fast_shaper_that_adds_hardly_more_than_the_slowest_one_makes_those_between_needless() {
        let [fast, slow] = [with(1.5, 98.0), with(1.0, 85.0)];
        assert!(is_decided(&[fast, slow], &with(0.0, 95.0), 0.02));
        assert!(!is_decided(&[fast, slow], &with(0.0, 98.0), 0.02), "an equal one may add less");
        assert!(!is_decided(&[with(90.0, 98.0), slow], &with(0.0, 95.0), 0.02), "the fast one adds too much");
    }

    /// All orders of latencies, on the way from the fastest shaper to the slowest one, which adds
    /// least.
    #[test]
    fn an_early_decision_is_that_of_all_candidates() {
        let mut early = 0;
        for number in 0..4_u32.pow(4) {
            let latencies =
                (0..4).map(|place| [0.5, 3.0, 6.0, 40.0][(number / 4_u32.pow(place) % 4) as usize]);
            let rates = [98.0, 95.0, 95.0, 90.0, 85.0];
            let all: Vec<Candidate> =
                latencies.chain([0.5]).zip(rates).map(|(ms, mbit)| with(ms, mbit)).collect();
            let chosen = best(&all, 0.02).map(|number| all[number]);
            for count in 1..all.len() {
                let tried = [&all[..count], &all[4..]].concat();
                if is_decided(&tried, &all[count], 0.02) {
                    assert_eq!(best(&tried, 0.02).map(|number| tried[number]), chosen, "{all:?}");
                    early += 1;
                }
            }
        }
        assert!(early > 500, "{early}");
    }

    #[test]
    fn a_setting_that_one_load_rules_out_sees_no_other() {
        // With two loads, the mean is at least half of one of them. 1.25 of 4 ms, 2 ms and a tenth
        // of 20 ms are 9 ms.
        assert!(may_be_responsive(&with(17.0, 0.0), 0.004, 0.02));
        assert!(!may_be_responsive(&with(19.0, 0.0), 0.004, 0.02));
    }
}
