//! Changes of a line while it runs.

use alloc::vec::Vec;
use core::mem::discriminant;

use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Flow, Instant, Packet, Qdisc, Stats};

use super::{Line, path_of};
use crate::capacity::Capacity;
use crate::watch::{Change, Delays, Numbered, Watch};

impl<P: Packet + Flow + Numbered, D: Delays<P>> Line<P, D> {
    /// Replaces the discipline or its configuration. Queued packets stay queued; another discipline
    /// takes them over in order of arrival. Only packets that it refuses are dropped, and they
    /// count as dropped after having been queued.
    pub fn reconfigure(&mut self, now: Instant, config: AnyConfig, watch: &mut impl Watch<P>) {
        let now = self.advance(now);
        self.run_until(now, watch);
        // The same kind of discipline keeps its state, as with `tc qdisc change`.
        if discriminant(&self.qdisc.config()) == discriminant(&config) {
            watch.reconfigured(now, Change::Settings(&config));
            let mut dropped = Vec::new();
            self.qdisc.reconfigure(now, config, &mut |lost: P, why| dropped.push((lost, why)));
            // A discipline drops queue by queue. The reports are in the order of arrival.
            dropped.sort_by_key(|(lost, _)| lost.number());
            for (lost, why) in dropped {
                watch.dropped(now, lost, why);
            }
        } else {
            watch.reconfigured(now, Change::Discipline(&config));
            // Read before the purge, which counts the packets as dropped.
            let before = self.qdisc.stats();
            let mut kept = Vec::new();
            self.qdisc.purge(now, &mut |packet: P, _: DropReason| kept.push(packet));
            // A purge goes queue by queue, and the new discipline must see the packets as they
            // arrived.
            kept.sort_by_key(Numbered::number);
            self.qdisc = AnyQdisc::new(config, self.salt, Source::seeded(self.seed));
            for packet in kept {
                self.qdisc.enqueue(now, packet, &mut |lost: P, why| watch.dropped(now, lost, why));
            }
            self.counted = self.counted.plus(&handed_over(before, &self.qdisc.stats()));
        }
        watch.length_is(now, self.qdisc.len());
        self.wake(now);
    }

    /// Changes the configuration of the same discipline without asking it anew: the line asks at
    /// the time already planned, as a kernel's device does after `tc qdisc change`.
    pub fn reconfigure_quietly(&mut self, now: Instant, config: AnyConfig, watch: &mut impl Watch<P>) {
        self.catch_up(now, watch);
        // Read after catching up, which moves it.
        let planned = self.ask_at;
        self.reconfigure(now, config, watch);
        self.ask_at = planned;
    }

    /// Changes the capacity. The current packet finishes at the old rate.
    pub fn set_capacity(&mut self, now: Instant, capacity: Capacity, watch: &mut impl Watch<P>) {
        let now = self.advance(now);
        self.run_until(now, watch);
        watch.reconfigured(now, Change::Capacity);
        self.capacity = capacity;
        if let Capacity::Trace(all) = &self.capacity {
            self.opportunity = all.first_not_before(self.open_from(now));
        } else if let Some((packet, _)) = self.unfinished.take() {
            // A packet that waited for another opportunity of a trace has been sent by now.
            self.hand_over(now, packet, watch);
        }
        self.wake(now);
    }

    /// Changes the propagation delay of packets that begin to be sent from now on. They overtake
    /// earlier packets if the new delay is shorter.
    pub fn set_delay(&mut self, now: Instant, delay: D, watch: &mut impl Watch<P>) {
        let now = self.advance(now);
        self.run_until(now, watch);
        self.delay = delay;
    }

    /// Changes the path behind the line, which is `netem` in most cases. Packets that a
    /// path of another kind held are lost.
    pub fn set_path(&mut self, now: Instant, path: AnyConfig, watch: &mut impl Watch<P>) {
        let now = self.advance(now);
        self.run_until(now, watch);
        let mut lose = |packet: P, why| watch.lost(now, packet, why);
        match &mut self.path {
            Some(old) if discriminant(&old.config()) == discriminant(&path) => {
                old.reconfigure(now, path, &mut lose);
            }
            old => {
                if let Some(old) = old {
                    old.purge(now, &mut lose);
                }
                *old = Some(path_of(path, self.seed));
            }
        }
        // What is due at `now` itself waits for packets that arrive at `now`.
        let later = now + Duration::from_nanos(1);
        self.path_at = self.path.as_ref().and_then(|path| path.next_event(now)).map(|event| event.max(later));
    }

    /// Sends nothing from `now` until `until`, as a radio does during a hand-over. The current
    /// packet still leaves, and packets that propagate still arrive. Opportunities of a trace in
    /// the gap are lost. A later gap extends an earlier one.
    pub fn close_until(&mut self, now: Instant, until: Instant, watch: &mut impl Watch<P>) {
        let now = self.advance(now);
        self.run_until(now, watch);
        self.closed_until = self.closed_until.max(until);
        self.wake(now);
    }

    /// Ends the line: sends the queued packets as if no others arrived, for at most an hour, and
    /// purges packets that a blocked line holds.
    pub fn finish(&mut self, now: Instant, watch: &mut impl Watch<P>) {
        let end = self.advance(now) + LONGEST_DRAIN;
        self.run_until(end, watch);
        self.qdisc.purge(end, &mut |lost: P, why| watch.dropped(end, lost, why));
        self.flight.clear();
        self.on_wire = None;
    }

    /// Asks the discipline as soon as the line is free, because something has changed.
    fn wake(&mut self, now: Instant) {
        if self.qdisc.is_empty() && self.unfinished.is_none() {
            return;
        }
        self.ask_at = Some(match &self.capacity {
            Capacity::Trace(all) => {
                self.opportunity = self.opportunity.max(all.first_not_before(self.open_from(now)));
                all.time_of(self.opportunity)
            }
            _ => self.open_from(now),
        });
    }

    /// True if sending the backlog takes longer than `span` and sending a packet of `bytes` takes
    /// less. The line then stays busy for that long, whatever arrives.
    #[must_use]
    pub fn is_dense(&self, now: Instant, span: Duration, bytes: u32) -> bool {
        let backlog = u32::try_from(self.qdisc.backlog()).unwrap_or(u32::MAX);
        self.capacity
            .rate_at(now)
            .is_some_and(|(rate, _)| rate.serialization(bytes) < span && rate.serialization(backlog) > span)
    }
}

/// Returns the counters that a replaced discipline leaves to its line. `before` are its own,
/// `taken` those of its successor for the packets taken over. These packets were offered and queued
/// only once, so the result may wrap below zero; the counters of the successor make up for it.
fn handed_over(before: Stats, taken: &Stats) -> Stats {
    let mut left = before;
    left.offered = before.offered.minus(taken.offered);
    left.enqueued = before.enqueued.minus(taken.enqueued);
    left.dropped_before = before.dropped_before.minus(taken.dropped_before);
    left.dropped_after = before.dropped_after.plus(taken.dropped_before);
    left
}

/// Time on the line in which a queue may drain at the end.
const LONGEST_DRAIN: Duration = Duration::from_secs(3600);
