//! The paper's own words for what the files of its folder abbreviate: the disciplines and the
//! experiments.

use serde_json::Value;

use super::paper::Paper;
use super::results::{ClaimResult, MetricsTable};

impl Paper {
    /// Returns the paper's name of a discipline; the label itself if the paper has no other.
    #[must_use]
    pub fn name_of<'s>(&'s self, label: &'s str) -> &'s str {
        self.names.get(label).map_or(label, String::as_str)
    }

    /// Returns the paper's words for an experiment; its name if it has no title.
    #[must_use]
    pub fn title_of<'s>(&'s self, experiment: &'s str) -> &'s str {
        self.experiment(experiment).and_then(|known| known.title.as_deref()).unwrap_or(experiment)
    }

    /// Returns results for people to read, with the paper's words in their checks.
    #[must_use]
    pub fn in_its_words(&self, results: &[ClaimResult]) -> Vec<ClaimResult> {
        let mut results = results.to_vec();
        for result in &mut results {
            for check in &mut result.checks {
                check.check = self.worded(&check.check);
            }
            if let Value::String(got) = &mut result.got {
                *got = self.worded(got);
            }
        }
        results
    }

    /// Returns metrics for people to read, with the paper's words for disciplines and experiments.
    #[must_use]
    pub fn metrics_in_its_words(&self, tables: &[MetricsTable]) -> Vec<MetricsTable> {
        let mut tables = tables.to_vec();
        for row in tables.iter_mut().flat_map(|table| &mut table.measured) {
            row.experiment = self.title_of(&row.experiment).to_owned();
            row.qdisc = self.name_of(&row.qdisc).to_owned();
        }
        tables
    }

    /// Replaces the cells in square brackets, `[codel@4+4]`.
    fn worded(&self, text: &str) -> String {
        let mut worded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('[') {
            worded.push_str(before);
            worded.push('[');
            rest = after;
            let cell = after.split_once(']').map_or("", |(inside, _)| inside);
            // Intervals are in square brackets, too.
            if let Some((label, experiment)) = cell.split_once('@') {
                let name = self.name_of(label.trim());
                let title = self.title_of(experiment.trim());
                worded.push_str(&format!("{name}, {title}"));
                rest = &after[cell.len()..];
            }
        }
        worded + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_read_with_the_paper_s_names_of_disciplines_and_experiments() {
        let text = r#"
            name = "x"
            title = "X"
            source = "X"
            names = { hredagg = "HRED (aggressive)" }
            [[experiments]]
            name = "far"
            title = "4+4, 101 ms"
            scenario = "x.toml"
        "#;
        let files = vec![("claims.toml".to_owned(), text.to_owned())];
        let paper = Paper::of_files("papers/x", files).unwrap();
        let worded = paper.worded("not p95[hredagg@far] < 2 * p95[codel @ near] (0.2 [0.1 to 0.3], 0.4)");
        let expected =
            "not p95[HRED (aggressive), 4+4, 101 ms] < 2 * p95[codel, near] (0.2 [0.1 to 0.3], 0.4)";
        assert_eq!(worded, expected);
        assert_eq!(paper.worded("a[b"), "a[b", "an open bracket");
    }
}
