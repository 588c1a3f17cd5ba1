//! The line and its router as they are modelled.

use crate::question::Question;

/// A line as it is modelled.
#[derive(Clone, Debug)]
pub(crate) struct Model<'q> {
    pub(crate) question: &'q Question,
    /// Bytes of the buffers towards the home and the Internet.
    pub(crate) buffers: [u64; 2],
}

/// A router: how results call it, and its disciplines towards the home and the Internet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Router {
    pub(crate) label: String,
    pub(crate) lines: [String; 2],
}

impl Router {
    /// The router that does nothing about the queue in the modem.
    pub(crate) fn unmanaged() -> Self {
        let fifo = || "pfifo limit 1000".to_owned();
        Self { label: TODAY.to_owned(), lines: [fifo(), fifo()] }
    }
}

impl<'q> Model<'q> {
    /// Returns the model of a line with the buffers of its kind.
    pub(crate) fn new(question: &'q Question) -> Self {
        Self { question, buffers: (question.kind.buffers)(question.rates) }
    }

    /// Returns the same line with buffers of `factor` times the size, at least two packets.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "bytes of a buffer"
        )]
        let buffers = self.buffers.map(|bytes| ((bytes as f64 * factor) as u64).max(2 * 1514));
        Self { question: self.question, buffers }
    }

    /// Simulated time of a run: as many packets for each line, but at least 20 round trips.
    pub(crate) fn seconds(&self) -> f64 {
        if self.question.kind.varies() || self.question.traces.is_some() {
            return VARYING_S;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate and a round-trip time")]
        let (bits, rtt_s) = (
            self.question.rates.iter().map(|rate| rate.as_bps()).sum::<u64>() as f64,
            self.question.rtt.as_nanos() as f64 / 1e9,
        );
        let least = (20.0 * rtt_s).clamp(SHORTEST_S, LONGEST_S);
        (BITS / bits).clamp(least, LONGEST_S).round()
    }
}

/// How results call a router that does nothing.
pub(crate) const TODAY: &str = "today";

/// Time in which a rate changes often enough.
const VARYING_S: f64 = 30.0;
const SHORTEST_S: f64 = 3.0;
const LONGEST_S: f64 = 20.0;
/// Bits of a run: 60,000 packets of 1250 bytes.
const BITS: f64 = 600e6;
