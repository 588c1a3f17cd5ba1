//! The size of a segment on the wire.

use crate::config::Config;
use crate::segment::{Flags, HEADER, Segment, TIMESTAMPS};
use crate::stack_info::SackOption;

impl Segment {
    /// Returns the length of the IP packet in bytes: headers, options and payload, without the
    /// link's own header. Options that only a SYN carries (segment size, window scale, and SACK,
    /// which fits beside timestamps) count for stacks
    /// [that have them](crate::StackInfo::counts_syn_options).
    #[must_use]
    #[inline]
    pub fn wire_len(&self, config: &Config) -> u32 {
        let timestamps = if config.timestamps { TIMESTAMPS } else { 0 };
        let plain = self.len.saturating_add(HEADER + timestamps);
        if self.sack.is_plain() && !self.flags.contains(Flags::SYN) {
            return plain;
        }
        plain.saturating_add(self.rare_options(config))
    }

    /// Bytes of the options that few segments carry.
    fn rare_options(&self, config: &Config) -> u32 {
        let blocks = 8 * u32::try_from(self.sack.len()).unwrap_or(0);
        let sack = match config.stack.sack_option {
            _ if blocks == 0 => 0,
            SackOption::Padded => self.sack.wire_len(),
            SackOption::Unpadded => blocks + 2,
            SackOption::BlocksOnly => blocks,
        };
        let has_syn_options = self.flags.contains(Flags::SYN) && config.stack.counts_syn_options;
        let of_syn = match (has_syn_options, config.timestamps) {
            (false, _) => 0,
            (true, true) => 8,
            (true, false) => 12,
        };
        sack + of_syn + self.ecn_option().map_or(0, |option| option.wire_len())
    }
}
