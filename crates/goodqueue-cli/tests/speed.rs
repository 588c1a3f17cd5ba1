//! `docs/speed.md` is generated from `docs/measured/speed.json`, which `make speed` writes, and
//! from the instructions of `make counts`. `benches/speed/rows.toml` has the targets.

#![allow(missing_docs)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

const PAGE: &str = "docs/speed.md";

/// `benches/speed/rows.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Targets {
    /// Date of the earlier values.
    earlier: String,
    rows: Vec<Row>,
}

/// A kind of work with its target.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    work: String,
    unit: String,
    /// Key of the measured value.
    value: String,
    /// Digits after the point.
    digits: usize,
    /// The value when the work began, in words.
    earlier: String,
    /// Greatest value that meets the target.
    most: Option<f64>,
    /// Least value that meets the target.
    least: Option<f64>,
    /// What the row means and for whom.
    means: String,
    /// Reason for a value that nobody measured.
    why: Option<String>,
}

#[test]
fn the_page_of_speed_shows_what_make_speed_measured() {
    let targets: Targets = toml::from_str(&read("benches/speed/rows.toml")).expect("the rows");
    let measured: Value = serde_json::from_str(&read("docs/measured/speed.json")).expect("JSON");
    let page = page(&targets, &measured);
    if std::env::var("UPDATE").is_ok_and(|update| !update.is_empty()) {
        std::fs::write(root().join(PAGE), &page).expect("the page is written");
    }
    let kept = read(PAGE);
    assert!(kept == page, "{PAGE} is stale: UPDATE=1 cargo test -p goodqueue-cli --test speed");
}

fn page(targets: &Targets, measured: &Value) -> String {
    let mut text = String::from("# Speed\n\n");
    let rows: Vec<Judged<'_>> = targets.rows.iter().map(|row| Judged::from_row(row, measured)).collect();
    let met = rows.iter().filter(|row| row.met()).count();
    let valued = rows.iter().filter(|row| row.missed_by.is_some()).count();
    let _ = write!(
        text,
        "How long goodqueue computes, and how far it is from its targets: {met} of {valued} measured values meet theirs. \
         `make speed`\nmeasures again and writes this page, except for the column \"before\", whose values were measured on\n\
         {} or shortly before, on other machines. Seconds are wall time.\n\
         Compare times with those of the other simulators below. Instructions do not depend on the machine.\n\n",
        targets.earlier
    );
    text.push_str("| work | before | now | target | missed by |\n|---|---|---|---|---|\n");
    for row in &rows {
        row.write(&mut text);
    }
    text.push_str("\nWhat the rows mean, and for whom:\n\n");
    for row in &targets.rows {
        let _ = writeln!(text, "* **{}**: {}", row.work, row.means.trim_end());
    }
    agents(&mut text, measured);
    unmeasured(&mut text, &rows, measured);
    peers(&mut text, measured);
    machine(&mut text, measured);
    text
}

/// A row with its measured value.
struct Judged<'r> {
    row: &'r Row,
    now: Option<f64>,
    /// Above 1 if the target is missed: how many times the value is too great or too small.
    missed_by: Option<f64>,
}

impl<'r> Judged<'r> {
    fn from_row(row: &'r Row, measured: &Value) -> Self {
        let value = |key: &str| measured["values"][key]["value"].as_f64();
        let now = value(&row.value).or_else(|| instructions(&row.value));
        let missed_by = now.map(|now| match (row.most, row.least) {
            (Some(most), None) => now / most,
            (None, Some(least)) => least / now,
            _ => panic!("`{}` needs one target: `most` or `least`", row.work),
        });
        Self { row, now, missed_by }
    }

    fn met(&self) -> bool {
        self.missed_by.is_some_and(|missed| missed <= 1.0)
    }

    fn write(&self, text: &mut String) {
        let Row { work, digits, earlier, most, least, .. } = self.row;
        let now = self.now.map_or_else(|| "not measured".to_owned(), |now| grouped(now, *digits));
        let target = most.or(*least).map(|target| grouped(target, *digits)).unwrap_or_default();
        let bound = if least.is_some() { "at least " } else { "" };
        let missed = match self.missed_by {
            None => String::new(),
            Some(_) if self.met() => "met".to_owned(),
            Some(missed) => format!("{missed:.1} times"),
        };
        let unit = if self.row.unit.is_empty() { String::new() } else { format!(", {}", self.row.unit) };
        let _ = writeln!(text, "| {work}{unit} | {earlier} | {now} | {bound}{target} | {missed} |");
    }
}

/// What the steps of agents would cost without cache misses.
fn agents(text: &mut String, measured: &Value) {
    let value = |key: &str| measured["values"][key]["value"].as_f64();
    let Some(together) = value("aqm_steps_per_cpu_s") else { return };
    let Some(apart) = value("aqm_apart_steps_per_cpu_s") else { return };
    let _ = write!(
        text,
        "\nThe lines of the agents are stepped together, so each step finds its line outside of the fast caches. The same lines, \
         each\nstepped to its end before the next, make {} steps per CPU second, {:.1} times as many.\n",
        grouped(apart, 0),
        apart / together
    );
}

/// Why some rows have no value.
fn unmeasured(text: &mut String, rows: &[Judged<'_>], measured: &Value) {
    let mut reasons: Vec<String> = rows
        .iter()
        .filter(|row| row.now.is_none())
        .filter_map(|row| Some(format!("* {}: {}\n", row.row.work, row.row.why.as_deref()?)))
        .collect();
    for (part, reason) in measured["failed"].as_object().into_iter().flatten() {
        reasons.push(format!("* {part}: {}\n", reason.as_str().unwrap_or_default()));
    }
    if !reasons.is_empty() {
        let _ = write!(text, "\nNot measured:\n\n{}", reasons.concat());
    }
}

/// The same loads on other simulators.
fn peers(text: &mut String, measured: &Value) {
    text.push_str(
        "\n## Beside other simulators\n\n\
         The same load on each, in turn, three times on one machine; the median of the three. The scripts are in\n\
         [`benches/peers`](../benches/peers). Each has the shortest path that its simulator can have, and none of them traces\n\
         packets. The time to start a program does not count in the first two tables. Daytone's links have no delay, and its TCP\n\
         has segments of 512 bytes, so its packets need less of a link.\n",
    );
    for load in measured["peers"]["loads"].as_array().into_iter().flatten() {
        if let Some(rates) = load["packets_per_cpu_s"].as_object() {
            let _ = write!(
                text,
                "\n{} CUBIC downloads through a FIFO at {} Mbit/s, 50 ms, {} simulated seconds:\n\n\
                 | simulator | packets per CPU second | goodqueue with TCP of Linux is |\n|---|---|---|\n",
                load["flows"], load["mbit"], load["seconds"]
            );
            let own = median(&rates["goodqueue, TCP of Linux"]);
            for (name, rate) in rates {
                let rate = median(rate);
                let times = if name.starts_with("goodqueue") { String::new() } else { faster(own / rate) };
                let _ = writeln!(text, "| {name} | {} | {times} |", grouped((rate / 1e3).round() * 1e3, 0));
            }
        }
        if let Some(seconds) = load["cpu_s"].as_object() {
            let _ = write!(
                text,
                "\n{} replications of Järvinen & Kojo's 4+4 flows through CoDel, with the start of all programs and their files. \
                 The value of\nns-3 has neither. Debian's ns-2 has no CoDel, so its queue is a FIFO, and it needs a process for each \
                 replication.\n\n| simulator | CPU seconds | goodqueue is |\n|---|---|---|\n",
                load["replications"]
            );
            let own = median(&seconds["goodqueue"]);
            for (name, spent) in seconds {
                let spent = median(spent);
                let times = if name == "goodqueue" { String::new() } else { faster(spent / own) };
                let _ = writeln!(text, "| {name} | {spent:.2} | {times} |");
            }
        }
    }
}

/// How many times as fast one is as the other, in words.
fn faster(times: f64) -> String {
    format!("{times:.1} times as fast")
}

fn machine(text: &mut String, measured: &Value) {
    let versions = measured["versions"].as_object().expect("versions");
    let versions: Vec<String> = versions
        .iter()
        .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
        .collect();
    let values = || measured["values"].as_object().into_iter().flatten().map(|(_, value)| value);
    let named = |key: &str| {
        let all = values().chain([&measured["peers"]]).filter_map(|value| value[key].as_str());
        let all: std::collections::BTreeSet<&str> = all.collect();
        all.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let keyed = measured["values"].as_object().into_iter().flatten();
    let unknown: Vec<&str> =
        keyed.filter(|(_, value)| value["load"].is_null()).map(|(key, _)| key.as_str()).collect();
    let unknown = if unknown.is_empty() {
        String::new()
    } else {
        format!(" Of {} it was not noted: the machine was busy.", unknown.join(" and "))
    };
    let busiest = values().filter_map(|value| value["load"].as_f64()).fold(0.0, f64::max);
    let _ = write!(
        text,
        "\n## Where this was measured\n\nOn {}. {}: {}.\nProfiles of cargo: {}. The load average was up to {busiest:.0}; without \
         other programs it is at most the number\nof processors.{unknown} Wall times are the shortest of several, CPU times the median.\n",
        measured["machine"].as_str().unwrap_or_default(),
        named("date"),
        versions.join(", "),
        named("profile")
    );
}

/// The instructions of a simulated packet, which `make counts` counted.
fn instructions(simulation: &str) -> Option<f64> {
    let counts: toml::Table = read("benches/instructions.toml").parse().expect("TOML");
    let count = counts["simulation"].get(simulation)?.as_integer()?;
    u32::try_from(count).ok().map(f64::from)
}

fn median(values: &Value) -> f64 {
    let mut values: Vec<f64> = values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A number with commas between thousands.
fn grouped(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let (whole, rest) = text
        .split_once('.')
        .map_or((text.as_str(), String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    let groups = whole.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits"));
    groups.collect::<Vec<_>>().join(",") + &rest
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
