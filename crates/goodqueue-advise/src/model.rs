//! The line and its router as they are modelled.

use crate::question::Question;
use crate::span::Span;

/// A line as it is modelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'q> {
    pub(crate) question: &'q Question,
    /// Bytes of the buffers towards the home and the Internet.
    pub(crate) buffers: [u64; 2],
    /// Rate of the line, in thousandths of the modelled one.
    pub(crate) slower: u64,
    /// Simulated time of a run.
    pub(crate) span: Span,
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
        let buffers = (question.kind.buffers)(question.rates);
        Self { question, buffers, slower: 1000, span: Span::promised(question) }
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
        Self { buffers, ..*self }
    }

    /// Returns the same line, whose runs take this time.
    pub(crate) const fn lasting(&self, span: Span) -> Self {
        Self { span, ..*self }
    }

    /// Returns a line that is a hundredth slower, and runs of this time.
    pub(crate) const fn slower(&self, span: Span) -> Self {
        Self { span, slower: 990, ..*self }
    }
}

/// How results call a router that does nothing.
pub(crate) const TODAY: &str = "today";
/// Seed of all runs of the search. The verification has others.
pub(crate) const SEARCH_SEED: u64 = 1;
