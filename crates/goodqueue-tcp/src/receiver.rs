//! The end that receives data: how a stack answers, and the machinery that all stacks share.

use alloc::sync::Arc;

use goodqueue::{ConfigError, Instant};

use crate::config::Config;
use crate::intake::{Intake, State};
use crate::segment::Segment;
use crate::stacks::AnyReceiverStack;

pub use crate::intake::ReceiverStats;

/// The receiving end of a connection. See the [crate's page](crate) for how to drive it. Timers run
/// in [`poll_transmit`](Self::poll_transmit).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    answer: AnyReceiverStack,
    intake: Intake,
}

impl Receiver {
    /// A receiver that waits for a SYN.
    ///
    /// # Errors
    /// See [`Config::check`]; or the description of the stack has no code.
    pub fn new(config: impl Into<Arc<Config>>) -> Result<Self, ConfigError> {
        let config = config.into();
        config.check()?;
        let (answer, intake) = AnyReceiverStack::new(config)?;
        Ok(Self { answer, intake })
    }

    /// Takes in a segment that arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        self.answer.on_segment(&mut self.intake, now, segment);
    }

    /// Data in the other direction leaves. Returns the sequence number that this data acknowledges
    /// and the timestamp that it echoes, for stacks whose data [carries
    /// ACKs](crate::AckCarrier::DataToo).
    pub fn carry(&mut self) -> Option<(u64, u32)> {
        self.answer.carry(&mut self.intake)
    }

    /// Returns the next segment to send, if there is one, and runs the timers that are due at
    /// `now`. Call it until it returns `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        // Half of the segments are not answered at once.
        if self.intake.is_answer_due(now) { self.answer(now) } else { None }
    }

    #[inline(never)]
    fn answer(&mut self, now: Instant) -> Option<Segment> {
        let was_early = self.intake.is_early;
        let segment = self.answer.poll_transmit(&mut self.intake, now)?;
        // An early ACK leaves the last segment unanswered.
        if self.intake.is_early || !was_early {
            self.answer.on_acknowledged();
        }
        Some(segment)
    }

    /// Returns when [`poll_transmit`](Self::poll_transmit) has something to do if no segment
    /// arrives before.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        self.intake.next_event()
    }

    /// The application takes data at another pace: the window is `window` bytes from now on, at
    /// most [`MAX_WINDOW`](crate::config::MAX_WINDOW). A window already granted is not taken back;
    /// one that opens by a segment or more is announced at once (RFC 9293 §3.8.6.2.2).
    pub fn set_window(&mut self, window: u32) {
        self.answer.set_window(&mut self.intake, window);
    }

    /// Payload bytes delivered to the application, in order.
    #[must_use]
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.intake.delivered()
    }

    /// Payload bytes that arrived, each counted once: those delivered, and those beyond a gap.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.intake.received()
    }

    /// Prefetch hint: the first range that is held out of order, which the next segment will read.
    #[must_use]
    #[inline]
    pub fn held(&self) -> Option<&impl Copy> {
        self.intake.held()
    }

    /// True once the handshake is done.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.intake.state == State::Established
    }

    /// True once the sender's FIN arrived in order: no more data will come.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.intake.fin_received
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &ReceiverStats {
        &self.intake.stats
    }
}
