//! Loads on the Linux kernel: RRUL, voice, round-trip times, low priority.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodqueue::{Duration, Rate};
use goodqueue_scenario::run::RunSpec;
use goodqueue_sim::Outcome;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

use super::measured::{each, means, runs_of};

/// A set-up as it was run on the kernel.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Load {
    /// Whose TCP, and whose variants of disciplines, it had: Linux 6.1's if not said.
    #[serde(default)]
    profile: Option<String>,
    duration_s: f64,
    rate_down: String,
    rate_up: String,
    /// `tbf` or `htb`.
    shaper: String,
    /// Bytes of the token bucket.
    burst: u32,
    rtt_ms: u32,
    qdisc_down: String,
    qdisc_up: String,
    flows: Vec<Flows>,
    /// Time between echo requests, and between UDP probes; 0: none.
    icmp_ms: u32,
    udp_ms: u32,
    voip: bool,
    #[serde(default)]
    ecn: Ecn,
    seeds: u32,
}

/// What the hosts asked for: ECN or not, or by name.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
enum Ecn {
    Classic(bool),
    Named(String),
}

impl Default for Ecn {
    fn default() -> Self {
        Self::Classic(false)
    }
}

impl Ecn {
    /// As scenarios have it.
    fn value(&self) -> String {
        match self {
            Self::Classic(on) => on.to_string(),
            Self::Named(name) => format!("\"{name}\""),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Flows {
    name: String,
    cc: String,
    direction: String,
    rtt_ms: u32,
    count: u32,
}

/// Simulated runs for each recorded one, with starts of their own: what chance moves is then the
/// recording's.
const RUNS: u32 = 3;
/// On links from this rate on one is enough: it has so many packets that it takes most of the time.
const FAST: Rate = Rate::from_bps(100_000_000);
/// IP bytes of a probe: 32 of payload.
const PROBE: u32 = 60;
/// When the first echo request and the first UDP probe leave, in milliseconds, and by how much
/// chance delays each.
const PROBES_START: [u32; 2] = [0, 50];
const PROBES_JITTER: u32 = 10;
/// Voice packets sent so late may still have been under way, and do not count as lost.
const TAIL: Duration = Duration::from_secs(2);

impl Load {
    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        let runs = runs_of(&self.scenario())?;
        Ok(means(&each(&runs, |run, outcome| self.figures(run, outcome))?))
    }

    /// The set-up as a scenario. The hosts send at 1 Gbit/s, the shaper's own link takes no time.
    ///
    /// The path's delay lies between the bottleneck and the servers: before the bottleneck for what
    /// a server sends, behind the bottleneck for what a client sends.
    fn scenario(&self) -> String {
        let profile = self.profile.as_deref().unwrap_or("linux61");
        let shaped = |rate: &str, child: &str| {
            let child = of_linux(child, profile);
            match self.shaper.as_str() {
                "htb" => format!("htb default 1 [1 rate {rate}: {child}]"),
                _ => format!("tbf rate {rate} burst {} [{child}]", self.burst),
            }
        };
        let fast = goodqueue_tc::units::rate(&self.rate_down).is_ok_and(|rate| rate >= FAST);
        let runs = if fast { 1 } else { RUNS };
        let mut text = format!(
            "duration = \"{}s\"\nseeds = {}\nqdiscs = [{{ label = \"set-up\", down = \"{}\", up = \"{}\" }}]\n",
            self.duration_s,
            self.seeds * runs,
            shaped(&self.rate_down, &self.qdisc_down),
            shaped(&self.rate_up, &self.qdisc_up)
        );
        let _ = writeln!(text, "[link]\ndown = \"100gbit\"\nup = \"100gbit\"\nrtt = \"{}ms\"", self.rtt_ms);
        text += "[[hops]]\nname = \"server\"\nside = \"server\"\ndown = \"1gbit\"\nup = \"unlimited\"\n";
        // A hop's delay is one way: 500 µs for each millisecond of the round trip.
        let _ = writeln!(text, "delay = \"{}us\"", self.least_rtt_ms() * 500);
        text += "[[hops]]\nname = \"client\"\nside = \"client\"\ndown = \"unlimited\"\nup = \"1gbit\"\n";
        let _ = writeln!(text, "[tcp]\nprofile = \"{profile}\"\necn = {}", self.ecn.value());
        for flows in &self.flows {
            let _ = writeln!(
                text,
                "[[flows]]\nkind = \"tcp\"\ndirection = \"{}\"\ncount = {}\ncc = \"{}\"\nrtt = \"{}ms\"\nstart_jitter = \"20ms\"",
                flows.direction, flows.count, flows.cc, flows.rtt_ms
            );
        }
        for (interval, start) in [self.icmp_ms, self.udp_ms].into_iter().zip(PROBES_START) {
            if interval > 0 {
                let _ = writeln!(
                    text,
                    "[[flows]]\nkind = \"ping\"\ninterval = \"{interval}ms\"\npacket = {PROBE}\n\
                     start = \"{start}ms\"\nstart_jitter = \"{PROBES_JITTER}ms\""
                );
            }
        }
        if self.voip {
            // Packets of 160 bytes of voice, at no particular time in the ticks of the host's
            // clock.
            text += "[[flows]]\nkind = \"voip\"\ndirection = \"up\"\nstart = \"500ms\"\nstart_jitter = \"20ms\"\n";
        }
        text
    }

    /// Least round-trip time of the flows and the probes, which all of them share between the
    /// bottleneck and the servers. What a flow has above it lies behind the last link. It makes no
    /// difference to uploads, and the only set-ups with several round-trip times have nothing else.
    fn least_rtt_ms(&self) -> u32 {
        self.flows.iter().map(|flows| flows.rtt_ms).fold(self.rtt_ms, u32::min)
    }

    fn figures(&self, run: &RunSpec, outcome: &Outcome) -> BTreeMap<String, f64> {
        let seconds = outcome.measured.as_nanos() as f64 / 1e9;
        let mut figures = BTreeMap::new();
        let mut flows = outcome.flows.iter();
        let mut goodput = BTreeMap::<String, f64>::new();
        let mut of_names = BTreeMap::<String, f64>::new();
        for group in &self.flows {
            for flow in flows.by_ref().take(group.count as usize) {
                let rate = flow.tally.delivered as f64 * 8.0 / seconds / 1e6;
                *goodput.entry(group.direction.clone()).or_default() += rate;
                *of_names.entry(group.name.clone()).or_default() += rate;
            }
        }
        let reno = of_names.get("reno").copied();
        for (name, rate) in goodput.into_iter().chain(of_names) {
            figures.insert(format!("goodput {name}"), rate);
        }
        if let (Some(reno), Some(up)) = (reno, figures.get("goodput up").copied()) {
            figures.insert("share of reno".to_owned(), 100.0 * reno / up);
        }
        let answers = outcome.flows.iter().flat_map(|flow| &flow.round_trips);
        let times: Vec<f64> = answers.filter_map(|ping| Some(ping.time?.as_nanos() as f64 / 1e6)).collect();
        if !times.is_empty() {
            figures.insert("induced latency".to_owned(), mean(&times) - f64::from(self.rtt_ms));
        }
        if self.voip {
            let last = run.config.duration.saturating_sub(TAIL);
            let packets: Vec<_> = outcome.flows.iter().flat_map(|flow| &flow.one_way).collect();
            let early = packets.iter().filter(|packet| packet.sent_at.since(goodqueue::Instant::ZERO) < last);
            let lost: Vec<f64> = early.map(|packet| f64::from(u8::from(packet.delay.is_none()))).collect();
            let delays: Vec<f64> =
                packets.iter().filter_map(|packet| Some(packet.delay?.as_nanos() as f64 / 1e6)).collect();
            figures.insert("voip loss".to_owned(), 100.0 * mean(&lost));
            figures.insert("voip one-way delay".to_owned(), mean(&delays));
        }
        figures
    }
}

/// The line of a discipline, with the decisions of the kernel of `profile` where these are a
/// variant. CoDel is the same in all kernels before 7.0.
pub(super) fn of_linux(line: &str, profile: &str) -> String {
    // A line may be the name alone, and the last one inside a shaper.
    let (kind, rest) = line.split_at(line.find([' ', ']']).unwrap_or(line.len()));
    let variant = match kind {
        "codel" | "fq_codel" | "cake" | "pie" | "dualpi2" if profile == "linux" => "linux",
        // Linux 7.3 changed no rule of PIE, so one variant is both.
        "pie" if profile == "linux61" => "linux",
        "fq_codel" | "pie" => profile,
        "codel" | "cake" => "linux61",
        "red" => "linux",
        _ => return line.to_owned(),
    };
    if line.contains("variant") { line.to_owned() } else { format!("{kind} variant {variant}{rest}") }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use goodqueue::Instant;
    use goodqueue_sim::observer::{Fate, Visit};
    use goodqueue_sim::{Direction, Observer};

    use super::*;

    /// When the first packet of each flow came to each queue of the bottleneck.
    #[derive(Default)]
    struct FirstArrivals(BTreeMap<(u32, bool), Duration>);

    impl Observer for FirstArrivals {
        fn arrived(&mut self, visit: &Visit) {
            let at = visit.packet.queued_at.since(Instant::ZERO);
            self.0.entry((visit.packet.flow.number(), visit.direction == Direction::Down)).or_insert(at);
        }

        fn ended(&mut self, _visit: &Visit, _at: Instant, _fate: Fate) {}
    }

    #[test]
    fn a_discipline_decides_as_in_the_kernel_also_if_its_line_has_no_parameters() {
        assert_eq!(of_linux("pie", "linux61"), "pie variant linux");
        assert_eq!(of_linux("fq_codel", "linux314"), "fq_codel variant linux314");
        assert_eq!(of_linux("fq_codel", "linux61"), "fq_codel variant linux61");
        assert_eq!(of_linux("codel", "linux314"), "codel variant linux61");
        assert_eq!(of_linux("pie limit 100", "linux61"), "pie variant linux limit 100");
        assert_eq!(of_linux("pie variant linux314 limit 100", "linux314"), "pie variant linux314 limit 100");
        assert_eq!(of_linux("fq_pie", "linux61"), "fq_pie", "fq_pie is that of Linux by default");
        assert_eq!(of_linux("cake besteffort", "linux61"), "cake variant linux61 besteffort");
        assert_eq!(of_linux("cake besteffort", "linux"), "cake variant linux besteffort");
        assert_eq!(of_linux("dualpi2", "linux"), "dualpi2 variant linux");
        assert_eq!(of_linux("sfq limit 127", "linux"), "sfq limit 127");
    }

    #[test]
    fn downloads_cross_the_path_before_the_bottleneck_and_uploads_behind_it() {
        let load: Load = serde_json::from_str(
            r#"{
                "duration_s": 1, "rate_down": "10mbit", "rate_up": "10mbit", "shaper": "tbf", "burst": 1600,
                "rtt_ms": 60, "qdisc_down": "pfifo limit 100", "qdisc_up": "pfifo limit 100",
                "flows": [
                    { "name": "down", "cc": "cubic", "direction": "down", "rtt_ms": 60, "count": 1 },
                    { "name": "up", "cc": "cubic", "direction": "up", "rtt_ms": 60, "count": 1 }
                ],
                "icmp_ms": 200, "udp_ms": 0, "voip": false, "seeds": 1
            }"#,
        )
        .expect("the load is well formed");
        let runs = runs_of(&load.scenario()).expect("the scenario is accepted");
        let config = &runs[0].config;
        let mut first = FirstArrivals::default();
        let run = goodqueue_sim::Run::new(config).expect("valid");
        run.to_end(|_| true, Some(&mut first)).expect("it runs");
        let after_start = |flow: u32, down: bool| {
            let start = config.flows[flow as usize].start.since(Instant::ZERO);
            // Half a millisecond is added, so that the division rounds to the nearest.
            (first.0[&(flow, down)].saturating_sub(start).as_nanos() + 500_000) / 1_000_000
        };
        let download = 0;
        let upload = 1;
        let ping = 2;
        assert_eq!(after_start(download, true), 30, "a download's SYN has crossed half of the path");
        assert_eq!(after_start(download, false), 30, "the client answers at once");
        assert_eq!(after_start(upload, false), 0, "an upload's SYN begins at the bottleneck");
        assert_eq!(after_start(upload, true), 60, "the server's answer comes after the whole path");
        assert_eq!(after_start(ping, false), 0);
        assert_eq!(after_start(ping, true), 60);
    }
    #[test]
    fn the_values_of_linux_3_14_are_the_means_and_deviations_of_its_runs() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../reference/linux-3.14.json")).expect("JSON");
        for set_up in file["set_ups"].as_array().expect("set-ups") {
            let runs = set_up["runs"].as_array().expect("runs");
            assert_eq!(Some(runs.len() as u64), set_up["seeds"].as_u64());
            for (name, figure) in set_up["figures"].as_object().expect("figures") {
                let values: Vec<f64> = runs.iter().filter_map(|run| run[name].as_f64()).collect();
                let count = values.len() as f64;
                let mean = values.iter().sum::<f64>() / count;
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                let deviation = (squares / (count - 1.0)).sqrt();
                let is = |value: &serde_json::Value, expected: f64| {
                    value.as_f64().is_some_and(|value| (value - expected).abs() < 1e-4)
                };
                assert!(is(&figure[1], mean) && is(&figure[2], deviation), "{} {name}", set_up["name"]);
            }
        }
    }
}
