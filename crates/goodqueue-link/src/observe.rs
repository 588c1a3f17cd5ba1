//! Every packet of a link, one by one.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use goodqueue::{DropReason, Instant};

use crate::tagged::Queued;

/// Receives what happens to each packet of a [`Link`](crate::Link), in the order in which it
/// happens.
///
/// Every method has an empty default. Ready-made observers write recordings for `goodqueue replay`
/// and captures for Wireshark.
pub trait Observer<P> {
    /// A packet arrived at the queue.
    fn arrived(&mut self, at: Instant, packet: &Queued<P>) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (at, packet);
    }

    /// A packet left the queue, and its first bit went on the link.
    fn sent(&mut self, at: Instant, packet: &Queued<P>) {
        let _ = (at, packet);
    }

    /// The discipline dropped a packet.
    fn dropped(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        let _ = (at, packet, why);
    }

    /// The path behind the queue lost a packet.
    fn lost(&mut self, at: Instant, packet: &Queued<P>, why: DropReason) {
        let _ = (at, packet, why);
    }

    /// The observation ends; `at` is the time of the last event.
    fn ended(&mut self, at: Instant) {
        let _ = at;
    }

    /// Returns why what was observed is incomplete, such as a full disk; `None` if it is complete.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// The observer of a link, if it has one.
pub(crate) struct Observed<P> {
    observer: Option<Box<dyn Observer<P> + Send + Sync>>,
    last: Instant,
}

impl<P> Observed<P> {
    pub(crate) const fn nobody() -> Self {
        Self { observer: None, last: Instant::ZERO }
    }

    pub(crate) fn with_observer(observer: Box<dyn Observer<P> + Send + Sync>) -> Self {
        Self { observer: Some(observer), last: Instant::ZERO }
    }

    /// Reports an event.
    #[inline]
    pub(crate) fn tell(&mut self, at: Instant, event: impl FnOnce(&mut dyn Observer<P>)) {
        if let Some(observer) = &mut self.observer {
            self.last = at;
            event(&mut **observer);
        }
    }

    /// Ends the observation, and returns what went wrong.
    pub(crate) fn end(&mut self) -> Option<String> {
        // Taken out, because the drop of the link ends the observation again.
        let mut observer = self.observer.take()?;
        observer.ended(self.last);
        observer.trouble()
    }
}

// A file is complete also if nobody ends the observation.
impl<P> Drop for Observed<P> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<P> fmt::Debug for Observed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("last", &self.last).finish_non_exhaustive()
    }
}
