//! A scenario whose defaults are all filled in.

use goodqueue::random::{Random, Xoshiro256PlusPlus, mix_64};
use goodqueue::{Duration, Rate};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::discipline::{QDISCS, QdiscChoice, read_qdiscs};
use super::document::Document;
use super::flows::{FlowGroup, flows_schema};
use super::form::{Context, Maybe, Unless, object};
use super::hops::Hop;
use super::keys::{keys, merged, written};
use super::link::{BottleneckLink, Line};
use super::names::Names;
use super::output::Output;
use super::plain::{TIME, Text, text, whole};
use super::reader::Reader;
use super::resolve::{DURATION, NAME, Parts, name_of_file};
use super::tcp::{Tcp, tcp_properties};
use super::wifi::{Wifi, WifiStation};

keys! {
    /// A resolved scenario: nothing is left to a default.
    pub struct Scenario(table, names: &Names<'_>) {
        /// For file names. Default: the name of the file.
        name: String = "rrul", NAME => or(name_of_file(table.document()));
        /// Free text for people, like the next three keys.
        title: String = "...", WORDS => or(String::new());
        /// Question that the scenario answers.
        question: String = "...", WORDS => or(String::new());
        /// Expected answer.
        expect: String = "...", WORDS => or(String::new());
        /// Source of the question and the answer.
        source: String = "...", WORDS => or(String::new());
        /// Simulated time of a run, the warm-up included.
        duration: Duration = "60s", DURATION;
        /// Time at the beginning that is not measured.
        warmup: Duration = "0s", TIME;
        // One repetition is the least, and `seed` + `seeds` must fit in 64 bits.
        /// Seed of the first repetition.
        seed: u64 = 1, whole(0..=u64::MAX - 1);
        // Each repetition is a run, of which there are at most 100,000 (`MAX_RUNS`).
        /// Number of repetitions, with `seed`, `seed + 1`, ...
        seeds: u32 = 1, whole(1..=100_000);
        /// Disciplines to compare: lines in tc's grammar, or tables. "cake / fq_codel" is one
        /// towards the clients and one towards the servers. In a table `up` defaults to `down`.
        /// Default: those of `goodqueue compare`.
        qdiscs: Vec<QdiscChoice>
            = ["fq_codel", "cake / fq_codel", { label = "mixed", down = "pie", up = "pfifo limit 50" }], QDISCS => from(read_qdiscs(table, &parts.link)?);
        /// Rates that percentages refer to: "95%" in `[link]`, in `[[hops]]` and in tc lines (`cake
        /// bandwidth 95%`); `--rate` and `--up` then set them instead of those of `[link]`.
        /// Default: none. Percentages in tc lines then refer to the rate of the discipline's link.
        line: Option<Line> = { down = "16mbit" }, Maybe(LINE) => from(parts.link.line.clone());
        /// The bottleneck.
        link: BottleneckLink = { down = "10mbit" }, LINK => from(parts.link);
        /// Further links in series, in the order from the servers to the clients. Default: none.
        hops: Vec<Hop> = [], Unless(Vec::new(), HOPS) => from(parts.hops);
        /// An 802.11n channel between the last link and the clients. Default: none.
        wifi: Option<Wifi> = {}, Maybe(WIFI) => from(parts.wifi);
        /// Defaults of all TCP flows.
        tcp: Tcp = { cc = "cubic" }, TCP => from(parts.tcp);
        /// One table for each set of equal flows; `flows = 4` is short for 4 TCP flows in each
        /// direction and a ping.
        flows: Vec<FlowGroup> = 4, FLOWS => from(parts.flows);
        /// Files below the working directory. Earlier results are replaced, other files never.
        output: Output = {}, OUTPUT => from(parts.output);
    }
    first { let parts = Parts::read(table, names)?; }
    then {
        if warmup >= duration {
            let message = format!("a warm-up of {warmup} leaves nothing of a run of {duration}");
            return Err(table.too_late("warmup", Diagnostic::new(message).allowed("less than the duration"), warmup));
        }
        // Repetitions take `seed + 1`, `seed + 2` and so on, which must fit in 64 bits.
        let highest = u64::MAX - u64::from(seeds);
        if seed > highest {
            let message = Diagnostic::new(format!("the number {seed} is not possible"));
            return Err(table.error("seed", message.allowed(format!("a whole number from 0 to {highest}"))));
        }
    }
}

/// Free text.
const WORDS: Text = text("text", 0..=10_000);

const LINE: Context<Line> = Context {
    write: |line| written(|table| line.write(table)),
    schema: || Line::TABLE.schema(),
    quantity: None,
};
const LINK: Context<BottleneckLink> = Context {
    write: |link| written(|table| link.write(table)),
    schema: || BottleneckLink::TABLE.schema(),
    quantity: None,
};
const HOPS: Context<Vec<Hop>> = Context {
    write: |hops| hops.iter().map(|hop| written(|table| hop.write(table))).collect(),
    schema: || json!({ "type": "array", "items": Hop::TABLE.schema() }),
    quantity: None,
};
const WIFI: Context<Wifi> = Context {
    write: |wifi| written(|table| wifi.write(table)),
    schema: || object(&merged(&[&Wifi::TABLE, &WifiStation::TABLE]), &[]),
    quantity: None,
};
const TCP: Context<Tcp> = Context {
    write: |tcp| written(|table| tcp.add_to(table)),
    schema: || object(&tcp_properties(), &[]),
    quantity: None,
};
const FLOWS: Context<Vec<FlowGroup>> = Context {
    write: |flows| flows.iter().map(FlowGroup::to_json).collect(),
    schema: flows_schema,
    quantity: None,
};
const OUTPUT: Context<Output> = Context {
    write: |output| written(|table| output.write(table)),
    schema: || Output::TABLE.schema(),
    quantity: None,
};

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

impl Document {
    /// The scenario that this document describes, without its sweep.
    ///
    /// # Errors
    /// An unknown key, a value of the wrong sort or out of range, a trace or a discipline that
    /// cannot be read.
    pub fn resolve(&self, names: &Names<'_>) -> Result<Scenario, Diagnostic> {
        let root = Reader::root(self);
        // `Sweep` reads the key `sweep`.
        root.only(&[Scenario::TABLE.names().as_slice(), &["sweep"]].concat())?;
        Scenario::read(&root, names)
    }
}

impl Scenario {
    /// The default load on a line of these rates and this base round-trip time: 4 TCP flows each
    /// way and a ping, 60 s, the default disciplines.
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
            // Flows that start together share the draw of the first one.
            let drawn_for = if group.together { id - member } else { id };
            let draw =
                Xoshiro256PlusPlus::stream(mix_64(seed) ^ START_STREAM, u64::from(drawn_for)).next_u64();
            // The draw is a fraction of 2^64.
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
            // Exact: a seed too close to 2^64 was refused when it was read.
            move |repetition| first.saturating_add(repetition)
        })
    }

    /// The scenario in the format in which it was written, every default filled in: keys always in
    /// the same order, rates and times exact in tc's units (`10mbit`, `50ms`), sizes in bytes,
    /// disciplines with every parameter. Absent values (a `stop`, an output) are omitted.
    /// [`Document::from_json`] reads it back.
    #[must_use]
    pub fn to_json(&self) -> Value {
        written(|scenario| self.write(scenario))
    }
}

/// Draws of start times are a stream of their own.
const START_STREAM: u64 = u64::from_be_bytes(*b"\0\0\0start");
