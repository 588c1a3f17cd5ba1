//! The complete description of a run.

use std::sync::Arc;

use goodqueue::{AnyConfig, Duration, Instant, Rate};

use crate::link::LinkConfig;
use crate::traffic::Traffic;
use crate::wifi::MediumConfig;

/// The complete description of a run. Equal configurations give equal outcomes, bit for bit.
#[derive(Clone, Debug)]
pub struct Config {
    /// Simulated time.
    pub duration: Duration,
    /// Time at the start of the run that is not measured.
    pub warmup: Duration,
    /// The two links of the bottleneck: down, up.
    pub links: [LinkConfig; 2],
    /// Hops between the servers and the bottleneck, in this order.
    pub before: Vec<HopConfig>,
    /// Hops between the bottleneck and the clients, in this order.
    pub after: Vec<HopConfig>,
    /// Index of the hop (0 = nearest the servers) behind which, towards the clients, lies the rest
    /// of each flow's delay: what no hop and no access has of its round-trip time. `None`, or the
    /// last hop: behind the last link in each direction.
    ///
    /// Servers at different distances then share the hops up to this one. All flows must join at
    /// the first hop.
    pub rest_behind: Option<u32>,
    /// A WiFi channel between the last hop and the clients. [`FlowConfig::client`] selects the
    /// client; seed and framing of the channel are those of the run.
    pub wifi: Option<MediumConfig>,
    /// Tick of a delay emulator such as dummynet; `None` for exact delays.
    ///
    /// The emulator adds the rest of a flow's delay ([`Self::rest_behind`]). It releases a packet
    /// at a tick: the whole ticks of the delay count from the last tick before the packet
    /// arrived. The seed determines the time of the first tick.
    pub delay_tick: Option<Duration>,
    /// Bytes of link header that queues count per packet: 14 for Ethernet, as in Linux.
    pub framing: u32,
    /// The flows.
    pub flows: Vec<FlowConfig>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Step of the time series; `None` for no time series.
    pub series_step: Option<Duration>,
    /// Levels in bytes. The run measures how long the queues exceed each of them.
    pub spikes: Vec<u64>,
}

/// A hop beside the bottleneck: a link in series, with its own discipline in each direction.
#[derive(Clone, PartialEq, Debug)]
pub struct HopConfig {
    /// The links: down, up.
    pub links: [LinkConfig; 2],
    /// Propagation delay, each way, between this hop and its neighbour towards the bottleneck. It
    /// is part of the flows' round-trip time.
    pub delay: Duration,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// What the flow sends.
    pub traffic: Traffic,
    /// Round-trip time without queueing.
    pub rtt: Duration,
    /// Part of the one-way delay that lies between a host and the first queue of its packets.
    pub access: Duration,
    /// Rate of the access link on which each of the flow's hosts sends; `None` for no such link.
    pub access_rate: Option<Rate>,
    /// Discipline in front of the access link of each of the flow's hosts; `None`: a host queues
    /// without limit, and its TCP does not know the queue.
    ///
    /// Flows with the same host, `access_rate` and discipline share the queue of this host. TCP of
    /// Linux keeps few segments in it ([`Sender::set_host_queue`]), and `fq` paces.
    ///
    /// [`Sender::set_host_queue`]: goodqueue_tcp::Sender::set_host_queue
    pub host_qdisc: Option<Arc<AnyConfig>>,
    /// Index of the hop (0 = nearest the servers) at which this flow's server attaches. The flow's
    /// packets pass only the hops from there on. An index beyond the last hop means the last hop.
    pub joins: u32,
    /// DSCP of the flow's packets, 0 to 63.
    pub dscp: u8,
    /// Number of the client. Disciplines that isolate hosts tell clients apart by it.
    pub client: u16,
    /// Number of the server, used likewise.
    pub server: u8,
    /// Time at which the flow begins.
    pub start: Instant,
    /// Time at which the flow ends; `None` for the end of the run.
    pub stop: Option<Instant>,
}

impl Config {
    /// Returns a run over one bottleneck (down, up) that measures everything, with seed 1, Ethernet
    /// framing and no time series.
    #[must_use]
    pub const fn new(links: [LinkConfig; 2], flows: Vec<FlowConfig>, duration: Duration) -> Self {
        Self {
            duration,
            warmup: Duration::ZERO,
            links,
            before: Vec::new(),
            after: Vec::new(),
            rest_behind: None,
            wifi: None,
            delay_tick: None,
            framing: 14,
            flows,
            seed: 1,
            series_step: None,
            spikes: Vec::new(),
        }
    }

    /// Returns the shortest time that a packet of `flow` and its answer can take.
    ///
    /// This is the round-trip time. With [`Self::delay_tick`] it is the time of a packet that
    /// reaches the emulator just before a tick. The emulator releases it at a tick, so its answer
    /// reaches the emulator after a tick by the delays of hops and access.
    #[must_use]
    pub fn base_rtt(&self, flow: &FlowConfig) -> Duration {
        let Some(every) = self.delay_tick.filter(|every| !every.is_zero()) else { return flow.rtt };
        let hops = self.before.iter().chain(&self.after).map(|hop| hop.delay);
        let on_the_way = hops.skip(flow.joins as usize).fold(flow.access, |sum, delay| sum + delay);
        // Each direction has half of the round-trip time, as in `Network::connect`.
        let up = Duration::from_nanos(flow.rtt.as_nanos() / 2);
        let down = flow.rtt.saturating_sub(up);
        let ticks = |half: Duration| half.saturating_sub(on_the_way).as_nanos() / every.as_nanos();
        let ticks = ticks(up) + ticks(down);
        let apart = on_the_way.saturating_mul(2);
        if ticks < 2 {
            // At most one direction has a whole tick, which its packet can reach just before its
            // end. Nothing else waits.
            return apart;
        }
        let after_a_tick = Duration::from_nanos(on_the_way.as_nanos() % every.as_nanos());
        (apart + every.saturating_mul(ticks - 1)).saturating_sub(after_a_tick)
    }
}

impl FlowConfig {
    /// Returns a flow that lasts for the whole run.
    #[must_use]
    pub const fn new(traffic: Traffic, rtt: Duration) -> Self {
        Self {
            traffic,
            rtt,
            access: Duration::ZERO,
            access_rate: None,
            host_qdisc: None,
            joins: 0,
            dscp: 0,
            client: 0,
            server: 0,
            start: Instant::ZERO,
            stop: None,
        }
    }
}
