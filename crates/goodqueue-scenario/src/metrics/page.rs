//! The page of the book about the metrics.

use std::fmt::Write as _;

use super::catalogue::described;
use crate::results::time_series::{GOODPUT, PING, QUEUES, TimeSeries};

/// Returns the catalogue as a page of documentation in Markdown.
#[must_use]
pub fn documentation() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         This page is generated from the catalogue that the tables, the report, the JSON and the exports use.\n\
         [Concepts](concepts.md) explains the most important metrics, [Results](RESULTS.md) all keys of the JSON.\n\n\
         ## Metrics of a run\n\n\
         Tables show the units below. The JSON has SI units: seconds, bits per second, shares from 0 to 1. The key is the path of\n\
         the value in `runs[]`, its name in `summary[].figures` (with several seeds), the column of an exported table of runs, and\n\
         the value of `--metric`. `{}` stands for `down` or `up`, `{_up}` for nothing or `_up`. The keys that begin with `loss.`,\n\
         `losses.`, `groups.` or `queues.`, and `wifi.jain_airtime`, are computed from other keys of `runs[]` and are not there themselves.\n\n\
         | metric | unit | better | meaning | key |\n|---|---|---|---|---|\n",
    );
    for group in described() {
        for metric in &group.metrics {
            let key = metric.key.as_ref().map_or_else(String::new, |key| format!("`{key}`"));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {}: {} | {} | {} | {} | {key} |",
                group.title,
                metric.name,
                metric.unit,
                metric.better.word(),
                metric.doc
            );
        }
    }
    text.push_str(
        "\n## Time series\n\n\
         `--series` and the exports of time series write these values for each step.\n\n\
         | series | of | unit | meaning |\n|---|---|---|---|\n",
    );
    let mut add = |of: &str, TimeSeries { name, unit, doc }: &TimeSeries| {
        let _ = writeln!(text, "| `{name}` | {of} | {unit} | {doc} |");
    };
    QUEUES.iter().for_each(|metric| add("each direction of the bottleneck", &metric.about));
    add("each TCP flow", &GOODPUT);
    add("each ping", &PING);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{by_key, catalogue};
    use crate::scenario::Document;

    #[test]
    fn every_other_key_is_a_path_in_a_run() {
        let text = "duration = '2s'\nqdiscs = 'pfifo'\nwifi = {}\nhops = [{ down = '5mbit' }]\noutput.spikes = [3000]\n\
                    flows = [{ count = 2, size = '9kb', direction = 'down' }, { kind = 'voip' }, { kind = 'web' }, \
                    { kind = 'video' }]";
        let document = Document::parse("s.toml", text, std::path::Path::new("")).unwrap();
        let run = &crate::simulate(&document).unwrap().runs[0];
        let json = serde_json::to_value(run).unwrap();
        for metric in by_key(&catalogue(&[run])) {
            let path = format!("/{}", metric.key.replace('.', "/"));
            let is_there = json.pointer(&path).is_some();
            let is_computed = COMPUTED.iter().any(|of| metric.key.starts_with(of));
            assert!(is_there != is_computed || metric.value_of(run).is_none(), "{}", metric.key);
        }
        assert!(COMPUTED.iter().all(|of| documentation().contains(&format!("`{of}`"))));
    }

    const COMPUTED: [&str; 5] = ["loss.", "losses.", "groups.", "queues.", "wifi.jain_airtime"];
}
