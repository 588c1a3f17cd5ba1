//! Claims and their verdicts as text.

use std::fmt::Write as _;

use goodqueue_papers::reproduce::agreement::Agreement;
use goodqueue_papers::reproduce::{
    ClaimResult, MetricsTable, Paper, Verdict, figures, finding::Outcome, real_in_words, scores,
    three_figures,
};

/// Formats the claims of one paper, one line for each number. Results of checks in words follow
/// below.
pub(crate) fn render(paper: &Paper, results: &[ClaimResult]) -> String {
    // `{:width$}` pads by characters, so a length in bytes would be too long beyond ASCII.
    let width = results.iter().map(|result| result.id.chars().count()).max().unwrap_or(0);
    let mut text = format!("{}: {}\n", paper.name, paper.title);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        " {:width$}  {:>10}  {:>10}  {:>19}  {:>10}  verdict",
        "claim", "paper", "here", "95 % interval", "real"
    );
    for result in results {
        let numbers = result.numbers();
        let several = numbers.len() > 1;
        for (number, row) in numbers.iter().enumerate() {
            let interval = row.interval.map(|(low, high)| format!("{}..{}", figures(low), figures(high)));
            let real: Vec<String> = row.real.iter().map(|real| with_unit(real.1, &result.unit)).collect();
            let (id, verdict) =
                if number == 0 { (result.id.as_str(), verdict(result.verdict)) } else { ("", "") };
            // The verdict of a claim with one number is that of the number.
            let far = match row.outcome {
                Outcome::Fails if several => " (too far off)",
                Outcome::Consistent if several => " (consistent)",
                Outcome::Undecided if several => " (undecided)",
                _ => "",
            };
            let line = format!(
                " {id:width$}  {:>10}  {:>10}  {:>19}  {:>10}  {}",
                with_unit(row.expected, &result.unit),
                with_unit(row.got, &result.unit),
                interval.unwrap_or_default(),
                real.join(", "),
                format!("{verdict}{far}").trim_start(),
            );
            // Text that is pasted from a terminal would carry the blanks along.
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if numbers.is_empty() {
            // As wide as the columns of numbers with two spaces behind each.
            let _ = writeln!(text, " {:width$}  {:57}{}", result.id, "", verdict(result.verdict));
        }
        if result.expected.is_string() {
            if !result.quote.is_empty() {
                let _ = writeln!(text, " {:width$}    paper: \"{}\"", "", result.quote);
            }
            let _ = writeln!(text, " {:width$}    check: {}", "", result.says);
        }
        if numbers.is_empty() {
            if let Some(got) = result.got.as_str() {
                let _ = writeln!(text, " {:width$}    here: {got}", "");
            }
            for (of, came) in real_in_words(&result.checks) {
                let _ = writeln!(text, " {:width$}    {of}: {came}", "");
            }
        }
        if result.verdict != Verdict::Reproduced && !result.note.is_empty() {
            let _ = writeln!(text, " {:width$}    note: {}", "", result.note);
        }
    }
    text.push('\n');
    text
}

/// Formats the metrics of a paper, one line for each discipline in each experiment.
pub(crate) fn render_metrics(table: &MetricsTable) -> String {
    let mut rows = vec![vec![String::new(), String::new()], vec![String::new(), String::new()]];
    rows[0].extend(table.metrics.iter().map(|metric| metric.0.clone()));
    rows[1].extend(table.metrics.iter().map(|metric| metric.1.clone()));
    for result in &table.measured {
        let values = result.values.iter().map(|value| value.map_or_else(|| "-".to_owned(), three_figures));
        rows.push([result.experiment.clone(), result.qdisc.clone()].into_iter().chain(values).collect());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            // The first two columns are names, and all others numbers.
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        let _ = writeln!(text, " {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text.push('\n');
    text
}

/// Formats how far each paper agrees with its own system and how many of its claims are reproduced,
/// then the claims on which goodqueue and that system differ.
pub(crate) fn render_score(results: &[ClaimResult]) -> String {
    let mut text = String::new();
    for score in scores(results) {
        let _ = writeln!(text, "{score}");
    }
    let differs =
        |result: &&ClaimResult| result.kind.counts() && Agreement::from_result(result) == Agreement::Differs;
    let differing: Vec<&str> = results.iter().filter(differs).map(|result| result.id.as_str()).collect();
    if !differing.is_empty() {
        let _ = writeln!(text, "another verdict than the paper's own system: {}", differing.join(", "));
    }
    text
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() || value.is_nan() { figures(value) } else { format!("{} {unit}", figures(value)) }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Consistent => "consistent",
        Verdict::Undecided => "undecided",
        Verdict::NotReproduced => "NOT reproduced",
        Verdict::NotRun => "not run",
    }
}

#[cfg(test)]
mod tests {
    use goodqueue_papers::reproduce::{papers, verdicts};

    use super::*;

    #[test]
    fn all_verdicts_stand_below_the_word_verdict() {
        let text = r#"{"claims":[
            {"id":"x-number","paper":"x","kind":"number","expected":10.0,"got":10.5,"verdict":"reproduced","where":"",
             "says":"","repetitions":3,"checks":[{"check":"a = 10","outcome":"holds","values":[10.5],"expected":10.0}]},
            {"id":"x-words","paper":"x","kind":"order","expected":"a < b","got":"all hold","verdict":"reproduced","where":"",
             "says":"a < b","repetitions":3,"checks":[{"check":"a < b","outcome":"holds","values":[1.0,2.0]}]}
        ]}"#;
        let results = verdicts::read("v.json", text.as_bytes()).unwrap();
        let paper = papers().unwrap().remove(0);
        let shown = render(&paper, &results);
        let column = shown.lines().find_map(|line| line.find("  verdict")).unwrap() + 2;
        let verdicts: Vec<usize> = shown.lines().filter_map(|line| line.find("reproduced")).collect();
        assert_eq!(verdicts, [column, column], "{shown}");
    }
}
