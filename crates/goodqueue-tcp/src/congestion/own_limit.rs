//! Samples of the delivery rate that say nothing of the path, because the controller itself had a
//! small window.

/// The segments that were sent with the small window. They are known by the number of bytes that
/// had been delivered when they were sent.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct OwnLimit {
    range: Option<(u64, u64)>,
}

impl OwnLimit {
    /// The window is small now, with `delivered` bytes delivered in all and `pipe` in the network
    /// (MarkConnectionAppLimited, draft-ietf-ccwg-bbr).
    pub(super) fn extend(&mut self, delivered: u64, pipe: u64) {
        let first = match self.range {
            Some((first, last)) if delivered <= last => first,
            _ => delivered,
        };
        self.range = Some((first, delivered + pipe.max(1)));
    }

    /// A segment that was sent after `delivered` bytes is one of them.
    pub(super) fn covers(&self, delivered: u64) -> bool {
        self.range.is_some_and(|(first, last)| (first..=last).contains(&delivered))
    }
}
