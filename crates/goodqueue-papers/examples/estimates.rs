//! How long do the experiments of each paper take? Runs a sample of them, and prints the CPU time
//! of all runs beside the key `cpu_s` of the paper, from which `goodqueue reproduce` estimates
//! times.
//!
//! `cargo run --release -p goodqueue-papers --example estimates -- 200` samples 200 runs of each.

use std::collections::BTreeSet;

use cpu_time::ProcessTime;
use goodqueue_papers::reproduce::{Effort, Plan, papers};
use goodqueue_scenario::run::{RunSpec, Runs};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_tc::diagnostic::Diagnostic;

/// Every n-th run of a paper.
struct Sample<'p> {
    of: Plan<'p>,
    step: usize,
}

impl Runs for Sample<'_> {
    fn count(&self) -> usize {
        self.of.count().div_ceil(self.step)
    }

    fn spec(&self, number: usize) -> Result<std::borrow::Cow<'_, RunSpec>, Diagnostic> {
        self.of.spec(number * self.step)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1).map_or(Ok(50), |count| count.parse::<usize>())?;
    for paper in papers()? {
        let of = Plan::new(&paper, paper.claims.iter().collect(), &BTreeSet::new(), Effort::Quick)?;
        let known = paper.cpu_s.unwrap_or(f64::NAN);
        // An odd step meets more of the repetitions than an even one.
        let step = (of.count() / wanted.max(1)).max(1) | 1;
        let sample = Sample { of, step };
        let begin = ProcessTime::now();
        let runs = Session::from_runs(&sample).run(&NoWatch)?.runs();
        let share = runs.len() as f64 / sample.of.count() as f64;
        let measured = begin.elapsed().as_secs_f64() / share;
        println!(
            "{:8} {:6} runs, cpu_s = {known:.0}, measured {measured:.0} s",
            paper.name,
            sample.of.count()
        );
    }
    Ok(())
}
