//! Claims of papers: expressions, and the files that contain them.

use std::collections::BTreeSet;

use goodqueue::Duration;
use goodqueue_papers::report::{PaperResults, papers_html};
use goodqueue_papers::reproduce::expression::{Expression, checks};
use goodqueue_papers::reproduce::{Claim, Effort, Paper, Plan};
use goodqueue_scenario::scenario::Scenario;
use goodqueue_scenario::session::NoWatch;
use goodqueue_tc::diagnostic::Diagnostic;

/// Reads an expression, a check and a `claims.toml`. Either an error explains what is wrong, or the
/// claims of the file are judged and drawn, if their runs are few and short.
///
/// # Panics
/// If neither happens.
pub fn claims(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Expression::parse(&text) {
        Ok(expression) => expression.cells(&mut BTreeSet::new()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match checks(&text) {
        Ok(checks) => assert!(!checks.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match page(&text) {
        Ok(Some(page)) => assert!(page.ends_with("</html>\n")),
        Ok(None) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Returns the page of a paper with this `claims.toml`: its judged claims, its metrics and its
/// figures. Returns `None` if that needs more than a few short runs.
fn page(text: &str) -> Result<Option<String>, Diagnostic> {
    let files = [("claims.toml", text), ("x.toml", SCENARIO), ("real.json", REAL)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let paper = Paper::of_files("papers/x", files.into())?;
    let claims: Vec<&Claim> = paper.claims.iter().collect();
    let (figures, drawn) = paper.figures_of(&claims, true)?;
    if !is_short(&paper)? {
        return Ok(None);
    }
    let plan = Plan::new(&paper, claims, &drawn, Effort::Quick)?;
    if plan.runs() > MOST_RUNS {
        return Ok(None);
    }
    let evidence = plan.run(1, None, &NoWatch)?.expect("not cancelled");
    let claims = plan.judge(&evidence)?;
    let metrics = plan.metrics(&evidence);
    let pictures: Result<Vec<_>, _> =
        figures.into_iter().map(|figure| figure.picture(&paper, &evidence)).collect();
    let title = paper.title.clone();
    let source = paper.source.clone();
    let claims = paper.in_its_words(&claims);
    let metrics = paper.metrics_in_its_words(&metrics);
    let results = PaperResults { title, source, claims, pictures: pictures?, metrics };
    Ok(Some(papers_html(&[results], "goodqueue")))
}

/// True if the experiments take only a moment.
fn is_short(paper: &Paper) -> Result<bool, Diagnostic> {
    let short = |scenario: &Scenario| {
        scenario.duration <= Duration::from_secs(1)
            && scenario.link.down.rate.nominal().as_bps() <= 10_000_000
            && scenario.flows.iter().map(|group| group.count).sum::<u32>() <= 10
    };
    for experiment in &paper.experiments {
        let all = paper.scenarios(experiment, Effort::Quick, &BTreeSet::new())?;
        if all.len() > MOST_RUNS || !all.iter().all(short) {
            return Ok(false);
        }
    }
    Ok(true)
}

const MOST_RUNS: usize = 20;

/// The scenario of every experiment.
const SCENARIO: &str = r#"
qdiscs = ["codel", "pie"]
seeds = 2
duration = "1s"
[link]
down = "1mbit"
up = "1mbit"
rtt = "20ms"
[[flows]]
count = 2
"#;

/// Runs of a real system, for papers that name the file `real.json`.
const REAL: &str = r#"{
  "system": "Linux", "source": "", "set_ups": {"one": ""},
  "runs": [{"experiment": "one", "label": "pie", "seed": 1, "found": {"goodput": {"down": 1e6}, "bottleneck": {"down": {"sojourn_s": {"p95": 0.02, "mean": 0.01}}}}}]
}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_papers_are_judged_and_drawn() {
        for name in ["paper", "tables_and_metrics", "figures"] {
            let text = std::fs::read_to_string(crate::seeds::seeds_of("claims").join(name)).unwrap();
            let page = page(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let page = page.unwrap_or_else(|| panic!("{name} asks for too much"));
            assert!(page.contains("reproduced"), "{name}: {page}");
        }
    }
}
