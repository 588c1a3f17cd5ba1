//! The runs of one point of a sweep, as the simulator gets them.

use std::collections::BTreeMap;
use std::sync::Arc;

use goodqueue::config::{Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant};
use goodqueue_sim as sim;
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::{ClientConfig, MacConfig, MediumConfig};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;

use super::series::SeriesUse;
use super::spec::{ExtraMeasurements, RunSpec};
use crate::hash_key::hash_key;
use crate::measure::{FlowLabels, Labels};
use crate::scenario::{
    Discipline, FlowGroup, Hop, HopQdisc, LinkEnd, LinkRate, QdiscChoice, Scenario, Side, Traffic, Wifi,
    WifiMac,
};
use crate::series_step;
use crate::sweep::Point;

/// The runs of all `points`, in the order of points, disciplines and seeds. `series`: the step of
/// time series, if wanted.
///
/// # Errors
/// A setting that the simulator refuses.
pub fn runs_of(points: &[Point], series: Option<Duration>) -> Result<Vec<RunSpec>, Diagnostic> {
    let mut all = Vec::new();
    for point in points {
        let runs = PointRuns::new(point.clone(), series);
        for number in 0..runs.count() {
            all.push(runs.spec(number)?);
        }
    }
    Ok(all)
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
    series_use: SeriesUse,
    tc_stats: bool,
}

impl PointRuns {
    /// The runs of this point. `series`: the step of time series, if they are wanted.
    #[must_use]
    pub fn new((sweep, scenario): Point, series: Option<Duration>) -> Self {
        let mut resolved = scenario.to_json();
        if let Some(fields) = resolved.as_object_mut() {
            // Texts and outputs do not change a run. `spec` adds the discipline and the seed.
            for text in ["name", "title", "question", "expect", "source", "output", "seed", "seeds", "qdiscs"]
            {
                fields.remove(text);
            }
        }
        let mut key = format!("{} | {resolved}", trace_key(&scenario));
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
        // Thresholds are the only outputs that are measured in the run.
        if !scenario.output.spikes.is_empty() {
            key.push_str(&format!(" | {:?}", scenario.output.spikes));
        }
        // The swept values change the salts of the hashes, so two points that resolve to the same
        // scenario are different runs.
        if !sweep.is_empty() {
            key.push_str(&format!(" | {}", serde_json::json!(sweep)));
        }
        Self {
            sweep,
            links: Capacities::from_scenario(&scenario),
            scenario,
            key,
            series,
            series_use: SeriesUse::InResult,
            tc_stats: false,
        }
    }

    /// The same runs, whose results have the statistics of the queues as `tc` prints them, or have
    /// them not.
    #[must_use]
    pub(crate) fn with_tc_stats(self, tc_stats: bool) -> Self {
        Self { tc_stats, ..self }
    }

    /// The same runs, whose series a store keeps apart from their metrics.
    #[must_use]
    pub(crate) fn with_series(self, series_use: SeriesUse) -> Self {
        Self { series_use, ..self }
    }

    /// Number of runs.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.scenario.qdiscs.len() * self.scenario.seeds as usize
    }

    /// Number of disciplines.
    #[must_use]
    pub const fn disciplines(&self) -> usize {
        self.scenario.qdiscs.len()
    }

    /// Flows of each run.
    #[must_use]
    pub fn flows(&self) -> u64 {
        self.scenario.flow_count()
    }

    /// Number of values in the time series of each result, roughly.
    #[must_use]
    pub fn series_values(&self) -> u64 {
        // A step of zero is refused later (`spec`), and must not divide by zero here.
        let step = self.series.filter(|step| self.series_use.is_in_result() && !step.is_zero());
        let steps = step.map_or(0, |step| self.scenario.duration.as_nanos().div_ceil(step.as_nanos()));
        // Five series of each of the two queues, and one of each flow.
        steps.saturating_mul(self.flows().saturating_add(10))
    }

    /// Returns the label of the discipline of this run.
    #[must_use]
    pub fn label(&self, number: usize) -> &str {
        &self.scenario.qdiscs[number / self.scenario.seeds as usize].label
    }

    /// The run of this number below the count, in the order of disciplines and seeds.
    ///
    /// # Errors
    /// A setting that the simulator refuses.
    pub fn spec(&self, number: usize) -> Result<RunSpec, Diagnostic> {
        let Self { sweep, scenario, links, key, series, series_use, tc_stats } = self;
        if let Some(step) = series {
            series_step::check(*step, scenario.duration).map_err(|error| error.prefixed("`series`"))?;
        }
        let seeds = scenario.seeds as usize;
        let choice = &scenario.qdiscs[number / seeds];
        let seed = scenario.seed.saturating_add((number % seeds) as u64);
        let config = config(scenario, choice, links, seed, sweep, *series)?;
        let both = [&choice.down, &choice.up];
        let qdiscs = both.map(|on| tc::to_tc(&on.config)).join(" / ");
        let step = match series_use {
            SeriesUse::InResult => format!("{:?}", series.map(Duration::as_nanos)),
            // A store finds such series by their step, beside a result that has none of them.
            SeriesUse::Kept | SeriesUse::AnyStep | SeriesUse::ThisStep => "series apart".to_owned(),
        };
        let mut key = format!("{qdiscs} | {seed} | {step} | {key}");
        both.iter().for_each(|on| add_tables(&on.config.to_settings(), &mut key));
        let labels = Labels {
            qdisc: choice.label.clone(),
            sweep: sweep.clone(),
            hops: hop_names(scenario),
            flows: scenario.flows.iter().map(flow_labels).collect(),
        };
        let wanted = ExtraMeasurements { tc_stats: *tc_stats, ..ExtraMeasurements::default() };
        let packets = Vec::new();
        Ok(RunSpec { labels, config, key, wanted, series: *series_use, packets })
    }
}

fn flow_labels(group: &FlowGroup) -> FlowLabels {
    let hearing = match &group.traffic {
        Traffic::Voip(call) => Some(call.hearing()),
        _ => None,
    };
    let cc = group.traffic.congestion_control().map(str::to_owned);
    FlowLabels { count: group.count, label: group.label.clone(), cc, hearing }
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
    seed: u64,
    sweep: &BTreeMap<String, serde_json::Value>,
    series_step: Option<Duration>,
) -> Result<sim::Config, Diagnostic> {
    let bottleneck = [&scenario.link.down, &scenario.link.up];
    let compared = [&choice.down, &choice.up];
    let link = |capacities: &[sim::Capacity; 2], ends: [&LinkEnd; 2], qdiscs: [&Discipline; 2]| {
        [0, 1].map(|direction: usize| sim::LinkConfig {
            capacity: capacities[direction].clone(),
            qdisc: qdiscs[direction].config.clone(),
            driver: ends[direction].driver,
            pause: ends[direction].pause,
            grants: ends[direction].grants,
            hash_key: hash_key(&tc::to_tc(&qdiscs[direction].config), sweep),
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
    let groups = scenario.flows.iter();
    // Once for each group, so that its flows share large settings such as the objects of a page.
    let shared: Vec<SharedByFlows> =
        groups.map(SharedByFlows::from_group).collect::<Result<_, Diagnostic>>()?;
    let of_flows = shared.iter().zip(&scenario.flows).flat_map(|(shared, group)| {
        std::iter::repeat_n(shared, usize::try_from(group.count).unwrap_or(usize::MAX))
    });
    let flows = scenario
        .flows(seed)
        .zip(of_flows)
        .map(|(flow, shared)| {
            let group = flow.group;
            sim::FlowConfig {
                traffic: shared.traffic.clone(),
                host_qdisc: shared.host_qdisc.clone(),
                rtt: flow.rtt,
                access: group.access,
                access_rate: group.access_rate,
                joins: u32::try_from(Hop::position(&scenario.hops, group.enters.as_deref()))
                    .unwrap_or(u32::MAX),
                dscp: group.dscp,
                // A scenario counts hosts from 1, the simulator from 0.
                client: group.client.saturating_sub(1),
                server: group.server.saturating_sub(1),
                start: Instant::ZERO + flow.start,
                stop: group.stop.map(|stop| Instant::ZERO + stop),
            }
        })
        .collect();
    Ok(sim::Config {
        duration: scenario.duration,
        warmup: scenario.warmup,
        links: link(&links.bottleneck, bottleneck, compared),
        before: hops_of(Side::Server),
        after: hops_of(Side::Client),
        rest_behind: scenario
            .hops
            .iter()
            .find(|hop| hop.rest)
            .map(|hop| u32::try_from(Hop::position(&scenario.hops, Some(&hop.name))).unwrap_or(u32::MAX)),
        wifi: scenario.wifi.as_ref().map(|wifi| channel(wifi, compared, sweep)),
        delay_tick: scenario.link.delay_tick,
        framing: scenario.link.framing,
        flows,
        seed,
        series_step,
        spikes: scenario.output.spikes.clone(),
    })
}

/// What the flows of a group share.
struct SharedByFlows {
    traffic: sim::Traffic,
    host_qdisc: Option<Arc<AnyConfig>>,
}

impl SharedByFlows {
    fn from_group(group: &FlowGroup) -> Result<Self, Diagnostic> {
        let host_qdisc = group.traffic.tcp().and_then(|tcp| tcp.host_qdisc.as_ref());
        Ok(Self {
            traffic: group.traffic.to_sim(group.direction)?,
            host_qdisc: host_qdisc.map(|qdisc| Arc::new(qdisc.config.clone())),
        })
    }
}

/// Returns a WiFi channel with these disciplines. Its seed and framing are set by the run.
fn channel(
    wifi: &Wifi,
    compared: [&Discipline; 2],
    sweep: &BTreeMap<String, serde_json::Value>,
) -> MediumConfig {
    let qdiscs = match &wifi.qdisc {
        HopQdisc::Fixed(on) => [&on[0], &on[1]],
        HopQdisc::Compared => compared,
    };
    let mac = |direction: usize| match wifi.macs()[direction] {
        WifiMac::Fifo => MacConfig::Driver(Box::new(DriverConfig {
            qdisc: qdiscs[direction].config.clone(),
            limit: wifi.drivers()[direction],
            order: wifi.driver_order,
        })),
        WifiMac::Fq => MacConfig::Fq(FqMacConfig {
            airtime_fairness: wifi.airtime_fairness,
            ce_threshold: wifi.ce_threshold,
            ce_threshold_selector: wifi.ce_threshold_selector,
            ..FqMacConfig::default()
        }),
    };
    let clients = wifi.stations.iter();
    MediumConfig {
        access_point: mac(0),
        clients: clients
            .map(|station| ClientConfig { mac: mac(1), radio: station.radio, weight: station.weight })
            .collect(),
        forming: wifi.forming(),
        small_queue: wifi.small_queue,
        framing: 0,
        seed: 0,
        hash_keys: [0, 1].map(|direction: usize| match wifi.macs()[direction] {
            WifiMac::Fifo => hash_key(&tc::to_tc(&qdiscs[direction].config), sweep),
            // The fair queueing of a MAC has no line of tc.
            WifiMac::Fq => hash_key("fq", sweep),
        }),
    }
}

/// The capacities of a scenario's links, computed once for all its runs.
#[derive(Debug)]
struct Capacities {
    bottleneck: [sim::Capacity; 2],
    hops: Vec<[sim::Capacity; 2]>,
}

impl Capacities {
    fn from_scenario(scenario: &Scenario) -> Self {
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
