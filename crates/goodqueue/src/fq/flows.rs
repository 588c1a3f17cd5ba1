//! The flows of `fq`: their packets in the order of departure, and the lists that they stand in.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::packet::Packet;
use crate::queue::{Chain, Pool};
use crate::time::Instant;

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Packets in the order in which they came, each planned no earlier than the one before.
    pub(super) packets: Chain,
    /// Latest planned departure of these.
    last: Instant,
    /// Number of further packets, which were planned earlier than one that came before.
    early: u32,
    /// Bytes that it may send until its next round.
    pub(super) credit: i32,
    /// Time before which it sends nothing; zero: never set.
    pub(super) time_next: Instant,
    /// Its number among the throttled flows.
    wait: u64,
    /// Next flow of the list.
    pub(super) next: u32,
    pub(super) band: u8,
    pub(super) state: State,
}

/// Where a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// In no list, since this jiffy; since [`NEVER`] if it is new.
    Detached(u64),
    /// In the list of new or old flows of a band.
    Listed,
    /// Waits for its time.
    Throttled,
}

/// A planned packet: its departure, whether the sender chose it, and the band that it counts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) at: Instant,
    pub(super) by_sender: bool,
    pub(super) band: u8,
}

/// The packet that a flow sends next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Next {
    pub(super) plan: Plan,
    pub(super) bytes: u32,
}

/// A packet with its plan.
#[derive(Clone, Debug)]
pub(super) struct Planned<P> {
    pub(super) packet: P,
    pub(super) plan: Plan,
}

impl Flow {
    pub(super) fn new(credit: i32) -> Self {
        Self {
            packets: Chain::default(),
            last: Instant::ZERO,
            early: 0,
            credit,
            time_next: Instant::ZERO,
            wait: 0,
            next: NIL,
            band: 0,
            // Linux makes a flow idle from its first packet on: it has only its initial quantum.
            state: State::Detached(NEVER),
        }
    }

    /// Number of packets.
    #[inline]
    pub(super) const fn len(&self) -> u32 {
        self.packets.len() + self.early
    }
}

/// A list of flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NIL, last: NIL }
    }
}

/// A flow, a planned departure, and a running number of arrivals.
type Early = (u32, Instant, u64);

/// All flows and their packets.
#[derive(Clone, Debug)]
pub(super) struct Flows<P> {
    pool: Pool<Planned<P>>,
    /// Packets that were planned earlier than one of their flow that came before, by flow, plan and
    /// arrival.
    early: BTreeMap<Early, Planned<P>>,
    arrivals: u64,
    /// Number of each flow by its hash; [`NIL`]: no packet came yet.
    numbers: Vec<u32>,
    pub(super) flows: Vec<Flow>,
    /// Throttled flows by time, and in the order in which they came to wait.
    delayed: BTreeSet<(Instant, u64, u32)>,
    waits: u64,
    /// Flows with packets.
    pub(super) active: u32,
}

impl<P: Packet> Flows<P> {
    pub(super) fn new() -> Self {
        Self {
            pool: Pool::default(),
            early: BTreeMap::new(),
            arrivals: 0,
            numbers: Vec::new(),
            flows: Vec::new(),
            delayed: BTreeSet::new(),
            waits: 0,
            active: 0,
        }
    }

    /// Returns the number of the flow of `hash`, which is at most `mask`. A new flow has `credit`.
    #[inline]
    pub(super) fn of_hash(&mut self, hash: u32, mask: u32, credit: i32) -> u32 {
        match self.numbers.get(hash as usize) {
            Some(&number) if number != NIL => number,
            _ => self.add(hash, mask, credit),
        }
    }

    // A flow is added once and found for each of its packets.
    #[cold]
    fn add(&mut self, hash: u32, mask: u32, credit: i32) -> u32 {
        let size = (mask as usize).saturating_add(1);
        if self.numbers.len() < size {
            self.numbers.resize(size, NIL);
        }
        let number = u32::try_from(self.flows.len()).unwrap_or(NIL);
        self.flows.push(Flow::new(credit));
        if let Some(entry) = self.numbers.get_mut(hash as usize) {
            *entry = number;
        }
        number
    }

    #[inline]
    pub(super) fn flow(&self, number: u32) -> Option<&Flow> {
        self.flows.get(number as usize)
    }

    #[inline]
    pub(super) fn flow_mut(&mut self, number: u32) -> Option<&mut Flow> {
        self.flows.get_mut(number as usize)
    }

    /// Adds a packet to a flow.
    #[inline]
    pub(super) fn push(&mut self, number: u32, packet: P, plan: Plan) {
        let Some(flow) = self.flows.get_mut(number as usize) else { return };
        self.active += u32::from(flow.len() == 0);
        let planned = Planned { packet, plan };
        // As in Linux `flow_queue_add()`, packets in order need no search.
        if flow.packets.is_empty() || plan.at >= flow.last {
            flow.last = plan.at;
            self.pool.push_back(&mut flow.packets, plan.at, planned);
            return;
        }
        flow.early += 1;
        self.arrivals += 1;
        self.early.insert((number, plan.at, self.arrivals), planned);
    }

    /// Returns what the flow sends next, or `None` if it has no packet.
    #[inline]
    pub(super) fn next(&self, number: u32) -> Option<Next> {
        let flow = self.flows.get(number as usize)?;
        let in_order = self.pool.front(&flow.packets).map(|queued| queued.packet);
        let planned = if flow.early == 0 { in_order? } else { self.next_of_both(number, in_order)? };
        Some(Next { plan: planned.plan, bytes: planned.packet.len() })
    }

    // Most senders plan their packets in order, and so have none in `early`.
    #[cold]
    fn next_of_both<'a>(&'a self, number: u32, in_order: Option<&'a Planned<P>>) -> Option<&'a Planned<P>> {
        let early = self.first_early(number).map(|(_, planned)| planned);
        match (early, in_order) {
            // Of equal plans the packet in order came first.
            (Some(early), Some(in_order)) if early.plan.at >= in_order.plan.at => Some(in_order),
            (early, in_order) => early.or(in_order),
        }
    }

    fn first_early(&self, number: u32) -> Option<(&Early, &Planned<P>)> {
        self.early.range((number, Instant::ZERO, 0)..).next().filter(|(key, _)| key.0 == number)
    }

    /// Removes that packet.
    #[inline]
    pub(super) fn pop(&mut self, number: u32) -> Option<P> {
        let flow = self.flows.get_mut(number as usize)?;
        self.active -= u32::from(flow.len() == 1);
        if flow.early != 0 {
            return self.pop_of_both(number).map(|planned| planned.packet);
        }
        Some(self.pool.pop_front(&mut flow.packets)?.packet)
    }

    #[cold]
    fn pop_of_both(&mut self, number: u32) -> Option<Planned<P>> {
        let key = self.first_early(number).map(|(key, _)| *key)?;
        let flow = self.flows.get_mut(number as usize)?;
        let front = self.pool.front(&flow.packets).map(|queued| queued.at);
        // Of equal plans the packet in order came first.
        if front.is_some_and(|front| key.1 >= front) {
            return self.pool.pop_front(&mut flow.packets);
        }
        flow.early -= 1;
        self.early.remove(&key)
    }

    /// Prepares a flow for the end of a list. Returns the band of the flow.
    #[inline]
    pub(super) fn list(&mut self, number: u32) -> Option<u8> {
        let flow = self.flows.get_mut(number as usize)?;
        flow.next = NIL;
        flow.state = State::Listed;
        Some(flow.band)
    }

    /// Appends such a flow to a list.
    #[inline]
    pub(super) fn append(&mut self, list: &mut List, number: u32) {
        if list.first == NIL {
            list.first = number;
        } else if let Some(last) = self.flows.get_mut(list.last as usize) {
            last.next = number;
        }
        list.last = number;
    }

    /// Returns the credits of the flows in a list.
    pub(super) fn credits(&self, list: List) -> impl Iterator<Item = i32> {
        let mut next = list.first;
        core::iter::from_fn(move || {
            let flow = self.flow(next)?;
            next = flow.next;
            Some(flow.credit)
        })
    }

    /// Adds to the credit of each flow in a list.
    pub(super) fn add_credit(&mut self, list: List, gained: i32) {
        let mut next = list.first;
        while let Some(flow) = self.flow_mut(next) {
            flow.credit = flow.credit.saturating_add(gained);
            next = flow.next;
        }
    }

    /// Lets a flow wait until `at`.
    pub(super) fn throttle(&mut self, number: u32, at: Instant) {
        self.waits += 1;
        if let Some(flow) = self.flows.get_mut(number as usize) {
            // As in `fq_dequeue()`, the plan of its first packet becomes the time of the flow.
            flow.time_next = at;
            flow.state = State::Throttled;
            flow.wait = self.waits;
            self.delayed.insert((at, self.waits, number));
        }
    }

    /// Ends the wait of a throttled flow, before it has sent. Returns until when it would have
    /// waited.
    pub(super) fn recall(&mut self, number: u32) -> Option<Instant> {
        let flow = self.flow(number).filter(|flow| flow.state == State::Throttled)?;
        let until = flow.time_next;
        self.delayed.remove(&(until, flow.wait, number));
        Some(until)
    }

    /// Returns the time at which the first throttled flow may send.
    #[inline]
    pub(super) fn first_wake(&self) -> Option<Instant> {
        self.delayed.first().map(|(at, ..)| *at)
    }

    /// Removes and returns the first throttled flow.
    pub(super) fn wake(&mut self) -> Option<u32> {
        self.delayed.pop_first().map(|(.., number)| number)
    }

    /// Number of throttled flows.
    #[inline]
    pub(super) fn throttled(&self) -> usize {
        self.delayed.len()
    }

    /// Returns the number of the flow of `hash`, if a packet of it came.
    pub(super) fn known(&self, hash: u32) -> Option<u32> {
        self.numbers.get(hash as usize).copied().filter(|&number| number != NIL)
    }

    /// Number of flows.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.flows.len()).unwrap_or(NIL)
    }

    /// Forgets all flows, which must be empty, and all lists.
    pub(super) fn forget(&mut self) {
        self.numbers.clear();
        self.flows.clear();
        self.delayed.clear();
        self.active = 0;
    }
}

/// A jiffy that never comes: no time passes after it.
const NEVER: u64 = u64::MAX;

/// "No flow."
pub(super) const NIL: u32 = u32::MAX;
