//! A run: flows over a bottleneck for some time.

use core::fmt;

use goodqueue::config::Value;
use goodqueue::gauge::Observation;
use goodqueue::random::{Random, Source as Randomness, Xoshiro256PlusPlus};
use goodqueue::{AnyQdisc, ConfigError, Count, Duration, Instant, Rate};

use crate::ahead::{Ahead, fetch_line};
use crate::backlog::BacklogWatch;
use crate::link::{Link, LinkConfig};
use crate::losses::{FlowLosses, Watched};
use crate::monitor::{Bin, LinkMonitor, LinkOutcome};
use crate::neighbours::Meetings;
use crate::network::{Event, Fates, Hosts, MAX_FLOWS, Network, Ticks};
use crate::observer::{Observer, Register};
use crate::packet::{Direction, Ends};
use crate::traffic::{AnySource, OneWay, RoundTrip, Showing, Source, Tally, Traffic, Transfer};
use crate::wifi::{MediumConfig, WifiHop, WifiOutcome};

/// Everything that determines a run. Equal configurations give equal outcomes, bit for bit.
#[derive(Clone, Debug)]
pub struct Config {
    /// Simulated time.
    pub duration: Duration,
    /// Time at the beginning that is not measured.
    pub warmup: Duration,
    /// The two directions of the bottleneck: down, up.
    pub links: [LinkConfig; 2],
    /// Further hops between the servers and the bottleneck, in this order.
    pub before: Vec<HopConfig>,
    /// Further hops between the bottleneck and the clients, in this order.
    pub after: Vec<HopConfig>,
    /// A WiFi channel between all of them and the clients, which it tells apart by [`FlowConfig::client`]; its seed and its
    /// framing are the run's.
    pub wifi: Option<MediumConfig>,
    /// An emulator adds the flows' delays behind the last link and knows but ticks so far apart, as dummynet does: a packet is let
    /// out after the whole ticks of its delay, from the last one before it came on. When the first one is, depends on the seed.
    /// `None`: to the nanosecond.
    pub delay_tick: Option<Duration>,
    /// Bytes of link header that queues count per packet: 14 for Ethernet, as in Linux.
    pub framing: u32,
    /// The flows.
    pub flows: Vec<FlowConfig>,
    /// Seed of all that is random.
    pub seed: u64,
    /// Step of the time series, if they are wanted.
    pub series_step: Option<Duration>,
    /// For each of these numbers of bytes, how long the queues hold more is measured.
    pub spikes: Vec<u64>,
}

/// A hop beside the bottleneck: another link in series, with a discipline of its own in each direction.
#[derive(Clone, PartialEq, Debug)]
pub struct HopConfig {
    /// Down, up.
    pub links: [LinkConfig; 2],
    /// Propagation delay between this hop and the next one towards the bottleneck, each way. It is a part of the flows'
    /// round-trip time.
    pub delay: Duration,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// What it does.
    pub traffic: Traffic,
    /// Its round-trip time when nothing queues.
    pub rtt: Duration,
    /// The part of it, each way, that lies between a host and the first queue that its packets come to.
    pub access: Duration,
    /// Rate of the link of its own by which each of its hosts sends; `None`: it takes no time.
    pub access_rate: Option<Rate>,
    /// Number, from the servers on, of the hop in front of which its server is: its packets pass those before it neither way.
    /// One that does not exist is taken for the last.
    pub joins: u32,
    /// Differentiated Services code point of its packets, 0 to 63.
    pub dscp: u8,
    /// The client at its end: disciplines that isolate hosts tell clients apart by this number.
    pub client: u16,
    /// The server at its other end, likewise.
    pub server: u8,
    /// When it begins.
    pub start: Instant,
    /// When it ends, if before the run does.
    pub stop: Option<Instant>,
}

impl Config {
    /// A run over one bottleneck (down, up): everything is measured, seed 1, Ethernet framing, no time series.
    #[must_use]
    pub const fn new(links: [LinkConfig; 2], flows: Vec<FlowConfig>, duration: Duration) -> Self {
        Self {
            duration,
            warmup: Duration::ZERO,
            links,
            before: Vec::new(),
            after: Vec::new(),
            wifi: None,
            delay_tick: None,
            framing: 14,
            flows,
            seed: 1,
            series_step: None,
            spikes: Vec::new(),
        }
    }

    /// The least time that a packet of `flow` and its answer take: the round-trip time, or what an emulator's ticks make of
    /// it, from a packet that comes just before a tick to an answer that comes just after one.
    #[must_use]
    pub fn base_rtt(&self, flow: &FlowConfig) -> Duration {
        let Some(every) = self.delay_tick.filter(|every| !every.is_zero()) else { return flow.rtt };
        let hops = self.before.iter().chain(&self.after).map(|hop| hop.delay);
        let on_the_way = hops.skip(flow.joins as usize).fold(flow.access, |sum, delay| sum + delay);
        let emulated = Duration::from_nanos(flow.rtt.as_nanos() / 2).saturating_sub(on_the_way);
        let ticks = emulated.as_nanos() / every.as_nanos();
        (on_the_way.saturating_mul(2) + every.saturating_mul(2 * ticks)).saturating_sub(every)
    }
}

impl FlowConfig {
    /// A flow for the whole run.
    #[must_use]
    pub const fn new(traffic: Traffic, rtt: Duration) -> Self {
        Self {
            traffic,
            rtt,
            access: Duration::ZERO,
            access_rate: None,
            joins: 0,
            dscp: 0,
            client: 0,
            server: 0,
            start: Instant::ZERO,
            stop: None,
        }
    }
}

/// What came out of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The time measured: without the warm-up, and until the run was stopped if it was.
    pub measured: Duration,
    /// The two queues of the bottleneck: down, up.
    pub links: [LinkOutcome; 2],
    /// Those of the further hops, first the ones before the bottleneck.
    pub hops: Vec<[LinkOutcome; 2]>,
    /// The WiFi channel, if there is one.
    pub wifi: Option<WifiOutcome>,
    /// The flows, in the order of the configuration.
    pub flows: Vec<FlowOutcome>,
    /// Time series, if they were wanted; they begin at 0, warm-up included.
    pub series: Option<Series>,
    /// Events handled in the whole run.
    pub events: u64,
    /// Packets that left the two queues in the whole run.
    pub bottleneck_packets: u64,
    /// What was queued or on its way at the end.
    pub in_flight: Count,
    /// Share of the TCP flows without end that lose packets in the same congestion period, mean over the periods: down, up.
    /// A period begins with a drop and lasts for the longest round-trip time of these flows; `None`: there was none, or
    /// fewer than two such flows.
    pub synchronization: [Option<f64>; 2],
    /// Probes whose packets waited in one queue with those of another flow, in the time measured.
    pub shared_queues: Vec<SharedQueue>,
}

/// A probe that a hash put into one queue with another flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedQueue {
    /// The probe.
    pub flow: u32,
    /// Its place in [`Outcome::hops`]; `None`: the bottleneck.
    pub hop: Option<usize>,
    /// Which of the two queues there.
    pub direction: Direction,
    /// What its packets found there.
    pub meetings: Meetings,
}

/// What one flow did.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// In the time measured; `completed_at` is absolute.
    pub tally: Tally,
    /// What became of its packets, down and up, in the time measured.
    pub fates: [Fates; 2],
    /// Drops of packets in the direction of its data, in the time measured; `None` if nobody watched.
    pub losses: Option<FlowLosses>,
    /// When its receiver got the first byte; absolute, and known for single TCP connections only.
    pub first_delivery: Option<Instant>,
    /// How much of the time measured the flow was active.
    pub active: Duration,
    /// Probes sent in the time measured.
    pub round_trips: Vec<RoundTrip>,
    /// Packets sent in the time measured whose delay one way the flow took.
    pub one_way: Vec<OneWay>,
    /// Transfers begun in the time measured.
    pub transfers: Vec<Transfer>,
    /// What a viewer of adaptive video saw, warm-up included.
    pub showing: Option<Showing>,
}

/// Time series with one value for each step.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Length of a step.
    pub step: Duration,
    /// The two queues: down, up.
    pub queues: [Vec<Bin>; 2],
    /// Payload delivered per step, per flow.
    pub delivered: Vec<Vec<u64>>,
}

/// Why a run has no outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// A TCP configuration is refused.
    Config(ConfigError),
    /// More than [`MAX_PACKETS`] are queued or on their way at this time.
    TooManyPackets(Instant),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::TooManyPackets(at) => write!(
                f,
                "at {} more than {MAX_PACKETS} packets are queued or on their way, which is the most that a run holds",
                at.since(Instant::ZERO)
            ),
        }
    }
}

impl core::error::Error for RunError {}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

/// Packets that all queues and delays of a run hold together. Queues take their memory as packets come, whatever their
/// limits say, so this bounds the memory of a run. Linux would need 9 GB for so many full frames (2,304 bytes each).
pub const MAX_PACKETS: u64 = 4_000_000;

/// Events between two counts of the packets. Few events add more than one.
const COUNT_EVERY: u64 = 1 << 16;

/// Runs `config` to its end.
///
/// # Errors
/// A TCP configuration is refused, or there are more than [`MAX_PACKETS`].
pub fn run(config: &Config) -> Result<Outcome, RunError> {
    run_watched(config, |_| true)
}

/// Runs `config`; `watch` is told the simulated time now and then (some hundred times a run) and ends the run by
/// answering false.
///
/// # Errors
/// As [`run`].
pub fn run_watched(config: &Config, watch: impl FnMut(Instant) -> bool) -> Result<Outcome, RunError> {
    let mut simulation = Simulation::new(config)?;
    simulation.run(watch, None)?;
    Ok(simulation.finish())
}

/// The same, with an `observer` who is told of every packet of the bottleneck, warm-up included. The outcome is the same.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    config: &Config,
    watch: impl FnMut(Instant) -> bool,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let mut simulation = Simulation::new(config)?;
    for link in simulation.bottleneck() {
        link.notes = Some(Vec::new());
    }
    let mut register = Register::new(observer);
    simulation.run(watch, Some(&mut register))?;
    register.finish(simulation.end);
    Ok(simulation.finish())
}

struct Simulation<'a> {
    config: &'a Config,
    network: Network,
    sources: Vec<AnySource>,
    /// Index of the bottleneck's down link; the up link is the next.
    bottleneck: usize,
    now: Instant,
    end: Instant,
    events: u64,
    /// Counters at the end of the warm-up.
    baseline: Baseline,
    series: Option<Series>,
    delivered_before: Vec<u64>,
}

#[derive(Default)]
struct Baseline {
    at: Instant,
    links: Vec<goodqueue::Stats>,
    tallies: Vec<Tally>,
    fates: Vec<[Fates; 2]>,
}

/// How often a run looks up from its work.
const WATCHES: u64 = 400;

impl<'a> Simulation<'a> {
    fn new(config: &'a Config) -> Result<Self, ConfigError> {
        let flows = &config.flows[..config.flows.len().min(MAX_FLOWS)];
        let last_hop = u32::try_from(config.before.len() + config.after.len()).unwrap_or(u32::MAX);
        let hosts: Vec<Hosts> = flows
            .iter()
            .map(|flow| Hosts {
                rtt: flow.rtt,
                access: flow.access,
                access_rate: flow.access_rate,
                joins: flow.joins.min(last_hop),
                ends: Ends::new(flow.client, flow.server, flow.dscp),
                watched: Watched {
                    direction: flow.traffic.direction(),
                    rtt: flow.rtt,
                    is_bulk: matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.size.is_none()),
                },
                is_probe: flow.traffic.is_probe(),
            })
            .collect();
        let wifi = config.wifi.as_ref().map(|wifi| {
            // Streams from 2^32 on are the flows', those below the links'; this one is neither.
            let seed = Xoshiro256PlusPlus::stream(config.seed, u64::MAX).next_u64();
            let hop = WifiHop::new(&MediumConfig { seed, framing: config.framing, ..wifi.clone() });
            (hop, wifi.small_queue)
        });
        let ticks = config.delay_tick.filter(|every| !every.is_zero()).map(|every| {
            let draw = Xoshiro256PlusPlus::stream(config.seed, u64::MAX - 1).next_u64();
            Ticks { every, first: Duration::from_nanos(draw % every.as_nanos()) }
        });
        let mut network = Network::new(hops(config), wifi, &hosts, ticks, config.framing);
        let mut sources = Vec::with_capacity(flows.len());
        for (number, flow) in (0_u32..).zip(flows) {
            // Streams from 2^32 on are the flows'; those below are the links'.
            let generator = Xoshiro256PlusPlus::stream(config.seed, (1 << 32) | u64::from(number));
            sources.push(flow.traffic.source(number, generator)?);
            network.schedule(flow.start, Event::Start(number));
            if let Some(stop) = flow.stop {
                network.schedule(stop, Event::Stop(number));
            }
        }
        let series = config.series_step.filter(|step| !step.is_zero()).map(|step| Series {
            step,
            delivered: vec![Vec::new(); flows.len()],
            ..Series::default()
        });
        let network_stats = network.stats();
        Ok(Self {
            config,
            network,
            delivered_before: vec![0; sources.len()],
            bottleneck: 2 * config.before.len(),
            baseline: Baseline {
                links: network_stats,
                tallies: vec![Tally::default(); sources.len()],
                fates: vec![[Fates::default(); 2]; sources.len()],
                ..Baseline::default()
            },
            sources,
            now: Instant::ZERO,
            end: Instant::ZERO + config.duration,
            events: 0,
            series,
        })
    }

    /// The two links of the bottleneck: down, up.
    fn bottleneck(&mut self) -> &mut [Link] {
        &mut self.network.links_mut()[self.bottleneck..self.bottleneck + 2]
    }

    fn run(
        &mut self,
        mut watch: impl FnMut(Instant) -> bool,
        mut register: Option<&mut Register<'_>>,
    ) -> Result<(), RunError> {
        let warm = Instant::ZERO + self.config.warmup;
        let mut watched_at = Instant::ZERO;
        let watch_step = Duration::from_nanos(self.config.duration.as_nanos() / WATCHES + 1);
        let mut step_end = self.series.as_ref().map_or(Instant::MAX, |series| Instant::ZERO + series.step);
        let mut is_warm = self.config.warmup.is_zero();
        loop {
            // Everything up to the next appointment of the run itself happens without looking up.
            let warm_at = if is_warm { Instant::MAX } else { warm };
            let pause = self.end.min(step_end).min(warm_at).min(watched_at + watch_step);
            self.run_until(pause, register.as_deref_mut())?;
            self.now = pause;
            if pause == step_end {
                self.end_step();
                step_end += self.config.series_step.unwrap_or(Duration::MAX);
            }
            if pause == warm_at {
                is_warm = true;
                self.restart_measurement();
            }
            if pause >= self.end {
                return Ok(());
            }
            if pause >= watched_at + watch_step {
                watched_at = pause;
                if !watch(pause) || !register.as_ref().is_none_or(|register| register.goes_on()) {
                    self.end = pause;
                    return Ok(());
                }
            }
        }
    }

    /// Handles every event that is due before `pause`: a step of a series, and the run, is half open.
    fn run_until(&mut self, pause: Instant, mut register: Option<&mut Register<'_>>) -> Result<(), RunError> {
        let Self { network, sources, events, bottleneck, .. } = self;
        while let Some((now, event)) = network.next_event(pause) {
            *events += 1;
            if events.is_multiple_of(COUNT_EVERY) && network.packets_held() > MAX_PACKETS {
                return Err(RunError::TooManyPackets(now));
            }
            match event {
                Event::Serve(link) => {
                    network.serve(now, link);
                    if sources.len() > Ahead::FLOWS {
                        network.fetch_upcoming(link);
                    }
                }
                Event::Arrive(line) => {
                    if sources.len() > Ahead::FLOWS {
                        fetch_ahead(network, sources, line);
                    }
                    if let Some((packet, direction)) = network.arrive(now, line) {
                        sources[packet.flow as usize].on_packet(now, &packet, direction, network);
                    }
                }
                Event::Wake(flow) => {
                    if network.wakes(now, flow) {
                        sources[flow as usize].on_wake(now, network);
                    }
                }
                Event::Start(flow) => {
                    network.losses.set_active(flow, true);
                    sources[flow as usize].start(now, network);
                }
                Event::Stop(flow) => {
                    network.losses.set_active(flow, false);
                    sources[flow as usize].stop(now);
                }
                Event::RateChange(link) => network.change_rate(now, link),
                Event::Wifi => network.serve_wifi(now),
            }
            if let Some(register) = &mut register {
                hand_on(now, network, *bottleneck, register);
            }
        }
        Ok(())
    }

    fn end_step(&mut self) {
        let Some(series) = &mut self.series else { return };
        let bottleneck = &mut self.network.links_mut()[self.bottleneck..];
        for (link, bins) in bottleneck.iter_mut().zip(&mut series.queues) {
            let progress = link.progress(self.now);
            bins.push(link.monitor.take_bin(progress));
        }
        for ((source, before), values) in
            self.sources.iter().zip(&mut self.delivered_before).zip(&mut series.delivered)
        {
            let delivered = source.delivered();
            values.push(delivered - *before);
            *before = delivered;
        }
    }

    fn restart_measurement(&mut self) {
        let now = self.now;
        for link in self.network.links_mut() {
            let progress = link.progress(now);
            link.monitor.restart(now, progress);
        }
        self.network.losses.restart();
        self.network.neighbours.restart();
        if let Some(wifi) = self.network.wifi_mut() {
            wifi.restart(now);
        }
        self.baseline = Baseline {
            at: now,
            links: self.network.stats(),
            tallies: self.sources.iter().map(Source::tally).collect(),
            fates: (0..self.sources.len()).map(|flow| self.network.fates(flow)).collect(),
        };
    }

    fn finish(self) -> Outcome {
        debug_assert!(self.network.is_balanced(), "packets or bytes were lost or made on the way");
        let flows = (0..self.sources.len()).map(|index| self.flow_outcome(index)).collect();
        let Self { network, end, events, baseline, series, bottleneck, .. } = self;
        let (stats, in_flight) = (network.stats(), network.in_flight());
        let synchronization = network.losses.synchronization();
        let bottleneck_packets =
            stats[bottleneck..bottleneck + 2].iter().map(|stats| stats.dequeued.packets).sum();
        let (all_links, wifi, neighbours) = network.into_parts();
        let mut outcomes = all_links.into_iter().zip(&baseline.links).map(|(link, before)| {
            let (seen, progress) = (Observation::of(link.qdisc(), end), link.progress(end));
            link.monitor.finish(end, progress, before, seen)
        });
        let mut hops = Vec::new();
        while let (Some(down), Some(up)) = (outcomes.next(), outcomes.next()) {
            hops.push([down, up]);
        }
        let links = hops.remove(bottleneck / 2);
        let shared_queues = neighbours.finish().map(|((link, flow), meetings)| {
            let hop = link as usize / 2;
            let place = match hop.cmp(&(bottleneck / 2)) {
                core::cmp::Ordering::Less => Some(hop),
                core::cmp::Ordering::Equal => None,
                core::cmp::Ordering::Greater => Some(hop - 1),
            };
            SharedQueue { flow, hop: place, direction: Direction::BOTH[link as usize & 1], meetings }
        });
        let shared_queues = shared_queues.collect();
        Outcome {
            measured: end.since(baseline.at),
            links,
            hops,
            wifi: wifi.map(|wifi| wifi.finish(end)),
            flows,
            series,
            events,
            bottleneck_packets,
            in_flight,
            synchronization,
            shared_queues,
        }
    }

    fn flow_outcome(&self, index: usize) -> FlowOutcome {
        let (flow, source, baseline) = (&self.config.flows[index], &self.sources[index], &self.baseline);
        let (tally, before) = (source.tally(), &baseline.tallies[index]);
        let (fates, fates_before) = (self.network.fates(index), &baseline.fates[index]);
        let from = flow.start.max(baseline.at);
        let until = self.end.min(flow.stop.unwrap_or(self.end)).min(tally.completed_at.unwrap_or(self.end));
        let round_trips = source.round_trips().iter().filter(|probe| probe.sent_at >= baseline.at);
        let one_way = source.one_way().iter().filter(|packet| packet.sent_at >= baseline.at);
        let transfers = source.transfers().iter().filter(|transfer| transfer.begun_at >= baseline.at);
        FlowOutcome {
            tally: Tally {
                delivered: tally.delivered - before.delivered,
                sent: tally.sent - before.sent,
                retransmits: tally.retransmits - before.retransmits,
                timeouts: tally.timeouts - before.timeouts,
                completed_at: tally.completed_at,
            },
            fates: [0, 1].map(|direction| fates[direction].since(&fates_before[direction])),
            losses: Some(self.network.losses.of(index)),
            first_delivery: source.first_delivery(),
            active: until.since(from),
            round_trips: round_trips.copied().collect(),
            one_way: one_way.copied().collect(),
            transfers: transfers.copied().collect(),
            showing: source.showing().cloned(),
        }
    }
}

/// Fetches what the next packets of a delay line will need when they arrive.
#[inline]
fn fetch_ahead(network: &Network, sources: &[AnySource], line: u32) {
    network.fetch_packet(line, Ahead::PACKET);
    if let Some((flow, _)) = network.upcoming(line, Ahead::ENTRY) {
        fetch_line(sources, flow as usize);
        network.fetch(flow);
    }
    for (step, behind) in Ahead::STEPS {
        if let Some((flow, direction)) = network.upcoming(line, behind) {
            sources[flow as usize].fetch(direction, step);
        }
    }
}

/// Tells of what the links of the bottleneck have noted. Out of the way of runs that nobody looks on at.
#[cold]
#[inline(never)]
fn hand_on(now: Instant, network: &mut Network, bottleneck: usize, register: &mut Register<'_>) {
    let links = &mut network.links_mut()[bottleneck..bottleneck + 2];
    for (direction, link) in Direction::BOTH.into_iter().zip(links) {
        if let Some(notes) = &mut link.notes {
            register.take(now, direction, notes);
        }
    }
}

/// The hops in the order from the servers to the clients, each with the delay to the next one.
fn hops(config: &Config) -> Vec<([Link; 2], Duration)> {
    let bottleneck = config.before.len();
    let build = |streams: u64, links: &[LinkConfig; 2]| {
        Direction::BOTH.map(|direction| {
            let link = &links[direction.index()];
            // One stream of random numbers per queue, for its salt and its draws.
            let mut generator =
                Xoshiro256PlusPlus::stream(config.seed, 2 * streams + direction.index() as u64);
            let salt = generator.next_u32() ^ link.hash_key;
            let qdisc = AnyQdisc::new(link.qdisc.clone(), salt, Randomness::Seeded(generator));
            let in_bytes = matches!(link.qdisc.to_settings().get("limit"), Some(Value::Bytes(_)));
            let backlog = (in_bytes || !config.spikes.is_empty()).then(|| BacklogWatch::new(&config.spikes));
            Link::new(link, qdisc, config.framing, LinkMonitor::new(backlog))
        })
    };
    // The bottleneck has the first streams, wherever it stands: a hop more changes nothing in it.
    let mut hops: Vec<_> = config.before.iter().map(|hop| (&hop.links, hop.delay)).collect();
    hops.push((&config.links, config.after.first().map_or(Duration::ZERO, |hop| hop.delay)));
    let behind = config.after.iter().skip(1).map(|hop| hop.delay).chain([Duration::ZERO]);
    hops.extend(config.after.iter().map(|hop| &hop.links).zip(behind));
    (0_u64..)
        .zip(hops)
        .map(|(number, (links, delay))| {
            let streams = match number.cmp(&(bottleneck as u64)) {
                core::cmp::Ordering::Equal => 0,
                core::cmp::Ordering::Less => number + 1,
                core::cmp::Ordering::Greater => number,
            };
            (build(streams, links), delay)
        })
        .collect()
}
