//! The size of a segment on the wire.

use crate::config::Config;
use crate::segment::{Flags, HEADER, Segment, TIMESTAMPS};
use crate::stack_info::{SackOption, SynOptions};

impl Segment {
    /// Returns the length of the IP packet in bytes: headers, options and payload, without the
    /// link's own header. Options that only a SYN carries (segment size, window scale, and SACK,
    /// which fits beside timestamps) count for stacks
    /// [that have them](SynOptions::Counted).
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
        let of_syn = match config.stack.syn_options {
            // Segment size takes 4 bytes, window scale 3 and a pad. SACK takes 2 and two pads, or
            // the place of the two pads of timestamps.
            SynOptions::Counted if self.flags.contains(Flags::SYN) => {
                if config.timestamps {
                    8
                } else {
                    12
                }
            }
            _ => 0,
        };
        sack + of_syn + self.ecn_option().map_or(0, |option| option.wire_len())
    }
}
