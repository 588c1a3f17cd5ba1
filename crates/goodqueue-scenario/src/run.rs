//! Running scenarios: every discipline, sweep point and seed is one job; jobs share nothing and run
//! side by side.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use goodqueue::config::{Settings, Value};
use goodqueue::{Duration, Instant};
use goodqueue_sim as sim;
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::{ClientConfig, MacConfig, MediumConfig};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::export::packets::PacketLog;
use crate::hash_key;
use crate::measure::{self, FlowLabels, Labels};
use crate::results::{Results, Run};
use crate::runs::Jobs;
use crate::scenario::{
    Discipline, FlowGroup, Hop, HopQdisc, LinkEnd, LinkRate, QdiscChoice, Scenario, Side, Traffic, Wifi,
    WifiMac,
};
use crate::store::Store;
use crate::sweep::Point;

/// One run to be made.
#[derive(Clone, Debug)]
pub struct Job {
    /// What it is called.
    pub labels: Labels,
    /// What the simulator is told.
    pub config: sim::Config,
    /// All that determines it beside the program, as text: equal keys give equal runs.
    pub key: String,
    /// What is to be counted beside the figures that every run has.
    pub wanted: Wanted,
    /// Where its packets are to be written, see
    /// [`packets::request`](crate::export::packets::request). Such a run is made even if its result
    /// is there already.
    pub packets: Vec<PathBuf>,
}

/// What is to be counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Numbers of flows of the `[[flows]]`.
    pub groups: Vec<u32>,
    /// Thresholds of the queue down in packets, above which the time counts.
    pub spikes: Vec<u64>,
    /// Time series are to be kept.
    pub series: bool,
}

/// What is kept of a run.
pub trait Measured: Serialize + DeserializeOwned + Send {
    /// What `outcome` comes to.
    fn measure(job: &Job, outcome: &sim::Outcome) -> Self;

    /// The figures that every run has.
    fn run(&self) -> &Run;

    /// The same, to be changed.
    fn run_mut(&mut self) -> &mut Run;
}

impl Measured for Run {
    fn measure(job: &Job, outcome: &sim::Outcome) -> Self {
        measure::run(job.labels.clone(), &job.config, outcome)
    }

    fn run(&self) -> &Run {
        self
    }

    fn run_mut(&mut self) -> &mut Run {
        self
    }
}

/// Who looks on while jobs run.
pub trait Watch: Sync {
    /// A job, by its number, has come this far: a fraction from 0 to 1.
    fn advanced(&self, job: usize, fraction: f64) {
        let _ = (job, fraction);
    }

    /// A job has finished, or its result was there already.
    fn finished(&self, job: usize, stored: bool) {
        let _ = (job, stored);
    }

    /// True to stop: jobs that run are abandoned, none is begun any more.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// CPU time of this thread in seconds, if runs are to be timed.
    fn cpu_time(&self) -> Option<f64> {
        None
    }
}

/// Nobody.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// The jobs of all `points`, in the order of points, disciplines and seeds. `series`: the step of
/// time series, if wanted.
///
/// # Errors
/// A setting that the simulator refuses.
pub fn jobs(points: &[Point], series: Option<Duration>) -> Result<Vec<Job>, Diagnostic> {
    let mut jobs = Vec::new();
    for point in points {
        let runs = PointRuns::new(point.clone(), series);
        for number in 0..runs.count() {
            jobs.push(runs.job(number)?);
        }
    }
    Ok(jobs)
}

/// The runs of one point of a sweep: every discipline with every seed.
#[derive(Debug)]
pub struct PointRuns {
    sweep: BTreeMap<String, serde_json::Value>,
    scenario: Scenario,
    links: Capacities,
    /// The part of the runs' keys that they share.
    key: String,
    series: Option<Duration>,
}

impl PointRuns {
    /// The runs of this point. `series`: the step of time series, if they are wanted.
    #[must_use]
    pub fn new((sweep, scenario): Point, series: Option<Duration>) -> Self {
        let mut resolved = scenario.to_json();
        if let Some(fields) = resolved.as_object_mut() {
            // What does not change a run is not part of its key.
            for text in ["name", "title", "question", "expect", "source", "output", "seed", "seeds", "qdiscs"]
            {
                fields.remove(text);
            }
        }
        let mut key = format!("{} | {:?} | {resolved}", trace_key(&scenario), series.map(Duration::as_nanos));
        for group in &scenario.flows {
            if let Traffic::Capture(recorded) = &group.traffic {
                key.push_str(&format!(" | {:016x}", recorded.checksum()));
            }
        }
        for hop in &scenario.hops {
            if let HopQdisc::Fixed(on) = &hop.qdisc {
                on.iter().for_each(|on| add_tables(&on.config.to_settings(), &mut key));
            }
        }
        if !scenario.output.spikes.is_empty() {
            key.push_str(&format!(" | {:?}", scenario.output.spikes));
        }
        if !sweep.is_empty() {
            key.push_str(&format!(" | {}", serde_json::json!(sweep)));
        }
        Self { sweep, links: Capacities::of(&scenario), scenario, key, series }
    }

    /// Number of runs.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.scenario.qdiscs.len() * self.scenario.seeds as usize
    }

    /// Flows of each run.
    #[must_use]
    pub fn flows(&self) -> u64 {
        self.scenario.flows.iter().map(|group| u64::from(group.count)).sum()
    }

    /// What the discipline of the run of this number is called.
    #[must_use]
    pub fn label(&self, number: usize) -> &str {
        &self.scenario.qdiscs[number / self.scenario.seeds as usize].label
    }

    /// The run of this number below the count, in the order of disciplines and seeds.
    ///
    /// # Errors
    /// A setting that the simulator refuses.
    pub fn job(&self, number: usize) -> Result<Job, Diagnostic> {
        let Self { sweep, scenario, links, key, series } = self;
        let seeds = scenario.seeds as usize;
        let choice = &scenario.qdiscs[number / seeds];
        let seed = scenario.seed.saturating_add((number % seeds) as u64);
        let config = config(scenario, choice, links, (seed, sweep), *series)?;
        let both = [&choice.down, &choice.up];
        let qdiscs = both.map(|on| tc::to_tc(&on.config)).join(" / ");
        let mut key = format!("{qdiscs} | {seed} | {key}");
        both.iter().for_each(|on| add_tables(&on.config.to_settings(), &mut key));
        let labels = Labels {
            qdisc: choice.label.clone(),
            sweep: sweep.clone(),
            hops: hop_names(scenario),
            flows: scenario.flows.iter().map(flow_labels).collect(),
        };
        Ok(Job { labels, config, key, wanted: Wanted::default(), packets: Vec::new() })
    }
}

/// Runs `jobs` on `threads` threads (0: as many as there are processors; never more than there are
/// jobs). The results are in the order of the jobs; a job that did not finish has none. With a
/// `store`, results that it holds are taken from there, new ones go there.
///
/// # Errors
/// A job that cannot run, or a store that cannot be written.
pub fn execute<M: Measured>(
    jobs: &(impl Jobs + ?Sized),
    threads: usize,
    store: Option<&Store>,
    watch: &dyn Watch,
) -> Result<Vec<Option<M>>, Diagnostic> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { processors } else { threads };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.min(jobs.count()).max(1))
        .build()
        .map_err(|error| Diagnostic::new(format!("threads cannot be started: {error}")))?;
    let one = |number: usize| -> Result<Option<M>, Diagnostic> {
        if watch.is_cancelled() {
            return Ok(None);
        }
        let job = &*jobs.job(number)?;
        if job.packets.is_empty()
            && let Some(mut kept) = store.and_then(|store| store.load::<M>(&job.key))
        {
            // The figures are the same; what this scenario calls them may not be.
            let run = kept.run_mut();
            run.qdisc.clone_from(&job.labels.qdisc);
            run.sweep.clone_from(&job.labels.sweep);
            watch.finished(number, true);
            return Ok(Some(kept));
        }
        let run: Option<M> = simulate(number, job, watch)?;
        if let (Some(store), Some(run)) = (store, &run) {
            store.save(&job.key, run)?;
        }
        if run.is_some() {
            watch.finished(number, false);
        }
        Ok(run)
    };
    pool.install(|| (0..jobs.count()).into_par_iter().map(one).collect())
}

/// All of a scenario's runs as a result.
#[must_use]
pub fn results(scenario: serde_json::Value, runs: Vec<Run>) -> Results {
    let summary = crate::summary::over_seeds(&runs);
    Results { goodqueue: env!("CARGO_PKG_VERSION").to_owned(), scenario, runs, summary }
}

fn simulate<M: Measured>(number: usize, job: &Job, watch: &dyn Watch) -> Result<Option<M>, Diagnostic> {
    let begun = watch.cpu_time();
    let total = job.config.duration.as_nanos().max(1);
    let mut cancelled = false;
    let mut watched = |now: Instant| {
        cancelled = watch.is_cancelled();
        watch.advanced(number, fraction(now.as_nanos(), total));
        !cancelled
    };
    let outcome = if job.packets.is_empty() {
        sim::run_watched(&job.config, watched)
    } else {
        let mut packets = PacketLog::create(job)?;
        let outcome = sim::run_observed(&job.config, &mut watched, &mut packets);
        if !cancelled {
            packets.finish()?;
        }
        outcome
    };
    let outcome = outcome.map_err(|error| {
        let message = Diagnostic::new(error.to_string());
        match error {
            sim::RunError::Config(_) => message,
            sim::RunError::TooManyPackets(_) => message
                .prefixed(&format!("the run with `{}` and seed {}", job.labels.qdisc, job.config.seed))
                .help("lower the `limit` of the discipline, the rates of the flows, or the delays"),
        }
    })?;
    if cancelled {
        return Ok(None);
    }
    let mut measured = M::measure(job, &outcome);
    measured.run_mut().engine.cpu_s = begun.zip(watch.cpu_time()).map(|(begin, end)| end - begin);
    Ok(Some(measured))
}

#[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
fn fraction(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn flow_labels(group: &FlowGroup) -> FlowLabels {
    let hearing = match &group.traffic {
        Traffic::Voip(call) => Some(call.hearing),
        _ => None,
    };
    FlowLabels { count: group.count, label: group.label.clone(), hearing }
}

/// A table is in the line of its discipline by name alone; here are its numbers.
fn add_tables(settings: &Settings, key: &mut String) {
    for (_, value) in settings.iter() {
        if let Value::Table(table) = value {
            key.push_str(&format!(" | {:?}", table.entries));
        }
    }
    for (_, inner) in settings.children().iter().filter_map(|child| child.qdisc.as_ref()) {
        add_tables(inner, key);
    }
}

/// The names of the hops in the order from the servers to the clients.
fn hop_names(scenario: &Scenario) -> Vec<String> {
    let on = |side| scenario.hops.iter().filter(move |hop| hop.side == side);
    on(Side::Server).chain(on(Side::Client)).map(|hop| hop.name.clone()).collect()
}

fn config(
    scenario: &Scenario,
    choice: &QdiscChoice,
    links: &Capacities,
    (seed, sweep): (u64, &BTreeMap<String, serde_json::Value>),
    series_step: Option<Duration>,
) -> Result<sim::Config, Diagnostic> {
    let bottleneck = [&scenario.link.down, &scenario.link.up];
    let compared = [&choice.down, &choice.up];
    let link = |capacities: &[sim::Capacity; 2], ends: [&LinkEnd; 2], qdiscs: [&Discipline; 2]| {
        [0, 1].map(|direction: usize| sim::LinkConfig {
            capacity: capacities[direction].clone(),
            qdisc: qdiscs[direction].config.clone(),
            driver: ends[direction].driver,
            hash_key: hash_key::of(&tc::to_tc(&qdiscs[direction].config), sweep),
        })
    };
    let hops_of = |side: Side| {
        let hops = scenario.hops.iter().zip(&links.hops).filter(move |(hop, _)| hop.side == side);
        hops.map(|(hop, capacities)| {
            let qdiscs = match &hop.qdisc {
                HopQdisc::Fixed(on) => [&on[0], &on[1]],
                HopQdisc::Compared => compared,
            };
            sim::HopConfig { links: link(capacities, [&hop.down, &hop.up], qdiscs), delay: hop.delay }
        })
        .collect()
    };
    let flows: Result<Vec<_>, _> = scenario
        .flows(seed)
        .map(|flow| {
            let group = flow.group;
            Ok(sim::FlowConfig {
                traffic: group.traffic.to_sim(group.direction)?,
                rtt: flow.rtt,
                access: group.access,
                access_rate: group.access_rate,
                joins: u32::try_from(Hop::position(&scenario.hops, group.enters.as_deref()))
                    .unwrap_or(u32::MAX),
                dscp: group.dscp,
                client: group.client.saturating_sub(1),
                server: group.server.saturating_sub(1),
                start: Instant::ZERO + flow.start,
                stop: group.stop.map(|stop| Instant::ZERO + stop),
            })
        })
        .collect();
    Ok(sim::Config {
        duration: scenario.duration,
        warmup: scenario.warmup,
        links: link(&links.bottleneck, bottleneck, compared),
        before: hops_of(Side::Server),
        after: hops_of(Side::Client),
        wifi: scenario.wifi.as_ref().map(|wifi| channel(wifi, compared, sweep)),
        delay_tick: scenario.link.delay_tick,
        framing: scenario.link.framing,
        flows: flows?,
        seed,
        series_step,
        spikes: scenario.output.spikes.clone(),
    })
}

/// A WiFi channel under these disciplines; its seed and framing are those of the run.
fn channel(
    wifi: &Wifi,
    compared: [&Discipline; 2],
    sweep: &BTreeMap<String, serde_json::Value>,
) -> MediumConfig {
    let qdiscs = match &wifi.qdisc {
        HopQdisc::Fixed(on) => [&on[0], &on[1]],
        HopQdisc::Compared => compared,
    };
    let mac = |direction: usize| match wifi.mac[direction] {
        WifiMac::Fifo => MacConfig::Driver(Box::new(DriverConfig {
            qdisc: qdiscs[direction].config.clone(),
            limit: wifi.driver[direction],
            order: wifi.driver_order,
        })),
        WifiMac::Fq => {
            MacConfig::Fq(FqMacConfig { airtime_fairness: wifi.airtime_fairness, ..FqMacConfig::default() })
        }
    };
    let clients = wifi.stations.iter();
    MediumConfig {
        access_point: mac(0),
        clients: clients
            .map(|station| ClientConfig { mac: mac(1), radio: station.radio, weight: station.weight })
            .collect(),
        forming: wifi.forming,
        small_queue: wifi.small_queue,
        framing: 0,
        seed: 0,
        hash_keys: [0, 1].map(|direction: usize| match wifi.mac[direction] {
            WifiMac::Fifo => hash_key::of(&tc::to_tc(&qdiscs[direction].config), sweep),
            WifiMac::Fq => hash_key::of("fq", sweep),
        }),
    }
}

/// What the links of a scenario carry; made once for all its runs.
#[derive(Debug)]
struct Capacities {
    bottleneck: [sim::Capacity; 2],
    hops: Vec<[sim::Capacity; 2]>,
}

impl Capacities {
    fn of(scenario: &Scenario) -> Self {
        let both = |down: &LinkEnd, up: &LinkEnd| [capacity(&down.rate), capacity(&up.rate)];
        Self {
            bottleneck: both(&scenario.link.down, &scenario.link.up),
            hops: scenario.hops.iter().map(|hop| both(&hop.down, &hop.up)).collect(),
        }
    }
}

fn capacity(rate: &LinkRate) -> sim::Capacity {
    match rate {
        LinkRate::Unlimited => sim::Capacity::Constant(sim::UNLIMITED),
        LinkRate::Fixed(rate) => sim::Capacity::Constant(*rate),
        LinkRate::Schedule(steps) => {
            sim::Capacity::Schedule(steps.iter().map(|step| (Instant::ZERO + step.0, step.1)).collect())
        }
        LinkRate::Trace { trace, .. } => sim::Capacity::Trace(Arc::clone(trace.opportunities())),
    }
}

/// A trace is known by its contents, not by its name: the file may change between two runs.
fn trace_key(scenario: &Scenario) -> String {
    let of = |end: &LinkEnd| match &end.rate {
        LinkRate::Trace { trace, .. } => format!("{:016x}", trace.checksum()),
        _ => "-".to_owned(),
    };
    let hops = scenario.hops.iter().flat_map(|hop| [&hop.down, &hop.up]);
    let ends = [&scenario.link.down, &scenario.link.up].into_iter().chain(hops);
    ends.map(of).collect::<Vec<_>>().join(" ")
}
