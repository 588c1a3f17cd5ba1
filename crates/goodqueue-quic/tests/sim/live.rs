//! The table of the book with two processes on a real line beside the simulator. `make quic-live`
//! measures.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::page;

/// `UPDATE=1 cargo test -p goodqueue-quic --features sim --test sim` writes the table anew.
#[test]
fn the_book_shows_what_two_processes_get_from_a_real_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured/quic-live.json");
    let measured = std::fs::read(path).expect("a measurement");
    let measured: Vec<Value> = serde_json::from_slice(&measured).expect("JSON");
    let mut table = String::from(HEAD);
    // Lines on which the goodput is within 5 %, and the queue within 15 %.
    let mut close = [0; 2];
    for line in &measured {
        let text = |key: &str| line[key].as_str().expect("a word");
        let goodput = Pair::from_line(line, "goodput_bps", 1e-6);
        let sojourn = Pair::from_line(line, "sojourn_s", 1e3);
        let is_close = [goodput.difference().abs() <= 0.05, sojourn.difference().abs() <= 0.15];
        for (count, is_close) in close.iter_mut().zip(is_close) {
            *count += usize::from(is_close);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| {}, {} | `{}` | {} | {:.2} / {:.2} | {:+.1} % | {:.1} / {:.1} | {:+.1} % |",
            text("rate").replace("mbit", " Mbit/s"),
            text("rtt").replace("ms", " ms"),
            text("qdisc"),
            text("cc"),
            goodput.live,
            goodput.simulated,
            goodput.difference() * 100.0,
            sojourn.live,
            sojourn.simulated,
            sojourn.difference() * 100.0,
        );
    }
    let [goodput, sojourn] = close;
    let lines = measured.len();
    // Writing to a string cannot fail.
    let _ = writeln!(
        table,
        "\nThe goodput differs by at most 5 % on {goodput} of {lines} lines, and the queue by at most 15 % on {sojourn}."
    );
    page::keep("live", &table);
}

const HEAD: &str = "| line | queue | control | goodput, Mbit/s | difference | mean queue, ms | difference |
|---|---|---|--:|--:|--:|--:|
";

/// Means of a value over all repetitions.
struct Pair {
    live: f64,
    simulated: f64,
}

impl Pair {
    fn from_line(line: &Value, key: &str, scale: f64) -> Self {
        let mean = |kind: &str| {
            let runs = line[kind].as_array().expect("runs");
            let sum: f64 = runs.iter().map(|run| run[key].as_f64().expect("a number")).sum();
            sum / runs.len() as f64 * scale
        };
        Self { live: mean("live"), simulated: mean("simulated") }
    }

    fn difference(&self) -> f64 {
        self.live / self.simulated - 1.0
    }
}
