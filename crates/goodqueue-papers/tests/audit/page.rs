//! The page of a paper: a summary, what does not reproduce, then the rest.

use std::fmt::Write as _;

use goodqueue_papers::reproduce::agreement::{Agreement, Agreements, Class, pairs};
use goodqueue_papers::reproduce::finding::Outcome;
use goodqueue_papers::reproduce::{CheckResult, ClaimKind, ClaimResult, Paper, RealResult, Verdict, figures};

use super::statements;

/// Returns the claims that count and that come to `class`.
pub(super) fn of_class(results: &[ClaimResult], class: Class) -> impl Iterator<Item = &ClaimResult> {
    results.iter().filter(move |result| result.kind.counts() && Class::from_result(result) == class)
}

pub(super) fn of(paper: &Paper, results: &[ClaimResult]) -> String {
    let results = paper.in_its_words(results);
    // Writing to a string cannot fail.
    let mut text = format!("# {}: every claim\n\n{}\n\n", paper.title, paper.source);
    text.push_str(
        "[The rules and the summary of all papers](../AUDIT.md). The set-up: [README](README.md).\n",
    );
    if results.iter().any(|result| result.kind.counts()) {
        summary(&mut text, paper, &results);
        differences(&mut text, &results);
        for class in
            [Class::Differs, Class::LikeTheSystem, Class::Unknown, Class::NoReference, Class::Undecided]
        {
            section(&mut text, &results, class);
        }
        for class in [Class::Consistent, Class::Reproduced, Class::NotRun] {
            table(&mut text, class.words(), of_class(&results, class));
        }
    }
    for kind in ClaimKind::ALL.iter().filter(|kind| !kind.counts()) {
        table(&mut text, heading(*kind), results.iter().filter(|result| result.kind == *kind));
    }
    statements::write(&mut text, paper);
    text
}

/// The two headlines, and the number of claims of each class.
fn summary(text: &mut String, paper: &Paper, results: &[ClaimResult]) {
    let agreements = Agreements::from_results(results);
    let Agreements { same, near, numbers, open, no_reference, .. } = agreements;
    if agreements.with_reference() > 0 {
        let undecided = match open {
            0 => String::new(),
            _ => format!(" For {open} claims one of the two does not decide."),
        };
        let _ = writeln!(
            text,
            "\n**As the system that the authors ran** ({}): {same} of {} claims have the same verdict, and {near} of {numbers} values \
             agree.{undecided} {no_reference} claims have no value of that system.",
            super::systems(paper),
            agreements.decided()
        );
    }
    let counted = results.iter().filter(|result| result.kind.counts() && result.verdict != Verdict::NotRun);
    let reproduced = of_class(results, Class::Reproduced).count();
    let _ = writeln!(text, "\n**As worded**: {reproduced} of {} claims are reproduced.\n", counted.count());
    text.push_str("| claims | |\n|---|---|\n");
    for class in Class::ALL {
        let count = of_class(results, class).count();
        if count > 0 {
            let _ = writeln!(text, "| {count} | {} |", class.words());
        }
    }
}

/// What differs from the paper's own system: verdicts, and values.
fn differences(text: &mut String, results: &[ClaimResult]) {
    let verdicts: Vec<&ClaimResult> = results
        .iter()
        .filter(|result| result.kind.counts() && Agreement::from_result(result) == Agreement::Differs)
        .collect();
    if !verdicts.is_empty() {
        text.push_str(
            "\n## Another verdict than the paper's own system\n\n| claim | here | there |\n|---|---|---|\n",
        );
        for result in verdicts {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                result.id,
                cell(&here(result)),
                cell(&real(result, true))
            );
        }
    }
    let far: Vec<(&ClaimResult, f64, f64)> = results
        .iter()
        .filter(|result| result.kind.counts())
        .flat_map(|result| pairs(result).into_iter().map(move |pair| (result, pair)))
        .filter(|(_, pair)| !pair.is_near())
        .map(|(result, pair)| (result, pair.here, pair.system))
        .collect();
    if !far.is_empty() {
        text.push_str("\n## Other values than the paper's own system\n\n| claim | here | there | here / there |\n|---|---|---|---|\n");
        for (result, here, there) in far {
            let of_here = with_unit(here, &result.unit);
            let of_there = with_unit(there, &result.unit);
            // Nothing is a multiple of zero.
            let ratio = if there == 0.0 { "–".to_owned() } else { figures(here / there) };
            let _ = writeln!(text, "| `{}` | {of_here} | {of_there} | {ratio} |", result.id);
        }
    }
}

/// Each claim in four lines: the quote, the first check that does not hold, real systems, reason.
fn section(text: &mut String, results: &[ClaimResult], class: Class) {
    let all: Vec<&ClaimResult> = of_class(results, class).collect();
    if all.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {}", capitalised(class.words()));
    for result in all {
        let place = if result.place.is_empty() { String::new() } else { format!(" ({})", result.place) };
        let _ = writeln!(text, "\n**`{}`** “{}”{place}\n", result.id, line(&result.quote));
        let _ = writeln!(text, "* Check: {}. {}", line(&result.says), first_failing(result));
        let system = real(result, false);
        let _ = writeln!(text, "* Real systems: {}", if system.is_empty() { "no value" } else { &system });
        let mut reasons = Vec::new();
        reasons.extend(result.unknown.as_ref().map(|what| format!("The paper does not give {what}.")));
        reasons.extend((!result.note.is_empty()).then(|| line(&result.note)));
        if !reasons.is_empty() {
            let _ = writeln!(text, "* Reason: {}", reasons.join(" "));
        }
    }
}

fn table<'r>(text: &mut String, title: &str, results: impl Iterator<Item = &'r ClaimResult>) {
    let all: Vec<&ClaimResult> = results.collect();
    if all.is_empty() {
        return;
    }
    let has_verdicts = all.iter().any(|result| !result.kind.counts());
    let _ = write!(
        text,
        "\n## {}\n\n| claim | check | paper | here | real systems |{}\n|---|---|---|---|---|{}\n",
        capitalised(title),
        if has_verdicts { " verdict |" } else { "" },
        if has_verdicts { "---|" } else { "" }
    );
    for result in all {
        let fitted = result.fitted.as_ref().map_or(String::new(), |what| format!(" Fitted: {what}."));
        let numbers = result.numbers();
        let paper: Vec<String> =
            numbers.iter().map(|number| with_unit(number.expected, &result.unit)).collect();
        let paper = if paper.is_empty() { "in words".to_owned() } else { paper.join("; ") };
        let cells = [
            format!("`{}`", result.id),
            format!("{}{fitted}", result.says),
            paper,
            here(result),
            real(result, false),
        ];
        for text_of_cell in cells {
            let _ = write!(text, "| {} ", cell(&text_of_cell));
        }
        if has_verdicts {
            let _ = write!(text, "| {} ", verdict(result.verdict));
        }
        text.push_str("|\n");
    }
}

/// The first check that does not hold, with its values, and the number of the others.
fn first_failing(result: &ClaimResult) -> String {
    let failing: Vec<&CheckResult> =
        result.checks.iter().filter(|check| check.outcome != Outcome::Holds).collect();
    let order = [Outcome::Fails, Outcome::Undecided, Outcome::Consistent];
    let first = order.iter().find_map(|outcome| failing.iter().find(|check| check.outcome == *outcome));
    let Some(first) = first else { return String::new() };
    let runs = result.repetitions;
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    if let [number] = result.numbers().as_slice() {
        let paper = with_unit(number.expected, &result.unit);
        return format!("Paper {paper}, here {} ({runs}).", number_here(first, &result.unit));
    }
    let others = match failing.len() {
        1 => String::new(),
        count => format!(" {} of {} checks do not hold.", count, result.checks.len()),
    };
    let word = if first.outcome == Outcome::Fails { "Fails" } else { "Undecided" };
    format!("{word}: `{}` with {} ({runs}).{others}", shown(&first.check), values(first))
}

/// A check that counts cases, as `less(..) + less(..) + less(..) >= 2`, with its first case only.
fn shown(check: &str) -> String {
    let cases: Vec<&str> = check.split(" + less(").collect();
    let last = cases.last().and_then(|last| last.rsplit_once(") "));
    match (cases.as_slice(), last) {
        ([first, _, _, ..], Some((_, comparison))) => {
            format!("{first} + ... ({} cases) {comparison}", cases.len())
        }
        _ => check.to_owned(),
    }
}

#[test]
fn a_check_that_counts_cases_shows_its_first_case_and_their_number() {
    assert_eq!(
        shown("less(1, a[x]) + less(1, b[x]) + less(1, c[x]) >= 2"),
        "less(1, a[x]) + ... (3 cases) >= 2"
    );
    assert_eq!(shown("less(1, a[x]) + less(1, b[x]) >= 2"), "less(1, a[x]) + less(1, b[x]) >= 2");
}

/// What was measured: the numbers, or how many checks hold.
fn here(result: &ClaimResult) -> String {
    if result.verdict == Verdict::NotRun {
        return "not run".to_owned();
    }
    let numbers = result.numbers();
    if !numbers.is_empty() {
        let all = result.checks.iter().map(|check| number_here(check, &result.unit));
        return all.collect::<Vec<_>>().join("; ");
    }
    let holding = result.checks.iter().filter(|check| check.outcome == Outcome::Holds).count();
    format!("{holding} of {} hold", result.checks.len())
}

fn number_here(check: &CheckResult, unit: &str) -> String {
    with_interval(check.values.first(), check.intervals.first(), unit)
}

fn number_there(real: &RealResult, unit: &str) -> String {
    with_interval(real.values.first(), real.intervals.first(), unit)
}

fn with_interval(value: Option<&f64>, interval: Option<&Option<(f64, f64)>>, unit: &str) -> String {
    let value = value.copied().unwrap_or(f64::NAN);
    match interval.copied().flatten() {
        Some((low, high)) => {
            format!("{} [{} to {}]", with_unit(value, unit), figures(low), figures(high))
        }
        None => with_unit(value, unit),
    }
}

fn values(check: &CheckResult) -> String {
    check.values.iter().map(|value| with_unit(*value, "")).collect::<Vec<_>>().join("; ")
}

/// What real systems give: their numbers, or how many of the checks hold for them. `own`: only the
/// paper's own system.
fn real(result: &ClaimResult, own: bool) -> String {
    let mut all = Vec::new();
    let mut systems: Vec<&str> = Vec::new();
    for real in result.checks.iter().flat_map(|check| &check.real).filter(|real| real.own || !own) {
        if !systems.contains(&real.of.as_str()) {
            systems.push(&real.of);
        }
    }
    let numbers = result.numbers();
    for system in systems {
        if !numbers.is_empty() {
            let checks = result.checks.iter().flat_map(|check| &check.real);
            let beside: Vec<&RealResult> = checks.filter(|real| real.of == system).collect();
            let values: Vec<String> = beside.iter().map(|real| number_there(real, &result.unit)).collect();
            let runs = beside.iter().filter_map(|real| real.repetitions).min();
            let runs = runs.map_or(String::new(), |runs| format!(" ({runs} runs)"));
            all.push(format!("{system}: {}{runs}", values.join("; ")));
            continue;
        }
        let known: Vec<_> = result
            .checks
            .iter()
            .filter_map(|check| check.real.iter().find(|real| real.of == system).map(|real| (check, real)))
            .collect();
        let holding = known.iter().filter(|(_, real)| real.outcome == Outcome::Holds).count();
        let first = known.iter().find(|(_, real)| real.outcome != Outcome::Holds);
        let first = first.map_or(String::new(), |(check, real)| {
            let values: Vec<String> = real.values.iter().map(|value| with_unit(*value, "")).collect();
            format!("; not `{}` with {}", shown(&check.check), values.join("; "))
        });
        all.push(format!("{system}: {holding} of {} hold{first}", known.len()));
    }
    all.join(". ")
}

/// A number with its unit. Large numbers have a prefix, so that nobody has to count digits.
fn with_unit(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        // Thousands of milliseconds are read as they are.
        size if size >= 1e4 && unit.is_empty() => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if prefix.is_empty() && unit.is_empty() {
        figures(value)
    } else {
        format!("{} {prefix}{unit}", figures(scaled))
    }
}

fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}

fn line(text: &str) -> String {
    text.replace('\n', " ")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

const fn heading(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Number | ClaimKind::Order | ClaimKind::Shape => "counted",
        ClaimKind::SetUp => "set-up (not counted)",
        ClaimKind::Arithmetic => "arithmetic (not counted)",
        ClaimKind::Fitted => "fitted (not counted)",
        ClaimKind::Own => "our own checks (not counted)",
    }
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "holds",
        Verdict::Consistent => "consistent",
        Verdict::Undecided => "undecided",
        Verdict::NotReproduced => "does not hold",
        Verdict::NotRun => "not run",
    }
}
