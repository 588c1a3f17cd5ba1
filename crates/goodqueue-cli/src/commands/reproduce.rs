//! `goodqueue reproduce`: the experiments of papers, claim by claim.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue::Disciplines;
use goodqueue_papers::report::PaperResults;
use goodqueue_papers::reproduce::evidence::Evidence;
use goodqueue_papers::reproduce::{self, Claim, ClaimResult, Effort, Paper, Plan, Verdict, verdicts};
use goodqueue_scenario::store::Store;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::simulation::MOST_JOBS;
use super::{Ending, Outcome, remark_on};
use crate::messages::say;
use crate::output::{self, Outputs};
use crate::progress::Progress;
use crate::{claims, papers, typed};

/// Run the experiments of papers, and check each claim against the results.
///
/// Without a paper, lists the papers with their claims and with the time that their experiments
/// take, and runs nothing.
///
/// For each claim, prints the paper's value, our value and the verdict. Finished runs are kept in
/// the folder given with --out and shared between claims, so an interrupted command resumes. The
/// exit code is 1 if a selected claim does not reproduce.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue reproduce                              the papers, and how long each takes
  goodqueue reproduce jk                           every claim of one paper
  goodqueue reproduce jk --full                    the same, with more runs for undecided claims
  goodqueue reproduce jk-table2-codel-4+4          one claim
  goodqueue reproduce jk-table2 --report jk.html   all claims with this prefix, and a report
  goodqueue reproduce rfc7928 --qdisc fq_pie       RFC 7928 for one discipline
  goodqueue reproduce gbw-wifi --set wifi.width=20 claims about WiFi on a narrower channel
  goodqueue reproduce --all                        every paper, an hour or more
  goodqueue list claims jk                         the claims of a paper

Exit codes: 0 every selected claim reproduces or is undecided, 1 a claim does not reproduce, 2 invalid usage or input, 130 interrupted. Without a paper nothing is run, and the exit code is 0.")]
pub(crate) struct ReproduceArgs {
    /// Papers, claims, or prefixes of claim ids [default: list the papers].
    #[arg(value_name = "PAPER or CLAIM-ID")]
    what: Vec<String>,
    /// Run the experiments of all papers: thousands of runs, which take an hour or more.
    #[arg(long, conflicts_with = "what", help_heading = "Experiments")]
    all: bool,
    /// Test this discipline (in tc's grammar) instead of the AQMs that the paper lists; only for
    /// rfc7928. Repeat for several.
    #[arg(long = "qdisc", value_name = "QDISC", help_heading = "Experiments")]
    qdiscs: Vec<String>,
    /// Change a key of the scenarios, as in `--set wifi.width=20`, in every experiment whose
    /// scenario has the key's table: for what a paper does not give. Repeat for several.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Experiments")]
    set: Vec<String>,
    /// Folder of your own papers, each a folder with claims.toml and scenario files, instead of the
    /// built-in papers.
    #[arg(long, value_name = "DIR", help_heading = "Experiments")]
    papers: Option<PathBuf>,
    /// Run each experiment a fixed number of times, and leave close claims undecided (default).
    ///
    /// Some experiments have fewer repetitions and shorter runs than the papers where those would
    /// take hours. Every experiment that depends on the seed has at least three repetitions. nj and
    /// gbw take half an hour to an hour of one processor each, the others a few minutes. A single
    /// claim takes less.
    #[arg(long, conflicts_with = "full", help_heading = "Experiments")]
    quick: bool,
    /// Repeat the experiments of undecided claims more often, and for as long as the papers did.
    ///
    /// The claims that are still undecided get twice as many repetitions, unless even these would
    /// probably not decide them. An interrupted command resumes.
    #[arg(long, help_heading = "Experiments")]
    full: bool,
    /// Folder for finished runs.
    #[arg(long, value_name = "DIR", default_value = "goodqueue-results", help_heading = "Experiments")]
    out: PathBuf,
    /// Number of parallel runs, at most 1024 [default: the number of processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS), help_heading = "Experiments")]
    jobs: Option<u16>,
    /// Write an HTML report with the verdicts, the paper's figures in their original form, and
    /// every claim.
    #[arg(long, value_name = "FILE.html", help_heading = "Results")]
    report: Option<PathBuf>,
    /// Show current disciplines, such as cake, beside the paper's in the figures of --report.
    ///
    /// Takes up to four times as long.
    #[arg(long, requires = "report", help_heading = "Results")]
    beyond: bool,
    /// Run nothing, but read verdicts that --json wrote earlier.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "all", "report", "papers", "qdiscs", "set"], help_heading = "Results")]
    verdicts: Option<PathBuf>,
    /// Write the verdicts as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
}

pub(crate) fn main(args: &ReproduceArgs, disciplines: &Disciplines) -> Outcome {
    if let Some(file) = &args.verdicts {
        let all = verdicts::load(file)?;
        return output::print(&claims::render_score(&all)).map(|()| Ending::Done);
    }
    let known = match &args.papers {
        Some(folder) => reproduce::papers_in(folder)?,
        None => reproduce::papers()?,
    };
    let known: Vec<Paper> = known.into_iter().map(|paper| paper.with_settings(&args.set)).collect();
    // A file that cannot be written is found before the runs.
    check_outputs(args)?;
    if args.what.is_empty() && !args.all {
        args.check_that_nothing_is_wanted()?;
        let list = papers::listed(&papers::costs(&known)?, args.jobs);
        return output::print(&list).map(|()| Ending::Done);
    }
    let mut chosen = reproduce::select(&known, &args.what)?;
    let asked = asked_of(&chosen, &args.qdiscs, disciplines)?;
    if !asked.is_empty() {
        // The claims of the first choice belong to the papers with their own AQMs.
        chosen = reproduce::select(&asked, &args.what)?;
    }
    check_settings(&chosen, &args.set)?;
    let store = Store::open(&args.out.join("runs"))?;
    let mut findings = Findings::default();
    for (paper, claims) in chosen {
        if !findings.reproduce(args, paper, claims, &store)? {
            say(format_args!(
                "interrupted: finished runs are kept in {}; repeat the command to resume",
                args.out.display()
            ));
            return Ok(Ending::Interrupted);
        }
    }
    findings.write(args)
}

/// Returns the papers with these disciplines in place of their AQMs; empty without disciplines.
fn asked_of(
    chosen: &[(&Paper, Vec<&Claim>)],
    qdiscs: &[String],
    disciplines: &Disciplines,
) -> Result<Vec<Paper>, Diagnostic> {
    if qdiscs.is_empty() {
        return Ok(Vec::new());
    }
    for line in qdiscs {
        tc::parse_among(disciplines, line, &goodqueue::Link::default(), None)
            .map_err(|error| error.in_argument("--qdisc", line))?;
    }
    remark_on("--qdisc", qdiscs, disciplines);
    chosen.iter().map(|(paper, _)| paper.asked_of(qdiscs, disciplines)).collect()
}

/// Refuses settings that would change nothing, and says what the others change: the verdicts are
/// then not those of the paper's set-up.
fn check_settings(chosen: &[(&Paper, Vec<&Claim>)], settings: &[String]) -> Result<(), Diagnostic> {
    for setting in settings {
        let mut changed = 0;
        for (paper, claims) in chosen {
            changed += paper.changed_by(setting, claims)?.len();
        }
        if changed == 0 {
            let table = setting.split('.').next().unwrap_or_default();
            let message = format!("no experiment of these claims has the table `[{table}]`");
            return Err(Diagnostic::new(message)
                .in_argument("--set", setting)
                .help("ask for claims whose scenarios have it; `goodqueue list claims` shows all"));
        }
        let plural = if changed == 1 { "" } else { "s" };
        say(format_args!("{setting} in {changed} experiment{plural}: not the set-up of the paper's page"));
    }
    Ok(())
}

fn check_outputs(args: &ReproduceArgs) -> Result<(), Diagnostic> {
    let mut outputs = Outputs::default();
    if let Some(verdicts) = &args.verdicts {
        outputs.read(verdicts)?;
    }
    if let Some(report) = &args.report {
        outputs.add_report("--report", report)?;
    }
    if let Some(json) = &args.json {
        outputs.add("--json", json)?;
    }
    Ok(())
}

/// The results of all papers so far.
#[derive(Default)]
struct Findings {
    claims: Vec<ClaimResult>,
    /// Contents of the report.
    pages: Vec<PaperResults>,
    /// Metrics by the name of the paper.
    metrics: serde_json::Map<String, Value>,
}

impl Findings {
    /// Runs the experiments of a paper, then judges and prints its claims. Returns false if the
    /// user interrupted it.
    fn reproduce(
        &mut self,
        args: &ReproduceArgs,
        paper: &Paper,
        claims: Vec<&Claim>,
        store: &Store,
    ) -> Result<bool, Diagnostic> {
        let (figures, drawn) = match args.report {
            Some(_) => paper.figures_of(&claims, args.beyond)?,
            None => (Vec::new(), BTreeSet::new()),
        };
        let plan = Plan::new(paper, claims.clone(), &drawn, Effort::Quick)?;
        let Some(evidence) = args.run(&plan, store)? else { return Ok(false) };
        let mut results = plan.judge(&evidence)?;
        if args.full && !args.decide(paper, &claims, &mut results, store)? {
            return Ok(false);
        }
        let measured = plan.metrics(&evidence);
        if !args.is_quiet() {
            output::print(&claims::render(paper, &paper.in_its_words(&results)))?;
            for table in &paper.metrics_in_its_words(&measured) {
                output::print(&claims::render_metrics(table))?;
            }
        }
        if args.report.is_some() {
            let pictures: Result<Vec<_>, _> =
                figures.iter().map(|figure| figure.picture(paper, &evidence)).collect();
            self.pages.push(PaperResults {
                title: paper.title.clone(),
                source: paper.source.clone(),
                claims: paper.in_its_words(&results),
                pictures: pictures?,
                metrics: paper.metrics_in_its_words(&measured),
            });
        }
        if !measured.is_empty() {
            self.metrics.insert(paper.name.clone(), json!(measured));
        }
        self.claims.extend(results);
        Ok(true)
    }

    /// Writes the requested outputs.
    fn write(self, args: &ReproduceArgs) -> Outcome {
        if let Some(path) = &args.report {
            let page = goodqueue_papers::report::papers_html(&self.pages, &typed::command_line());
            output::write_file("--report", path, page.as_bytes())?;
        }
        if !args.is_quiet() {
            output::print(&claims::render_score(&self.claims))?;
        }
        if let Some(json) = &args.json {
            let mut written = json!({ "claims": self.claims });
            if !self.metrics.is_empty() && !args.what.is_empty() {
                written["metrics"] = self.metrics.into();
            }
            output::write_json("--json", json, &written)?;
        }
        let failed = self.claims.iter().any(|result| result.verdict == Verdict::NotReproduced);
        Ok(if failed { Ending::CheckFailed } else { Ending::Done })
    }
}

impl ReproduceArgs {
    /// Runs a plan; `None` if the user interrupted it.
    fn run<'p>(&self, plan: &Plan<'p>, store: &Store) -> Result<Option<Evidence<'p>>, Diagnostic> {
        let progress = Progress::new(plan.runs(), false);
        // A session takes 0 threads for as many as the machine has processors.
        let evidence = plan.run(self.jobs.map_or(0, usize::from), Some(store), &progress);
        progress.clear();
        evidence
    }

    /// Repeats the experiments of undecided claims more often, as long as that may decide them.
    /// Returns false if the user interrupted it.
    fn decide(
        &self,
        paper: &Paper,
        claims: &[&Claim],
        results: &mut [ClaimResult],
        store: &Store,
    ) -> Result<bool, Diagnostic> {
        let [.., most] = Effort::UNTIL_DECIDED;
        let mut open: Vec<&Claim> = undecided(results, claims);
        for times in Effort::UNTIL_DECIDED {
            if open.is_empty() {
                break;
            }
            let tried = std::mem::take(&mut open);
            let count = tried.len();
            // The figures have their runs already: only claims are repeated.
            let plan = Plan::new(paper, tried.clone(), &BTreeSet::new(), Effort::Full(times))?;
            let plural = if count == 1 { "" } else { "s" };
            say(format_args!("{}: {count} undecided claim{plural}, {} runs", paper.name, plan.runs()));
            let Some(evidence) = self.run(&plan, store)? else { return Ok(false) };
            for anew in plan.judge(&evidence)? {
                // Results are replaced in place, so they keep the order of the paper's claims.
                if let Some(result) = results.iter_mut().find(|result| result.id == anew.id) {
                    *result = anew;
                }
            }
            if times == most {
                break;
            }
            // A claim whose value lies on its limit would take all repetitions and stay undecided.
            let left = most / times;
            for claim in undecided(results, &tried) {
                if plan.would_decide(claim, &evidence, left)? {
                    open.push(claim);
                } else {
                    say(format_args!("{}: more runs would probably not decide it", claim.id));
                }
            }
        }
        Ok(true)
    }

    /// Refuses options that only a run obeys. A script that asks for verdicts must not take the
    /// list of papers for success.
    fn check_that_nothing_is_wanted(&self) -> Result<(), Diagnostic> {
        let wanted = [
            ("--json", self.json.is_some()),
            ("--report", self.report.is_some()),
            ("--qdisc", !self.qdiscs.is_empty()),
            ("--set", !self.set.is_empty()),
        ];
        match wanted.iter().find(|option| option.1) {
            Some((option, _)) => Err(Diagnostic::new(format!("`{option}` needs a paper or a claim"))
                .help("name one, as in `goodqueue reproduce jk`, or run every paper with --all")),
            None => Ok(()),
        }
    }

    /// True if the JSON takes standard output.
    fn is_quiet(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

/// The claims among `claims` that the results leave undecided.
fn undecided<'c>(results: &[ClaimResult], claims: &[&'c Claim]) -> Vec<&'c Claim> {
    let is_undecided = |claim: &Claim| {
        results.iter().any(|result| result.id == claim.id && result.verdict == Verdict::Undecided)
    };
    claims.iter().copied().filter(|claim| is_undecided(claim)).collect()
}
