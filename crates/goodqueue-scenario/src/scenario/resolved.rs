//! A scenario whose defaults are all filled in.

use goodqueue::random::{Random, Xoshiro256PlusPlus, mix_64};
use goodqueue::{Duration, Rate};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::discipline::QdiscChoice;
use super::document::Document;
use super::flows::FlowGroup;
use super::hops::Hop;
use super::link::BottleneckLink;
use super::names::Names;
use super::tcp::Tcp;
use super::wifi::Wifi;
use super::written::put_some;

/// A resolved scenario: nothing is left to a default.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// For file names: letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Free text.
    pub title: String,
    /// Question that the scenario answers.
    pub question: String,
    /// Expected answer.
    pub expect: String,
    /// Source of the question and the answer.
    pub source: String,
    /// Simulated time of a run, the warm-up included.
    pub duration: Duration,
    /// Time at the beginning that is not measured.
    pub warmup: Duration,
    /// Seed of the first repetition.
    pub seed: u64,
    /// Repetitions, with `seed`, `seed + 1`, ...
    pub seeds: u32,
    /// The disciplines to compare, in this order; labels are distinct.
    pub qdiscs: Vec<QdiscChoice>,
    /// The bottleneck.
    pub link: BottleneckLink,
    /// Further links in series, in the order from the servers to the clients.
    pub hops: Vec<Hop>,
    /// A WiFi channel behind all of them.
    pub wifi: Option<Wifi>,
    /// Defaults of TCP flows; they are filled in in `flows` already.
    pub tcp: Tcp,
    /// The traffic.
    pub flows: Vec<FlowGroup>,
    /// Files to write.
    pub output: Output,
}

/// Files to write in addition to the table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Output {
    /// Path of the results.
    pub json: Option<String>,
    /// Path of the report.
    pub report: Option<String>,
    /// Step of the time series.
    pub series: Option<Duration>,
    /// For each of these numbers of bytes, how long the queues hold more is measured.
    pub spikes: Vec<u64>,
}

/// One flow of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow<'s> {
    /// Its number, from 0, in the order of the scenario.
    pub id: u32,
    /// When it starts in this run.
    pub start: Duration,
    /// Its base round-trip time.
    pub rtt: Duration,
    /// The table that describes the flow.
    pub group: &'s FlowGroup,
}

impl Scenario {
    /// The default load on a line of these rates and this base round-trip time: 4 TCP flows each
    /// way and a ping, 60 s, the six default disciplines.
    ///
    /// # Errors
    /// A rate of 0, or a round-trip time above an hour.
    pub fn rrul(down: Rate, up: Rate, rtt: Duration) -> Result<Self, Diagnostic> {
        let mut document = Document::default();
        document.set("down", "link.down", &down.to_string())?;
        document.set("up", "link.up", &up.to_string())?;
        document.set("rtt", "link.rtt", &rtt.to_string())?;
        document.resolve(&Names::default())
    }

    /// The flows of the run with this seed. A flow's start depends on the seed and its number
    /// alone, so that a flow added at the end changes none before it.
    pub fn flows(&self, seed: u64) -> impl Iterator<Item = Flow<'_>> {
        let groups = self.flows.iter().flat_map(|group| (0..group.count).map(move |member| (group, member)));
        (0..).zip(groups).map(move |(id, (group, member))| {
            let drawn_for = if group.together { id - member } else { id };
            let draw =
                Xoshiro256PlusPlus::stream(mix_64(seed) ^ START_STREAM, u64::from(drawn_for)).next_u64();
            let jitter = (u128::from(draw) * u128::from(group.start_jitter.as_nanos())) >> 64;
            let jitter = Duration::from_nanos(u64::try_from(jitter).unwrap_or(0));
            let rtt = group.rtt + group.rtt_step.saturating_mul(u64::from(member));
            Flow { id, start: group.start + jitter, rtt, group }
        })
    }

    /// Number of flows of a run.
    #[must_use]
    pub fn flow_count(&self) -> u64 {
        self.flows.iter().map(|group| u64::from(group.count)).sum()
    }

    /// The seeds of the repetitions.
    pub fn seeds(&self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.seeds)).map({
            let first = self.seed;
            move |repetition| first.saturating_add(repetition)
        })
    }

    /// The scenario in the format in which it was written, every default filled in: keys always in
    /// the same order, rates and times exact in tc's units (`10mbit`, `50ms`), sizes in bytes,
    /// disciplines with every parameter. Absent values (a `stop`, an output) are omitted.
    /// [`Document::from_json`] reads it back.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut scenario = json!({
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "expect": self.expect,
            "source": self.source,
            "duration": self.duration.to_string(),
            "warmup": self.warmup.to_string(),
            "seed": self.seed,
            "seeds": self.seeds,
        });
        let qdisc = |choice: &QdiscChoice| {
            json!({
                "label": choice.label,
                "down": tc::to_tc(&choice.down.config),
                "up": tc::to_tc(&choice.up.config),
            })
        };
        scenario["qdiscs"] = self.qdiscs.iter().map(qdisc).collect();
        if let Some([down, up]) = self.link.line {
            scenario["line"] = json!({ "down": down.to_string(), "up": up.to_string() });
        }
        scenario["link"] = json!({
            "down": self.link.down.to_json(),
            "up": self.link.up.to_json(),
            "rtt": self.link.rtt.to_string(),
            "mtu": self.link.mtu,
            "framing": self.link.framing,
        });
        put_some(
            &mut scenario["link"],
            "delay_tick",
            self.link.delay_tick.map(|tick| tick.to_string()).as_ref(),
        );
        if !self.hops.is_empty() {
            scenario["hops"] = self.hops.iter().map(Hop::to_json).collect();
        }
        if let Some(wifi) = &self.wifi {
            scenario["wifi"] = wifi.to_json();
        }
        scenario["tcp"] = json!({});
        self.tcp.add_to(&mut scenario["tcp"]);
        scenario["flows"] = self.flows.iter().map(FlowGroup::to_json).collect();
        scenario["output"] = json!({});
        put_some(&mut scenario["output"], "json", self.output.json.as_ref());
        put_some(&mut scenario["output"], "report", self.output.report.as_ref());
        put_some(&mut scenario["output"], "series", self.output.series.map(|step| step.to_string()).as_ref());
        if !self.output.spikes.is_empty() {
            scenario["output"]["spikes"] = json!(self.output.spikes);
        }
        scenario
    }
}

/// Draws of start times are a stream of their own ("start" in ASCII).
const START_STREAM: u64 = 0x73_74_61_72_74;
