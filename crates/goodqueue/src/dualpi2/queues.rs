//! The two queues of `dualpi2` and whose turn it is.

use crate::packet::{Ecn, Packet};
use crate::qdisc::{Count, Stats};
use crate::queue::Fifo;
use crate::time::Instant;
use crate::weights::Weights;

/// The low-latency queue L and the classic queue C.
#[derive(Clone, Debug)]
pub(super) struct Queues<P> {
    pub(super) low_latency: Fifo<Held<P>>,
    pub(super) classic: Fifo<Held<P>>,
    /// Above 0 it is the turn of C.
    pub(super) credit: i64,
}

/// The treatment of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Service {
    /// Queue C.
    Classic,
    /// Queue L.
    LowLatency,
    /// Queue L, and neither marked nor dropped.
    Untouched,
}

/// A queued packet.
#[derive(Clone, Debug)]
pub(super) struct Held<P> {
    pub(super) packet: P,
    /// Memory that it is charged.
    pub(super) memory: u64,
    pub(super) service: Service,
    /// The step applies to it: L was long enough when it came.
    pub(super) steps: bool,
}

/// What the AQM sees of the packet whose turn it is. The packet stays in its queue meanwhile, so
/// that it is moved once, when it is sent or dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) at: Instant,
    pub(super) bytes: u32,
    pub(super) ecn: Ecn,
    pub(super) service: Service,
    pub(super) steps: bool,
    /// By how much it changes the credit.
    pub(super) change: i64,
}

impl<P: Packet> Packet for Held<P> {
    fn len(&self) -> u32 {
        self.packet.len()
    }

    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    fn set_ce(&mut self) -> bool {
        self.packet.set_ce()
    }
}

impl<P: Packet> Queues<P> {
    pub(super) fn new(credit: i64) -> Self {
        Self { low_latency: Fifo::default(), classic: Fifo::default(), credit }
    }

    /// Packets in both queues.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.low_latency.len().wrapping_add(self.classic.len())
    }

    /// Bytes in both queues.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.low_latency.bytes().wrapping_add(self.classic.bytes())
    }

    /// Returns the packet whose turn it is, or `None` if both queues are empty.
    #[inline]
    pub(super) fn head(&self, weights: Weights) -> Option<Head> {
        let (queued, change) = match (self.classic.front(), self.low_latency.front()) {
            (Some(classic), None) => (classic, 0),
            (Some(classic), Some(_)) if self.credit > 0 => {
                (classic, weights.by_classic(classic.packet.len()))
            }
            (Some(_), Some(low_latency)) => (low_latency, weights.by_low_latency(low_latency.packet.len())),
            (None, low_latency) => (low_latency?, 0),
        };
        let held = &queued.packet;
        Some(Head {
            at: queued.at,
            bytes: held.len(),
            ecn: held.ecn(),
            service: held.service,
            steps: held.steps,
            change,
        })
    }

    /// Returns the queue of this service.
    #[inline]
    pub(super) const fn queue(&mut self, service: Service) -> &mut Fifo<Held<P>> {
        match service {
            Service::Classic => &mut self.classic,
            Service::LowLatency | Service::Untouched => &mut self.low_latency,
        }
    }

    /// Charges each packet again, by another rule. Returns the sum.
    pub(super) fn charge_again(&mut self, rule: impl Fn(&P) -> u64) -> u64 {
        let mut sum = 0_u64;
        for held in self.low_latency.iter_mut().chain(self.classic.iter_mut()) {
            held.memory = rule(&held.packet);
            sum = sum.wrapping_add(held.memory);
        }
        sum
    }

    /// Completes the statistics of a discipline whose packets are all in these queues.
    pub(super) fn complete(&self, stats: Stats) -> Stats {
        let entered = self.low_latency.entered().plus(self.classic.entered());
        stats.with_queue(entered, Count { packets: self.len() as u64, bytes: self.bytes() })
    }
}
