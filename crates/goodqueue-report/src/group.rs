//! Runs grouped by sweep point and discipline.

use std::collections::BTreeMap;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::scenario::Direction;
use goodqueue_tc::is_line;

use crate::escape::clip;

/// All runs, in the order of the results.
pub(crate) struct Grouped<'a> {
    /// Short, unique names of the disciplines.
    pub(crate) labels: Vec<String>,
    /// Sweep points: one without a sweep, none without runs.
    pub(crate) points: Vec<Point<'a>>,
    /// Direction that carries the load: up if no flow carries data down, otherwise down.
    pub(crate) link: Direction,
}

/// The runs of one sweep point.
pub(crate) struct Point<'a> {
    /// The swept keys with their values, as in `link.up = 10 Mbit/s, link.rtt = 50 ms`; empty
    /// without a sweep.
    pub(crate) label: String,
    /// The swept keys and their values for readers.
    pub(crate) values: Vec<(String, String)>,
    /// Runs of each discipline; may be empty.
    pub(crate) runs: Vec<Vec<&'a Run>>,
}

impl<'a> Grouped<'a> {
    /// Groups `runs`.
    pub(crate) fn new(runs: &'a [Run]) -> Self {
        let mut given: Vec<&str> = Vec::new();
        let mut sweeps: Vec<&BTreeMap<String, serde_json::Value>> = Vec::new();
        let mut points: Vec<Point<'a>> = Vec::new();
        for run in runs {
            let d = index_of(&mut given, run.qdisc.as_str());
            let p = index_of(&mut sweeps, &run.sweep);
            if p == points.len() {
                let values = values(&run.sweep);
                points.push(Point { label: sweep_label(&values), values, runs: Vec::new() });
            }
            let cells = &mut points[p].runs;
            cells.resize(cells.len().max(d + 1), Vec::new());
            cells[d].push(run);
        }
        // The first points do not know disciplines that only later ones have.
        for point in &mut points {
            point.runs.resize(given.len(), Vec::new());
        }
        let up_only = runs.iter().all(|r| r.goodput.down <= 0.0) && runs.iter().any(|r| r.goodput.up > 0.0);
        Self { labels: labels(&given), points, link: if up_only { Direction::Up } else { Direction::Down } }
    }
}

impl<'a> Point<'a> {
    /// Returns any run of this point.
    pub(crate) fn first(&self) -> Option<&'a Run> {
        self.runs.iter().flatten().next().copied()
    }
}

fn index_of<T: PartialEq>(known: &mut Vec<T>, item: T) -> usize {
    known.iter().position(|k| *k == item).unwrap_or_else(|| {
        known.push(item);
        known.len() - 1
    })
}

fn sweep_label(values: &[(String, String)]) -> String {
    values.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
}

fn values(sweep: &BTreeMap<String, serde_json::Value>) -> Vec<(String, String)> {
    sweep.iter().map(|(key, value)| (clip(key, 60), clip(&readable(value), 60))).collect()
}

/// Formats a swept value. A time or a rate in tc's units, such as `10mbit`, becomes a number with
/// the unit that people write.
fn readable(value: &serde_json::Value) -> String {
    let Some(text) = value.as_str() else { return value.to_string() };
    // Digits alone have no unit. Their number is then empty, and the text stays as it is.
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or_default();
    let (number, unit) = text.split_at(end);
    let unit = match unit {
        _ if number.is_empty() => return text.to_owned(),
        "s" | "ms" | "ns" => unit,
        "us" => "µs",
        "bit" => "bit/s",
        "kbit" => "kbit/s",
        "mbit" => "Mbit/s",
        "gbit" => "Gbit/s",
        _ => return text.to_owned(),
    };
    format!("{number} {unit}")
}

/// Returns a short name for each discipline. A tc line becomes its kind, plus the words that
/// distinguish it from other lines of the same kind, plus a number if necessary. Other names stay
/// unchanged.
fn labels(given: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = given.iter().map(|g| g.split_whitespace().collect()).collect();
    let mut out: Vec<String> = Vec::new();
    for (mine, text) in words.iter().zip(given) {
        let siblings: Vec<_> = words.iter().filter(|w| w.first() == mine.first()).collect();
        let base = match mine.first() {
            None => "(unnamed)".to_owned(),
            Some(_) if !is_line(text) => clip(text, 44),
            Some(kind) if siblings.len() == 1 => clip(kind, 30),
            Some(kind) => clip(&[&[*kind], &own_words(mine, &siblings)[..]].concat().join(" "), 44),
        };
        let mut label = base.clone();
        // The first of equal names has no number.
        for n in 2.. {
            if !out.contains(&label) {
                break;
            }
            label = format!("{base} ({n})");
        }
        out.push(label);
    }
    out
}

/// Returns the words that not all siblings have, each with its key: `target 5ms` rather than `5ms`.
fn own_words<'a>(mine: &[&'a str], siblings: &[&Vec<&str>]) -> Vec<&'a str> {
    let own = |word: &str| !siblings.iter().all(|s| s.contains(&word));
    let is_key = |word: &str| !word.contains(|c: char| c.is_ascii_digit());
    let kept = |i: usize| own(mine[i]) || (is_key(mine[i]) && mine.get(i + 1).is_some_and(|next| own(next)));
    // All siblings have the same first word, the kind.
    (1..mine.len()).filter(|i| kept(*i)).map(|i| mine[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_by_its_keys_with_values_and_units() {
        let label = |sweep| sweep_label(&values(&serde_json::from_value(sweep).unwrap()));
        assert_eq!(
            label(serde_json::json!({"link.up": "1.5mbit", "link.rtt": "12.5ms"})),
            "link.rtt = 12.5 ms, link.up = 1.5 Mbit/s"
        );
        assert_eq!(
            label(serde_json::json!({"tcp.cc": "cubic", "flows.0.count": 4})),
            "flows.0.count = 4, tcp.cc = cubic"
        );
        assert_eq!(
            label(serde_json::json!({"qdisc": "pfifo limit 9p", "x": "5s lte"})),
            "qdisc = pfifo limit 9p, x = 5s lte"
        );
    }

    #[test]
    fn labels_are_short_and_unique() {
        assert_eq!(labels(&["fq_codel limit 1p", "pie"]), ["fq_codel", "pie"]);
        assert_eq!(labels(&["codel", "codel ecn"]), ["codel", "codel ecn"]);
        assert_eq!(
            labels(&["codel limit 9p target 5ms ecn", "codel limit 9p target 20ms", "fq_codel"]),
            ["codel target 5ms ecn", "codel target 20ms", "fq_codel"]
        );
        let long = format!("red {}", "x".repeat(90));
        let longer = format!("{long}y");
        let both = labels(&[&long, &longer]);
        assert_ne!(both[0], both[1]);
        assert!(both.iter().all(|l| l.chars().count() < 50));
        assert_eq!(labels(&[""]), ["(unnamed)"]);
        let own =
            ["pfifo in the router", "shaped to 95 %, pfifo", "shaped to 95 %, fq_codel", "pie limit 9p"];
        assert_eq!(labels(&own), ["pfifo in the router", own[1], own[2], "pie"]);
    }
}
