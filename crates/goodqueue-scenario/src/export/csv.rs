//! The long table of [`samples`] as comma-separated values (RFC 4180, with line feeds), a heading
//! first.

use std::fmt::Write as _;

use super::samples;
use crate::results::Results;

/// All series of `results`.
#[must_use]
pub fn table(results: &Results) -> String {
    let keys = samples::swept_keys(results);
    let mut text = String::from("run,qdisc,");
    for key in &keys {
        text += &field(key);
        text.push(',');
    }
    text += "seed,t_s,series,direction,flow,value\n";
    for (number, run) in results.runs.iter().enumerate() {
        // The columns that are equal in all rows of a run.
        let mut begin = format!("{number},{},", field(&run.qdisc));
        for key in &keys {
            begin += &run.sweep.get(*key).map_or_else(String::new, plain);
            begin.push(',');
        }
        let _ = write!(begin, "{},", run.seed);
        for sample in samples::of_run(run) {
            let flow = sample.flow.map_or_else(String::new, |flow| flow.to_string());
            let value = sample.value.map_or_else(String::new, |value| value.to_string());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{begin}{},{},{},{flow},{value}",
                sample.t_s,
                sample.series,
                sample.direction.unwrap_or_default()
            );
        }
    }
    text
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| field(&value.to_string()), field)
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{results, run};

    #[test]
    fn rows_say_which_run_they_are_of() {
        let mut swept = run("pie, \"my\" way", 7);
        swept.sweep.insert("link.up".to_owned(), "1mbit".into());
        let text = table(&results(vec![run("codel", 1), swept]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 27);
        assert_eq!(lines[0], "run,qdisc,link.up,seed,t_s,series,direction,flow,value");
        assert_eq!(lines[1], "0,codel,,1,0,sojourn_mean_s,down,,0.004");
        assert_eq!(lines[2], "0,codel,,1,0.1,sojourn_mean_s,down,,");
        assert_eq!(lines[21], "0,codel,,1,0,goodput_bps,down,0,4000000");
        assert_eq!(lines[54], "1,\"pie, \"\"my\"\" way\",1mbit,7,0.1,ping_s,,,0.075");
    }
}
