//! Access lines behind a router with and without a shaper on the Linux kernel: the promises of
//! `goodqueue advise`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use goodqueue::{Duration, Instant};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_sim::Outcome;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

use super::linux::of_linux;
use super::measured::{Figure, each, means};

/// A line, the settings of its router and a load, as they were run on the kernel.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct HomeLine {
    /// Whose TCP, and whose variants of disciplines, it had: Linux 6.1's if not said.
    #[serde(default)]
    profile: Option<String>,
    /// Base round-trip time of the pings in milliseconds.
    rtt_ms: u64,
    mtu: u32,
    /// Discipline of the head end, towards the home.
    line_down: String,
    /// Discipline of the modem, towards the Internet.
    line_up: String,
    /// Discipline of the router towards the home.
    router_down: String,
    /// Discipline of the router towards the modem.
    router_up: String,
    /// Rates of a line that changes: second, bit/s towards the home, bit/s towards the Internet.
    /// Empty for a line whose disciplines limit the rate.
    #[serde(default)]
    schedule: Vec<(u64, u64, u64)>,
    cc: String,
    ecn: bool,
    /// Whether the first client has a call and the second one the load.
    call: bool,
    /// Base round-trip time of each download in milliseconds.
    down_rtts_ms: Vec<u64>,
    /// Base round-trip time of each upload in milliseconds.
    up_rtts_ms: Vec<u64>,
    /// Time from the start of the load to the first measured second.
    warmup_s: u64,
    measured_s: u64,
    /// Starts of the downloads, the uploads, the pings and the call up and down, in milliseconds,
    /// for each seed.
    starts_ms: Vec<Vec<f64>>,
    /// Unit of each value, and the value of each seed.
    values: BTreeMap<String, (String, Vec<f64>)>,
}

/// Rate of the router's ports. Those of the kernel have none, so a packet may take no more than
/// some picoseconds here. One microsecond more makes a round trip longer than 10 ms, and Linux
/// rounds the timer that follows from it up to the next millisecond.
const PORT: &str = "1000000gbit";
/// MTU of the router's devices, which `fq_codel` and `cake` take for the size of a packet. Only the
/// hosts had a smaller one, on lines with PPPoE.
const ROUTERS_MTU: u32 = 1500;
/// IPv4 and TCP headers without options.
const HEADERS: u32 = 40;
/// Echo requests and voice packets of the last seconds do not count: their answers may come after
/// the end.
const TAIL_S: u64 = 4;
/// Step of the series of delivered bytes.
const STEP: Duration = Duration::from_secs(1);

impl HomeLine {
    /// Returns the recorded values: unit, mean and standard deviation.
    pub(super) fn figures(&self) -> BTreeMap<String, Figure> {
        let figure = |(name, (unit, values)): (&String, &(String, Vec<f64>))| {
            let mean = mean(values);
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let sd = if values.len() > 1 { (squares / (values.len() - 1) as f64).sqrt() } else { 0.0 };
            (name.clone(), Figure(unit.clone(), mean, sd))
        };
        self.values.iter().map(figure).collect()
    }

    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        let mut runs = Vec::new();
        // The growth of the first seconds depends on the starts, so each recorded run has one with
        // the same starts.
        for (seed, starts) in (1..).zip(&self.starts_ms) {
            let document = Document::parse("reference", &self.scenario(seed, starts), Path::new(""))?;
            let points = goodqueue_scenario::sweep::expand(&document, &Names::default())?;
            runs.extend(goodqueue_scenario::run::runs_of(&points, Some(STEP))?);
        }
        Ok(means(&each(&runs, |_, outcome| self.values_of(outcome))?))
    }

    /// Returns the set-up as a scenario. The servers share a port of 1 Gbit/s, the delays of their
    /// paths lie behind it, and the clients share another port: this decides which packets meet,
    /// and so which are lost.
    fn scenario(&self, seed: u32, starts_ms: &[f64]) -> String {
        let profile = self.profile.as_deref().unwrap_or("linux61");
        let mut starts = starts_ms.iter().map(|start| format!("start = '{:.0}ns'", start * 1e6));
        let mut start = || starts.next().unwrap_or_default();
        let end = self.warmup_s + self.measured_s;
        let rates = if self.schedule.is_empty() {
            String::new()
        } else {
            let steps = |rate: fn(&(u64, u64, u64)) -> u64| {
                let steps = self.schedule.iter().map(|step| format!("['{}s', '{}bit']", step.0, rate(step)));
                steps.collect::<Vec<_>>().join(", ")
            };
            let down = steps(|step| step.1);
            let up = steps(|step| step.2);
            format!("down = {{ schedule = [{down}] }}\nup = {{ schedule = [{up}] }}\n")
        };
        let mut text = format!(
            "duration = '{end}s'\nseed = {seed}\n\
             qdiscs = [{{ label = 'set-up', down = '{}', up = '{}' }}]\n\
             [link]\ndown = '{PORT}'\nup = '{PORT}'\nrtt = '{}ms'\nmtu = {ROUTERS_MTU}\n\
             [[hops]]\nname = 'servers'\nside = 'server'\nrest = true\n\
             down = '1gbit'\nup = 'unlimited'\nqdisc = 'pfifo limit 100000'\n\
             [[hops]]\nname = 'modem'\nside = 'server'\n{rates}qdisc = {{ down = '{}', up = '{}' }}\n\
             [[hops]]\nname = 'clients'\nside = 'client'\n\
             down = 'unlimited'\nup = '1gbit'\nqdisc = 'pfifo limit 100000'\n\
             [tcp]\nprofile = '{profile}'\nmss = {}\ncc = '{}'\necn = {}\n",
            of_kernel(&self.router_down, profile),
            of_kernel(&self.router_up, profile),
            self.rtt_ms,
            self.line_down,
            self.line_up,
            self.mtu - HEADERS,
            self.cc,
            self.ecn
        );
        let client = if self.call { 2 } else { 1 };
        // The kernel's set-up has a server for each round-trip time, and that of the pings is the
        // first.
        let mut servers = vec![self.rtt_ms];
        for (direction, rtts) in [("down", &self.down_rtts_ms), ("up", &self.up_rtts_ms)] {
            for rtt in rtts {
                let known = servers.iter().position(|server| server == rtt);
                let server = known.unwrap_or_else(|| {
                    servers.push(*rtt);
                    servers.len() - 1
                });
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "[[flows]]\ndirection = '{direction}'\nrtt = '{rtt}ms'\nclient = {client}\nserver = {}\n{}",
                    server + 1,
                    start()
                );
            }
        }
        let _ = writeln!(text, "[[flows]]\nkind = 'ping'\ninterval = '50ms'\npacket = 60\n{}", start());
        if self.call {
            for direction in ["up", "down"] {
                let _ = writeln!(text, "[[flows]]\nkind = 'voip'\ndirection = '{direction}'\n{}", start());
            }
        }
        text
    }

    fn values_of(&self, outcome: &Outcome) -> BTreeMap<String, f64> {
        let warm = self.warmup_s;
        let end = self.warmup_s + self.measured_s;
        let mut values = BTreeMap::new();
        let downloads = self.down_rtts_ms.len();
        let flows = downloads + self.up_rtts_ms.len();
        let delivered = outcome.series.as_ref().map_or(&[][..], |series| &series.delivered);
        let goodput = |flows: std::ops::Range<usize>, [from, to]: [u64; 2]| {
            let steps = |series: &Vec<u64>| -> u64 {
                let inside = (from..to).filter_map(|step| series.get(usize::try_from(step).ok()?));
                inside.sum()
            };
            let bytes: u64 = delivered.get(flows).unwrap_or_default().iter().map(steps).sum();
            bytes as f64 * 8.0 / (to - from) as f64 / 1e6
        };
        for (prefix, window) in [("", [warm, end]), ("first 10 s, ", [0, warm])] {
            values.insert(format!("{prefix}goodput down"), goodput(0..downloads, window));
            values.insert(format!("{prefix}goodput up"), goodput(downloads..flows, window));
        }
        let base = self.rtt_ms as f64;
        let pings = outcome.flows.iter().flat_map(|flow| &flow.round_trips);
        let pings: Vec<(Instant, Option<f64>)> =
            pings.map(|ping| (ping.sent_at, ping.time.map(|time| milliseconds(time) - base))).collect();
        let steady = within(&pings, [warm, end.saturating_sub(TAIL_S)]);
        let mut answered: Vec<f64> = steady.iter().copied().flatten().collect();
        if !answered.is_empty() {
            answered.sort_by(f64::total_cmp);
            values.insert("added latency".to_owned(), mean(&answered));
            let at = (answered.len() * 95 / 100).min(answered.len() - 1);
            values.insert("ping p95".to_owned(), answered[at]);
        }
        values.insert("ping loss".to_owned(), lost(&steady));
        let first: Vec<f64> = within(&pings, [0, warm]).into_iter().flatten().collect();
        if !first.is_empty() {
            values.insert("first 10 s, added latency".to_owned(), mean(&first));
        }
        if self.call {
            let calls: Vec<f64> = outcome
                .flows
                .iter()
                .filter(|flow| !flow.one_way.is_empty())
                .map(|flow| {
                    let packets: Vec<(Instant, Option<f64>)> = flow
                        .one_way
                        .iter()
                        .map(|packet| (packet.sent_at, packet.delay.map(milliseconds)))
                        .collect();
                    lost(&within(&packets, [warm, end.saturating_sub(TAIL_S)]))
                })
                .collect();
            values.insert("call loss".to_owned(), mean(&calls));
        }
        values
    }
}

/// Returns the most that a value may differ from the recorded one: 15 %, or what nobody notices.
pub(super) fn tolerance(unit: &str, recorded: f64) -> f64 {
    let unnoticed = match unit {
        "ms" => 3.0,
        "%" => 1.0,
        _ => 0.0,
    };
    f64::max(unnoticed, 0.15 * recorded.abs())
}

/// Returns the delays of the packets that were sent in these seconds.
fn within(packets: &[(Instant, Option<f64>)], [from, to]: [u64; 2]) -> Vec<Option<f64>> {
    let [from, to] = [from, to].map(Duration::from_secs);
    let inside = packets.iter().filter(|(sent_at, _)| (from..to).contains(&sent_at.since(Instant::ZERO)));
    inside.map(|(_, delay)| *delay).collect()
}

/// Returns the share of lost packets in per cent.
fn lost(packets: &[Option<f64>]) -> f64 {
    let lost = packets.iter().filter(|delay| delay.is_none()).count();
    100.0 * lost as f64 / packets.len().max(1) as f64
}

fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the line of a router with the decisions of the kernel of `profile`, also of a discipline
/// inside a shaper.
fn of_kernel(line: &str, profile: &str) -> String {
    match line.split_once('[') {
        Some((shaper, child)) => format!("{shaper}[{}", of_linux(child, profile)),
        None => of_linux(line, profile),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_decides_as_the_kernel_of_the_recording() {
        let cake = "cake bandwidth 9215kbit besteffort";
        assert_eq!(of_kernel(cake, "linux61"), "cake variant linux61 bandwidth 9215kbit besteffort");
        assert_eq!(of_kernel(cake, "linux"), "cake variant linux bandwidth 9215kbit besteffort");
        let shaper = "tbf rate 1843kbit burst 3028 latency 300ms [fq_codel]";
        let expected =
            |variant| format!("tbf rate 1843kbit burst 3028 latency 300ms [fq_codel variant {variant}]");
        assert_eq!(of_kernel(shaper, "linux61"), expected("linux61"));
        assert_eq!(of_kernel(shaper, "linux"), expected("linux"));
        assert_eq!(of_kernel("pfifo limit 1000", "linux"), "pfifo limit 1000");
    }

    #[test]
    fn a_value_agrees_within_15_per_cent_or_what_nobody_notices() {
        assert_eq!(tolerance("ms", 2.0), 3.0);
        assert_eq!(tolerance("ms", 200.0), 30.0);
        assert_eq!(tolerance("%", 0.0), 1.0);
        assert_eq!(tolerance("Mbit/s", 10.0), 1.5);
    }

    #[test]
    fn packets_outside_the_window_do_not_count() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let packets = [(at(9), Some(1.0)), (at(10), Some(2.0)), (at(19), None), (at(20), Some(3.0))];
        let inside = within(&packets, [10, 20]);
        assert_eq!(inside, [Some(2.0), None]);
        assert_eq!(lost(&inside), 50.0);
    }
}
