//! `goodqueue reproduce`: the experiments of papers, claim by claim.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue_papers::reproduce::{self, ClaimResult, Effort, Paper, Plan, Verdict, verdicts};
use goodqueue_report::PaperResults;
use goodqueue_scenario::store::Store;
use goodqueue_tc as tc;
use serde_json::json;

use super::run::{MOST_JOBS, command_line};
use super::{Ending, Outcome};
use crate::claims;
use crate::messages::say;
use crate::output::{self, Outputs};
use crate::progress::Progress;

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
  goodqueue reproduce rfc7928 --qdisc fq_pie       every scenario and metric of RFC 7928 for this discipline
  goodqueue list claims                            what there is to reproduce")]
pub(crate) struct ReproduceArgs {
    /// Papers, claims, or beginnings of claims' ids [default: all].
    #[arg(value_name = "PAPER or CLAIM-ID")]
    what: Vec<String>,
    /// Ask it of this discipline, in tc's grammar, instead of the AQMs that it lists (rfc7928). Several may be given.
    #[arg(long = "qdisc", value_name = "QDISC")]
    qdiscs: Vec<String>,
    /// Folder of papers of your own, each a folder with claims.toml and scenario files, instead of those that come along.
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    /// Fewer repetitions and shorter runs than the papers have; the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The papers' own repetitions and durations.
    ///
    /// On one processor about 40 s for gong, 20 s for jk, 6 minutes for rfc7928, a quarter of an hour for nj, half an hour for
    /// gbw; with --report up to four times that. Stopped or killed, it goes on where it was.
    #[arg(long)]
    full: bool,
    /// Folder in which finished runs are kept.
    #[arg(long, value_name = "DIR", default_value = "goodqueue-results")]
    out: PathBuf,
    /// Runs at the same time, at most 1024 [default: the number of processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Write a report to look at: every claim, and the figures in the paper's own form, with disciplines of today beside
    /// those of the paper.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Run nothing: take the verdicts that an earlier --json wrote.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "report", "papers", "qdiscs"])]
    verdicts: Option<PathBuf>,
    /// Write the verdicts as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn main(args: &ReproduceArgs) -> Outcome {
    if let Some(file) = &args.verdicts {
        let all = verdicts::load(file)?;
        return output::print(&claims::render_score(&all)).map(|()| Ending::Done);
    }
    let papers = match &args.papers {
        Some(folder) => reproduce::papers_in(folder)?,
        None => reproduce::papers()?,
    };
    let mut chosen = reproduce::select(&papers, &args.what)?;
    let asked: Vec<Paper> = if args.qdiscs.is_empty() {
        Vec::new()
    } else {
        for line in &args.qdiscs {
            tc::parse(line, &goodqueue::Link::default())
                .map_err(|error| error.in_argument("--qdisc", line))?;
        }
        let papers = chosen.iter().map(|(paper, _)| paper.asked_of(&args.qdiscs));
        papers.collect::<Result<_, _>>()?
    };
    if !asked.is_empty() {
        chosen = reproduce::select(&asked, &args.what)?;
    }
    let mut outputs = Outputs::default();
    if let Some(report) = &args.report {
        outputs.add_report("--report", report)?;
    }
    if let Some(json) = &args.json {
        outputs.add("--json", json)?;
    }
    let effort = if args.full { Effort::Full } else { Effort::Quick };
    let store = Store::open(&args.out.join("runs"))?;
    let quiet = args.json.as_deref() == Some(Path::new("-"));
    let mut all: Vec<ClaimResult> = Vec::new();
    let mut pages = Vec::new();
    let mut metrics = serde_json::Map::new();
    for (paper, claims) in chosen {
        let (figures, drawn) = match args.report {
            Some(_) => paper.figures_of(&claims)?,
            None => (Vec::new(), BTreeSet::new()),
        };
        let plan = Plan::new(paper, claims, &drawn, effort)?;
        let progress = Progress::new(plan.runs(), false);
        let evidence = plan.run(args.jobs.map_or(0, usize::from), Some(&store), &progress);
        progress.clear();
        let Some(evidence) = evidence? else {
            say(format_args!(
                "interrupted: what is finished is kept in {}; the same command goes on",
                args.out.display()
            ));
            return Ok(Ending::Interrupted);
        };
        let results = plan.judge(&evidence)?;
        let measured = plan.metrics(&evidence);
        if !quiet {
            output::print(&claims::render(paper, &results))?;
            for table in &measured {
                output::print(&claims::render_metrics(table))?;
            }
        }
        if args.report.is_some() {
            let pictures: Result<Vec<_>, _> =
                figures.iter().map(|figure| figure.picture(paper, &evidence)).collect();
            let (title, source) = (paper.title.clone(), paper.source.clone());
            let metrics = measured.clone();
            pages.push(PaperResults { title, source, claims: results.clone(), pictures: pictures?, metrics });
        }
        if !measured.is_empty() {
            metrics.insert(paper.name.clone(), json!(measured));
        }
        all.extend(results);
    }
    if let Some(path) = &args.report {
        let page = goodqueue_report::papers_html(&pages, &command_line());
        output::write_file("--report", path, page.as_bytes())?;
    }
    if !quiet {
        output::print(&claims::render_score(&all))?;
    }
    if let Some(json) = &args.json {
        let mut written = json!({ "claims": all });
        if !metrics.is_empty() && !args.what.is_empty() {
            written["metrics"] = metrics.into();
        }
        output::write_json("--json", json, &written)?;
    }
    let failed = all.iter().any(|result| result.verdict == Verdict::NotReproduced);
    Ok(if failed { Ending::CheckFailed } else { Ending::Done })
}
