//! A judge for queues of other projects: recorded arrivals go in, and the first decision comes out
//! that differs from the recorder's.
//!
//! ```
//! use std::collections::VecDeque;
//!
//! use goodqueue::Instant;
//! use goodqueue_tc::judge::{Judged, Sent, first_difference};
//! use goodqueue_tc::recording::Recording;
//! use goodqueue_tc::replay::Arrival;
//!
//! /// A FIFO of one packet.
//! struct Mine(VecDeque<u64>);
//!
//! impl Judged for Mine {
//!     fn enqueue(&mut self, _: Instant, packet: &Arrival, dropped: &mut Vec<u64>) {
//!         if self.0.is_empty() { self.0.push_back(packet.seq) } else { dropped.push(packet.seq) }
//!     }
//!
//!     fn dequeue(&mut self, _: Instant, _: &mut Vec<u64>) -> Option<Sent> {
//!         self.0.pop_front().map(|packet| Sent { packet, is_marked: false })
//!     }
//! }
//!
//! let text = b"{\"qdisc\": \"pfifo limit 2\", \"rate_bps\": 1000000}\n[\"A\", 0, 0, 0, 125, 0]\n\
//!              [\"X\", 0, 0, 125, 0]\n[\"A\", 1, 1, 0, 125, 0]\n[\"A\", 2, 2, 0, 125, 0]\n\
//!              [\"X\", 1000000, 1, 125, 0]\n[\"X\", 2000000, 2, 125, 0]\n";
//! let recording = Recording::read("example", &text[..])?;
//! let difference = first_difference(recording, &mut Mine(VecDeque::new()))?.unwrap();
//! assert_eq!(
//!     difference.to_string(),
//!     "decision 1: recorded: packet 1 is sent at 1000000 ns; yours: packet 2 is dropped at 2 ns"
//! );
//! # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use goodqueue::{Duration, Ecn, Instant, Rate};

use crate::diagnostic::Diagnostic;
use crate::recording::{Recording, Row};
use crate::replay::Arrival;

/// A queue of another project. Times are those of the recorder's clock, in order.
///
/// The queue keeps the link busy: it gives a packet whenever it has one.
pub trait Judged {
    /// A packet arrives. Adds the numbers ([`Arrival::seq`]) of packets that are dropped.
    fn enqueue(&mut self, now: Instant, packet: &Arrival, dropped: &mut Vec<u64>);

    /// Returns the packet that leaves now; `None` if the queue is empty. Adds the numbers of
    /// packets that are dropped before it.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<u64>) -> Option<Sent>;
}

/// A packet that leaves a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Number of the packet.
    pub packet: u64,
    /// True if the packet carries CE.
    pub is_marked: bool,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Time on the clock of the rows.
    pub at: Instant,
    /// Number of the packet.
    pub packet: u64,
    /// Whether the packet carries CE; `None` if it was dropped.
    pub mark: Option<bool>,
}

/// The first decision that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Number of the decision, from 0.
    pub number: usize,
    /// The recorded decision; `None` after the last one.
    pub recorded: Option<Decision>,
    /// That of the judged queue; `None` after its last one.
    pub yours: Option<Decision>,
}

/// Feeds the arrivals of a recording to `queue` on a link of the recorded rate, and returns the
/// first difference; `None` if all decisions are equal.
///
/// The link takes the next packet at the instant at which the last bit of the previous one is out,
/// rounded down to the nanosecond. At one instant, packets arrive before the link takes one.
///
/// # Errors
/// The recording cannot be read, or does not state the rate of its link.
pub fn first_difference(
    recording: Recording,
    queue: &mut impl Judged,
) -> Result<Option<Difference>, Diagnostic> {
    let header = recording.header().clone();
    let name = recording.name().to_owned();
    let rate = header.rate().filter(|rate| rate.as_bps() > 0).ok_or_else(|| {
        Diagnostic::new("the recording does not contain the rate of its link").in_line(&name, 1)
    })?;
    let origin = Duration::from_nanos(header.t_start_ns);
    let mut arrivals = header.arrivals().map_err(|error| error.in_line(&name, 1))?;
    let mut link = Link {
        queue,
        rate,
        origin,
        busy_until: Instant::ZERO,
        idle: true,
        bytes: BTreeMap::new(),
        yours: Vec::new(),
        decided: false,
    };
    let mut recorded = Vec::new();
    let mut end = Instant::MAX;
    for row in recording {
        let row = row?;
        if let Some(arrival) = arrivals.next(&row) {
            // A packet that left at this instant left before this arrival.
            let left = recorded.last().is_some_and(|last: &Decision| last.at == arrival.at);
            link.serve(arrival.at + Duration::from_nanos(u64::from(left)));
            link.arrive(&arrival);
        }
        match row {
            Row::Exit { t, seq, tos, .. } => {
                let mark = Some(Ecn::from_bits(tos) == Ecn::Ce);
                recorded.push(Decision { at: t, packet: seq, mark });
            }
            Row::Drop { t, seq, .. } => recorded.push(Decision { at: t, packet: seq, mark: None }),
            Row::End { t } => end = t,
            _ => {}
        }
    }
    link.serve(Instant::MAX);
    // The recording does not know the fate of packets that were queued at its end.
    link.yours.retain(|decision| decision.at <= end);
    let yours = link.yours;
    Ok((0..recorded.len().max(yours.len()))
        .map(|number| Difference {
            number,
            recorded: recorded.get(number).copied(),
            yours: yours.get(number).copied(),
        })
        .find(|pair| pair.recorded != pair.yours))
}

/// A link in front of a judged queue.
struct Link<'a, Q> {
    queue: &'a mut Q,
    rate: Rate,
    origin: Duration,
    busy_until: Instant,
    /// True if the queue had no packet when the link was free.
    idle: bool,
    /// Bytes of the packets that arrived.
    bytes: BTreeMap<u64, u32>,
    yours: Vec<Decision>,
    /// True if the queue has sent a packet that it does not hold, which no recording does. Such a
    /// queue may never be empty, so nothing more is asked of it.
    decided: bool,
}

impl<Q: Judged> Link<'_, Q> {
    fn arrive(&mut self, arrival: &Arrival) {
        if self.decided {
            return;
        }
        self.bytes.insert(arrival.seq, arrival.bytes);
        let mut dropped = Vec::new();
        self.queue.enqueue(arrival.at + self.origin, arrival, &mut dropped);
        self.lose(arrival.at, dropped);
        if self.idle {
            self.busy_until = arrival.at;
            self.idle = false;
            self.take();
        }
    }

    /// Takes the packets that are due before `end`.
    fn serve(&mut self, end: Instant) {
        while !self.idle && !self.decided && self.busy_until < end {
            self.take();
        }
    }

    fn take(&mut self) {
        let mut dropped = Vec::new();
        let sent = self.queue.dequeue(self.busy_until + self.origin, &mut dropped);
        self.lose(self.busy_until, dropped);
        let Some(Sent { packet, is_marked }) = sent else {
            self.idle = true;
            return;
        };
        self.yours.push(Decision { at: self.busy_until, packet, mark: Some(is_marked) });
        let Some(bytes) = self.bytes.remove(&packet) else {
            self.decided = true;
            return;
        };
        // A packet without bytes must not stop the time.
        self.busy_until += self.rate.serialization(bytes).max(Duration::from_nanos(1));
    }

    fn lose(&mut self, at: Instant, dropped: Vec<u64>) {
        self.yours.extend(dropped.into_iter().map(|packet| Decision { at, packet, mark: None }));
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |decision: Option<Decision>| match decision {
            None => "nothing".to_owned(),
            Some(Decision { at, packet, mark }) => {
                let fate = match mark {
                    None => "dropped",
                    Some(true) => "sent with CE",
                    Some(false) => "sent",
                };
                format!("packet {packet} is {fate} at {} ns", at.as_nanos())
            }
        };
        let [recorded, yours] = [self.recorded, self.yours].map(words);
        write!(f, "decision {}: recorded: {recorded}; yours: {yours}", self.number)
    }
}
