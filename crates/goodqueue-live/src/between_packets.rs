//! The work that is done between packets.

use goodqueue::Instant;

use crate::bottleneck::Bottleneck;

/// Work that a bottleneck does between packets. Packets wait while a method runs.
pub trait BetweenPackets {
    /// Takes and answers a request: at least one waits.
    fn request(&mut self, bottleneck: &mut Bottleneck);

    /// Called at intervals. Returns the time of the next call.
    fn tick(&mut self, bottleneck: &mut Bottleneck, now: Instant) -> Instant;

    /// Returns true if a bottleneck without a program should end.
    fn is_over(&mut self, now: Instant) -> bool {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = now;
        false
    }
}
