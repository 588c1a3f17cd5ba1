//! What the flows of a run have counted so far.

use goodqueue::{Duration, Instant};

use crate::traffic::{AnySource, RoundTrip, Source as _};

/// The counters of the flows of a run that is on its way. Unknown flows have counted nothing.
#[derive(Clone, Copy)]
pub struct SoFar<'s> {
    now: Instant,
    sources: &'s [AnySource],
}

/// The state of the sender of a connection, with counters since the connection began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderView {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Bytes in flight; `None` if the transport does not tell them.
    pub in_flight: Option<u64>,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Payload bytes that arrived in order.
    pub delivered: u64,
    /// Segments or datagrams sent.
    pub sent: u64,
    /// Segments sent again, or packets of QUIC declared lost.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl<'s> SoFar<'s> {
    pub(crate) const fn new(now: Instant, sources: &'s [AnySource]) -> Self {
        Self { now, sources }
    }

    /// Returns the time up to which the run has advanced.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the payload bytes that a flow has delivered since the start of the run.
    #[must_use]
    pub fn delivered(&self, flow: usize) -> u64 {
        self.sources.get(flow).map_or(0, AnySource::delivered)
    }

    /// Returns the payload bytes of a flow that have arrived since the start, each counted once.
    /// Bytes that wait for an earlier one are included, so no second has more of them than the line
    /// carries.
    #[must_use]
    pub fn received(&self, flow: usize) -> u64 {
        self.sources.get(flow).map_or(0, |source| source.received())
    }

    /// Returns the latest pings of a flow, those of the warm-up included. It is empty for other
    /// flows. A run with millions of pings keeps only some of them.
    #[must_use]
    pub fn round_trips(&self, flow: usize) -> &'s [RoundTrip] {
        self.sources.get(flow).map_or(&[], AnySource::round_trips)
    }

    /// Returns the state of a flow's sender; `None` if the flow is not a single connection.
    #[must_use]
    pub fn sender(&self, flow: usize) -> Option<SenderView> {
        let source = self.sources.get(flow)?;
        let sender = source.sender()?;
        let tally = source.tally();
        Some(SenderView {
            cwnd: sender.cwnd,
            in_flight: sender.in_flight,
            srtt: sender.srtt,
            delivered: tally.delivered,
            sent: tally.sent,
            retransmits: tally.retransmits,
            timeouts: tally.timeouts,
        })
    }
}
