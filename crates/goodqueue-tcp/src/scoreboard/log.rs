//! What happened to segments since somebody last asked, for samples of the delivery rate.

use alloc::vec::Vec;

use super::Scoreboard;

/// A transmission that is taken for lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostRecord {
    /// Position of the segment.
    pub position: u64,
    /// Its sequence numbers.
    pub bytes: u64,
}

/// Deliveries and losses, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    delivered: Vec<u64>,
    lost: Vec<LostRecord>,
}

impl Scoreboard {
    /// From now on the positions that an ACK delivers, and those that are taken for lost, are kept.
    pub fn keep_log(&mut self) {
        self.log = Some(Log::default());
        self.watched = true;
    }

    /// The positions delivered since the last call.
    pub fn drain_delivered(&mut self) -> impl Iterator<Item = u64> {
        self.log.as_mut().into_iter().flat_map(|log| log.delivered.drain(..))
    }

    /// What was taken for lost since the last call.
    pub fn drain_lost(&mut self) -> impl Iterator<Item = LostRecord> {
        self.log.as_mut().into_iter().flat_map(|log| log.lost.drain(..))
    }

    pub(super) fn note_delivered(&mut self, position: u64) {
        if let Some(log) = &mut self.log {
            log.delivered.push(position);
        }
    }

    /// The transmission at `position`, which was in the network, is taken for lost.
    pub(super) fn note_lost(&mut self, position: u64, bytes: u64) {
        if let Some(log) = &mut self.log {
            log.lost.push(LostRecord { position, bytes });
        }
    }
}
