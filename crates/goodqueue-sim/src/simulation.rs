//! The loop of a run: flows that cross a path with one bottleneck for a given time.

use std::borrow::Cow;
use std::cmp::Ordering;

use goodqueue::config::Value;
use goodqueue::gauge::Observation;
use goodqueue::random::{Random, Source as Randomness, Xoshiro256PlusPlus};
use goodqueue::{AnyQdisc, ConfigError, Direction, Duration, Instant};

use crate::ahead::{Ahead, fetch_line};
use crate::backlog::BacklogWatch;
use crate::config::Config;
use crate::id::{FlowId, LineId, LinkId};
use crate::link::{Link, LinkConfig};
use crate::losses::Watched;
use crate::monitor::{LinkMonitor, LinkOutcome};
use crate::network::{Event, Fates, Hosts, MAX_FLOWS, Network, Ticks};
use crate::observer::{Place, Register};
use crate::outcome::{FlowOutcome, MAX_PACKETS, Outcome, RunError, Series, SharedQueue};
use crate::packet::Ends;
use crate::room;
use crate::so_far::SoFar;
use crate::traffic::{AnySource, Source, Tally, Traffic};
use crate::wifi::{MediumConfig, WifiHop};

/// Number of events between two checks of [`MAX_PACKETS`]. Few events add more than one packet.
const COUNT_EVERY: u64 = 1 << 16;

pub(crate) struct Simulation<'a> {
    config: Cow<'a, Config>,
    pub(crate) network: Network,
    pub(crate) sources: Vec<AnySource>,
    /// The hop of the bottleneck.
    bottleneck: usize,
    pub(crate) now: Instant,
    pub(crate) end: Instant,
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

/// The next times at which a run itself must act.
#[derive(Debug)]
pub(crate) struct Milestones {
    /// End of the step of the series; [`Instant::MAX`] for none.
    step_end: Instant,
    /// End of the warm-up; [`Instant::MAX`] if it is over.
    warm_at: Instant,
}

impl Milestones {
    /// Returns the course of a run at its beginning.
    pub(crate) fn new(config: &Config) -> Self {
        let step = config.series_step.filter(|step| !step.is_zero());
        let warmup = Some(config.warmup).filter(|warmup| !warmup.is_zero());
        let at = |time: Option<Duration>| time.map_or(Instant::MAX, |time| Instant::ZERO + time);
        Self { step_end: at(step), warm_at: at(warmup) }
    }
}

/// Number of times that a run calls its `watch`.
const WATCHES: u64 = 400;

impl<'a> Simulation<'a> {
    pub(crate) fn new(config: Cow<'a, Config>) -> Result<Self, ConfigError> {
        // An event has no number for another flow.
        let flows = &config.flows[..config.flows.len().min(MAX_FLOWS)];
        let last_hop = u32::try_from(config.before.len() + config.after.len()).unwrap_or(u32::MAX);
        let hosts: Vec<Hosts> = flows
            .iter()
            .map(|flow| Hosts {
                rtt: flow.rtt,
                access: flow.access,
                access_rate: flow.access_rate,
                // `FlowConfig::joins` allows an index beyond the last hop.
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
            // The random streams of flows begin at 2^32, those of links at 0. This stream is
            // neither.
            let seed = Xoshiro256PlusPlus::stream(config.seed, u64::MAX).next_u64();
            let hop = WifiHop::new(&MediumConfig { seed, framing: config.framing, ..wifi.clone() });
            (hop, wifi.small_queue)
        });
        // A tick of zero length is none, and would divide by zero below.
        let ticks = config.delay_tick.filter(|every| !every.is_zero()).map(|every| {
            // The clock of an emulator has no relation to the start of a run, so its phase is
            // drawn, from a stream that no other part uses.
            let draw = Xoshiro256PlusPlus::stream(config.seed, u64::MAX - 1).next_u64();
            Ticks { every, first: Duration::from_nanos(draw % every.as_nanos()) }
        });
        let rest_behind = config.rest_behind.map(|hop| hop as usize);
        let mut network = Network::new(hops(&config), rest_behind, wifi, &hosts, ticks, config.framing);
        let host_qdiscs: Vec<_> = flows.iter().map(|flow| flow.host_qdisc.clone()).collect();
        network.add_hosts(&hosts, &host_qdiscs, |number, direction, link| {
            build(&config, HOST_STREAMS + 2 * number as u64, direction, link)
        });
        let pauses: Vec<_> = links(&config).map(|link| link.pause).collect();
        network.control_flows(&pauses);
        let mut sources = Vec::with_capacity(flows.len());
        for (id, flow) in (0..).map(FlowId::new).zip(flows) {
            // The random streams of flows begin at 2^32, those of links at 0.
            let generator = Xoshiro256PlusPlus::stream(config.seed, (1 << 32) | u64::from(id.number()));
            sources.push(flow.traffic.source(id, generator)?);
            // Flows that start at one instant start in the order of the configuration.
            network.schedule(flow.start, Event::Start(id));
            // Scheduled behind the start, so that a flow never stops before it starts at the same
            // instant.
            if let Some(stop) = flow.stop {
                network.schedule(stop, Event::Stop(id));
            }
        }
        let series = config.series_step.filter(|step| !step.is_zero()).map(|step| Series {
            step,
            delivered: vec![Vec::new(); flows.len()],
            ..Series::default()
        });
        let network_stats = network.stats();
        Ok(Self {
            network,
            delivered_before: vec![0; sources.len()],
            bottleneck: config.before.len(),
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
            config,
        })
    }

    /// Returns the two links of the bottleneck: down, up.
    pub(crate) fn bottleneck(&mut self) -> &mut [Link] {
        let first = LinkId::of_hop(self.bottleneck, Direction::Down).index();
        &mut self.network.links_mut()[first..first + 2]
    }

    /// Returns the bottleneck's link of this direction.
    pub(crate) fn bottleneck_link(&self, direction: Direction) -> LinkId {
        LinkId::of_hop(self.bottleneck, direction)
    }

    /// Runs to the end, or until `watch` returns false or the observer wants no more.
    pub(crate) fn run(
        &mut self,
        milestones: &mut Milestones,
        mut watch: impl FnMut(SoFar<'_>) -> bool,
        mut register: Option<&mut Register<'_>>,
    ) -> Result<(), RunError> {
        let room = room::room_for(&self.config.flows, self.config.duration)?;
        self.sources.iter_mut().for_each(|source| source.set_room(room));
        // At least 1 ns, so that each step advances the run. The number of steps is our choice: a
        // session shows its progress, and looks whether it is cancelled, after each of them.
        let watch_step = Duration::from_nanos(self.config.duration.as_nanos() / WATCHES + 1);
        while self.now < self.end {
            let watch_at = self.now + watch_step;
            self.run_along(milestones, watch_at, register.as_deref_mut())?;
            let has_seen_enough = register.as_ref().is_some_and(|register| !register.goes_on());
            if !watch(SoFar::new(self.now, &self.sources)) || has_seen_enough {
                self.end = self.now;
            }
        }
        Ok(())
    }

    /// Runs up to `to`, or to the end if that is earlier, with the steps of the series and the end
    /// of the warm-up on the way.
    pub(crate) fn run_along(
        &mut self,
        milestones: &mut Milestones,
        to: Instant,
        mut register: Option<&mut Register<'_>>,
    ) -> Result<(), RunError> {
        // Nothing happens after the end, whatever time a caller asks for.
        let to = self.end.min(to);
        while self.now < to {
            // Whichever comes first. Several of them may be at this instant, so each is compared
            // below.
            let pause = to.min(milestones.step_end).min(milestones.warm_at);
            self.run_until(pause, register.as_deref_mut())?;
            self.now = pause;
            if pause == milestones.step_end {
                self.end_step();
                // Only a run with steps gets here. Any other has its next step at the end of time.
                milestones.step_end += self.config.series_step.unwrap_or(Duration::MAX);
            }
            if pause == milestones.warm_at {
                milestones.warm_at = Instant::MAX;
                self.restart_measurement();
            }
        }
        Ok(())
    }

    /// Handles every event before `pause`. Runs and steps of a series do not include their end.
    fn run_until(&mut self, pause: Instant, mut register: Option<&mut Register<'_>>) -> Result<(), RunError> {
        let Self { network, sources, events, bottleneck, .. } = self;
        while let Some((now, event)) = network.next_event(pause) {
            *events += 1;
            // Counting visits all links and lines.
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
                    network.arrive(now, line, |network, packet, direction| {
                        sources[packet.flow.index()].on_packet(now, packet, direction, network);
                    });
                }
                Event::Wake(flow) => {
                    if network.wakes(now, flow) {
                        sources[flow.index()].on_wake(now, network);
                    }
                }
                Event::Start(flow) => {
                    // First, because the first packet of the flow may be dropped at once, which
                    // counts.
                    set_active(now, network, *bottleneck, flow, true);
                    sources[flow.index()].start(now, network);
                }
                Event::Stop(flow) => {
                    set_active(now, network, *bottleneck, flow, false);
                    sources[flow.index()].stop(now);
                }
                Event::RateChange(link) => network.change_rate(now, link),
                Event::Wifi => network.serve_wifi(now),
                Event::Pause(link) => network.pause(now, link),
            }
            // After each event, because notes have no time of their own.
            if let Some(register) = &mut register {
                hand_on(now, network, *bottleneck, register);
            }
        }
        Ok(())
    }

    fn end_step(&mut self) {
        let Some(series) = &mut self.series else { return };
        let first = LinkId::of_hop(self.bottleneck, Direction::Down).index();
        let bottleneck = &mut self.network.links_mut()[first..];
        // Two series, so the two links of the bottleneck and none behind it.
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

    pub(crate) fn restart_measurement(&mut self) {
        let now = self.now;
        for link in self.network.links_mut() {
            let progress = link.progress(now);
            link.monitor.restart(now, progress);
            link.restart_pauses(now);
        }
        self.network.losses.restart();
        self.network.collisions.restart();
        if let Some(wifi) = self.network.wifi_mut() {
            wifi.restart(now);
        }
        self.sources.iter_mut().for_each(|source| source.measure_from(now));
        self.baseline = Baseline {
            at: now,
            links: self.network.stats(),
            tallies: self.sources.iter().map(Source::tally).collect(),
            fates: (0..self.sources.len()).map(|flow| self.network.fates(flow)).collect(),
        };
    }

    pub(crate) fn finish(self) -> Outcome {
        debug_assert!(self.network.is_balanced(), "packets or bytes were lost or made on the way");
        let flows = (0..self.sources.len()).map(|index| self.flow_outcome(index)).collect();
        let Self { network, end, events, baseline, series, bottleneck, .. } = self;
        let stats = network.stats();
        let in_flight = network.in_flight();
        let synchronization = network.losses.synchronization();
        let bottleneck_links = Direction::BOTH.map(|direction| LinkId::of_hop(bottleneck, direction).index());
        let bottleneck_packets = bottleneck_links.map(|link| stats[link].dequeued.packets).iter().sum();
        let (all_links, wifi, collisions) = network.into_parts();
        let mut outcomes = all_links.into_iter().zip(&baseline.links).map(|(link, before)| {
            let seen = Observation::from_qdisc(link.qdisc(), end);
            let progress = link.progress(end);
            let pauses = link.pauses(end);
            LinkOutcome { pauses, ..link.monitor.finish(end, progress, before, seen) }
        });
        let mut hops = Vec::new();
        while let (Some(down), Some(up)) = (outcomes.next(), outcomes.next()) {
            hops.push([down, up]);
        }
        let links = hops.remove(bottleneck);
        let shared_queues = collisions.finish().map(|((link, flow), collisions)| {
            let hop = beside_bottleneck(link.hop(), bottleneck);
            SharedQueue { flow, hop, direction: link.direction(), collisions }
        });
        let shared_queues = shared_queues.collect();
        Outcome {
            measured: end.since(baseline.at),
            end,
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
        let flow = &self.config.flows[index];
        let source = &self.sources[index];
        let baseline = &self.baseline;
        let tally = source.tally();
        let before = &baseline.tallies[index];
        let fates = self.network.fates(index);
        let fates_before = &baseline.fates[index];
        // A flow's goodput counts over its own time, and so not before its start or behind its last
        // byte.
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
            losses: Some(self.network.losses.of_flow(index)),
            first_delivery: source.first_delivery(),
            active: until.since(from),
            delivery_rate: source.delivery_rate(until),
            round_trips: round_trips.copied().collect(),
            one_way: one_way.copied().collect(),
            earlier: source.earlier().cloned().map(Box::new),
            transfers: transfers.copied().collect(),
            playback: source.playback().cloned(),
        }
    }
}

/// Prefetches the state that the next packets of a delay line need on arrival.
#[inline]
fn fetch_ahead(network: &Network, sources: &[AnySource], line: LineId) {
    network.fetch_packet(line, Ahead::PACKET);
    if let Some((flow, _)) = network.upcoming(line, Ahead::ENTRY) {
        fetch_line(sources, flow.index());
        network.fetch(flow);
    }
    for (step, behind) in Ahead::STEPS {
        if let Some((flow, direction)) = network.upcoming(line, behind) {
            sources[flow.index()].fetch(direction, step);
        }
    }
}

/// Records that a flow begins or ends, and whether the bottleneck's links have a load from now on.
fn set_active(now: Instant, network: &mut Network, bottleneck: usize, flow: FlowId, active: bool) {
    let before = network.losses.is_loaded();
    network.losses.set_active(flow, active);
    let after = network.losses.is_loaded();
    for direction in Direction::BOTH {
        let is_loaded = after[direction.index()];
        // Only the first flow to begin and the last one to end change anything.
        if is_loaded != before[direction.index()] {
            let link = &mut network.links_mut()[LinkId::of_hop(bottleneck, direction).index()];
            let progress = link.progress(now);
            link.monitor.set_loaded(progress, is_loaded);
        }
    }
}

/// Reports the notes of the queues that make some. Kept out of line, for runs without an observer.
#[cold]
#[inline(never)]
fn hand_on(now: Instant, network: &mut Network, bottleneck: usize, register: &mut Register<'_>) {
    for (index, link) in network.links_mut().iter_mut().enumerate() {
        let Some(notes) = &mut link.notes else { continue };
        if notes.events.is_empty() {
            continue;
        }
        let id = LinkId::from_index(index);
        let place = beside_bottleneck(id.hop(), bottleneck).map(Place::Hop);
        register.take(now, place, id.direction(), notes.events.drain(..));
    }
    for (direction, note) in network.wifi_mut().into_iter().flat_map(WifiHop::take_notes) {
        register.take(now, Some(Place::Wifi), direction, core::iter::once(note));
    }
}

/// Returns the index of a hop among those beside the bottleneck; `None` for the bottleneck itself.
fn beside_bottleneck(hop: usize, bottleneck: usize) -> Option<usize> {
    match hop.cmp(&bottleneck) {
        Ordering::Less => Some(hop),
        Ordering::Equal => None,
        // Results number the hops without the bottleneck.
        Ordering::Greater => Some(hop - 1),
    }
}

/// Returns the links from the servers to the clients, each hop's down link before its up link.
fn links(config: &Config) -> impl Iterator<Item = &LinkConfig> {
    let before = config.before.iter().map(|hop| &hop.links);
    let after = config.after.iter().map(|hop| &hop.links);
    before.chain([&config.links]).chain(after).flatten()
}

/// Returns the hops from the servers to the clients, each with the delay to the next one.
fn hops(config: &Config) -> Vec<([Link; 2], Duration)> {
    let bottleneck = config.before.len();
    // The bottleneck has the first streams wherever it is, so that another hop does not change its
    // draws.
    let mut hops: Vec<_> = config.before.iter().map(|hop| (&hop.links, hop.delay)).collect();
    hops.push((&config.links, config.after.first().map_or(Duration::ZERO, |hop| hop.delay)));
    // The delay of a hop behind the bottleneck is in front of it, and here each hop has the delay
    // behind it. The last hop has none: the rest of a flow's delay follows there.
    let behind = config.after.iter().skip(1).map(|hop| hop.delay).chain([Duration::ZERO]);
    hops.extend(config.after.iter().map(|hop| &hop.links).zip(behind));
    (0_u64..)
        .zip(hops)
        .map(|(number, (links, delay))| {
            let streams = match number.cmp(&(bottleneck as u64)) {
                Ordering::Equal => 0,
                Ordering::Less => number + 1,
                Ordering::Greater => number,
            };
            let link =
                |direction: Direction| build(config, 2 * streams, direction, &links[direction.index()]);
            (Direction::BOTH.map(link), delay)
        })
        .collect()
}

/// The random streams of the queues of hosts begin here, those of flows at 2^32.
const HOST_STREAMS: u64 = 1 << 33;

/// Builds a link whose two directions have the random streams `streams` and the one after it.
fn build(config: &Config, streams: u64, direction: Direction, link: &LinkConfig) -> Link {
    // Each queue has one random stream, for its salt and its draws.
    let mut generator = Xoshiro256PlusPlus::stream(config.seed, streams + direction.index() as u64);
    let salt = generator.next_u32() ^ link.hash_key;
    let qdisc = AnyQdisc::new(link.qdisc.clone(), salt, Randomness::Seeded(generator));
    // Asking for the backlog is expensive, so only limits in bytes and levels of spikes pay for it.
    let in_bytes = matches!(link.qdisc.to_settings().get("limit"), Some(Value::Bytes(_)));
    let backlog = (in_bytes || !config.spikes.is_empty()).then(|| BacklogWatch::new(&config.spikes));
    Link::new(link, qdisc, config.framing, LinkMonitor::new(backlog))
}
