//! What the columns of the tables mean.

use std::fmt::Write as _;

use goodqueue_scenario::metrics::{Group, catalogue};
use goodqueue_scenario::results::{Results, Run};

use super::line::value;
use crate::meaning::{grades, plain};

/// Returns a line for each number in the tables of these results: its column, name, unit and
/// meaning.
#[must_use]
pub fn explained(results: &Results) -> String {
    let runs: Vec<&Run> = results.runs.iter().collect();
    let groups = catalogue(&runs);
    let mut text = String::new();
    let mut last = String::new();
    // Tables stand below each other in the order of the catalogue.
    for table in goodqueue_scenario::metrics::Table::ALL {
        for group in groups.iter().filter(|group| group.table == table && is_shown(group, &runs)) {
            let unit = group.metrics.iter().find(|metric| metric.terminal.is_some());
            let unit = unit.map(|metric| metric.unit).filter(|unit| !unit.is_empty());
            let unit = unit.map_or_else(String::new, |unit| format!(" [{unit}]"));
            let heading = format!("{}{unit}", group.title);
            // Writing to a string cannot fail.
            if heading != last {
                let _ = writeln!(text, "{heading}");
            }
            last = heading;
            for metric in group.metrics.iter().filter(|metric| metric.terminal.is_some()) {
                let _ = writeln!(text, "  {:18} {}", metric.name, plain(metric.doc));
            }
        }
    }
    let _ = writeln!(text, "Grade\n  {:18} {}", "A+ to F", grades());
    text
}

fn is_shown(group: &Group, runs: &[&Run]) -> bool {
    let mut parts = group.columns().into_iter().flat_map(|column| column.parts);
    runs.iter().any(|run| (group.applies)(run))
        && parts.any(|part| runs.iter().any(|run| value(run, part.0, part.1).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_the_table_is_explained_once() {
        let mut run = Run::default();
        run.induced_latency_s.mean = Some(0.1);
        let text = explained(&Results { runs: vec![run], ..Results::default() });
        for line in [
            "Induced latency [ms]\n  mean               round-trip time of pings minus the base round-trip time, which has no transmission times, mean\n",
            "Grade\n  A+ to F            by the mean induced latency: A+ below 5 ms, A below 30 ms, ",
        ] {
            assert_eq!(text.matches(line).count(), 1, "{text}");
        }
        assert!(!text.contains("Voice"), "no call, no column: {text}");
    }
}
