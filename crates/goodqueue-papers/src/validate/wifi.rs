//! WiFi channels in ns-3: UDP that never pauses, and TCP both ways.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodqueue_sim::Outcome;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

use super::measured::{each, means, runs_of};

/// A channel as ns-3 was given it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Channel {
    duration_s: f64,
    warmup_s: f64,
    seeds: u32,
    /// Modulation and coding scheme of each client, both ways.
    stations: Vec<u8>,
    short_gi: bool,
    /// MPDUs in an A-MPDU at most.
    aggregate: u32,
    /// Probability that an MPDU is lost.
    error: f64,
    /// Packets in the queue above the driver, and in the driver and the MAC, of each node.
    queue: u32,
    driver: u32,
    load: Load,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Load {
    /// Each station gets, or sends, more than the channel carries: `down` or `up`.
    Udp(String),
    /// Transfers without end of the first station, and a ping.
    Tcp { down: u32, up: u32, rtt_ms: u32 },
}

/// IP bytes of a datagram with 1,470 of payload.
const DATAGRAM: u32 = 1_498;

impl Channel {
    pub(super) fn measure(&self) -> Result<BTreeMap<String, f64>, Diagnostic> {
        let runs = runs_of(&self.scenario())?;
        Ok(means(&each(&runs, |_, outcome| self.figures(outcome))?))
    }

    /// The set-up as a scenario. As in ns-3 aggregates are formed at channel access, and the oldest
    /// packet goes first.
    fn scenario(&self) -> String {
        let rtt = match self.load {
            Load::Udp(_) => 0,
            Load::Tcp { rtt_ms, .. } => rtt_ms,
        };
        let stations: Vec<String> = self.stations.iter().map(|mcs| format!("{{ mcs = {mcs} }}")).collect();
        let Self { duration_s, warmup_s, seeds, short_gi, aggregate, error, queue, driver, .. } = self;
        // ns-3 sends a frame seven times at most (`FrameRetryLimit`), for no longer than
        // `aPPDUMaxTime` of IEEE 802.11.
        let mut text = format!(
            "duration = \"{duration_s}s\"\nwarmup = \"{warmup_s}s\"\nseeds = {seeds}\nqdiscs = [\"pfifo limit 1000\"]\n\
             [link]\ndown = \"1gbit\"\nup = \"1gbit\"\nrtt = \"{rtt}ms\"\n\
             [tcp]\nprofile = \"rfc\"\n\
             [wifi]\nqdisc = \"pfifo limit {queue}\"\ndriver = {driver}\ndriver_order = \"oldest\"\nprepared = 0\n\
             short_gi = {short_gi}\naggregate = {aggregate}\nlongest = \"5484us\"\nattempts = 7\nerror = {error:?}\n\
             stations = [{}]\n",
            stations.join(", ")
        );
        match &self.load {
            Load::Udp(direction) => {
                for client in 1..=self.stations.len() {
                    // More than the fastest of these channels carries.
                    let _ = writeln!(
                        text,
                        "[[flows]]\nkind = \"cbr\"\nrate = \"100mbit\"\npacket = {DATAGRAM}\n\
                         direction = \"{direction}\"\nclient = {client}\nstart_jitter = \"20ms\""
                    );
                }
            }
            Load::Tcp { down, up, .. } => {
                for (direction, count) in [("down", down), ("up", up)] {
                    let _ = writeln!(
                        text,
                        "[[flows]]\ndirection = \"{direction}\"\ncount = {count}\nstart_jitter = \"20ms\""
                    );
                }
                text += "[[flows]]\nkind = \"ping\"\n";
            }
        }
        text
    }

    fn figures(&self, outcome: &Outcome) -> BTreeMap<String, f64> {
        let seconds = outcome.measured.as_nanos() as f64 / 1e9;
        let goodput: Vec<f64> =
            outcome.flows.iter().map(|flow| flow.tally.delivered as f64 * 8.0 / seconds / 1e6).collect();
        let mut figures = BTreeMap::new();
        let mut put = |figure: &str, value: f64| figures.insert(figure.to_owned(), value);
        match (&self.load, &self.stations[..]) {
            (Load::Tcp { down, up, rtt_ms }, _) => {
                let down = *down as usize;
                let up = *up as usize;
                put("goodput down", goodput.iter().take(down).sum());
                put("goodput up", goodput.iter().skip(down).take(up).sum());
                let answers = outcome.flows.iter().flat_map(|flow| &flow.round_trips);
                let times: Vec<f64> =
                    answers.filter_map(|ping| Some(ping.time?.as_nanos() as f64 / 1e6)).collect();
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                put("induced latency", mean - f64::from(*rtt_ms));
            }
            (Load::Udp(_), [fast, slow]) if fast != slow => {
                put("goodput fast", goodput[0]);
                put("goodput slow", goodput[1]);
                let clients = outcome.wifi.iter().flat_map(|wifi| &wifi.clients);
                let airtime: Vec<f64> = clients
                    .map(|[down, up]| down.airtime.as_nanos() as f64 + up.airtime.as_nanos() as f64)
                    .collect();
                put("airtime of the fast", 100.0 * airtime[0] / airtime.iter().sum::<f64>());
            }
            (Load::Udp(_), _) => {
                put("goodput", goodput.iter().sum());
            }
        }
        figures
    }
}
