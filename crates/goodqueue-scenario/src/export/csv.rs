//! Tables as comma-separated values (RFC 4180, with line feeds), a heading first.
//!
//! Spreadsheets take text that begins with `=`, `+`, `-` or `@` for a formula, which may call
//! programs. Labels come from scenarios that others wrote, so such text gets an apostrophe in
//! front, which spreadsheets do not show. Numbers keep their signs.

use std::io::{self, Write};

use super::frame::{Frame, Values};
use super::samples;
use super::swept::Swept;
use goodqueue_sim::Direction;

use crate::results::Results;

/// Writes a table of columns row by row.
///
/// # Errors
/// The file cannot be written.
pub fn write_frame(file: &mut (dyn Write + Send), frame: &Frame) -> io::Result<()> {
    let headings: Vec<String> = frame.columns.iter().map(|column| field(&column.name)).collect();
    writeln!(file, "{}", headings.join(","))?;
    for row in 0..frame.rows() {
        let cells = frame.columns.iter().map(|column| match &column.values {
            Values::Whole(values) => values[row].to_string(),
            Values::Number(values) => shown(values[row]),
            Values::Text(values) => values[row].as_deref().map_or_else(String::new, field),
        });
        writeln!(file, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// Writes the long table of all time series of `results` row by row, see [`samples`].
///
/// # Errors
/// The file cannot be written.
pub fn write_series(file: &mut (dyn Write + Send), results: &Results) -> io::Result<()> {
    let keys = Swept::all(results);
    write!(file, "run,qdisc,")?;
    for key in &keys {
        write!(file, "{},", field(&key.heading()))?;
    }
    writeln!(file, "seed,t_s,series,direction,flow,value")?;
    for (number, run) in results.runs.iter().enumerate() {
        // The columns that are equal in all rows of a run.
        let mut begin = format!("{number},{},", field(&run.qdisc));
        for key in &keys {
            begin += &match key.is_number() {
                true => shown(key.number(run)),
                false => key.text(run).map_or_else(String::new, |text| field(&text)),
            };
            begin.push(',');
        }
        begin += &run.seed.to_string();
        begin.push(',');
        for sample in samples::of_run(run) {
            let flow = sample.flow.map_or_else(String::new, |flow| flow.to_string());
            let value = shown(sample.value);
            writeln!(
                file,
                "{begin}{},{},{},{flow},{value}",
                sample.t_s,
                sample.series,
                sample.direction.map_or("", Direction::name)
            )?;
        }
    }
    Ok(())
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns text as a cell.
fn field(text: &str) -> String {
    // A tab or a carriage return in front of the sign is skipped by some spreadsheets.
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return format!("\"'{}\"", text.replace('"', "\"\""));
    }
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

    fn table(results: &Results) -> String {
        let mut file = Vec::new();
        write_series(&mut file, results).expect("memory");
        String::from_utf8(file).expect("text")
    }

    fn of_frame(frame: &Frame) -> String {
        let mut file = Vec::new();
        write_frame(&mut file, frame).expect("memory");
        String::from_utf8(file).expect("text")
    }

    #[test]
    fn rows_say_which_run_they_are_of() {
        let mut swept = run("pie, \"my\" way", 7);
        swept.sweep.insert("link.up".to_owned(), "1mbit".into());
        let text = table(&results(vec![run("codel", 1), swept]));
        let lines: Vec<&str> = text.lines().collect();
        // The heading, and 27 samples of each run: see the tests of `samples`.
        assert_eq!(lines.len(), 1 + 2 * 27);
        assert_eq!(lines[0], "run,qdisc,link.up,seed,t_s,series,direction,flow,value");
        assert_eq!(lines[1], "0,codel,,1,0,sojourn_mean_s,down,,0.004");
        assert_eq!(lines[2], "0,codel,,1,0.1,sojourn_mean_s,down,,");
        assert_eq!(lines[21], "0,codel,,1,0,goodput_bps,down,0,4000000");
        assert_eq!(lines[54], "1,\"pie, \"\"my\"\" way\",1000000,7,0.1,ping_s,,,0.075");
    }

    #[test]
    fn text_is_no_formula_of_a_spreadsheet_and_numbers_stay_numbers() {
        for label in ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=\"a\",b"] {
            let mut run = run(label, 1);
            run.sweep.insert("flows.0.label".to_owned(), label.into());
            let quoted = format!("\"'{}\"", label.replace('"', "\"\""));
            let text = table(&results(vec![run]));
            assert!(text.contains(&format!("\n0,{quoted},{quoted},1,0,")), "{label}: {text}");
            let mut frame = Frame::default();
            frame.push(label, Values::Text(vec![Some(label.to_owned())]));
            frame.push("difference", Values::Number(vec![Some(-0.5)]));
            assert_eq!(of_frame(&frame), format!("{quoted},difference\n{quoted},-0.5\n"));
        }
    }

    #[test]
    fn columns_become_lines() {
        let mut frame = Frame::default();
        frame.push("run", Values::Whole(vec![0, 1]));
        frame.push("a \"b\", c", Values::Text(vec![Some("x,y".to_owned()), None]));
        frame.push("link.rtt", Values::Number(vec![Some(0.01), None]));
        assert_eq!(of_frame(&frame), "run,\"a \"\"b\"\", c\",link.rtt\n0,\"x,y\",0.01\n1,,\n");
        assert_eq!(of_frame(&Frame::default()), "\n");
    }
}
