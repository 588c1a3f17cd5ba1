//! The counters that every discipline keeps.

/// A number of packets and the sum of their lengths.
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
        // Differences of counters stay right when both wrap around.
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes as u64);
    }

    /// Returns the sum of both counts. It wraps as the counters do.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_add(other.packets),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }

    /// Returns the difference of both counts. It wraps as the counters do.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self {
            // The difference is right even if the counters have wrapped around since.
            packets: self.packets.wrapping_sub(other.packets),
            bytes: self.bytes.wrapping_sub(other.bytes),
        }
    }
}

/// Counters of a discipline since it was created. [Rule 3](crate::qdisc) holds between the fields.
///
/// A discipline of your own creates this value with [`Stats::default`] and sets the fields.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Packets given to `enqueue`.
    pub offered: Count,
    /// Packets accepted into the queue.
    pub enqueued: Count,
    /// Packets returned by `dequeue`.
    pub dequeued: Count,
    /// Packets dropped without having been queued.
    pub dropped_before: Count,
    /// Packets dropped after having been queued: at dequeue, to make room, or by a purge.
    pub dropped_after: Count,
    /// Packets marked CE by this discipline.
    pub marked: Count,
}

impl Stats {
    /// Completes the counters by rule 3, for a discipline that counts only its drops and marks.
    ///
    /// `entered` is everything that was ever accepted and `queued` what is queued now. This saves
    /// two counters per packet.
    #[must_use]
    pub const fn with_queue(self, entered: Count, queued: Count) -> Self {
        Self {
            offered: entered.plus(self.dropped_before),
            enqueued: entered,
            dequeued: entered.minus(queued).minus(self.dropped_after),
            ..self
        }
    }

    /// Returns all drops, before and after enqueue.
    #[must_use]
    pub const fn dropped(&self) -> Count {
        self.dropped_before.plus(self.dropped_after)
    }

    /// Returns the sum of two disciplines' counters.
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

    /// Returns what was counted since the counters had the values of `before`.
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
