//! `docs/numbers.md` is generated from measurements that commands wrote, and no other page states
//! them.
//!
//! `make numbers` measures again and writes the page. Without `UPDATE` this test compares the page
//! with the files, and the files with the present claims, set-ups and recordings, so that neither
//! gets stale unnoticed.

#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use goodqueue_papers::reproduce::agreement::Agreements;
use goodqueue_papers::reproduce::score::{Score, Verdicts};
use goodqueue_papers::reproduce::{self, ClaimResult, scores, verdicts};
use goodqueue_papers::validate;
use serde_json::Value;

const PAGE: &str = "docs/numbers.md";

#[test]
fn the_page_of_measured_numbers_shows_what_the_commands_measured() {
    let page = page();
    let path = root().join(PAGE);
    if std::env::var("UPDATE").is_ok_and(|update| !update.is_empty()) {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let kept = std::fs::read_to_string(&path).expect("the page");
    assert!(kept == page, "{PAGE} is stale: UPDATE=1 cargo test -p goodqueue-cli --test numbers");
}

#[test]
fn every_claim_set_up_and_recording_has_been_measured() {
    let papers = reproduce::papers().expect("the built-in papers are valid");
    let claims = papers.iter().flat_map(|paper| &paper.claims).map(|claim| claim.id.clone()).collect();
    let judged = claim_results().into_iter().map(|result| result.id).collect();
    assert_same("claims", "make score", &judged, &claims);

    let set_ups = validate::chosen(&[]).expect("the references are valid");
    let set_ups = set_ups.iter().map(|set_up| set_up.name().to_owned()).collect();
    assert_same("set-ups", "make validation", &names(&measured("validation.json"), "set_up"), &set_ups);

    let mut recordings = BTreeSet::new();
    for folder in ["recordings", "recordings-7.3", "recordings-ns2"] {
        let folder = root().join("crates/goodqueue-testkit").join(folder);
        for entry in std::fs::read_dir(folder).expect("the recordings") {
            let path = entry.expect("a recording").path();
            if path.to_string_lossy().ends_with(".jsonl.gz") {
                recordings.insert(place(&path));
            }
        }
    }
    let replayed = measured("replay.json");
    let replayed = names(&replayed, "file").iter().map(|file| place(Path::new(file))).collect();
    assert_same("recordings", "make recordings", &replayed, &recordings);
}

/// Both sets are equal; otherwise the error names the difference and the command that measures
/// again.
fn assert_same(what: &str, command: &str, measured: &BTreeSet<String>, present: &BTreeSet<String>) {
    let difference: Vec<_> = measured.symmetric_difference(present).collect();
    assert!(difference.is_empty(), "measured and present {what} differ: {difference:?}; run `{command}`");
}

fn page() -> String {
    let mut text = String::from(
        "# Measured numbers\n\nCommands measured every number on this page: `make numbers` repeats them and writes the page.\n",
    );
    claims(&mut text);
    real_systems(&mut text);
    recordings(&mut text);
    instructions(&mut text);
    text
}

/// Claims of each paper, from `goodqueue reproduce --json`.
fn claims(text: &mut String) {
    text.push_str(
        "\n## Claims of the papers\n\n`goodqueue reproduce` runs the experiments of the papers and judges each claim. The score \
         counts\nnumbers, orders and shapes that a paper states. The last column counts all other checks: those of our set-up, of \
         a\npaper's arithmetic, of results by which we chose a parameter, and those that no paper states. A claim is undecided if\nthe \
         limit lies within the 95 % confidence interval, and consistent if the paper's own few repetitions scatter too much\nto tell. \
         [The audit](../crates/goodqueue-papers/papers/AUDIT.md) has the rules, and a page for each paper with every claim.\n\n\
         The first table answers whether goodqueue behaves as the system that the authors ran: ns-2.35, Linux 3.2 or Linux 3.14,\n\
         for the claims of which that system's values are known.\n\n\
         | paper | claims with the verdict of that system | values that agree with it | undecided by one of the two | claims without such a value |\n\
         |---|---|---|---|---|\n",
    );
    // The published tests and the RFC have no system of their own, so they are apart.
    let has_system = |score: &&Score| score.agreements.with_reference() > 0;
    let scores = scores(&claim_results());
    let papers: Vec<&Score> = scores.iter().filter(has_system).collect();
    let other_sources = scores.iter().filter(|score| !has_system(score));
    let mut agreements = Agreements::default();
    for score in &papers {
        agreements = agreements.plus(score.agreements);
        agreement_row(text, &linked(&score.paper), score.agreements);
    }
    agreement_row(text, "all papers", agreements);
    text.push_str(
        "\nThe second table answers whether what the papers state holds here as worded.\n\n\
         | paper | claims reproduced | consistent | undecided | not reproduced | not run | other checks that hold |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut counted = Verdicts::default();
    let mut others = Verdicts::default();
    for score in &papers {
        counted = sum(counted, score.counted);
        others = sum(others, score.others);
        score_row(text, &linked(&score.paper), score.counted, score.others);
    }
    score_row(text, "all papers", counted, others);
    text.push_str(
        "\nThe same for published L4S tests, whose rows are single runs, and for the scenarios of RFC 7928.\n\n\
         | source | claims reproduced | consistent | undecided | not reproduced | not run | other checks that hold |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for score in other_sources {
        score_row(text, &linked(&score.paper), score.counted, score.others);
    }
}

fn linked(paper: &str) -> String {
    format!("[{paper}](../crates/goodqueue-papers/papers/{paper}/CLAIMS.md)")
}

fn agreement_row(text: &mut String, name: &str, of: Agreements) {
    let Agreements { same, near, numbers, open, no_reference, .. } = of;
    let verdicts = format!("{same} of {}", of.decided());
    let values = format!("{near} of {numbers}");
    row(text, &[&name, &verdicts, &values, &open, &no_reference]);
}

fn score_row(text: &mut String, name: &str, counted: Verdicts, others: Verdicts) {
    let Verdicts { reproduced, consistent, undecided, not_reproduced, not_run } = counted;
    let others = format!("{} of {}", others.reproduced, others.run());
    row(text, &[&name, &reproduced, &consistent, &undecided, &not_reproduced, &not_run, &others]);
}

fn sum(a: Verdicts, b: Verdicts) -> Verdicts {
    Verdicts {
        reproduced: a.reproduced + b.reproduced,
        consistent: a.consistent + b.consistent,
        undecided: a.undecided + b.undecided,
        not_reproduced: a.not_reproduced + b.not_reproduced,
        not_run: a.not_run + b.not_run,
    }
}

/// Values of each real system, from `goodqueue validate --json`.
fn real_systems(text: &mut String) {
    text.push_str(
        "\n## Values of real systems\n\n`goodqueue validate` simulates loads that were recorded on real systems and compares each \
         value. A value\nagrees within two standard deviations of the recorded runs, or within 5 % (goodput, bytes,\n\
         utilization) or 10 % (other metrics), whichever is wider. A value of an access line (`advise`)\nagrees within 15 %, or within 3 ms or one percentage point of loss. `goodqueue validate --differing`\nlists the others.\n\n\
         | system | values compared | agree |\n|---|---|---|\n",
    );
    let set_ups = validate::chosen(&[]).expect("the references are valid");
    let systems: BTreeMap<&str, &str> =
        set_ups.iter().map(|set_up| (set_up.name(), system(set_up))).collect();
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let values = measured("validation.json");
    for value in values.as_array().expect("a list of values") {
        // The tilde sorts behind all letters, so the sum is the last row.
        for system in [systems.get(string(value, "set_up")).copied().unwrap_or("others"), "~all"] {
            let count = counts.entry(system).or_default();
            count[0] += 1;
            count[1] += usize::from(value["agrees"] == Value::Bool(true));
        }
    }
    for (system, [values, agree]) in counts {
        row(text, &[&system.trim_start_matches('~'), &values, &agree]);
    }
}

/// The system that a set-up was recorded on. Set-ups of single flows name it, as in
/// `flow/linux-3.14/cubic`.
fn system(set_up: &validate::SetUp) -> &str {
    match set_up.name().split('/').collect::<Vec<_>>()[..] {
        ["flow", "linux", ..] => "Linux 6.1.192",
        ["flow", "linux-7.3", ..] => "Linux 7.3.4",
        ["flow", "linux-3.14", ..] => "Linux 3.14.1",
        ["flow", "linux-3.2", ..] => "Linux 3.2.71",
        ["flow", "ns2", ..] => "ns-2.35",
        _ => set_up
            .source()
            .split([',', ':', ';'])
            .next()
            .unwrap_or_default()
            .split(" with ")
            .next()
            .unwrap_or_default(),
    }
}

/// Recordings and packets of each discipline, from `goodqueue replay --compare --json`.
fn recordings(text: &mut String) {
    text.push_str(
        "\n## Recordings\n\n`goodqueue replay --compare` gives recorded arrivals to a discipline and compares each packet's fate and \
         time,\nin nanoseconds, with the recorded ones.\n\n\
         | discipline | recordings | packets | equal recordings |\n|---|---|---|---|\n",
    );
    let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for replayed in measured("replay.json").as_array().expect("a list of recordings") {
        let discipline = string(replayed, "qdisc").split(' ').next().unwrap_or_default();
        // The tilde sorts behind all letters, so the sum is the last row.
        for name in [discipline, "~all"] {
            let count = counts.entry(name.to_owned()).or_default();
            count[0] += 1;
            count[1] += replayed["packets"].as_u64().expect("a number of packets");
            count[2] += u64::from(replayed["equal"] == Value::Bool(true));
        }
    }
    for (discipline, [recordings, packets, equal]) in counts {
        row(text, &[&discipline.trim_start_matches('~'), &recordings, &packets, &equal]);
    }
}

/// Instructions of each discipline, from `make counts UPDATE=1`.
fn instructions(text: &mut String) {
    text.push_str(
        "\n## Instructions\n\nInstructions of one enqueue and one dequeue at 100 queued packets and 1,024 flows. `make counts` \
         compares them with\na new build.\n\n| discipline | instructions |\n|---|---|\n",
    );
    let counts = std::fs::read_to_string(root().join("benches/instructions.toml")).expect("the counts");
    let counts: toml::Table = counts.parse().expect("TOML");
    let table = |name: &str| counts[name].as_table().expect("a table").clone();
    let mut pairs: Vec<_> = table("pairs").into_iter().collect();
    pairs.sort_by_key(|(name, count)| (count.as_integer(), name.clone()));
    for (name, count) in pairs {
        row(text, &[&name, &count]);
    }
    text.push_str(
        "\nInstructions of a simulation with TCP at both ends, for each packet that leaves the bottleneck. All flows use \
         CUBIC\nand have a round-trip time of 50 ms. `make test` fails if one of these grows by more than 3 %.\n\n\
         | simulation | instructions |\n|---|---|\n",
    );
    let simulations = table("simulation");
    assert_eq!(simulations.len(), SIMULATIONS.len(), "each simulation has a description");
    for (name, what) in SIMULATIONS {
        row(text, &[what, &simulations[*name]]);
    }
}

/// The simulations that `make counts` counts, in words.
const SIMULATIONS: &[(&str, &str)] = &[
    ("S1_rfc", "4 flows, `codel`, 10 Mbit/s, profile `rfc`"),
    ("S1_linux", "the same with profile `linux`"),
    ("S1_linux_fq_codel", "the same with `fq_codel`"),
    ("S1_linux_cake", "the same with `cake`"),
    ("flows_10", "10 flows, `codel`, 1 Gbit/s, profile `linux`"),
    ("flows_10000", "10,000 flows, the same"),
];

fn row(text: &mut String, cells: &[&dyn std::fmt::Display]) {
    for cell in cells {
        // Writing to a string cannot fail.
        let _ = write!(text, "| {cell} ");
    }
    text.push_str("|\n");
}

/// The verdicts on all papers, in the order of the papers.
fn claim_results() -> Vec<ClaimResult> {
    let papers = reproduce::papers().expect("the built-in papers are valid");
    let folder = root().join("crates/goodqueue-papers/papers");
    let read = |paper: &reproduce::Paper| verdicts::load(&folder.join(&paper.name).join("verdicts.json"));
    papers.iter().flat_map(|paper| read(paper).expect("the verdicts; run `make score`")).collect()
}

fn measured(file: &str) -> Value {
    let bytes = std::fs::read(root().join("docs/measured").join(file)).expect("a measurement");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn names(list: &Value, key: &str) -> BTreeSet<String> {
    list.as_array().expect("a list").iter().map(|item| string(item, key).to_owned()).collect()
}

fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {value}"))
}

/// The name of a recording with its folder: two kernels have recordings of the same name.
fn place(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).expect("a folder");
    Path::new(folder).join(path.file_name().expect("a file")).to_string_lossy().into_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
