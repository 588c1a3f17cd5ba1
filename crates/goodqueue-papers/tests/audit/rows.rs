//! `docs/l4s-tests.md`: each published row of the L4S tests beside our values and those of the real
//! kernel, and how many rows agree.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodqueue_papers::reproduce::finding::Outcome;
use goodqueue_papers::reproduce::{CheckResult, ClaimResult, Verdict};

/// Groups of rows: the beginnings of their ids, and their titles.
const GROUPS: &[(&str, &str)] = &[
    ("l4s-s1-50-", "Scenario 1 at 50 Mbit/s"),
    ("l4s-s1-10-", "Scenario 1 at 10 Mbit/s"),
    ("l4s-s6-", "Scenario 6: one queue that marks by RFC 3168"),
    ("l4s-overload-", "Overload"),
    ("l4s-iccrg-", "ICCRG 109: one flow alone"),
    ("l4s-fallback-codel-", "Fallback at a classic AQM: Prague and CUBIC through codel"),
    ("l4s-fallback-dualpi2-", "Fallback: Prague and CUBIC through dualpi2"),
    (
        "l4s-fallback-released-codel-",
        "Fallback as released, which takes every queue for classic, through codel",
    ),
    ("l4s-fallback-released-dualpi2-", "Fallback as released, through dualpi2"),
];
/// Groups whose rows are delivery rates that senders report. Those of Linux 7.3 were not recorded,
/// so its goodput stands beside them.
const REPORTED: &[&str] = &["l4s-s1-50-", "l4s-s1-10-", "l4s-s6-"];
/// Disciplines whose rows of scenario 1 are counted apart: the ends of their ids.
const DISCIPLINES: &[&str] = &["dualpi2", "fq_codel", "pfifo", "cnq_codel_af"];
/// Distance within which a row counts as near: one run of each test leaves no smaller one.
const NEAR: f64 = 0.15;
/// Distance of the rule for all claims.
const RULE: f64 = goodqueue_papers::reproduce::tolerance::SHARE;

pub(super) fn of(results: &[ClaimResult]) -> String {
    let mut text = String::from(INTRODUCTION);
    counts(&mut text, results);
    sums(&mut text, results);
    reasons(&mut text, results);
    for (beginning, title) in GROUPS {
        let metrics = if REPORTED.contains(beginning) {
            ["delivery rate here", "goodput of Linux 7.3"]
        } else {
            ["here", "Linux 7.3"]
        };
        rows(&mut text, title, metrics, &group(results, beginning));
    }
    text
}

fn group<'r>(results: &'r [ClaimResult], beginning: &str) -> Vec<&'r ClaimResult> {
    results.iter().filter(|result| result.id.starts_with(beginning)).collect()
}

/// How many rows of each group agree.
fn counts(text: &mut String, results: &[ClaimResult]) {
    text.push_str(
        "\n## How many rows agree\n\n| rows | run | all values within 10 % | within 15 % | within 15 %, or within the scatter of one run |\n|---|--:|--:|--:|--:|\n",
    );
    for (beginning, title) in GROUPS {
        let all = group(results, beginning);
        if beginning.starts_with("l4s-s1-") {
            for discipline in DISCIPLINES {
                let of = all.iter().filter(|result| result.id.ends_with(discipline)).copied();
                count(text, &format!("{title}, {discipline}"), &of.collect::<Vec<_>>());
            }
        } else {
            count(text, title, &all);
        }
    }
    let is_old = |result: &&ClaimResult| !result.id.starts_with("l4s-fallback-");
    count(text, "all of 2020", &results.iter().filter(is_old).collect::<Vec<_>>());
    count(text, "all", &results.iter().collect::<Vec<_>>());
}

fn count(text: &mut String, title: &str, rows: &[&ClaimResult]) {
    let run: Vec<&ClaimResult> =
        rows.iter().filter(|result| result.verdict != Verdict::NotRun).copied().collect();
    let within = |share: f64| run.iter().filter(|result| farthest(result) <= share).count();
    let scatter = run
        .iter()
        .filter(|result| {
            farthest(result) <= NEAR || matches!(result.verdict, Verdict::Reproduced | Verdict::Consistent)
        })
        .count();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| {title} | {} | {} | {} | {scatter} |", run.len(), within(RULE), within(NEAR));
}

/// What both flows of scenario 1 have together, as a mean over the rows of each discipline.
fn sums(text: &mut String, results: &[ClaimResult]) {
    text.push_str(
        "\n## Both flows of scenario 1 together\n\nMean delivery rate in Mbit/s over all rows of a discipline.\n\n| rows | published | here |\n|---|--:|--:|\n",
    );
    for (beginning, title) in GROUPS.iter().filter(|group| group.0.starts_with("l4s-s1-")) {
        for discipline in DISCIPLINES {
            let rows: Vec<&ClaimResult> =
                group(results, beginning).into_iter().filter(|row| row.id.ends_with(discipline)).collect();
            let checks = || rows.iter().flat_map(|row| &row.checks);
            let published: f64 = checks().filter_map(|check| check.expected).sum();
            let here: f64 = checks().filter_map(|check| check.values.first()).sum();
            let count = rows.len().max(1) as f64;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {title}, {discipline} | {} | {} |",
                number(published / count),
                number(here / count)
            );
        }
    }
}

/// The largest distance of a row's values from the published ones, as a share of these. A bound or
/// a zero has the distance 0 if it holds here, and infinity otherwise.
fn farthest(result: &ClaimResult) -> f64 {
    let distances = result.checks.iter().map(|check| match (check.expected, check.values.as_slice()) {
        (Some(expected), [value]) if expected != 0.0 => (value - expected).abs() / expected.abs(),
        _ if check.outcome == Outcome::Holds => 0.0,
        _ => f64::INFINITY,
    });
    distances.fold(0.0, f64::max)
}

/// Whether Linux 7.3 was asked and gives what the model gives.
fn is_as_kernel(result: &ClaimResult) -> bool {
    let distance = |check: &CheckResult| {
        let [here] = check.values.as_slice() else { return None };
        of_kernel(check).map(|real| (here - real).abs() / real.abs().max(f64::MIN_POSITIVE))
    };
    !result.checks.is_empty()
        && result.checks.iter().all(|check| distance(check).is_some_and(|share| share <= NEAR))
}

/// The reasons of the rows that differ by more than 15 %, with their numbers of rows.
fn reasons(text: &mut String, results: &[ClaimResult]) {
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    let far = results.iter().filter(|result| result.verdict != Verdict::NotRun && farthest(result) > NEAR);
    for result in far {
        let note = match result.verdict {
            _ if !result.note.is_empty() => &result.note,
            _ if is_as_kernel(result) => {
                "The real Linux 7.3, with the rules of TCP Prague 0.5 where Prague takes part, gives both flows what they get here within 15 %. What remains is the rest of the kernel of 2020, or the testbed, whose hosts ran in real time."
            }
            Verdict::Reproduced | Verdict::Consistent => {
                "The published run lies within the scatter of single runs here."
            }
            _ => "No reason is known.",
        };
        *of.entry(note).or_default() += 1;
    }
    text.push_str("\n## Why rows differ by more than 15 %\n\n| rows | reason |\n|--:|---|\n");
    let mut sorted: Vec<(&str, usize)> = of.into_iter().collect();
    sorted.sort_by_key(|(note, count)| (std::cmp::Reverse(*count), *note));
    for (note, count) in sorted {
        let _ = writeln!(text, "| {count} | {} |", note.replace('|', "\\|"));
    }
}

fn rows(text: &mut String, title: &str, metrics: [&str; 2], results: &[&ClaimResult]) {
    let [here, kernel] = metrics;
    let _ = writeln!(
        text,
        "\n## {title}\n\n| row | published | {here} | {kernel} | farthest value |\n|---|--:|--:|--:|--:|"
    );
    for result in results {
        let beginning = result.id.strip_prefix("l4s-").unwrap_or(&result.id);
        if result.verdict == Verdict::NotRun {
            let _ = writeln!(text, "| `{beginning}` | {} | not run | | |", published(&result.quote));
            continue;
        }
        let here: Vec<f64> = result.checks.iter().flat_map(|check| check.values.first().copied()).collect();
        let real: Vec<f64> = result.checks.iter().flat_map(of_kernel).collect();
        let far = farthest(result);
        let far =
            if far.is_finite() { format!("{:.0} %", 100.0 * far) } else { "starves only there".to_owned() };
        let _ = writeln!(
            text,
            "| `{beginning}` | {} | {} | {} | {far} |",
            result.checks.iter().map(expected).collect::<Vec<_>>().join(" / "),
            joined(&here),
            joined(&real)
        );
    }
}

/// The published numbers at the end of a quote.
fn published(quote: &str) -> String {
    quote.rsplit_once(": ").map_or_else(String::new, |(_, numbers)| numbers.replace(", ", " / "))
}

fn expected(check: &CheckResult) -> String {
    check.expected.map_or_else(|| "below 1".to_owned(), number)
}

fn of_kernel(check: &CheckResult) -> Option<f64> {
    check.real.first()?.values.first().copied()
}

fn joined(values: &[f64]) -> String {
    values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(" / ")
}

fn number(value: f64) -> String {
    format!("{value:.2}")
}

const INTRODUCTION: &str = "# Published L4S tests, row by row

In 2020 P. Heist and J. Morton ([heistp/l4s-tests](https://github.com/heistp/l4s-tests)) and the L4S team
([L4STeam/l4steam.github.io](https://github.com/L4STeam/l4steam.github.io)) measured what TCP Prague, CUBIC and Reno get from one bottleneck.
In 2025 L. Hagen ([prague-fallback-experiments](https://github.com/Greenscreen23/prague-fallback-experiments)) measured the fallback of TCP
Prague for Linux 5.15 at classic AQMs, with 30 runs for each row. `goodqueue reproduce l4s` repeats their tests and compares each row. This
page shows the published values, those of the simulator and, where they were recorded, those of the real kernel of Linux 7.3. Linux 7.3 has no
Prague. In rows with Prague it has the rules of TCP Prague 0.5, the version that was tested, added to it.

In scenarios 1 and 6 the published values are delivery rates that the senders reported (`tcpi_delivery_rate`), and so are those of the
simulator. The recordings of Linux 7.3 have no delivery rates, so its column is goodput there. With short round-trip times at 10 Mbit/s the
delivery rate is some percent below the goodput. All other rates are goodput.

A row has several values, in Mbit/s, or in ms where its name has `delay`. The last column is the distance of the value that is farthest from
the published one. All tests but those of the fallback ran once, so their values scatter. [The set-up](../crates/goodqueue-papers/papers/l4s/README.md) gives the reason of
each choice, and [the page of the claims](../crates/goodqueue-papers/papers/l4s/CLAIMS.md) the intervals and verdicts.
";
