//! What a link measured.

use alloc::collections::VecDeque;

use goodqueue::{Count, DropReason, Duration, Instant, Packet, Stats};

use crate::event::Event;
use crate::observe::Observed;
use crate::quantiles::Quantiles;
use crate::tagged::Queued;
use crate::watch::Watch;

/// Measurements of a link since its start, or since
/// [`Link::restart_stats`](crate::Link::restart_stats).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Statistics<'a> {
    /// Counters of the queue discipline since its start: packets offered, sent, dropped and marked.
    pub queue: Stats,
    /// Times that sent packets waited in the queue, without their transmission.
    pub sojourn: &'a Quantiles,
    /// Packets and bytes that the queue sent.
    pub sent: Count,
    /// Packets and bytes that reached the other side and were collected.
    pub arrived: Count,
    /// Packets and bytes that the path behind the queue lost.
    pub lost: Count,
    /// Most packets that were queued at a time.
    pub longest: usize,
    dropped: &'a [u64],
}

impl Statistics<'_> {
    /// Returns the packets that the discipline dropped for this reason.
    #[must_use]
    pub fn dropped(&self, why: DropReason) -> u64 {
        self.dropped.get(why.index()).copied().unwrap_or(0)
    }
}

/// Measures a link, and keeps the fates that the caller has not collected.
#[derive(Debug)]
pub(crate) struct Log<P> {
    /// Drops and losses, in order of time.
    pub(crate) gone: VecDeque<Event<P>>,
    pub(crate) sojourn: Quantiles,
    sent: Count,
    pub(crate) arrived: Count,
    lost: Count,
    longest: usize,
    length: usize,
    dropped: [u64; DropReason::ALL.len()],
    pub(crate) observed: Observed<P>,
}

impl<P> Log<P> {
    pub(crate) fn new() -> Self {
        Self {
            gone: VecDeque::new(),
            sojourn: Quantiles::default(),
            sent: Count::default(),
            arrived: Count::default(),
            lost: Count::default(),
            longest: 0,
            length: 0,
            dropped: [0; DropReason::ALL.len()],
            observed: Observed::nobody(),
        }
    }

    fn keep(&mut self, event: Event<P>) {
        if self.gone.len() == MOST_KEPT {
            self.gone.pop_front();
        }
        self.gone.push_back(event);
    }

    /// Forgets the measurements. Fates that were not collected stay.
    pub(crate) fn restart(&mut self) {
        let gone = core::mem::take(&mut self.gone);
        let observed = core::mem::replace(&mut self.observed, Observed::nobody());
        let length = self.length;
        // Packets that are still queued count as queued from here on.
        *self = Self { gone, length, longest: length, observed, ..Self::new() };
    }

    pub(crate) const fn statistics(&self, queue: Stats) -> Statistics<'_> {
        Statistics {
            queue,
            sojourn: &self.sojourn,
            sent: self.sent,
            arrived: self.arrived,
            lost: self.lost,
            longest: self.longest,
            dropped: &self.dropped,
        }
    }
}

impl<P: Packet> Watch<Queued<P>> for Log<P> {
    fn arrived(&mut self, at: Instant, packet: &Queued<P>) {
        self.observed.tell(at, |observer| observer.arrived(at, packet));
    }

    fn sent(&mut self, at: Instant, packet: &Queued<P>) {
        self.observed.tell(at, |observer| observer.sent(at, packet));
        let waited: Duration = at.since(packet.tag.at);
        self.sojourn.add(waited);
        self.sent.add(packet.len());
    }

    fn dropped(&mut self, at: Instant, packet: Queued<P>, why: DropReason) {
        self.observed.tell(at, |observer| observer.dropped(at, &packet, why));
        if let Some(count) = self.dropped.get_mut(why.index()) {
            *count += 1;
        }
        self.keep(Event::Dropped { at, packet: packet.packet, why });
    }

    fn lost(&mut self, at: Instant, packet: Queued<P>, why: DropReason) {
        self.observed.tell(at, |observer| observer.lost(at, &packet, why));
        self.lost.add(packet.len());
        self.keep(Event::Lost { at, packet: packet.packet, why });
    }

    fn length_is(&mut self, _: Instant, packets: usize) {
        self.length = packets;
        self.longest = self.longest.max(packets);
    }
}

/// Drops and losses that are kept for a caller who does not collect them.
const MOST_KEPT: usize = 1 << 16;
