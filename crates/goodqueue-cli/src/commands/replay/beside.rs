//! `replay --qdisc A --qdisc B`: the same arrivals through several disciplines, side by side.

use std::collections::BTreeMap;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table};
use goodqueue::{Ecn, Instant};
use goodqueue_tc::printable;
use goodqueue_tc::replay::Fate;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::input::Input;

/// The fates of a recording's packets in one discipline.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Line {
    /// The recording.
    file: String,
    /// The discipline as given.
    qdisc: String,
    /// Packets that arrive.
    packets: u64,
    /// Packets that were sent.
    sent: u64,
    /// Packets that were dropped.
    dropped: u64,
    /// Packets that were sent with a new mark.
    marked: u64,
    /// Sojourn times of sent packets.
    sojourn_s: Sojourn,
}

/// Sojourn times of sent packets in seconds; null if none was sent.
#[derive(Serialize, JsonSchema)]
struct Sojourn {
    /// Mean.
    mean: Option<f64>,
    /// Median.
    p50: Option<f64>,
    /// 95th percentile.
    p95: Option<f64>,
    /// 99th percentile.
    p99: Option<f64>,
    /// Longest.
    max: Option<f64>,
}

impl Input {
    /// Replays the recording, and counts its packets' fates under the name `qdisc`. Also returns
    /// the final statistics.
    pub(super) fn count(&self, qdisc: &str) -> (Line, Vec<Value>) {
        let packets = self.packets();
        let arrived: BTreeMap<u64, (Instant, u8)> =
            packets.iter().map(|packet| (packet.seq, (packet.at, packet.tos))).collect();
        let mut sent = 0;
        let mut dropped = 0;
        let mut marked = 0;
        let mut sojourn = histogram();
        let is_ce = |tos: u8| Ecn::from_bits(tos) == Ecn::Ce;
        let left = self.replay(|fate| match fate {
            Fate::Sent { at, seq, tos, .. } => {
                sent += 1;
                if let Some(&(came, before)) = arrived.get(&seq) {
                    // A wait of more than an hour, the upper bound of the histogram, counts as an
                    // hour. `record` would fail.
                    sojourn.saturating_record(at.since(came).as_nanos());
                    marked += u64::from(is_ce(tos) && !is_ce(before));
                }
            }
            Fate::Dropped { .. } => dropped += 1,
        });
        let any = |value: f64| (!sojourn.is_empty()).then_some(value / 1e9);
        let percentile = |percent: f64| any(nanos(sojourn.value_at_percentile(percent)));
        let sojourn_s = Sojourn {
            mean: any(sojourn.mean()),
            p50: percentile(50.0),
            p95: percentile(95.0),
            p99: percentile(99.0),
            max: any(nanos(sojourn.max())),
        };
        let file = self.name.clone();
        let qdisc = qdisc.to_owned();
        let packets = packets.len() as u64;
        (Line { file, qdisc, packets, sent, dropped, marked, sojourn_s }, left.statistics())
    }
}

/// Returns a table with a line for each discipline and recording.
pub(super) fn table(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut files: Vec<&str> = lines.iter().map(|line| line.file.as_str()).collect();
    // The lines of a recording are next to each other.
    files.dedup();
    for file in files {
        let of_file: Vec<&Line> = lines.iter().filter(|line| line.file == file).collect();
        let packets = of_file.first().map_or(0, |line| line.packets);
        let mut table = Table::new();
        let line = LineStyle::none().fill('─').junction('─');
        table
            .load_style(NOTHING.header_separator(line))
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["qdisc", "sent", "dropped", "marked", "mean", "p50", "p95", "p99", "max"]);
        for line in of_file {
            let Sojourn { mean, p50, p95, p99, max } = &line.sojourn_s;
            let counts = [line.sent, line.dropped, line.marked].map(|count| Cell::new(count.to_string()));
            let times = [mean, p50, p95, p99, max].map(|time| Cell::new(millis(*time)));
            table.add_row([Cell::new(printable::line(&line.qdisc))].into_iter().chain(counts).chain(times));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        text += &format!(
            "{}: {packets} packets; sojourn times of sent packets in ms\n{}\n",
            printable::line(file),
            table.trim_fmt()
        );
    }
    text
}

fn millis(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{:.2}", seconds * 1e3))
}

/// From 1 µs to 1 h with three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3)
        .or_else(|_| Histogram::new(3))
        .unwrap_or_else(|_| unreachable!("3 is a valid number of digits"))
}

#[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
const fn nanos(value: u64) -> f64 {
    value as f64
}
