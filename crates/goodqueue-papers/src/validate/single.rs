//! A few flows against recordings of every 20 ms.

use std::collections::BTreeMap;

use goodqueue::{Duration, Instant, Link, Rate};
use goodqueue_scenario::Extensions;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde::Deserialize;

use super::flow::{Bottleneck, Record, Watched, Writes, watch};
use super::measured::Figure;

/// How far the window is from the recorded one in the mean over steps, as a share of the latter.
pub(super) const DISTANCE: &str = "window, distance";
/// The profile of the agent of ns-2 that borrows from Linux.
const AS_LINUX: &str = "ns2_linux";
const STEP: Duration = Duration::from_millis(20);

/// A recording.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Flows {
    profile: String,
    rate: String,
    rtt_ms: u64,
    qdisc: String,
    ecn: bool,
    flows: Vec<Recorded>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Recorded {
    cc: String,
    start_s: u64,
    /// Payload delivered; ns-2's traces count packets that left the queue.
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    retransmits: Option<u64>,
    #[serde(default)]
    writes: Option<Writes>,
    /// Window in segments, and smoothed RTT in milliseconds, at each step: numbers, `x*n` for n
    /// times x.
    cwnd: String,
    #[serde(default)]
    srtt_ms: String,
}

impl Flows {
    /// What the recording says.
    pub(super) fn figures(&self) -> BTreeMap<String, Figure> {
        let mut figures = BTreeMap::new();
        for (flow, name) in self.named() {
            let cwnd = numbers(&flow.cwnd);
            let mut put = |figure: &str, unit: &str, value: f64| {
                figures.insert(format!("{figure}{name}"), Figure(unit.to_owned(), value, 0.0));
            };
            put(DISTANCE, "", 0.0);
            put("window, mean", "segments", mean(&cwnd));
            // A recording says what it counted: bytes at the receiver, or packets behind the queue.
            if flow.bytes > 0 {
                put("bytes", "MB", flow.bytes as f64 / 1e6);
            }
            if let Some(retransmits) = flow.retransmits {
                put("retransmits", "", retransmits as f64);
            }
            if !flow.srtt_ms.is_empty() {
                put("smoothed RTT, mean", "ms", mean(&numbers(&flow.srtt_ms)));
            }
        }
        figures
    }

    /// The flows with what their figures end in: nothing, if there is one alone.
    fn named(&self) -> impl Iterator<Item = (&Recorded, String)> {
        let alone = self.flows.len() == 1;
        let name = move |index: usize| if alone { String::new() } else { format!(", flow {}", index + 1) };
        self.flows.iter().enumerate().map(move |(index, flow)| (flow, name(index)))
    }

    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        let extensions = Extensions::new();
        let profile = (extensions.tcp().profile(&self.profile))
            .ok_or_else(|| Diagnostic::new(format!("there is no profile `{}`", self.profile)))?;
        let bottleneck = if self.of_linux() { self.shaped()? } else { self.of_ns2()? };
        let mut flows = Vec::new();
        for flow in &self.flows {
            let controller = (extensions.tcp())
                .controller_in(profile, &flow.cc)
                .ok_or_else(|| Diagnostic::new(format!("there is no congestion control `{}`", flow.cc)))?;
            let mut config = profile.settings.suited_to(controller.about().needs);
            config.ecn |= self.ecn;
            // The recorded windows begin with four segments in Agent/TCP/Linux, and in ns-2's other
            // agents with three, as in Järvinen and Kojo's set-up.
            match self.profile.as_str() {
                _ if self.of_linux() => {}
                AS_LINUX => config.iw = 4,
                _ => config.iw = 3,
            }
            let start = Instant::ZERO + Duration::from_secs(flow.start_s) + self.phase();
            flows.push(Watched { config, controller, start, writes: flow.writes });
        }
        let steps = self.flows.iter().map(|flow| numbers(&flow.cwnd).len() + flow.steps_before()).max();
        let steps = steps.unwrap_or(0);
        let more = usize::try_from(self.phase().as_nanos().div_ceil(STEP.as_nanos())).unwrap_or(0);
        // Samples are needed at multiples of 20 ms that are shifted by 6 ms. This step divides
        // both.
        let fine = Duration::from_millis(2);
        let per_step = usize::try_from(STEP.as_nanos() / fine.as_nanos()).unwrap_or(1);
        let offset = usize::try_from(self.phase().as_nanos() / fine.as_nanos()).unwrap_or(0);
        let records = watch(&bottleneck, &flows, fine, (steps + more) * per_step)
            .map_err(|error| Diagnostic::new(error.to_string()))?;
        let mut figures = BTreeMap::new();
        for ((flow, name), record) in self.named().zip(&records) {
            // The samples at the recorded instants, which count from the start of the recording.
            let at = |step: usize| record.get((step + 1) * per_step - 1 + offset);
            let sampled: Record = (flow.steps_before()..steps).filter_map(at).copied().collect();
            let cwnd = numbers(&flow.cwnd);
            let windows: Vec<f64> = sampled.iter().map(|sample| sample.cwnd).take(cwnd.len()).collect();
            let apart: Vec<f64> = windows
                .iter()
                .zip(&cwnd)
                // A recorded window of 0 has no share.
                .map(|(ours, theirs)| (ours - theirs).abs() / theirs.max(1.0))
                .collect();
            let mut put = |figure: &str, value: f64| figures.insert(format!("{figure}{name}"), value);
            put(DISTANCE, mean(&apart));
            put("window, mean", mean(&windows));
            let times: Vec<f64> = sampled.iter().map(|sample| sample.srtt_ms).collect();
            put("smoothed RTT, mean", mean(&times));
            if let Some(last) = sampled.last() {
                put("bytes", last.delivered as f64 / 1e6);
                put("retransmits", last.retransmits as f64);
            }
        }
        Ok(figures)
    }

    /// ns-2's host came up so long before its clock began, as the timers in its traces show: its
    /// ticks begin that much earlier.
    fn phase(&self) -> Duration {
        let has_clock_of_its_own = !self.of_linux() && self.profile != AS_LINUX;
        if has_clock_of_its_own { Duration::from_millis(6) } else { Duration::ZERO }
    }

    /// Recorded of a kernel, of whatever time.
    fn of_linux(&self) -> bool {
        self.profile.starts_with("linux")
    }

    /// As Linux was recorded: a token bucket before an infinitely fast link, infinitely fast hosts.
    fn shaped(&self) -> Result<Bottleneck, Diagnostic> {
        let rate = units::rate(&self.rate)?;
        // At 100 Tbit/s a full packet takes 0.12 ns, which rounds to nothing.
        let fast = Rate::from_bps(100_000_000_000_000);
        let link = Link { rate, mtu: 1514, delay: Duration::ZERO };
        let line = format!("tbf rate {} burst 1600 [{}]", self.rate, self.qdisc);
        let kernel = if self.profile == "linux" { "linux" } else { "linux61" };
        let qdisc = tc::parse_as(&line, &link, Some(kernel))?;
        let half = Duration::from_micros(self.rtt_ms * 500);
        Ok(Bottleneck {
            rates: [fast; 2],
            qdiscs: [qdisc.clone(), qdisc],
            // The kernel's shaper counts the Ethernet header.
            framing: 14,
            access: None,
            before: Duration::ZERO,
            after: half,
            back: half,
        })
    }

    /// As ns-2 was run: hosts at 100 Mbit/s and 10 ms from the queue; with Agent/TCP/Linux ACKs
    /// take no time on the link.
    fn of_ns2(&self) -> Result<Bottleneck, Diagnostic> {
        let rate = units::rate(&self.rate)?;
        let link = Link { rate, mtu: 1500, delay: Duration::ZERO };
        let access = Duration::from_millis(10);
        let half = Duration::from_micros(self.rtt_ms * 500);
        let back = if self.profile == AS_LINUX { Rate::from_bps(100_000_000_000) } else { rate };
        Ok(Bottleneck {
            rates: [rate, back],
            qdiscs: [tc::parse(&self.qdisc, &link)?, tc::parse("pfifo limit 1000", &link)?],
            framing: 0,
            access: Some(Rate::from_bps(100_000_000)),
            before: access,
            after: half.saturating_sub(access),
            back: half,
        })
    }
}

impl Recorded {
    fn steps_before(&self) -> usize {
        usize::try_from(self.start_s * 1_000_000_000 / STEP.as_nanos()).unwrap_or(0)
    }
}

fn numbers(text: &str) -> Vec<f64> {
    let mut all = Vec::new();
    for word in text.split_whitespace() {
        let (value, count) = word.split_once('*').unwrap_or((word, "1"));
        let (Ok(value), Ok(count)) = (value.parse::<f64>(), count.parse::<usize>()) else { continue };
        all.extend(std::iter::repeat_n(value, count));
    }
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
