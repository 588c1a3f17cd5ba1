//! The contract that every queue discipline keeps.
//!
//! Tests and documentation refer to these rules by number:
//!
//! 1. **Time** is an argument, integer nanoseconds, never read inside. A `now` smaller than one
//!    seen before counts as equal to it. No `now` panics.
//! 2. **One fate.** Each packet leaves exactly once: returned by [`Qdisc::dequeue`], or given to
//!    [`Drops`] with a reason.
//! 3. **Identities** hold at every return, in packets and in bytes: offered = enqueued + dropped
//!    before enqueue; enqueued = queued + dequeued + dropped after enqueue.
//! 4. **Order**: packets of one flow leave in the order they came, unless a reconfiguration moved
//!    the later ones to another queue. Two exceptions are as in Linux. In `fq`, its fast path, and
//!    packets that their sender planned earlier, overtake packets of their flow that wait. In
//!    `hhf`, a flow changes its queue when it becomes a heavy hitter or ceases to be one.
//! 5. **Bounds**: limits on length and memory hold at every return. A queue above a limit that was
//!    lowered only shrinks. The work of a call is bounded by a documented constant, or by the
//!    number of packets it drops.
//! 6. **Work conservation**: with packets queued, `dequeue` returns one or drops one, unless
//!    [`Qdisc::next_event`] says when it will.
//! 7. **No hidden input**: the result depends on the calls, the configuration and the seed alone.
//! 8. **No peek.** A parent never keeps a copy of a child's counters: it asks.
//!
//! [`Qdisc`] is all that a program needs which owns a queue. [`Lookahead`] has further methods with
//! defaults, for parents that must know the next packet's length and for drivers that prefetch.

pub use crate::reason::DropReason;
pub use crate::stats::{Count, Stats};

use crate::decision::{Evidence, Question, Rule};
use crate::time::Instant;

/// A queue discipline over packets of type `P`.
///
/// Periodic work (PIE's update, adaptive RED's) is not a timer: the next call catches up, in a
/// bounded number of steps.
pub trait Qdisc<P> {
    /// Everything that an operator can set. A value that exists is valid.
    type Config;

    /// Offers a packet. The discipline queues it or gives it to `drops`. It may also drop other
    /// packets to make room.
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>);

    /// Returns the next packet to send. Packets that the discipline decides to drop first go to
    /// `drops`.
    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P>;

    /// Returns when `dequeue` can return something that it does not return at `now`, such as the
    /// time of a shaper's next token. `None` if only an `enqueue` can change the answer, or if
    /// `dequeue` would return a packet at once.
    fn next_event(&self, now: Instant) -> Option<Instant> {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = now;
        None
    }

    /// Returns the number of queued packets.
    fn len(&self) -> usize;

    /// Returns true if no packet is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of queued bytes.
    fn backlog(&self) -> u64;

    /// Returns the counters since the discipline was created.
    fn stats(&self) -> Stats;

    /// Changes the configuration while packets are queued. Packets that no longer fit are given to
    /// `drops`, or stay until they are sent, as in Linux for each discipline.
    fn reconfigure(&mut self, now: Instant, config: Self::Config, drops: &mut impl Drops<P>);

    /// Returns the configuration in force. `reconfigure` with it changes nothing.
    fn config(&self) -> Self::Config;

    /// Gives every queued packet to `drops` and resets the state of the algorithm, as a reset of
    /// the qdisc does in Linux. The statistics stay.
    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>);
}

/// What parents and drivers may ask of a discipline beyond the contract.
///
/// Every method has a default, so `impl<P> Lookahead<P> for MyDiscipline {}` is enough.
pub trait Lookahead<P>: Qdisc<P> {
    /// The rules that [`Self::evidence`] may name.
    const RULES: &'static [&'static [Rule]] = &[];

    /// Returns the length of the packet that `dequeue` would return, if the discipline decides
    /// nothing at dequeue. A parent that must know the next length (a token bucket, a deficit)
    /// then leaves the packet where it is.
    ///
    /// `None` (the default): only `dequeue` can tell, and such a parent takes the packet ahead of
    /// time.
    fn next_len(&self) -> Option<u32> {
        None
    }

    /// Like [`Self::next_len`] (the default), but may change state: for disciplines whose peek has
    /// side effects or that must stage the packet first. `None`: only `dequeue` can tell.
    fn look_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<NextLen> {
        let _ = (now, drops);
        self.next_len().map(Some)
    }

    /// Tells the discipline whether its parent holds a packet that it took ahead of time. As in
    /// Linux, that packet still counts against a limit in packets and in the backlog that an AQM
    /// sees.
    fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
        let _ = (now, taken);
    }

    /// Prefetch hint: the slot of a packet that will probably be sent soon. With thousands of
    /// packets queued the next one is out of the cache. `None` (the default): the packets are
    /// contiguous, or the next one is not known.
    fn upcoming(&self) -> Option<&Option<P>> {
        None
    }

    /// Returns a queued packet of another flow that shares a hashed queue with `packet`. The two
    /// flows delay each other although the discipline separates flows. `None` (the default): there
    /// is no such packet, or this discipline hashes no flows.
    fn other_flow(&self, packet: &P) -> Option<&P> {
        let _ = packet;
        None
    }

    /// Returns the state that the discipline looks at when it decides about a packet, and the rule
    /// that leads to the fate in `question`. Called before and after a decision, and only to
    /// explain it. The default is empty; [`AnyQdisc`](crate::AnyQdisc) then adds the values of
    /// [`Observe`](crate::gauge::Observe).
    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let _ = question;
        Evidence::default()
    }
}

/// Result of a look ahead: the length of the next packet, if one can be sent now.
pub type NextLen = Option<u32>;

/// Receives dropped packets.
pub trait Drops<P> {
    /// Takes a dropped `packet` and the reason.
    fn dropped(&mut self, packet: P, why: DropReason);
}

/// Any closure over a packet and a reason receives drops.
impl<P, F: FnMut(P, DropReason)> Drops<P> for F {
    fn dropped(&mut self, packet: P, why: DropReason) {
        self(packet, why);
    }
}
