//! `docs/promised.md` is generated from `docs/measured/validation.json`, which `make validation`
//! writes: the values of access lines here and on real Linux.

#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

const PAGE: &str = "docs/promised.md";
const INTRODUCTION: &str = "# What we promised and what Linux did

Linux 7.3 and Linux 6.1 ran the settings of `goodqueue advise` on these lines, behind a modem with a large buffer and with the line's own
overhead. Their disciplines and their TCP are the real ones. Each row compares goodqueue with Linux 7.3, whose TCP and queues
`goodqueue advise` has. The values are how much longer a ping takes than on the idle line, and the goodput of all downloads and uploads,
each over at least 10 s after the first 10 s. A value agrees if it is within 15 % of Linux's, or within 3 ms. The last columns are those of
Linux 6.1, with the same starts of the flows: they show how much a kernel and chance change a value. `goodqueue validate --set-up advise-7.3`
repeats the comparison, `--set-up advise` that with Linux 6.1, and `make validation` renews this page.

The settings are a grid around the advice: `cake-95` is CAKE at 95 % of the line in both directions, with the overhead of the line.
The loads: `mix` is 4 downloads and 4 uploads of CUBIC to servers near and far, `bbr` the same with BBR, `ecn` the same with ECN, and
`call` a call of one device while another one downloads and uploads.
";

/// The values that the tables show, with their units.
const FIGURES: [(&str, &str); 3] = [("added latency", " ms"), ("goodput down", ""), ("goodput up", "")];

/// A value here and on Linux.
#[derive(Clone, Copy)]
struct Pair {
    here: f64,
    linux: f64,
    agrees: bool,
}

#[test]
fn the_page_shows_the_values_that_validate_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bytes = std::fs::read(root.join("docs/measured/validation.json")).expect("a measurement");
    let page = page(&serde_json::from_slice(&bytes).expect("JSON"));
    let path = root.join(PAGE);
    if std::env::var("UPDATE").is_ok_and(|update| !update.is_empty()) {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "{PAGE} is stale: UPDATE=1 cargo test -p goodqueue-cli --test promised");
}

/// A setting of a line with a load.
struct Row<'v> {
    line: &'v str,
    setting: &'v str,
    load: &'v str,
    values: BTreeMap<&'v str, Pair>,
}

fn page(validation: &Value) -> String {
    let rows = rows(validation, "advise-7.3");
    let older = self::rows(validation, "advise");
    // Writing to a string cannot fail.
    let mut text = INTRODUCTION.to_owned();
    let _ = writeln!(
        text,
        "\n{} values agree with Linux 7.3, and {} with Linux 6.1 if goodqueue has the TCP and the queues of that kernel\n\
         (`linux61`). These counts have the percentiles and losses that the tables leave out. Bold values do not agree.",
        agreeing(&rows),
        agreeing(&older)
    );
    let mut line = "";
    for row in &rows {
        if row.line != line {
            line = row.line;
            let _ = write!(
                text,
                "\n## {}\n\n| setting | load | ping longer, here | Linux 7.3 | Mbit/s down, here | Linux 7.3 | Mbit/s up, here | Linux 7.3 | \
                 Linux 6.1: ping | down | up |\n\
                 |---|---|---|---|---|---|---|---|---|---|---|\n",
                title(line)
            );
        }
        let _ = write!(text, "| {} | {} ", row.setting, row.load);
        for (figure, unit) in FIGURES {
            let [here, linux] = row
                .values
                .get(figure)
                .map_or(["–".to_owned(), "–".to_owned()], |pair| cells(*pair, unit));
            let _ = write!(text, "| {here} | {linux} ");
        }
        let same =
            |other: &&Row<'_>| (other.line, other.setting, other.load) == (row.line, row.setting, row.load);
        let old = older.iter().find(same);
        for (figure, unit) in FIGURES {
            let pair = old.and_then(|old| old.values.get(figure));
            let linux = pair.map_or("–".to_owned(), |pair| three_digits(pair.linux, unit));
            let _ = write!(text, "| {linux} ");
        }
        text.push_str("|\n");
    }
    text
}

/// Returns how many values of how many agree.
fn agreeing(rows: &[Row<'_>]) -> String {
    let all = || rows.iter().flat_map(|row| row.values.values());
    format!("{} of {}", all().filter(|pair| pair.agrees).count(), all().count())
}

/// Returns the set-ups of access lines in `group` in their order, which keeps those of a line
/// together.
fn rows<'v>(validation: &'v Value, group: &str) -> Vec<Row<'v>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for value in validation.as_array().expect("a list of values") {
        let name = value["set_up"].as_str().expect("a name");
        let [of, line, setting, load] = name.split('/').collect::<Vec<_>>()[..] else { continue };
        if of != group {
            continue;
        }
        let is_next =
            rows.last().is_none_or(|row| (row.line, row.setting, row.load) != (line, setting, load));
        if is_next {
            rows.push(Row { line, setting, load, values: BTreeMap::new() });
        }
        let number = |key: &str| value[key].as_f64().expect("a number");
        let pair = Pair {
            here: number("simulated"),
            linux: number("reference"),
            agrees: value["agrees"] == Value::Bool(true),
        };
        let figure = value["figure"].as_str().expect("the name of a value");
        rows.last_mut().expect("a row").values.insert(figure, pair);
    }
    rows
}

/// Returns the value here and Linux's.
fn cells(pair: Pair, unit: &str) -> [String; 2] {
    let here = three_digits(pair.here, unit);
    [if pair.agrees { here } else { format!("**{here}**") }, three_digits(pair.linux, unit)]
}

fn three_digits(value: f64, unit: &str) -> String {
    let decimals = match value.abs() {
        // Rounded to so few decimals, such a value reaches the next power of ten.
        value if value >= 99.5 => 0,
        value if value >= 9.95 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{unit}")
}

/// Returns `cable-100-10` as a heading.
fn title(line: &str) -> String {
    let [kind, down, up] = line.split('-').collect::<Vec<_>>()[..] else { return line.to_owned() };
    format!("{kind}, {down} Mbit/s down, {up} Mbit/s up")
}
