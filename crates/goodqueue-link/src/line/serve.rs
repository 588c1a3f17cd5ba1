//! What a line does between two calls: packets leave the queue, cross the line and the path.

use goodqueue::{Duration, Flow, Instant, Packet, Qdisc};

use super::Line;
use crate::capacity::{Capacity, OPPORTUNITY_BYTES, TUN_HEADER, UNLIMITED};
use crate::watch::{Delays, Numbered, Watch};

impl<P: Packet + Flow + Numbered, D: Delays<P>> Line<P, D> {
    /// Begins to send after an arrival, if the line is free.
    pub(super) fn begin(&mut self, now: Instant, watch: &mut impl Watch<P>) {
        if let Capacity::Trace(all) = &self.capacity {
            if self.ask_at.is_none() && !self.qdisc.is_empty() {
                // Of several opportunities in one millisecond, those that have passed are not used
                // again.
                self.opportunity = self.opportunity.max(all.first_not_before(self.open_from(now)));
                self.ask_at = Some(all.time_of(self.opportunity));
            }
        } else if self.busy_until <= now {
            self.send_all_possible(now, watch);
        }
    }

    /// Returns the first instant from `now` on at which no gap is open and no packet of an earlier
    /// rate is in transmission. A packet that would take for ever does not block the next ones.
    pub(super) fn open_from(&self, now: Instant) -> Instant {
        let free = if self.busy_until == Instant::MAX { now } else { self.busy_until.max(now) };
        free.max(self.closed_until)
    }

    pub(super) fn run_step(&mut self, due: Instant, watch: &mut impl Watch<P>) {
        if let Some((_, packet)) = self.on_wire.take_if(|on_wire| on_wire.0 <= due) {
            if let Some(path) = &mut self.path {
                path.enqueue(due, packet, &mut |lost: P, why| watch.lost(due, lost, why));
            }
        }
        self.leave_path(due, watch);
        if self.ask_at.is_some_and(|ask| ask <= due) {
            match self.capacity {
                Capacity::Trace(_) => self.use_opportunity(due, watch),
                _ => self.send_all_possible(due, watch),
            }
        }
    }

    fn leave_path(&mut self, now: Instant, watch: &mut impl Watch<P>) {
        while let Some(packet) = self
            .path
            .as_mut()
            .and_then(|path| path.dequeue(now, &mut |lost: P, why| watch.lost(now, lost, why)))
        {
            self.propagate(now, packet);
        }
        // A path that names the present instant again would be asked at it for ever.
        let later = now + Duration::from_nanos(1);
        self.path_at = self.path.as_ref().and_then(|path| path.next_event(now)).map(|event| event.max(later));
    }

    /// Sends the next packet; without a limit, all packets that the discipline gives.
    fn send_all_possible(&mut self, now: Instant, watch: &mut impl Watch<P>) {
        while self.send_next(now, watch) && self.capacity.is_unlimited() {}
    }

    /// Takes the next packet, because the line is free. Returns false if there is none now.
    pub(super) fn send_next(&mut self, now: Instant, watch: &mut impl Watch<P>) -> bool {
        if self.closed_until > now {
            self.ask_at = Some(self.closed_until);
            return false;
        }
        let rate = match self.capacity.rate_at(now) {
            // Only a change of the rate can let a packet go. Without one the line sleeps.
            Some((rate, change)) if rate.as_bps() == 0 => {
                self.ask_at = change;
                return false;
            }
            // `None` is a link without a limit, because a trace has opportunities instead.
            rate => rate.map_or(UNLIMITED, |now| now.0),
        };
        let Some(packet) = self.take(now, watch) else {
            // As for the path: the discipline has just refused this instant.
            let later = now + Duration::from_nanos(1);
            self.ask_at = self.qdisc.next_event(now).map(|event| event.max(later));
            return false;
        };
        self.busy_until = if rate == UNLIMITED { now } else { now + rate.serialization(packet.len()) };
        self.ask_at = Some(self.busy_until);
        self.hand_over(self.busy_until, packet, watch);
        true
    }

    /// Uses one opportunity, by Mahimahi's rule: it carries 1504 bytes, a packet may need several,
    /// several packets may share one, and unused bytes are lost.
    fn use_opportunity(&mut self, now: Instant, watch: &mut impl Watch<P>) {
        let mut budget = OPPORTUNITY_BYTES;
        let more = loop {
            let next = self.unfinished.take().or_else(|| {
                let packet = self.take(now, watch)?;
                // Mahimahi counts the packets of its TUN device, which have no Ethernet header.
                let bytes = packet.len().saturating_sub(self.framing).saturating_add(TUN_HEADER);
                Some((packet, bytes))
            });
            let Some((packet, bytes)) = next else {
                break !self.qdisc.is_empty();
            };
            if bytes > budget {
                self.unfinished = Some((packet, bytes - budget));
                break true;
            }
            budget -= bytes;
            self.hand_over(now, packet, watch);
            if budget == 0 {
                break !self.qdisc.is_empty();
            }
        };
        self.opportunity += 1;
        self.ask_at = None;
        if let (true, Capacity::Trace(all)) = (more, &self.capacity) {
            // A discipline that holds its packets back is asked at the first opportunity at which
            // it can have changed its mind. Asking at each would take for ever if that is in a
            // year.
            let held = budget == OPPORTUNITY_BYTES && self.unfinished.is_none();
            let earliest = if held { self.qdisc.next_event(now) } else { None };
            let earliest = earliest.unwrap_or(Instant::ZERO).max(self.closed_until);
            self.opportunity = self.opportunity.max(all.first_not_before(earliest));
            self.ask_at = Some(all.time_of(self.opportunity));
        }
    }

    /// Returns the next packet of the discipline, if any.
    fn take(&mut self, now: Instant, watch: &mut impl Watch<P>) -> Option<P> {
        let taken = self.qdisc.dequeue(now, &mut |lost: P, why| watch.dropped(now, lost, why));
        watch.length_is(now, self.qdisc.len());
        let packet = taken?;
        watch.sent(now, &packet);
        Some(packet)
    }

    /// Passes on a packet whose last bit is out at `end`.
    pub(super) fn hand_over(&mut self, end: Instant, packet: P, watch: &mut impl Watch<P>) {
        if self.path.is_none() {
            self.propagate(end, packet);
            return;
        }
        if let Some((at, before)) = self.on_wire.replace((end, packet)) {
            // This happens if an opportunity carries several packets or the line has no limit: the
            // previous packet enters the path at once.
            if at == Instant::MAX {
                // It takes for ever, and a change of the rate let the next packet begin.
                self.propagate(at, before);
            } else {
                self.enter_path(at, before, watch);
            }
        }
    }

    fn enter_path(&mut self, at: Instant, packet: P, watch: &mut impl Watch<P>) {
        if let Some(path) = &mut self.path {
            path.enqueue(at, packet, &mut |lost: P, why| watch.lost(at, lost, why));
        }
        self.leave_path(at, watch);
    }

    fn propagate(&mut self, from: Instant, packet: P) {
        let delay = self.delay.delay_of(&packet);
        self.flight.add(from, delay, packet);
    }
}
