//! Whole runs of ns-2, packet by packet: when each came to the bottleneck, and when it left or was
//! dropped.
//!
//! A recording is compressed text. Its first line, JSON, says what was run; each other line is a
//! packet in the order of arrival: its flow, its number in it (the SYN has 0), microseconds to its
//! arrival, and from there to its departure, or with `d` in front to its drop.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use goodqueue::{Duration, Instant};
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::packet::Payload;
use goodqueue_sim::{Direction, Observer, Traffic};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::Config;
use serde::Deserialize;

use super::measured::{Figure, runs_of};

/// How many packets agree before the first that does not.
pub(super) const AGREEING: &str = "packets before the first difference";
/// ns-2 writes times to the microsecond.
const ROUNDING: u64 = 1000;
/// Payload of a segment where the recording says nothing else.
const MSS: u64 = 1460;

/// The recordings.
pub(super) const FILES: &[&[u8]] = &[
    include_bytes!("../../reference/ns2-packets/agent-linux-1.gz"),
    include_bytes!("../../reference/ns2-packets/agent-linux-2.gz"),
    include_bytes!("../../reference/ns2-packets/agent-linux-3.gz"),
    include_bytes!("../../reference/ns2-packets/codel-1+1.gz"),
    include_bytes!("../../reference/ns2-packets/codel-2+2.gz"),
    include_bytes!("../../reference/ns2-packets/codel-4+4.gz"),
    include_bytes!("../../reference/ns2-packets/codel-6+6.gz"),
    include_bytes!("../../reference/ns2-packets/droptail-1+1.gz"),
    include_bytes!("../../reference/ns2-packets/droptail-2+2.gz"),
    include_bytes!("../../reference/ns2-packets/droptail-4+4.gz"),
    include_bytes!("../../reference/ns2-packets/droptail-6+6.gz"),
    include_bytes!("../../reference/ns2-packets/fulltcp-1.gz"),
    include_bytes!("../../reference/ns2-packets/fulltcp-2.gz"),
    include_bytes!("../../reference/ns2-packets/fulltcp-3.gz"),
    include_bytes!("../../reference/ns2-packets/fulltcp-4.gz"),
    include_bytes!("../../reference/ns2-packets/fulltcp-5.gz"),
    include_bytes!("../../reference/ns2-packets/newreno-1.gz"),
    include_bytes!("../../reference/ns2-packets/newreno-2.gz"),
    include_bytes!("../../reference/ns2-packets/newreno-3.gz"),
    include_bytes!("../../reference/ns2-packets/newreno-4.gz"),
    include_bytes!("../../reference/ns2-packets/newreno-5.gz"),
    include_bytes!("../../reference/ns2-packets/sack1-1.gz"),
    include_bytes!("../../reference/ns2-packets/sack1-2.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-1+1.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-2+2.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-4+4.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-6+6.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-0-1+1.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-0-2+2.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-0-4+4.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-0-6+6.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-1500-1+1.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-1500-2+2.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-1500-4+4.gz"),
    include_bytes!("../../reference/ns2-packets/sfqcodel-cablelabs-1500-6+6.gz"),
];

/// A recording.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    about: About,
    packets: Vec<Seen>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct About {
    name: String,
    source: String,
    qdisc: String,
    profile: String,
    #[serde(flatten)]
    line: Line,
    flows: Vec<Flow>,
}

/// The line; each direction has it. What a recording does not say is as in Järvinen and Kojo's
/// set-up: 2 Mbit/s with 70 ms, hosts at 100 Mbit/s 11 ms before it, 60 s of transfers that begin
/// with three segments.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default)]
struct Line {
    /// Bits per second.
    rate: u64,
    /// One way behind the queue, in nanoseconds.
    delay: u64,
    /// Initial window, in segments.
    iw: u32,
    /// Seconds.
    duration: u64,
    /// Bytes of payload in a segment.
    payload: u64,
    /// Congestion control.
    cc: String,
}

impl Default for Line {
    fn default() -> Self {
        let cc = String::from("newreno");
        Self { rate: 2_000_000, delay: 70_000_000, iw: 3, duration: 60, payload: MSS, cc }
    }
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Flow {
    /// When it opens, and by how much its clock is ahead: nanoseconds.
    start: u64,
    clock: u64,
    /// Segments to send, or bytes.
    #[serde(default)]
    segments: u64,
    #[serde(default)]
    bytes: u64,
    #[serde(flatten)]
    access: Access,
}

/// The link of a host of its own.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default)]
struct Access {
    /// One way, in nanoseconds.
    access: u64,
    /// Bits per second.
    access_rate: u64,
}

impl Default for Access {
    fn default() -> Self {
        Self { access: 11_000_000, access_rate: 100_000_000 }
    }
}

/// A packet at the bottleneck; instants in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    flow: u32,
    number: u64,
    came: u64,
    gone: u64,
    dropped: bool,
}

impl Recording {
    /// Reads a file.
    pub(super) fn read(compressed: &[u8]) -> Result<Self, Diagnostic> {
        let malformed = |why: String| Diagnostic::new(format!("a recording of packets is malformed: {why}"));
        let mut text = String::new();
        GzDecoder::new(compressed).read_to_string(&mut text).map_err(|error| malformed(error.to_string()))?;
        let (about, lines) = text.split_once('\n').ok_or_else(|| malformed("it is empty".to_owned()))?;
        let about = serde_json::from_str(about).map_err(|error| malformed(error.to_string()))?;
        let packet = |line: &str| Seen::read(line).ok_or_else(|| malformed(format!("`{line}`")));
        Ok(Self { about, packets: lines.lines().map(packet).collect::<Result<_, _>>()? })
    }

    pub(super) fn name(&self) -> &str {
        &self.about.name
    }

    pub(super) fn source(&self) -> &str {
        &self.about.source
    }

    pub(super) fn figures(&self) -> BTreeMap<String, Figure> {
        [(AGREEING.to_owned(), Figure(String::new(), self.packets.len() as f64, 0.0))].into()
    }

    /// Simulates the same and counts the packets up to the first that differs.
    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        let mut seen = Log { payload: self.about.line.payload, seen: Vec::new() };
        let mut all = runs_of(&self.about.scenario())?;
        let job = all.first_mut().ok_or_else(|| Diagnostic::new("a recording has no run"))?;
        for (flow, recorded) in job.config.flows.iter_mut().zip(&self.about.flows) {
            if let Traffic::Tcp(tcp) = &mut flow.traffic {
                let tick_phase = Duration::from_nanos(recorded.clock);
                tcp.config = Arc::new(Config { tick_phase, ..*tcp.config });
            }
        }
        goodqueue_sim::Run::new(&job.config)
            .and_then(|run| run.to_end(|_| true, Some(&mut seen)))
            .map_err(|error| Diagnostic::new(error.to_string()))?;
        let ours = seen.sorted(Duration::from_secs(self.about.line.duration));
        let agree = self.packets.iter().zip(&ours).take_while(|(theirs, ours)| theirs.is(ours)).count();
        // A packet that the recording does not have raises the count above that of the recording,
        // so that the two differ.
        let more = ours.len() > self.packets.len() && agree == self.packets.len();
        Ok([(AGREEING.to_owned(), agree as f64 + f64::from(u8::from(more)))].into())
    }
}

impl About {
    fn scenario(&self) -> String {
        let Self { qdisc, profile, line: Line { rate, delay, iw, duration, payload, cc }, .. } = self;
        let mut text = format!(
            r#"
duration = "{duration}s"
qdiscs = [{{ label = "set-up", down = "{qdisc}", up = "pfifo limit 1000" }}]
[link]
down = "{rate}bit"
up = "{rate}bit"
framing = 0
[tcp]
profile = "{profile}"
cc = "{cc}"
iw = {iw}
"#
        );
        for Flow { start, segments, bytes, access: Access { access, access_rate }, .. } in &self.flows {
            let size = bytes + segments * payload;
            // The set-up is symmetric.
            let rtt = 2 * (delay + access);
            text += &format!(
                r#"
[[flows]]
size = "{size}b"
start = "{start}ns"
rtt = "{rtt}ns"
access = "{access}ns"
access_rate = "{access_rate}bit"
"#
            );
        }
        text
    }
}

impl Seen {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let flow = fields.next()?.parse().ok()?;
        let number = fields.next()?.parse().ok()?;
        let came = fields.next()?.parse::<u64>().ok()? * ROUNDING;
        let last = fields.next()?;
        let after: u64 = last.trim_start_matches('d').parse().ok()?;
        Some(Self { flow, number, came, gone: came + after * ROUNDING, dropped: last.starts_with('d') })
    }

    /// The same packet, but for ns-2's rounding.
    fn is(&self, other: &Self) -> bool {
        let near = |a: u64, b: u64| a.abs_diff(b) <= ROUNDING;
        (self.flow, self.number, self.dropped) == (other.flow, other.number, other.dropped)
            && near(self.came, other.came)
            && near(self.gone, other.gone)
    }
}

/// What comes to the queue of data.
struct Log {
    payload: u64,
    seen: Vec<Seen>,
}

impl Log {
    /// What was over by then, in the order of a recording: by arrival to the microsecond, then by
    /// flow.
    fn sorted(mut self, end: Duration) -> Vec<Seen> {
        // ns-2 rounds times to the nearest microsecond.
        self.seen.retain(|seen| seen.gone + ROUNDING / 2 < end.as_nanos());
        self.seen.sort_by_key(|seen| ((seen.came + ROUNDING / 2) / ROUNDING, seen.flow, seen.number));
        self.seen
    }
}

impl Observer for Log {
    fn arrived(&mut self, _visit: &Visit) {}

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        let (Direction::Down, Payload::Tcp(segment)) = (visit.direction, &visit.packet.payload) else {
            return;
        };
        self.seen.push(Seen {
            flow: visit.packet.flow.number(),
            // The payload of a connection begins with the sequence number 1, so segment n has 1 +
            // (n - 1) × payload.
            number: segment.seq.div_ceil(self.payload),
            came: visit.packet.queued_at.as_nanos(),
            gone: at.as_nanos(),
            dropped: matches!(fate, Fate::Dropped(_)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::details::longest_two;
    use crate::reproduce::papers;

    /// Packets in the queue at the end of each millisecond.
    fn queue(packets: &[Seen]) -> Vec<f64> {
        let last = packets.iter().map(|packet| packet.gone).max().unwrap_or(0);
        let ends = (1..=last / 1_000_000 + 1).map(|step| step * 1_000_000);
        ends.map(|end| packets.iter().filter(|packet| packet.came <= end && end < packet.gone).count() as f64)
            .collect()
    }

    #[test]
    fn the_spikes_of_ns_2_beside_the_claims_are_those_of_its_recordings() {
        let jk = papers().unwrap().into_iter().find(|paper| paper.name == "jk").unwrap();
        let real = jk.real.iter().find(|real| real.system == "ns-2.35, one run").unwrap().figures();
        // Three spikes in each of the four experiments.
        assert_eq!(real.known().count(), 12);
        let recordings: Vec<Recording> = FILES.iter().map(|file| Recording::read(file).unwrap()).collect();
        for (measure, cell) in real.known() {
            let name = format!("packets/codel/{}", cell.experiment);
            let recording = recordings.iter().find(|recording| recording.name() == name).unwrap();
            let above = |packets| longest_two(&queue(&recording.packets), packets);
            let spike = match measure.as_str() {
                "spike60" => above(10.0).0,
                "spike100" => above(16.0).0,
                "second_spike60" => above(10.0).1,
                other => panic!("{other} is not in a recording"),
            };
            let written = real.of_cell(measure, cell).unwrap() * 1e3;
            assert!(
                (written - spike).abs() < 0.5,
                "{measure} {cell}: {written} ms, the recording has {spike}"
            );
        }
    }
}
