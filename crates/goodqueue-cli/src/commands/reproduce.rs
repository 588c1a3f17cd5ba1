//! `goodqueue reproduce`: the experiments of papers, claim by claim.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use goodqueue_scenario::reproduce::{self, ClaimResult, Effort, Plan, Verdict};
use goodqueue_scenario::store::Store;
use serde_json::json;

use super::{Ending, Outcome};
use crate::progress::Progress;
use crate::{claims, output};

/// Run the experiments of papers and print, claim by claim, what the paper says, what came out, and whether they agree.
///
/// Finished runs are kept in the folder given with --out and shared between claims: stopped and started again, it goes on
/// where it was. The exit code is 1 if a claim that was asked for does not reproduce.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue reproduce                              every claim of every paper, quickly
  goodqueue reproduce jk --full                    one paper, with its own repetitions and durations
  goodqueue reproduce jk-table2-codel-4+4          one claim, and the runs that it needs
  goodqueue reproduce jk-table2 --report jk.html   the claims whose ids begin so; figures to look at
  goodqueue list claims                            what there is to reproduce")]
pub(crate) struct ReproduceArgs {
    /// Papers, claims, or beginnings of claims' ids [default: all].
    #[arg(value_name = "PAPER or CLAIM-ID")]
    what: Vec<String>,
    /// Fewer repetitions and shorter runs than the papers have; the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' own repetitions and durations.
    #[arg(long)]
    full: bool,
    /// Folder in which finished runs are kept.
    #[arg(long, value_name = "DIR", default_value = "goodqueue-results")]
    out: PathBuf,
    /// Runs at the same time [default: the number of processors].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Write the verdicts as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn main(args: &ReproduceArgs) -> Outcome {
    let papers = reproduce::papers()?;
    let chosen = reproduce::select(&papers, &args.what)?;
    if let Some(json) = &args.json {
        output::check("--json", json)?;
    }
    let effort = if args.full { Effort::Full } else { Effort::Quick };
    let store = Store::open(&args.out.join("runs"))?;
    let quiet = args.json.as_deref() == Some(std::path::Path::new("-"));
    let mut all: Vec<ClaimResult> = Vec::new();
    for (paper, claims) in chosen {
        let plan = Plan::new(paper, claims, &BTreeSet::new(), effort)?;
        let progress = Progress::new(plan.runs(), false);
        let evidence = plan.run(args.jobs.unwrap_or(0), Some(&store), &progress);
        progress.clear();
        let Some(evidence) = evidence? else {
            eprintln!(
                "interrupted: what is finished is kept in {}; the same command goes on",
                args.out.display()
            );
            return Ok(Ending::Interrupted);
        };
        let results = plan.judge(&evidence)?;
        if !quiet {
            output::print(&claims::render(paper, &results))?;
        }
        all.extend(results);
    }
    if !quiet {
        output::print(&claims::render_score(&all))?;
    }
    if let Some(json) = &args.json {
        output::write_json("--json", json, &json!({ "claims": all }))?;
    }
    let failed = all.iter().any(|result| result.verdict == Verdict::NotReproduced);
    Ok(if failed { Ending::CheckFailed } else { Ending::Done })
}
