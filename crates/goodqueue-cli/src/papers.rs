//! The list of papers: their claims, and how long their experiments take.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZero;
use std::time::Duration;

use goodqueue_papers::reproduce::{Effort, Paper, Plan};
use goodqueue_scenario::session::side_by_side;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::progress::in_words;
use crate::{columns, output};

/// The experiments of a paper.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) claims: usize,
    pub(crate) runs: usize,
    /// Estimated CPU time of the runs in seconds; `None`: unknown.
    pub(crate) cpu_s: Option<f64>,
}

impl Cost {
    pub(crate) fn new(paper: &Paper) -> Result<Self, Diagnostic> {
        let plan = Plan::new(paper, paper.claims.iter().collect(), &BTreeSet::new(), Effort::Quick)?;
        Ok(Self { claims: paper.claims.len(), runs: plan.runs(), cpu_s: paper.cpu_s })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            claims: self.claims + other.claims,
            runs: self.runs + other.runs,
            // A sum without the papers of unknown time would promise too little.
            cpu_s: self.cpu_s.zip(other.cpu_s).map(|(one, other)| one + other),
        }
    }

    fn row(self, name: &str, source: &str, processors: u16) -> Vec<String> {
        // A paper of the user's own may state any number.
        let time =
            self.cpu_s.and_then(|cpu_s| Duration::try_from_secs_f64(cpu_s / f64::from(processors)).ok());
        let time = time.map_or_else(|| "unknown".to_owned(), |time| format!("about {}", in_words(time)));
        vec![name.to_owned(), self.claims.to_string(), self.runs.to_string(), time, source.to_owned()]
    }
}

/// Returns each paper with its cost. The runs of a paper are planned to count them, on a thread for
/// each paper.
pub(crate) fn costs(papers: &[Paper]) -> Result<Vec<(&Paper, Cost)>, Diagnostic> {
    // To count the runs, every experiment is planned, which takes half a second for all papers on
    // one thread.
    let costs = side_by_side(papers.len(), 0, |number| Cost::new(&papers[number]))?;
    Ok(papers.iter().zip(costs).collect())
}

/// Formats the list of papers. `processors`: how many work at the same time; `None` for all.
pub(crate) fn listed(costs: &[(&Paper, Cost)], processors: Option<u16>) -> String {
    let all = std::thread::available_parallelism().map_or(1, NonZero::get);
    let processors = processors.unwrap_or_else(|| u16::try_from(all).unwrap_or(u16::MAX)).max(1);
    let on = if processors == 1 { "1 processor".to_owned() } else { format!("{processors} processors") };
    let mut rows =
        vec![["paper", "claims", "runs", &format!("time on {on}"), "source"].map(str::to_owned).to_vec()];
    let mut total = Cost { claims: 0, runs: 0, cpu_s: Some(0.0) };
    for (paper, cost) in costs {
        total = total.plus(*cost);
        rows.push(cost.row(&paper.name, &paper.source, processors));
    }
    rows.push(total.row("--all", "", processors));
    let mut text = columns::rows(&rows, &[1, 2, 3], output::width());
    let first = costs.first().map_or("PAPER", |(paper, _)| paper.name.as_str());
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nThe times are estimates from measured runs; another processor may take half or twice as long.\n\
         --full adds runs for claims that these leave undecided. An interrupted command resumes.\n\
         `goodqueue reproduce {first}` checks the claims of one paper, `goodqueue reproduce --all` all of them.\n"
    );
    text
}
