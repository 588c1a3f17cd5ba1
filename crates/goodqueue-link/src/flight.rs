//! Packets that propagate.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

/// Packets between their last bit and their arrival: one queue for each delay.
#[derive(Debug)]
pub(crate) struct Flight<P> {
    lines: Vec<(Duration, VecDeque<(Instant, P)>)>,
}

impl<P> Flight<P> {
    pub(crate) const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Adds a packet that has left at `from`. It may have left before a packet that was added
    /// earlier: one that takes for ever, for example.
    pub(crate) fn add(&mut self, from: Instant, delay: Duration, packet: P) {
        let due = from + delay;
        // Each queue stays in order of time, so that `next` and `take` look at its head only.
        let fits = |line: &&mut (Duration, VecDeque<(Instant, P)>)| {
            line.0 == delay && line.1.back().is_none_or(|last| last.0 <= due)
        };
        if let Some(line) = self.lines.iter_mut().find(fits) {
            line.1.push_back((due, packet));
            return;
        }
        // Delays that changed leave empty queues.
        self.lines.retain(|line| !line.1.is_empty());
        self.lines.push((delay, VecDeque::from([(due, packet)])));
    }

    /// Returns the time of the next arrival.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.lines.iter().filter_map(|line| line.1.front().map(|first| first.0)).min()
    }

    /// Returns the next packet that has arrived by `now`, and the time of its arrival.
    pub(crate) fn take(&mut self, now: Instant) -> Option<(Instant, P)> {
        let due = |line: &(Duration, VecDeque<(Instant, P)>)| line.1.front().map(|first| first.0);
        let line = self.lines.iter_mut().min_by_key(|line| due(line).unwrap_or(Instant::MAX))?;
        if due(line)? > now {
            return None;
        }
        line.1.pop_front()
    }

    pub(crate) fn clear(&mut self) {
        self.lines.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.iter().map(|line| line.1.len()).sum()
    }
}
