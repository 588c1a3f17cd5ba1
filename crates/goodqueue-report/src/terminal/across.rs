//! One metric across a sweep: points as rows, disciplines as columns; and below it how far the
//! disciplines are apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{Cell, Table};
use goodqueue_scenario::metrics::{Better, KeyedMetric, by_key, catalogue};
use goodqueue_scenario::results::{Aggregate, Difference};
use goodqueue_scenario::results::{Results, Run};
use goodqueue_tc::{brief, printable};
use serde_json::Value;

use super::line::{Line, WIDEST_NAME, align, difference, digits_of, plain_table, show, wrapped};
use super::medians;

/// Returns the tables of one metric of all runs: its values, and with several seeds the differences
/// from the first discipline. `key` is a key of the catalogue; without one, the tables show the
/// mean induced latency or else the first metric that any run has.
#[must_use]
pub fn across(results: &Results, key: Option<&str>) -> String {
    let runs: Vec<&Run> = results.runs.iter().collect();
    let groups = catalogue(&runs);
    let keyed = by_key(&groups);
    let Some(metric) = chosen(&keyed, &runs, key) else { return String::new() };
    let sweep = Across::new(&runs);
    let better = match metric.metric.better {
        Better::High => ", higher is better",
        Better::Low => ", lower is better",
        Better::Neither => "",
    };
    let mut text = format!("{}{better}\n\n{}\n", metric.title(), sweep.values(metric).trim_fmt());
    text.push_str(&medians::across(sweep.lines(), metric));
    if let Some(table) = sweep.differences(metric, results) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\nDifference from {} over equal seeds, with its 95 % confidence interval\n\n{}\n",
            brief(sweep.disciplines[0]),
            table.trim_fmt()
        );
    }
    text
}

/// Returns the metric with this key, or the default one.
fn chosen<'k>(keyed: &'k [KeyedMetric<'_>], runs: &[&Run], key: Option<&str>) -> Option<&'k KeyedMetric<'k>> {
    let with = |key: &str| keyed.iter().find(|metric| metric.key == key);
    let has_values = |metric: &&KeyedMetric<'_>| runs.iter().any(|run| metric.value_of(run).is_some());
    match key {
        Some(key) => with(key),
        None => with(DEFAULT).filter(has_values).or_else(|| keyed.iter().find(has_values)),
    }
}

/// The runs by point and discipline.
struct Across<'r> {
    /// Swept keys, without that of the disciplines.
    keys: Vec<&'r str>,
    disciplines: Vec<&'r str>,
    points: Vec<Vec<Line<'r>>>,
}

impl<'r> Across<'r> {
    fn new(runs: &[&'r Run]) -> Self {
        let mut all = Self { keys: Vec::new(), disciplines: Vec::new(), points: Vec::new() };
        let mut numbers = BTreeMap::new();
        for &run in runs {
            for (key, _) in run.swept() {
                if !all.keys.contains(&key.as_str()) {
                    all.keys.push(key);
                }
            }
            let discipline =
                all.disciplines.iter().position(|known| *known == run.qdisc).unwrap_or_else(|| {
                    all.disciplines.push(&run.qdisc);
                    all.disciplines.len() - 1
                });
            let number = *numbers.entry(run.point()).or_insert(all.points.len());
            if number == all.points.len() {
                all.points.push(Vec::new());
            }
            let cells = &mut all.points[number];
            // `max`, because `resize_with` would drop the cells of later disciplines.
            cells.resize_with(cells.len().max(discipline + 1), Line::default);
            cells[discipline].runs.push(run);
        }
        all
    }

    fn table(&self, disciplines: &[&str]) -> Table {
        let mut table = plain_table();
        let names = disciplines.iter().map(|name| wrapped(name, WIDEST_NAME));
        table.set_header(self.keys.iter().map(|key| Cell::new(printable::line(key))).chain(names));
        table
    }

    /// The cells that name a point.
    fn name(&self, point: &[Line<'_>]) -> Vec<Cell> {
        let run = point.iter().flat_map(|line| &line.runs).next();
        let value = |key: &&str| run.and_then(|run| run.sweep.get(*key));
        self.keys.iter().map(|key| Cell::new(value(key).map_or_else(String::new, shown))).collect()
    }

    /// The lines with runs, each with the name of its point and of its discipline.
    fn lines(&self) -> impl Iterator<Item = (String, &Line<'r>)> {
        self.points.iter().flatten().filter(|line| !line.runs.is_empty()).map(|line| {
            let swept = line.runs[0].swept();
            let point: String = swept.map(|(key, value)| format!("{key} = {}, ", shown(value))).collect();
            (format!("{point}{}", line.label()), line)
        })
    }

    fn values(&self, metric: &KeyedMetric<'_>) -> Table {
        let mut table = self.table(&self.disciplines);
        let digits = digits_of(metric.metric);
        for point in &self.points {
            let cells = (0..self.disciplines.len()).map(|number| {
                let line = point.get(number).filter(|line| !line.runs.is_empty());
                Cell::new(line.map_or_else(
                    || show(None, digits),
                    |line| line.estimated(|run| metric.value_of(run), |value| show(Some(value), digits)),
                ))
            });
            table.add_row(self.name(point).into_iter().chain(cells));
        }
        align(&mut table);
        table
    }

    /// The differences from the first discipline; `None` if there are none.
    fn differences(&self, metric: &KeyedMetric<'_>, results: &Results) -> Option<Table> {
        let (first, others) = self.disciplines.split_first()?;
        let name =
            // JSON values have no order, so their text is the key of the map.
            |qdisc: &str, sweep: &BTreeMap<String, Value>| serde_json::json!([qdisc, sweep]).to_string();
        let summary: BTreeMap<String, &Aggregate> =
            results.summary.iter().map(|one| (name(&one.qdisc, &one.sweep), one)).collect();
        let of_run = |run: &Run| -> Option<&Difference> {
            let of_line = summary.get(&name(&run.qdisc, &run.sweep))?;
            of_line.differences.iter().find(|difference| difference.from == *first)
        };
        let mut is_empty = true;
        let mut table = self.table(others);
        for point in &self.points {
            let cells: Vec<String> = (1..self.disciplines.len())
                .map(|number| {
                    let run = point.get(number).and_then(|line| line.runs.first());
                    let figure = run.and_then(|run| of_run(run)?.figures.get(&metric.key));
                    is_empty &= figure.is_none();
                    difference(figure, metric.metric)
                })
                .collect();
            table.add_row(self.name(point).into_iter().chain(cells.into_iter().map(Cell::new)));
        }
        align(&mut table);
        // Pairs over equal seeds need two seeds.
        (!is_empty).then_some(table)
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| printable::line(text).into_owned())
}

const DEFAULT: &str = "induced_latency_s.mean";

#[cfg(test)]
mod tests {
    use goodqueue_scenario::results::ScenarioRecord;
    use goodqueue_scenario::summary::results;

    use super::super::{View, overview};
    use super::*;
    use crate::fixtures::run;

    fn at(up: &str, qdisc: &str, seed: u64, induced_s: f64) -> Run {
        let mut run = run(qdisc, seed, None);
        run.sweep.insert("link.up".to_owned(), up.into());
        run.induced_latency_s.mean = Some(induced_s);
        run
    }

    #[test]
    fn points_are_rows_disciplines_are_columns_and_differences_follow() {
        let mut runs = Vec::new();
        for (up, pfifo, codel) in [("1mbit", 0.8, 0.03), ("10mbit", 0.1, 0.02)] {
            runs.extend([1, 2].map(|seed| at(up, "pfifo", seed, pfifo)));
            runs.extend([1, 2].map(|seed| at(up, "codel", seed, codel)));
        }
        let results = results(ScenarioRecord::default(), runs);
        insta::assert_snapshot!(across(&results, None), @r"
        Induced latency, mean [ms], lower is better

         link.up      pfifo       codel
        ────────────────────────────────
         1mbit     800±0.00   30.0±0.00
         10mbit    100±0.00   20.0±0.00

        Difference from pfifo over equal seeds, with its 95 % confidence interval

         link.up       codel
        ─────────────────────
         1mbit        -770±0
         10mbit    -80.0±0.0
        ");
        assert!(across(&results, Some("goodput.up")).starts_with("Goodput, up [Mbit/s], higher is better\n"));
    }

    #[test]
    fn the_wide_view_of_a_sweep_has_all_metrics_of_each_point() {
        let runs = [("1mbit", 0.8), ("10mbit", 0.1)].map(|(up, induced_s)| at(up, "pfifo", 1, induced_s));
        let results = results(ScenarioRecord::default(), runs.to_vec());
        let shown = |metric, view| overview(&results, metric, view);
        let wide = shown(None, View::Wide);
        for part in
            ["\nlink.up = 1mbit\n", "\nlink.up = 10mbit\n", "induced latency", "goodput", "sojourn down"]
        {
            assert!(wide.contains(part), "no {part}:\n{wide}");
        }
        assert_eq!(shown(None, View::Short(80)), across(&results, None));
        let one = Some("goodput.up");
        assert_eq!(shown(one, View::Wide), across(&results, one), "the metric that was asked for");
    }

    #[test]
    fn a_single_point_has_one_row_and_an_absent_metric_a_dash() {
        let results = results(ScenarioRecord::default(), vec![run("pfifo", 1, None)]);
        let table = across(&results, Some("probes.voip.mos"));
        assert!(table.starts_with("Voice, MOS, higher is better\n"), "{table}");
        assert!(table.trim_end().ends_with('–'), "{table}");
    }
}
