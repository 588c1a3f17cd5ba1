//! The size of a segment on the wire, which depends on the stack.

use crate::config::{Config, LossDetection};
use crate::segment::{Flags, HEADER, Segment, TIMESTAMPS};

impl Segment {
    /// Returns the length of the IP packet in bytes: headers, options and payload, without the
    /// link's own header. Options that only a SYN carries are counted for the profiles of Linux:
    /// segment size, window scale, and SACK, which fits beside timestamps.
    #[must_use]
    #[inline]
    pub fn wire_len(&self, config: &Config) -> u32 {
        let blocks = 8 * u32::try_from(self.sack.len()).unwrap_or(0);
        let sack = match config.loss_detection {
            // ns-2's sinks count eight bytes per block and nothing for the option itself
            // (tcp-sink.cc); FullTcp does not pad it.
            LossDetection::Ns2 | LossDetection::Ns2Linux => blocks,
            LossDetection::Ns2Full if blocks > 0 => blocks + 2,
            _ => self.sack.wire_len(),
        };
        let of_syn = match (self.flags.contains(Flags::SYN) && config.linux(), config.timestamps) {
            (false, _) => 0,
            (true, true) => 8,
            (true, false) => 12,
        };
        let options = if config.timestamps { TIMESTAMPS } else { 0 } + sack + of_syn;
        self.len.saturating_add(HEADER + options)
    }
}
