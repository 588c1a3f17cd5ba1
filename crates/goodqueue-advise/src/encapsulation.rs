//! How shapers are told the encapsulation of a line.

use goodqueue::Rate;
use goodqueue_link::access::encapsulation::ETHERNET_HEADER;
use goodqueue_link::access::{Encapsulation, Framing};

/// An encapsulation in the words and the numbers of shapers.
pub(crate) trait Told {
    /// Returns the words for cake, with a space before them.
    fn cake(&self) -> String;

    /// Returns the bytes that the line adds to a frame with the Ethernet header that Linux counts.
    fn beyond_ethernet(&self) -> u32;

    /// Returns the words for tbf and htb, which count the Ethernet header as part of the packet.
    fn shaper(&self) -> String;

    /// Returns the part of `bps` that whole packets can use. `tc`'s shapers do not know PTM, so
    /// its share is taken off their rate.
    fn usable(&self, bps: u64) -> u64;

    /// Returns rates for shapers that count the bytes of IP packets only, so that the line has room
    /// for the same packets as at `rates`: as many full packets of `mtu` bytes as fit beside an
    /// acknowledgement for every second packet of the other direction.
    fn rates_of_ip(&self, rates: [Rate; 2], mtu: u32) -> [Rate; 2];
}

impl Told for Encapsulation {
    fn cake(&self) -> String {
        if *self == Self::ETHERNET {
            return String::new();
        }
        let mpu = if self.mpu > 0 { format!(" mpu {}", self.mpu) } else { String::new() };
        let framing = match self.framing {
            Framing::Whole => " noatm",
            Framing::Atm => " atm",
            Framing::Ptm => " ptm",
        };
        format!(" overhead {}{mpu}{framing}", self.overhead)
    }

    fn beyond_ethernet(&self) -> u32 {
        // Linux counts the Ethernet header in any case, also if the line has less in front of an IP
        // packet.
        self.overhead.saturating_sub(ETHERNET_HEADER)
    }

    fn shaper(&self) -> String {
        let mut words = String::new();
        if self.beyond_ethernet() > 0 {
            words += &format!(" overhead {}", self.beyond_ethernet());
        }
        if self.mpu > 0 {
            words += &format!(" mpu {}", self.mpu);
        }
        if self.framing == Framing::Atm {
            words += " linklayer atm";
        }
        words
    }

    fn usable(&self, bps: u64) -> u64 {
        match self.framing {
            // PTM codes 64 bytes as 65 (IEEE 802.3, 64B/65B). Dividing first avoids an overflow.
            Framing::Ptm => bps / 65 * 64 + bps % 65 * 64 / 65,
            Framing::Whole | Framing::Atm => bps,
        }
    }

    fn rates_of_ip(&self, rates: [Rate; 2], mtu: u32) -> [Rate; 2] {
        let [full, small] = [mtu, ACKNOWLEDGEMENT].map(|bytes| u64::from(self.on_line(bytes)));
        [0, 1].map(|side| {
            let [line, other] = [rates[side], rates[1 - side]].map(|rate| rate.as_bps());
            // Acknowledgements cannot take more than the line has.
            let of_small = (other / full / 2 * small).min(line);
            let counted =
                of_small / small * u64::from(ACKNOWLEDGEMENT) + (line - of_small) / full * u64::from(mtu);
            // The pages of such routers take whole kbit/s, and a rate that is rounded up could
            // exceed the line.
            Rate::from_bps(counted / 1000 * 1000)
        })
    }
}

/// Headers of IPv4 and of TCP with timestamps.
const ACKNOWLEDGEMENT: u32 = 52;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cake_counts_from_the_ip_packet_and_other_shapers_from_the_ethernet_header() {
        let adsl = Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm };
        assert_eq!(adsl.cake(), " overhead 40 atm");
        assert_eq!(adsl.shaper(), " overhead 26 linklayer atm");
    }

    /// Downloads at 15.2 Mbit/s and their acknowledgements, beside uploads that fill the rest.
    #[test]
    fn a_shaper_that_counts_ip_leaves_room_for_the_cells_of_acknowledgements() {
        let adsl = Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm };
        let rates = [15_200_000, 980_000].map(Rate::from_bps);
        let [down, up] = adsl.rates_of_ip(rates, 1492).map(|rate| rate.as_bps());
        // 4,482 downloaded packets per second of 32 cells have 560 acknowledgements of 2 cells, 475
        // kbit/s, which count as 233 kbit/s. Uploads have 505 kbit/s, which count as 444.
        assert!((670_000..680_000).contains(&up), "{up}");
        assert!((13_200_000..13_400_000).contains(&down), "{down}");
        // The limit holds without acknowledgements as well.
        assert!(up * u64::from(adsl.on_line(1492)) / 1492 < 980_000);
    }

    #[test]
    fn ptm_leaves_64_bytes_of_65() {
        let vdsl = Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm };
        assert_eq!(vdsl.usable(65_000_000), 64_000_000);
    }
}
