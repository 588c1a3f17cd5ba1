//! One live run: the flows of [`crate::traffic`] over a bottleneck, and its measurements.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration as SystemDuration;

use goodqueue::{DropReason, Duration, Instant, Stats};

use crate::bottleneck::{Bottleneck, BottleneckConfig, Counters, Pause};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::LiveError;
use crate::link::Delay;
use crate::meter::Step;
use crate::namespace::{self, End, Network};
use crate::netlink::InterfaceCounters;
use crate::observer::{Direction, Observer};
use crate::packet::IpPacket;
use crate::process;
use crate::traffic::{Flow, FlowSpec, FlowTally, MOST_FLOWS, Sample, flow_of, port};

/// A live run. Times count from its beginning.
#[derive(Clone, Debug)]
pub struct Session {
    /// The bottleneck. Its delays are computed from the flows' round-trip times.
    pub bottleneck: BottleneckConfig,
    /// The client's end and the server's.
    pub ends: [End; 2],
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Duration of the run.
    pub duration: Duration,
    /// Time at the beginning that is not measured.
    pub warmup: Duration,
    /// Step of the time series; `None` for no time series.
    pub step: Option<Duration>,
}

/// Results of a live run.
#[derive(Debug)]
pub struct SessionOutcome {
    /// The bottleneck at the end, with measurements since the end of the warm-up.
    pub bottleneck: Bottleneck,
    /// Counters of events outside the queues, over the whole run.
    pub counters: Counters,
    /// Counters of the disciplines at the end of the warm-up: down, up.
    pub before: [Stats; 2],
    /// End of the measurement.
    pub end: Instant,
    /// The flows.
    pub flows: Vec<FlowOutcome>,
    /// Time series of the two queues: down, up.
    pub steps: [Vec<Step>; 2],
    /// Bytes of payload delivered in each step, by flow.
    pub delivered: Vec<Vec<u64>>,
    /// Packets that the kernel dropped in front of the bottleneck, over the whole run.
    pub kernel_drops: u64,
    /// The kernel's counters at the client and at the server, over the measurement.
    pub received: [InterfaceCounters; 2],
    /// Duration of the measurement by the clock, in seconds.
    pub received_in_s: f64,
}

/// Results of one flow.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Counters at the end of the warm-up.
    pub before: FlowTally,
    /// Counters at the end of the run.
    pub after: FlowTally,
    /// Packets at the queues down and up, over the measurement.
    pub packets: [FlowPackets; 2],
    /// Samples since the flow's beginning.
    pub samples: Vec<Sample>,
    /// Error that ended the flow early, if any.
    pub trouble: Option<String>,
}

/// Counters of a flow's packets at one queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowPackets {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped.
    pub dropped: u64,
}

impl FlowPackets {
    const fn since(&self, before: &Self) -> Self {
        Self {
            offered: self.offered - before.offered,
            sent: self.sent - before.sent,
            dropped: self.dropped - before.dropped,
        }
    }
}

/// Counters of each flow: down, up.
type Counts = Rc<RefCell<Vec<[FlowPackets; 2]>>>;

/// Counts packets by flow.
struct ByFlow(Counts);

impl ByFlow {
    fn count(&self, direction: Direction, packet: &IpPacket, one: impl FnOnce(&mut FlowPackets)) {
        let mut counts = self.0.borrow_mut();
        let flow = flow_of(packet.headers().ports, counts.len());
        if let Some(count) = flow.and_then(|flow| counts.get_mut(flow)) {
            one(&mut count[direction.index()]);
        }
    }
}

impl Observer for ByFlow {
    fn arrived(&mut self, _: Instant, direction: Direction, packet: &IpPacket) {
        self.count(direction, packet, |count| count.offered += 1);
    }

    fn sent(&mut self, _: Instant, direction: Direction, packet: &IpPacket) {
        self.count(direction, packet, |count| count.sent += 1);
    }

    fn dropped(&mut self, _: Instant, direction: Direction, packet: &IpPacket, _: DropReason) {
        self.count(direction, packet, |count| count.dropped += 1);
    }
}

impl Session {
    /// Runs in new namespaces, which this process enters. The process must have one thread only,
    /// and cannot start another run.
    ///
    /// # Errors
    /// The system lacks or forbids something that the run needs.
    pub fn run(&self) -> Result<SessionOutcome, LiveError> {
        if self.flows.len() > MOST_FLOWS {
            let problem = format!("a live run cannot have {} flows", self.flows.len());
            return Err(LiveError::new(problem)
                .help(format!("use at most {MOST_FLOWS} flows, because each needs a port")));
        }
        let bottleneck = self.with_delays();
        bottleneck.packet_memory()?;
        process::run_all_promptly();
        namespace::enter_user_namespace()?;
        let [client_end, server_end] = &self.ends;
        let server = Network::create()?;
        let (server_tun, server_link, server_index) = server_end.create()?;
        let client = Network::create()?;
        let (client_tun, client_link, client_index) = client_end.create()?;
        let clock = Clock::start_in(SETTLING);
        let networks = Arc::new([client, server]);
        // The threads enter their networks while they have the privilege to, and then give up their
        // own privileges.
        let flows = self.start_flows(clock, &networks)?;
        namespace::drop_privileges()?;
        while clock.now() == Instant::ZERO {
            std::thread::sleep(SystemDuration::from_millis(1));
        }
        let devices = [Device::Tun(client_tun), Device::Tun(server_tun)];
        let mut bottleneck = Bottleneck::new(clock, devices, &bottleneck)?;
        bottleneck.watch_kernel((client_link, client_index), (server_link, server_index));
        let counts = Rc::new(RefCell::new(vec![[FlowPackets::default(); 2]; flows.len()]));
        bottleneck.observers.push(Box::new(ByFlow(Rc::clone(&counts))));
        self.measure(bottleneck, &flows, &counts)
    }

    /// Starts all threads and waits until their sockets exist.
    fn start_flows(&self, clock: Clock, networks: &Arc<[Network; 2]>) -> Result<Vec<Flow>, LiveError> {
        let (tell, ready) = channel();
        let addresses = self.ends.each_ref().map(|end| end.v4);
        let mut flows = Vec::new();
        for (number, spec) in (0_u16..).zip(&self.flows) {
            flows.push(Flow::start(number, spec, clock, networks, addresses, &tell)?);
        }
        // Each end of a flow sends one message.
        for _ in 0..2 * flows.len() {
            ready.recv_timeout(SystemDuration::from_secs(10)).map_err(|_| {
                LiveError::new("the flows have not started after 10 s: the machine is too busy")
            })??;
        }
        Ok(flows)
    }

    fn with_delays(&self) -> BottleneckConfig {
        let mut config = self.bottleneck.clone();
        let half = |rtt: Duration| Duration::from_nanos(rtt.as_nanos() / 2);
        let delay = |of: &dyn Fn(Duration) -> Duration| Delay {
            base: Duration::ZERO,
            by_port: (0_u16..).zip(&self.flows).map(|(number, flow)| (port(number), of(flow.rtt))).collect(),
        };
        // The way down gets the odd nanosecond, so that both together are the round-trip time.
        config.links[Direction::Up.index()].delay = delay(&half);
        config.links[Direction::Down.index()].delay = delay(&|rtt| rtt.saturating_sub(half(rtt)));
        config
    }

    /// Carries packets, and reads the counters at the end of the warm-up, of each step and of the
    /// run.
    fn measure(
        &self,
        mut bottleneck: Bottleneck,
        flows: &[Flow],
        counts: &Counts,
    ) -> Result<SessionOutcome, LiveError> {
        let mut baseline = Baseline::take(&mut bottleneck, flows, counts);
        let mut steps = [Vec::new(), Vec::new()];
        let mut delivered: Vec<Vec<u64>> = vec![Vec::new(); flows.len()];
        let mut delivered_before = vec![0; flows.len()];
        let end = Instant::ZERO + self.duration;
        let mut warm_at = if self.warmup.is_zero() { Instant::MAX } else { Instant::ZERO + self.warmup };
        // A step of 0 would never let time pass.
        let step = self.step.filter(|step| !step.is_zero());
        let mut step_end = step.map_or(Instant::MAX, |step| Instant::ZERO + step);
        loop {
            let pause = end.min(step_end).min(warm_at);
            // The other pauses are requests and signals, which nobody sends to a session.
            while !matches!(bottleneck.run_until(pause)?, Pause::Time) {}
            if pause == step_end {
                for direction in Direction::BOTH {
                    steps[direction.index()].push(bottleneck.link_mut(direction).0.meter.take_step());
                }
                for ((flow, last), values) in flows.iter().zip(&mut delivered_before).zip(&mut delivered) {
                    let now = flow.delivered();
                    values.push(now - *last);
                    *last = now;
                }
                step_end += step.unwrap_or(Duration::MAX);
            }
            if pause == warm_at {
                warm_at = Instant::MAX;
                for direction in Direction::BOTH {
                    let now = bottleneck.now();
                    bottleneck.link_mut(direction).0.meter.restart(now);
                }
                baseline = Baseline::take(&mut bottleneck, flows, counts);
            }
            if pause >= end {
                break;
            }
        }
        let end = bottleneck.now();
        let last = Baseline::take(&mut bottleneck, flows, counts);
        let flow_outcomes = flows
            .iter()
            .zip(baseline.tallies.iter().zip(&last.tallies))
            .zip(baseline.counts.iter().zip(&last.counts))
            .map(|((flow, (before, after)), (counted, counts))| FlowOutcome {
                before: *before,
                after: *after,
                packets: [0, 1].map(|queue: usize| counts[queue].since(&counted[queue])),
                samples: flow.samples(),
                trouble: flow.trouble(),
            })
            .collect();
        // The flows end after their counters are read, because the kernel's counters end with a
        // connection.
        flows.iter().for_each(Flow::stop);
        let kernel_drops = bottleneck.kernel_counters().iter().flatten().map(|side| side.dropped).sum();
        Ok(SessionOutcome {
            counters: *bottleneck.counters(),
            bottleneck,
            before: baseline.links,
            end,
            flows: flow_outcomes,
            steps,
            delivered,
            kernel_drops,
            received: [0, 1].map(|side: usize| {
                let before = &baseline.kernel[side];
                let after = &last.kernel[side];
                InterfaceCounters {
                    received: after.received - before.received,
                    received_bytes: after.received_bytes - before.received_bytes,
                    sent: after.sent - before.sent,
                    dropped: after.dropped - before.dropped,
                    ..*after
                }
            }),
            received_in_s: seconds(last.at.since(baseline.at)),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a span for people")]
const fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// All counters at one moment.
struct Baseline {
    links: [Stats; 2],
    tallies: Vec<FlowTally>,
    counts: Vec<[FlowPackets; 2]>,
    kernel: [InterfaceCounters; 2],
    at: Instant,
}

impl Baseline {
    fn take(bottleneck: &mut Bottleneck, flows: &[Flow], counts: &Counts) -> Self {
        Self {
            links: Direction::BOTH.map(|direction| bottleneck.link(direction).stats()),
            tallies: flows.iter().map(Flow::tally).collect(),
            counts: counts.borrow().clone(),
            kernel: bottleneck.kernel_counters().map(Option::unwrap_or_default),
            at: bottleneck.now(),
        }
    }
}

/// Time before the run begins, in which threads start, and packets that the kernel sends when an
/// interface comes up pass by.
const SETTLING: Duration = Duration::from_millis(300);
