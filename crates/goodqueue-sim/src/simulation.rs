//! A run: flows over a bottleneck for some time.

use goodqueue::random::{Random, Source as Randomness, Xoshiro256PlusPlus};
use goodqueue::{AnyQdisc, ConfigError, Duration, Ecn, Instant, Rate};
use goodqueue_tcp::{AnyCongestionControl, Config as TcpConfig};

use crate::link::{Link, LinkConfig};
use crate::monitor::{Bin, LinkMonitor, LinkOutcome};
use crate::network::{Event, FlowCounters, MAX_FLOWS, Network};
use crate::packet::Direction;
use crate::traffic::{AnySource, Cbr, Ping, RoundTrip, Source, Tally, Tcp};

/// Everything that determines a run. Equal configurations give equal outcomes, bit for bit.
#[derive(Clone, Debug)]
pub struct Config {
    /// Simulated time.
    pub duration: Duration,
    /// Time at the beginning that is not measured.
    pub warmup: Duration,
    /// The two directions of the bottleneck: down, up.
    pub links: [LinkConfig; 2],
    /// Bytes of link header that queues count per packet: 14 for Ethernet, as in Linux.
    pub framing: u32,
    /// The flows.
    pub flows: Vec<FlowConfig>,
    /// Seed of all that is random.
    pub seed: u64,
    /// Step of the time series, if they are wanted.
    pub series_step: Option<Duration>,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// What it does.
    pub traffic: Traffic,
    /// Its round-trip time when nothing queues.
    pub rtt: Duration,
    /// When it begins.
    pub start: Instant,
    /// When it ends, if before the run does.
    pub stop: Option<Instant>,
}

/// What a flow does.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all flows are TCP")]
pub enum Traffic {
    /// A TCP connection with data one way.
    Tcp {
        /// Where the data goes.
        direction: Direction,
        /// Bytes to send; `None`: without end.
        size: Option<u64>,
        /// Settings of both ends.
        config: TcpConfig,
        /// The sender's congestion control.
        congestion_control: AnyCongestionControl,
    },
    /// Echo requests from the client.
    Ping {
        /// Time between requests.
        interval: Duration,
        /// Bytes of the IP packet.
        bytes: u32,
    },
    /// Datagrams at a constant rate.
    Cbr {
        /// Where they go.
        direction: Direction,
        /// Rate of the IP packets.
        rate: Rate,
        /// Bytes of the IP packet.
        bytes: u32,
        /// The packets are ECN-capable, ECT(0).
        ecn: bool,
    },
}

/// What came out of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The time measured: without the warm-up, and until the run was stopped if it was.
    pub measured: Duration,
    /// The two queues: down, up.
    pub links: [LinkOutcome; 2],
    /// The flows, in the order of the configuration.
    pub flows: Vec<FlowOutcome>,
    /// Time series, if they were wanted; they begin at 0, warm-up included.
    pub series: Option<Series>,
    /// Events handled in the whole run.
    pub events: u64,
    /// Packets that left the two queues in the whole run.
    pub bottleneck_packets: u64,
}

/// What one flow did.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// In the time measured; `completed_at` is absolute.
    pub tally: Tally,
    /// At the bottleneck, in the time measured.
    pub counters: FlowCounters,
    /// How much of the time measured the flow was active.
    pub active: Duration,
    /// Probes sent in the time measured.
    pub round_trips: Vec<RoundTrip>,
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

/// Runs `config` to its end.
///
/// # Errors
/// A TCP configuration is refused.
pub fn run(config: &Config) -> Result<Outcome, ConfigError> {
    run_watched(config, |_| true)
}

/// Runs `config`; `watch` is told the simulated time now and then (some hundred times a run) and ends the run by
/// answering false.
///
/// # Errors
/// A TCP configuration is refused.
pub fn run_watched(config: &Config, watch: impl FnMut(Instant) -> bool) -> Result<Outcome, ConfigError> {
    let mut simulation = Simulation::new(config)?;
    simulation.run(watch);
    Ok(simulation.finish())
}

struct Simulation<'a> {
    config: &'a Config,
    network: Network,
    sources: Vec<AnySource>,
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
    links: [goodqueue::Stats; 2],
    tallies: Vec<Tally>,
    counters: Vec<FlowCounters>,
}

/// How often a run looks up from its work.
const WATCHES: u64 = 400;

impl<'a> Simulation<'a> {
    fn new(config: &'a Config) -> Result<Self, ConfigError> {
        let flows = &config.flows[..config.flows.len().min(MAX_FLOWS)];
        let rtts: Vec<Duration> = flows.iter().map(|flow| flow.rtt).collect();
        let links = Direction::BOTH.map(|direction| {
            let link = &config.links[direction.index()];
            // One stream of random numbers per queue, for its salt and its draws.
            let mut generator = Xoshiro256PlusPlus::stream(config.seed, direction.index() as u64);
            let salt = generator.next_u32();
            let qdisc = AnyQdisc::new(link.qdisc.clone(), salt, Randomness::Seeded(generator));
            Link::new(link, qdisc, config.framing, LinkMonitor::new())
        });
        let mut network = Network::new(links, &rtts, config.framing);
        let mut sources = Vec::with_capacity(flows.len());
        for (number, flow) in (0_u32..).zip(flows) {
            sources.push(source(number, &flow.traffic)?);
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
        Ok(Self {
            config,
            network,
            delivered_before: vec![0; sources.len()],
            baseline: Baseline {
                tallies: vec![Tally::default(); sources.len()],
                counters: vec![FlowCounters::default(); sources.len()],
                ..Baseline::default()
            },
            sources,
            now: Instant::ZERO,
            end: Instant::ZERO + config.duration,
            events: 0,
            series,
        })
    }

    fn run(&mut self, mut watch: impl FnMut(Instant) -> bool) {
        let warm = Instant::ZERO + self.config.warmup;
        let mut watched_at = Instant::ZERO;
        let watch_step = Duration::from_nanos(self.config.duration.as_nanos() / WATCHES + 1);
        let mut step_end = self.series.as_ref().map_or(Instant::MAX, |series| Instant::ZERO + series.step);
        let mut is_warm = self.config.warmup.is_zero();
        loop {
            // Everything up to the next appointment of the run itself happens without looking up.
            let warm_at = if is_warm { Instant::MAX } else { warm };
            let pause = self.end.min(step_end).min(warm_at).min(watched_at + watch_step);
            self.run_until(pause);
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
                return;
            }
            if pause >= watched_at + watch_step {
                watched_at = pause;
                if !watch(pause) {
                    self.end = pause;
                    return;
                }
            }
        }
    }

    /// Handles every event that is due before `pause`: a step of a series, and the run, is half open.
    fn run_until(&mut self, pause: Instant) {
        let Self { network, sources, events, .. } = self;
        while let Some((now, event)) = network.next_event(pause) {
            *events += 1;
            match event {
                Event::Serve(direction) => network.serve(now, direction),
                Event::Arrive(line) => {
                    if let Some((packet, direction)) = network.arrive(line) {
                        sources[packet.flow as usize].on_packet(now, &packet, direction, network);
                    }
                }
                Event::Wake(flow) => {
                    if network.wakes(now, flow) {
                        sources[flow as usize].on_wake(now, network);
                    }
                }
                Event::Start(flow) => sources[flow as usize].start(now, network),
                Event::Stop(flow) => sources[flow as usize].stop(now),
                Event::RateChange(direction) => network.change_rate(now, direction),
            }
        }
    }

    fn end_step(&mut self) {
        let Some(series) = &mut self.series else { return };
        for (link, bins) in self.network.links_mut().iter_mut().zip(&mut series.queues) {
            bins.push(link.monitor.take_bin());
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
            link.monitor.restart(now);
        }
        self.baseline = Baseline {
            at: now,
            links: self.network.stats(),
            tallies: self.sources.iter().map(Source::tally).collect(),
            counters: self.network.counters().to_vec(),
        };
    }

    fn finish(self) -> Outcome {
        let Self { config, network, sources, end, events, baseline, series, .. } = self;
        let stats = network.stats();
        let counters = network.counters().to_vec();
        let flows = (0..sources.len())
            .map(|index| {
                let (flow, source) = (&config.flows[index], &sources[index]);
                let (tally, before) = (source.tally(), &baseline.tallies[index]);
                let (seen, seen_before) = (counters[index], baseline.counters[index]);
                let from = flow.start.max(baseline.at);
                let until = end.min(flow.stop.unwrap_or(end)).min(tally.completed_at.unwrap_or(end));
                let measured = source.round_trips().iter().filter(|probe| probe.sent_at >= baseline.at);
                FlowOutcome {
                    tally: Tally {
                        delivered: tally.delivered - before.delivered,
                        sent: tally.sent - before.sent,
                        retransmits: tally.retransmits - before.retransmits,
                        timeouts: tally.timeouts - before.timeouts,
                        completed_at: tally.completed_at,
                    },
                    counters: FlowCounters {
                        offered: seen.offered - seen_before.offered,
                        dropped: seen.dropped - seen_before.dropped,
                    },
                    active: until.since(from),
                    round_trips: measured.copied().collect(),
                }
            })
            .collect();
        let mut number = 0;
        let links = network.into_links().map(|link| {
            let outcome = link.monitor.finish(end, &baseline.links[number], &stats[number]);
            number += 1;
            outcome
        });
        Outcome {
            measured: end.since(baseline.at),
            links,
            flows,
            series,
            events,
            bottleneck_packets: stats.iter().map(|stats| stats.dequeued.packets).sum(),
        }
    }
}

fn source(number: u32, traffic: &Traffic) -> Result<AnySource, ConfigError> {
    Ok(match traffic {
        Traffic::Tcp { direction, size, config, congestion_control } => {
            AnySource::Tcp(Tcp::new(number, *direction, *size, *config, congestion_control.clone())?)
        }
        Traffic::Ping { interval, bytes } => AnySource::Ping(Ping::new(number, *interval, *bytes)),
        Traffic::Cbr { direction, rate, bytes, ecn } => {
            let ecn = if *ecn { Ecn::Ect0 } else { Ecn::NotEct };
            AnySource::Cbr(Cbr::new(number, *direction, *rate, *bytes, ecn))
        }
    })
}
