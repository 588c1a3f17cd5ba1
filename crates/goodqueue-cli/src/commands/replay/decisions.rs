//! `replay --export` and `--decisions`: recorded arrivals for a queue in another program, and what
//! it decided.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use goodqueue::{Ecn, Instant};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::input;
use goodqueue_tc::recording::Row;
use goodqueue_tc::replay::Arrival;

use super::input::Input;

impl Input {
    /// Returns the arrivals as comma-separated values below a heading. Times are those of the
    /// recorder's clock, because a discipline may round it.
    pub(super) fn arrivals_csv(&self) -> String {
        let mut text = format!("{ARRIVALS}\n");
        for Arrival { at, seq, flow, bytes, tos, .. } in self.packets() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{seq},{flow},{bytes},{tos}", (at + self.origin()).as_nanos());
        }
        text
    }

    /// Returns the decisions in `text` about these arrivals as rows of a recording. The text is
    /// that of the file `name`.
    pub(super) fn decisions(&self, name: &str, text: &str) -> Result<Vec<Row>, Diagnostic> {
        let arrivals: BTreeMap<u64, Arrival> =
            self.packets().into_iter().map(|packet| (packet.seq, packet)).collect();
        let mut lines = text.lines().zip(1..);
        if lines.next().map(|(line, _)| line.trim_end()) != Some(DECISIONS) {
            return Err(Diagnostic::new("the first line is not the heading")
                .allowed(DECISIONS)
                .in_line(name, 1));
        }
        lines
            .filter(|(line, _)| !line.trim().is_empty())
            .map(|(line, number)| {
                self.decision(line.trim_end(), &arrivals).map_err(|error| error.in_line(name, number))
            })
            .collect()
    }

    fn decision(&self, line: &str, arrivals: &BTreeMap<u64, Arrival>) -> Result<Row, Diagnostic> {
        let refused = |why: String| Err(Diagnostic::new(why).allowed(LINE));
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let [time, packet, fate] = words[..] else {
            return refused(format!("`{line}` has {} of 3 fields", words.len()));
        };
        let (Ok(nanos), Ok(seq)) = (time.parse::<u64>(), packet.parse::<u64>()) else {
            return refused(format!("`{time},{packet}` is not a time in ns and the number of a packet"));
        };
        let Some(t) = nanos.checked_sub(self.origin().as_nanos()).map(Instant::from_nanos) else {
            return refused(format!("{nanos} ns is before the recording"));
        };
        let Some(Arrival { bytes, tos, .. }) = arrivals.get(&seq).copied() else {
            return refused(format!("packet {seq} did not arrive"));
        };
        match fate {
            "sent" => Ok(Row::Exit { t, seq, bytes, tos }),
            // CE has both bits of the field set (RFC 3168, section 5).
            "marked" => Ok(Row::Exit { t, seq, bytes, tos: tos | Ecn::Ce.bits() }),
            "dropped" => Ok(Row::Drop { t, seq, reason: None }),
            _ => refused(format!("`{fate}` is not a fate")),
        }
    }
}

/// Reads a file of decisions.
pub(super) fn read(path: &Path) -> Result<String, Diagnostic> {
    // A device without an end, such as /dev/zero, could fill the memory.
    input::text(path, MOST_BYTES).map_err(|error| {
        Diagnostic::new(format!("the decisions cannot be read: {error}")).in_file(&path.display().to_string())
    })
}

/// Five million decisions.
const MOST_BYTES: u64 = 128 << 20;
const ARRIVALS: &str = "t_ns,packet,flow,bytes,tos";
const DECISIONS: &str = "t_ns,packet,fate";
const LINE: &str = "such as 10862363,2,sent; fates are sent, marked and dropped";
