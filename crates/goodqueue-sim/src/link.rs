//! One direction of a hop: a queue discipline in front of a rate, a schedule of rates, or a
//! recorded trace.

mod by_grants;
mod flow_control;
mod granted;

use std::slice::from_ref;
use std::sync::Arc;

use goodqueue::{AnyConfig, AnyQdisc, Count, DropReason, Duration, Instant, Lookahead as _, Qdisc, Rate};

use crate::ahead::fetch_line;
use crate::driver::{Driver, Ring};
use crate::grants::Grants;
use crate::monitor::LinkMonitor;
use crate::observer::{Fate, Note, Notes};
use crate::packet::Packet;
use crate::pause::{Pause, Receiver};
use crate::wire::Wire;
use goodqueue_link::capacity::{Capacity, OPPORTUNITY_BYTES, Opportunities, TUN_HEADER, UNLIMITED};
use goodqueue_link::work::{Progress, Work};
use granted::Granted;

/// The configuration of one direction of a hop.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// Capacity of the link.
    pub capacity: Capacity,
    /// Discipline in front of the link.
    pub qdisc: AnyConfig,
    /// Ring of the device between discipline and link; `None`: the device takes a packet only when
    /// it can send it.
    pub driver: Option<Driver>,
    /// PAUSE frames that the device in front of this link sends when the queue fills; `None`: none.
    pub pause: Option<Pause>,
    /// Requests and grants of a DOCSIS upstream; `None`: the link sends whenever it is free. They
    /// have no effect on a trace and on a link without a limit.
    pub grants: Option<Grants>,
    /// Change to the salt of the discipline's hash, in addition to the run's seed. Another key
    /// makes other flows collide.
    pub hash_key: u32,
}

impl LinkConfig {
    /// Returns a link whose device has no ring.
    #[must_use]
    pub const fn new(capacity: Capacity, qdisc: AnyConfig) -> Self {
        Self { capacity, qdisc, driver: None, pause: None, grants: None, hash_key: 0 }
    }
}

/// One direction of a hop, in operation.
#[derive(Debug)]
pub(crate) struct Link {
    qdisc: AnyQdisc<Packet>,
    server: Server,
    /// Time at which the link asks its queue next; `None` until an arrival wakes it.
    ask_at: Option<Instant>,
    /// Time at which the link became free without having asked its queue yet.
    free_at: Option<Instant>,
    framing: u32,
    ring: Option<Box<Ring>>,
    /// Pauses that the link obeyed; `None` if no device pauses the link.
    paused: Option<Box<Receiver>>,
    /// Packets given to the discipline.
    entered: Count,
    /// Reason of the last drop that an arrival caused.
    last_drop: Option<DropReason>,
    /// Packets dropped since they were last collected.
    pub(crate) lost: Vec<Packet>,
    pub(crate) monitor: LinkMonitor,
    /// Events noted since they were last collected; `None` without an observer.
    pub(crate) notes: Option<Box<Notes>>,
}

#[derive(Debug)]
enum Server {
    Rate {
        wire: Wire,
        changes: Vec<(Instant, Rate)>,
    },
    Trace {
        opportunities: Arc<Opportunities>,
        /// Running number of the next opportunity to use.
        next: u64,
        /// Unused bytes of that opportunity, if some were used.
        left: Option<u32>,
        /// A packet that did not fit into the last opportunity, and its remaining bytes.
        in_transit: Option<(Packet, u32)>,
    },
    // Boxed: few links have grants, and every link has a server.
    Granted(Box<Granted>),
}

/// The result of serving a link.
pub(crate) struct Served {
    /// A packet that the link sends.
    pub(crate) sent: Option<Packet>,
    /// Time at which the packet's last bit is on the wire.
    pub(crate) end: Instant,
    /// Time at which to call [`Link::serve`] again, unless that call was requested before.
    pub(crate) call_at: Option<Instant>,
}

impl Served {
    /// No packet is sent.
    const fn nothing(call_at: Option<Instant>) -> Self {
        // Without a packet nobody reads the end.
        Self { sent: None, end: Instant::ZERO, call_at }
    }
}

impl Link {
    pub(crate) fn new(
        config: &LinkConfig,
        qdisc: AnyQdisc<Packet>,
        framing: u32,
        monitor: LinkMonitor,
    ) -> Self {
        let at_rate = |rate: Rate, changes: Vec<(Instant, Rate)>| match config.grants {
            Some(grants) if rate != UNLIMITED => {
                Server::Granted(Box::new(Granted::new(grants, rate, changes)))
            }
            // Without a limit there is no interval whose bytes a grant could name.
            _ => Server::Rate { wire: Wire::new(rate), changes },
        };
        let server = match &config.capacity {
            Capacity::Constant(rate) => at_rate(*rate, Vec::new()),
            Capacity::Schedule(schedule) => {
                // An empty schedule has no rate at any time, so the link never sends.
                at_rate(schedule.first().map_or(Rate::from_bps(0), |first| first.1), schedule.clone())
            }
            Capacity::Trace(opportunities) => Server::Trace {
                opportunities: Arc::clone(opportunities),
                next: 0,
                left: None,
                in_transit: None,
            },
        };
        let ring = config.driver.map(|driver| Box::new(Ring::new(driver)));
        Self {
            qdisc,
            server,
            ask_at: None,
            free_at: None,
            framing,
            ring,
            paused: None,
            entered: Count::default(),
            last_drop: None,
            lost: Vec::new(),
            monitor,
            notes: None,
        }
    }

    /// Returns the times at which the rate changes, in order.
    pub(crate) fn change_times(&self) -> Vec<Instant> {
        match &self.server {
            Server::Rate { changes, .. } => changes.iter().map(|change| change.0).collect(),
            Server::Granted(granted) => granted.changes.iter().map(|change| change.0).collect(),
            Server::Trace { .. } => Vec::new(),
        }
    }

    /// Applies the rate that the schedule has at `now`. The packet in transmission keeps the old
    /// rate.
    pub(crate) fn change_rate(&mut self, now: Instant) -> Option<Instant> {
        if let Server::Rate { wire, changes } = &mut self.server {
            // Of several changes at one time the last one counts.
            let due = changes.iter().rev().find(|change| change.0 <= now);
            wire.change_rate(now, due.map_or(wire.rate(), |change| change.1));
            // A rate of 0 stopped the link in front of a queue with packets.
            if self.ask_at.is_none() && !self.is_idle() {
                // The packet in transmission ends at its old rate, and the next one begins behind
                // it.
                self.ask_at = Some(self.free_at.map_or(now, |free| free.max(now)));
                return self.ask_at;
            }
            return None;
        }
        self.change_granted_rate(now)
    }

    /// Offers a packet whose `queued_at` is set. Returns the time at which to call [`Self::serve`],
    /// unless that call was requested before.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, packet: Packet) -> Option<Instant> {
        if let Some(free_at) = self.free_at
            && self.ask_at.is_none()
            // A packet that arrives exactly at the end of a transmission departed before that
            // transmission began.
            && free_at < now
            // With packets queued the link did not become idle; it is blocked (rate 0).
            && self.is_idle()
        {
            // The link became idle in the meantime. It asked the empty discipline then, which may
            // change the discipline's state.
            self.free_at = None;
            // Nothing can be dropped from an empty queue.
            let nothing = self.qdisc.dequeue(free_at, &mut |_, _| ());
            debug_assert!(nothing.is_none(), "the link only goes to sleep on an empty queue");
        }
        if cfg!(debug_assertions) {
            self.entered.add(packet.len);
        }
        let monitor = &mut self.monitor;
        let losses = &mut self.lost;
        let last_drop = &mut self.last_drop;
        // Until now the queue had the length that the call below changes.
        monitor.advance(now);
        let mut drops = |lost: Packet, why| {
            *last_drop = Some(why);
            monitor.dropped(why);
            // The network counts the drop after the call. A closure over all of its counters cost
            // every packet instructions, also those that are not dropped.
            losses.push(lost);
        };
        match &mut self.notes {
            None => self.qdisc.enqueue(now, packet, &mut drops),
            Some(notes) => notes.enqueue(&mut self.qdisc, now, packet, &mut drops),
        }
        monitor.length_is(self.qdisc.len());
        monitor.backlog_is(now, || self.qdisc.backlog());
        if self.ring.is_some() {
            // A device with room takes a packet when it arrives, as Linux runs the discipline at
            // each arrival.
            self.fill_ring(now, self.has_sent(now));
        }
        // A link that waits for a shaper or a delay is free, so the packet that arrived may be sent
        // now.
        // Not for a trace or grants: the link may have to wait for its next opportunity, which is
        // when it asks.
        let waits = self.free_at.is_none()
            && matches!(&self.server, Server::Rate { .. })
            && self.ask_at.is_some_and(|ask| ask > now);
        if (self.ask_at.is_some() && !waits) || self.is_idle() {
            return None;
        }
        let when = self.next_service(now);
        self.ask_at = when;
        when
    }

    /// Returns the packets that the discipline did not take. The discipline adds this up over its
    /// classes, so the call is too expensive for every packet.
    pub(crate) fn not_taken(&self) -> u64 {
        self.qdisc.stats().dropped_before.packets
    }

    /// Returns true if the discipline had no room for the last packet that it dropped. An AQM that
    /// drops an arrival counts as having taken it, as in Linux's RED, CHOKe and SFB
    /// (`NET_XMIT_CN`).
    pub(crate) const fn had_no_room(&self) -> bool {
        !matches!(self.last_drop, Some(DropReason::Congested | DropReason::Lost))
    }

    /// Returns the time, `now` or later, at which the server can take a packet.
    #[inline]
    fn next_service(&mut self, now: Instant) -> Option<Instant> {
        match &mut self.server {
            Server::Rate { wire, .. } if wire.rate().as_bps() == 0 => None,
            Server::Rate { .. } => Some(self.free_at.map_or(now, |free| free.max(now))),
            Server::Trace { opportunities, next, .. } => {
                // The opportunity at `now` may be used up.
                *next = opportunities.first_not_before(now).max(*next);
                Some(opportunities.time_of(*next))
            }
            Server::Granted(granted) => granted.next_grant(now),
        }
    }

    /// Returns true if a packet offered at `now` would be sent at once. The caller may then serve
    /// the link without an event.
    #[inline]
    pub(crate) fn serves_at(&self, now: Instant) -> bool {
        self.ask_at == Some(now)
    }

    /// Takes from the queue what the link can carry at `now`.
    #[inline]
    pub(crate) fn serve(&mut self, now: Instant) -> Served {
        if self.ask_at != Some(now) {
            // A PAUSE frame, an arrival or a new configuration has moved the call, or the device in
            // front of the link only looks at its buffer (`control_flow`).
            return Served::nothing(None);
        }
        self.ask_at = None;
        match &mut self.server {
            // The next change of rate lets the link ask again.
            Server::Rate { wire, .. } if wire.rate().as_bps() == 0 => Served::nothing(None),
            Server::Rate { .. } => self.send_next(now),
            Server::Trace { .. } => self.use_opportunity(now),
            Server::Granted(_) => self.use_grant(now),
        }
    }

    /// Begins to send the next packet at the link's rate.
    #[inline]
    fn send_next(&mut self, now: Instant) -> Served {
        let sent = self.take(now);
        let Some(packet) = &sent else {
            self.free_at = None;
            // An event that is already due must not stop time.
            let later = now + Duration::from_nanos(1);
            self.ask_at = self.qdisc.next_event(now).map(|event| event.max(later));
            return Served::nothing(self.ask_at);
        };
        let end = self.end_of(now, packet.len);
        self.free_at = Some(end);
        self.monitor.sent(packet.len);
        // An idle link schedules no event. `enqueue` makes up for the question at the next arrival.
        if !self.is_idle() {
            self.ask_at = Some(end);
        }
        Served { sent, end, call_at: self.ask_at }
    }

    /// Returns the end of a packet whose transmission begins now.
    #[inline]
    fn end_of(&mut self, now: Instant, bytes: u32) -> Instant {
        match &mut self.server {
            Server::Rate { wire, .. } => wire.end_of(now, bytes),
            // An opportunity or a grant is an instant, at which its packets leave in one burst.
            Server::Trace { .. } | Server::Granted(_) => now,
        }
    }

    /// Returns true if no packet is in transmission at `now`. A link that has sent its packet may
    /// still not be free: a PAUSE frame stops the next one.
    fn has_sent(&self, now: Instant) -> bool {
        match &self.server {
            Server::Rate { wire, .. } => wire.ended() <= now,
            Server::Trace { .. } => self.free_at.is_none_or(|free| free <= now),
            Server::Granted(granted) => granted.in_transit.is_none(),
        }
    }

    /// Returns the state of the link's work at `now`.
    pub(crate) fn progress(&self, now: Instant) -> Progress {
        match &self.server {
            Server::Rate { wire, .. } => wire.progress(now),
            // A trace counts the bytes that its opportunities carry, so no packet is half sent.
            Server::Trace { opportunities, .. } => {
                let capacity = Capacity::Trace(Arc::clone(opportunities)).between(Instant::ZERO, now);
                Progress { unsent: Work::ZERO, capacity }
            }
            Server::Granted(granted) => granted.progress(now),
        }
    }

    /// Uses a delivery opportunity by Mahimahi's rule.
    ///
    /// An opportunity carries 1504 bytes. A packet may need several opportunities, and several
    /// packets may share one. Unused bytes are lost. Each call returns at most one packet; the next
    /// call uses the rest of the opportunity. Kept out of [`Self::serve`], whose stack would be
    /// larger for every link.
    #[inline(never)]
    fn use_opportunity(&mut self, now: Instant) -> Served {
        let (mut in_transit_before, mut budget) = match &mut self.server {
            Server::Trace { left, in_transit, .. } => {
                (in_transit.take(), left.take().unwrap_or(OPPORTUNITY_BYTES))
            }
            // Only a trace has opportunities (`serve`).
            Server::Rate { .. } | Server::Granted(_) => return Served::nothing(None),
        };
        loop {
            let carried = in_transit_before.take().or_else(|| {
                let packet = self.take(now)?;
                // Mahimahi counts the packets of its TUN device, which have no Ethernet header.
                let bytes = packet.len.saturating_sub(self.framing).saturating_add(TUN_HEADER);
                Some((packet, bytes))
            });
            let is_idle = self.is_idle();
            let Server::Trace { opportunities, next, left, in_transit } = &mut self.server else {
                return Served::nothing(None);
            };
            let Some((packet, bytes)) = carried else {
                // The rest of this opportunity is lost, as are those that pass before the next
                // packet arrives.
                *next += 1;
                self.free_at = None;
                // A discipline that holds packets back (a shaper, a delay) is asked at every
                // opportunity.
                self.ask_at = (!is_idle).then(|| opportunities.time_of(*next));
                return Served::nothing(self.ask_at);
            };
            if bytes > budget {
                let rest = Some((packet, bytes - budget));
                self.monitor.sent(budget);
                *next += 1;
                budget = OPPORTUNITY_BYTES;
                let when = opportunities.time_of(*next);
                // A trace may have several opportunities in one millisecond.
                if when > now {
                    *in_transit = rest;
                    self.ask_at = Some(when);
                    return Served::nothing(self.ask_at);
                }
                in_transit_before = rest;
                continue;
            }
            budget -= bytes;
            self.monitor.sent(bytes);
            self.ask_at = if budget > 0 {
                // The next packet, if it comes from the queue at this instant, shares the
                // opportunity.
                *left = Some(budget);
                Some(now)
            } else {
                *next += 1;
                Some(opportunities.time_of(*next))
            };
            return Served { sent: Some(packet), end: now, call_at: self.ask_at };
        }
    }

    /// Prefetches a packet that will probably be sent soon.
    #[inline]
    pub(crate) fn fetch_upcoming(&self) {
        if let Some(place) = self.qdisc.upcoming() {
            // A packet lies in two cache lines.
            fetch_line(from_ref(place), 0);
            fetch_line(from_ref(place), 1);
        }
    }

    /// Returns the next packet to send. With a ring it comes from the ring, which is then refilled.
    #[inline(always)]
    fn take(&mut self, now: Instant) -> Option<Packet> {
        if self.ring.is_none() {
            return self.dequeue(now);
        }
        // Kept out of line, because few links have a ring.
        self.take_from_ring(now)
    }

    #[inline(never)]
    fn take_from_ring(&mut self, now: Instant) -> Option<Packet> {
        // First the completion: it may raise the limit of byte queue limits, and so make room
        // before the packet is taken.
        self.fill_ring(now, true);
        let packet = self.ring.as_mut()?.pop();
        self.fill_ring(now, false);
        packet
    }

    /// Moves packets from the discipline into the device's ring while the ring has room.
    fn fill_ring(&mut self, now: Instant, has_sent: bool) {
        // Taken out, because `dequeue` needs the whole link.
        let Some(mut ring) = self.ring.take() else { return };
        if has_sent {
            ring.complete(now);
        }
        let mut holds_back = true;
        while ring.has_room() {
            match self.dequeue(now) {
                Some(packet) => ring.push(packet),
                None => {
                    holds_back = false;
                    break;
                }
            }
        }
        // Only a limit that keeps packets waiting counts. Otherwise the device runs dry for lack of
        // packets, and byte queue limits would grow without need.
        ring.holds_back(holds_back && !self.monitor.is_empty());
        self.ring = Some(ring);
    }

    /// Takes the next packet from the discipline, and measures it.
    // Inlined, because a call that saves six registers costs about 20 instructions.
    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<Packet> {
        let Self { qdisc, monitor, notes, lost: losses, .. } = self;
        monitor.advance(now);
        let mut drops = |lost: Packet, why: DropReason| {
            monitor.dropped(why);
            losses.push(lost);
        };
        let sent = match notes {
            None => qdisc.dequeue(now, &mut drops),
            Some(notes) => notes.dequeue(qdisc, now, &mut drops),
        };
        monitor.length_is(qdisc.len());
        monitor.backlog_is(now, || qdisc.backlog());
        // By reference: each move of a packet is a copy of 88 bytes.
        if let Some(packet) = &sent {
            monitor.dequeued(now.since(packet.queued_at));
        }
        sent
    }

    /// Returns true if no packet waits in the discipline or in the device.
    #[inline]
    fn is_idle(&self) -> bool {
        self.monitor.is_empty() && self.ring.as_ref().is_none_or(|ring| ring.is_empty())
    }

    /// Returns the packets that wait in the discipline, in the device, or half sent on a trace
    /// or by grants.
    pub(crate) fn held(&self) -> Count {
        let mut held = Count { packets: self.qdisc.len() as u64, bytes: self.qdisc.backlog() };
        if let Some(ring) = &self.ring {
            held.packets += ring.held().packets;
            held.bytes += ring.held().bytes;
        }
        let half_sent = match &self.server {
            Server::Trace { in_transit, .. } => in_transit.as_ref(),
            Server::Granted(granted) => granted.in_transit.as_ref(),
            Server::Rate { .. } => None,
        };
        if let Some((packet, _)) = half_sent {
            held.add(packet.len);
        }
        held
    }

    /// Returns the packets that the discipline made itself (`netem duplicate`). Debug builds only.
    pub(crate) fn copies(&self) -> Count {
        let stats = self.qdisc.stats();
        let dropped = stats.dropped();
        let queued = self.qdisc.len() as u64;
        Count {
            packets: stats.dequeued.packets + dropped.packets + queued - self.entered.packets,
            bytes: stats.dequeued.bytes + dropped.bytes + self.qdisc.backlog() - self.entered.bytes,
        }
    }

    /// Gives the discipline another configuration while packets are queued. Returns the time at
    /// which to call [`Self::serve`], unless that call was requested before.
    pub(crate) fn reconfigure(&mut self, now: Instant, config: AnyConfig) -> Option<Instant> {
        let monitor = &mut self.monitor;
        let notes = &mut self.notes;
        let last_drop = &mut self.last_drop;
        monitor.advance(now);
        let losses = &mut self.lost;
        self.qdisc.reconfigure(now, config, &mut |lost: Packet, why| {
            *last_drop = Some(why);
            monitor.dropped(why);
            if let Some(notes) = notes {
                notes.add(Note::Ended(lost, Fate::Dropped(why)));
            }
            losses.push(lost);
        });
        monitor.length_is(self.qdisc.len());
        monitor.backlog_is(now, || self.qdisc.backlog());
        // A link that waits for a shaper is free, and the new configuration may let a packet go.
        // As in `enqueue`.
        let waits = self.free_at.is_none() && self.ask_at.is_some_and(|ask| ask > now);
        if self.is_idle() || !waits || !matches!(self.server, Server::Rate { .. }) {
            return None;
        }
        self.ask_at = self.next_service(now);
        self.ask_at
    }

    pub(crate) fn qdisc(&self) -> &AnyQdisc<Packet> {
        &self.qdisc
    }
}
