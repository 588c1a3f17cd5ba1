//! The contract that every queue discipline keeps.
//!
//! Tests and documentation refer to these rules by number:
//!
//! 1. **Time** is an argument, integer nanoseconds, never read inside. A `now` smaller than one seen before counts as
//!    equal to it. No `now` panics.
//! 2. **One fate.** Each packet leaves exactly once: returned by [`Qdisc::dequeue`], or given to [`Drops`] with a reason.
//! 3. **Identities** hold at every return, in packets and in bytes: offered = enqueued + dropped before enqueue;
//!    enqueued = queued + dequeued + dropped after enqueue.
//! 4. **Order**: packets of one flow leave in the order they came, unless a change put the later ones elsewhere.
//! 5. **Bounds**: limits on length and memory hold at every return, and a queue that is beyond a limit that was lowered only
//!    shrinks; the work of a call is bounded by a documented constant, or by the number of packets it drops.
//! 6. **Work conservation**: with packets queued, `dequeue` returns one or drops one, unless [`Qdisc::next_event`] says
//!    when it will.
//! 7. **No hidden input**: the result depends on the calls, the configuration and the seed alone.
//! 8. **No peek.** A parent never keeps a copy of a child's counters: it asks.

use crate::gauge::Observation;
use crate::time::Instant;

/// A queue discipline over packets of type `P`.
///
/// Periodic work (PIE's update, adaptive RED's) is not a timer: the next call catches up, boundedly.
pub trait Qdisc<P> {
    /// Everything that an operator can set; a value that exists is valid.
    type Config;

    /// Offers a packet. It is queued or given to `drops`; other packets may be given to `drops` in its stead.
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>);

    /// Takes the next packet to send, after giving to `drops` those that the discipline decides to drop first.
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P>;

    /// When calling `dequeue` again can give what it does not give at `now`: a shaper's next token, say. `None` if only
    /// an `enqueue` can, or if `dequeue` would give a packet at once.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }

    /// The length of the packet that `dequeue` would give, for a discipline that decides nothing when it dequeues; a
    /// parent that must know what comes next (a token bucket, a deficit) then leaves the packet where it is. `None` (the
    /// default): only `dequeue` can tell, and such a parent takes the packet ahead of time.
    fn next_len(&self) -> Option<u32> {
        None
    }

    /// As [`Self::next_len`] (the default), for a discipline to which a look at its next packet matters, or that can bring it
    /// to where it can be looked at without giving it away. `None`: only `dequeue` can tell.
    fn look_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<NextLen> {
        let _ = (now, drops);
        self.next_len().map(Some)
    }

    /// Tells the discipline whether its parent keeps a packet that it took ahead of time. As in Linux, that packet still
    /// counts against a limit in packets, and in the backlog that an AQM looks at.
    fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
        let _ = (now, taken);
    }

    /// Where a packet lies that probably is sent soon, for who fetches memory ahead of its use: with thousands of packets
    /// queued the next one is out of the cache. It is an address and no promise. `None` (the default): the packets lie in a
    /// row, or none is known.
    fn upcoming(&self) -> Option<&Option<P>> {
        None
    }

    /// A queued packet of another flow in the queue that a hash chose for it and for `packet`: the two flows delay each other,
    /// although the discipline keeps flows apart. `None` (the default): there is none, or no hash chooses queues here.
    fn stranger(&self, packet: &P) -> Option<&P> {
        let _ = packet;
        None
    }

    /// Packets queued.
    fn len(&self) -> usize;

    /// True if no packet is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes queued.
    fn backlog(&self) -> u64;

    /// What has happened so far.
    fn stats(&self) -> Stats;

    /// Adds what only this discipline can tell to what everybody counts: its figures, its parts, the disciplines in it.
    fn observe(&self, now: Instant, seen: &mut Observation) {
        let _ = (now, seen);
    }

    /// Changes the configuration while packets are queued. What no longer fits is given to `drops`, or stays until it is
    /// sent, as in Linux for each discipline.
    fn reconfigure(&mut self, now: Instant, config: Self::Config, drops: &mut impl Drops<P>);

    /// The configuration in force: `reconfigure` with it changes nothing.
    fn config(&self) -> Self::Config;

    /// Gives every queued packet to `drops` and forgets the state of the algorithm, as `tc qdisc` reset does.
    /// Statistics stay.
    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>);
}

/// What a look ahead shows: the length of the next packet, if there is one to be had now.
pub type NextLen = Option<u32>;

/// Where dropped packets go.
pub trait Drops<P> {
    /// `packet` is dropped, for the reason given.
    fn dropped(&mut self, packet: P, why: DropReason);
}

/// Any closure over a packet and a reason is a sink.
impl<P, F: FnMut(P, DropReason)> Drops<P> for F {
    fn dropped(&mut self, packet: P, why: DropReason) {
        self(packet, why);
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// The AQM decided so: the packet is the congestion signal.
    Congested,
    /// The packet limit (or a byte limit standing for it) was reached.
    Overlimit,
    /// The memory limit was reached.
    Overmemory,
    /// The limit of one flow was reached while the queue had room.
    FlowLimit,
    /// Larger than the discipline can ever send.
    Oversize,
    /// Queued when the discipline was purged.
    Purged,
    /// Lost by an emulated network.
    Lost,
    /// An acknowledgement that a later one makes superfluous.
    Superseded,
}

impl DropReason {
    /// Every reason, in the order in which they are reported.
    pub const ALL: [Self; 8] = [
        Self::Congested,
        Self::Overlimit,
        Self::Overmemory,
        Self::FlowLimit,
        Self::Oversize,
        Self::Purged,
        Self::Lost,
        Self::Superseded,
    ];

    /// The name used in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congested => "congested",
            Self::Overlimit => "overlimit",
            Self::Overmemory => "overmemory",
            Self::FlowLimit => "flow_limit",
            Self::Oversize => "oversize",
            Self::Purged => "purged",
            Self::Lost => "lost",
            Self::Superseded => "superseded",
        }
    }

    /// Position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A number of packets and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Adds one packet of `bytes`.
    pub const fn add(&mut self, bytes: u32) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes as u64);
    }

    /// Both together; wraps as the counters do.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_add(other.packets),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }

    /// What is left without `other`.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_sub(other.packets),
            bytes: self.bytes.wrapping_sub(other.bytes),
        }
    }
}

/// What a discipline has done since it was made. Rule 3 holds between the fields.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Given to `enqueue`.
    pub offered: Count,
    /// Accepted into the queue.
    pub enqueued: Count,
    /// Returned by `dequeue`.
    pub dequeued: Count,
    /// Dropped without having been queued.
    pub dropped_before: Count,
    /// Dropped after having been queued: at dequeue, to make room, by a purge.
    pub dropped_after: Count,
    /// Marked CE by this discipline.
    pub marked: Count,
}

impl Stats {
    /// What rule 3 says of a discipline that counts its drops and marks, knows all that ever was `entered` in its queue and
    /// what is `queued` now: two counters fewer to keep for each packet.
    #[must_use]
    pub const fn with_queue(self, entered: Count, queued: Count) -> Self {
        Self {
            offered: entered.plus(self.dropped_before),
            enqueued: entered,
            dequeued: entered.minus(queued).minus(self.dropped_after),
            ..self
        }
    }

    /// Dropped in all.
    #[must_use]
    pub const fn dropped(&self) -> Count {
        self.dropped_before.plus(self.dropped_after)
    }

    /// What two disciplines did together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            offered: self.offered.plus(other.offered),
            enqueued: self.enqueued.plus(other.enqueued),
            dequeued: self.dequeued.plus(other.dequeued),
            dropped_before: self.dropped_before.plus(other.dropped_before),
            dropped_after: self.dropped_after.plus(other.dropped_after),
            marked: self.marked.plus(other.marked),
        }
    }

    /// What has been done since it had done what `before` says.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            offered: self.offered.minus(before.offered),
            enqueued: self.enqueued.minus(before.enqueued),
            dequeued: self.dequeued.minus(before.dequeued),
            dropped_before: self.dropped_before.minus(before.dropped_before),
            dropped_after: self.dropped_after.minus(before.dropped_after),
            marked: self.marked.minus(before.marked),
        }
    }
}
