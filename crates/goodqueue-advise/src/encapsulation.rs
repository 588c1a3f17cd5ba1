//! The bytes that a packet takes on a line.

use goodqueue::Rate;

/// How a line carries IP packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encapsulation {
    /// Bytes that the line adds to each IP packet.
    pub overhead: u32,
    /// Smallest packet on the line in bytes, overhead included.
    pub mpu: u32,
    /// How the line divides packets.
    pub framing: Framing,
}

/// How a line divides packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// It does not.
    Whole,
    /// Into ATM cells of 53 bytes that carry 48; the last one is padded.
    Atm,
    /// Packet transfer mode of VDSL2: 65 bytes for each 64 (IEEE 802.3, 61.3.3).
    Ptm,
}

impl Encapsulation {
    /// What `tc` counts without being told: the packet with its Ethernet header.
    pub(crate) const ETHERNET: Self = Self { overhead: ETHERNET, mpu: 0, framing: Framing::Whole };

    /// Returns the words for cake, with a space before them.
    pub(crate) fn cake(&self) -> String {
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

    /// Returns the bytes that the line adds to a frame with the Ethernet header that Linux counts.
    pub(crate) const fn beyond_ethernet(&self) -> u32 {
        self.overhead.saturating_sub(ETHERNET)
    }

    /// Returns the words for tbf and htb, which count the Ethernet header as part of the packet.
    pub(crate) fn shaper(&self) -> String {
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

    /// Returns the part of `bps` that whole packets can use. `tc`'s shapers do not know PTM, so
    /// its share is taken off their rate.
    pub(crate) const fn usable(&self, bps: u64) -> u64 {
        match self.framing {
            Framing::Ptm => bps / 65 * 64 + bps % 65 * 64 / 65,
            Framing::Whole | Framing::Atm => bps,
        }
    }

    /// Returns rates for shapers that count the bytes of IP packets only, so that the line has room
    /// for the same packets as at `rates`: as many full packets of `mtu` bytes as fit beside an
    /// acknowledgement for every second packet of the other direction.
    pub(crate) fn rates_of_ip(&self, rates: [Rate; 2], mtu: u32) -> [Rate; 2] {
        let [full, small] = [mtu, ACKNOWLEDGEMENT].map(|bytes| u64::from(self.on_line(bytes)));
        [0, 1].map(|side| {
            let [line, other] = [rates[side], rates[1 - side]].map(|rate| rate.as_bps());
            let of_small = (other / full / 2 * small).min(line);
            let counted =
                of_small / small * u64::from(ACKNOWLEDGEMENT) + (line - of_small) / full * u64::from(mtu);
            Rate::from_bps(counted / 1000 * 1000)
        })
    }

    /// Returns the bytes on the line of an IP packet of `bytes`.
    pub(crate) fn on_line(&self, bytes: u32) -> u32 {
        let whole = (bytes + self.overhead).max(self.mpu);
        match self.framing {
            Framing::Whole => whole,
            Framing::Atm => whole.div_ceil(48) * 53,
            Framing::Ptm => whole + whole.div_ceil(64),
        }
    }
}

/// Header of Ethernet, which `tc` counts and the overhead of a line includes.
const ETHERNET: u32 = 14;
/// Headers of IPv4 and of TCP with timestamps.
const ACKNOWLEDGEMENT: u32 = 52;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_takes_two_cells_and_a_full_packet_33() {
        let adsl = Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm };
        assert_eq!([adsl.on_line(52), adsl.on_line(1492)], [2 * 53, 32 * 53]);
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
    fn ptm_takes_a_byte_of_65() {
        let vdsl = Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm };
        assert_eq!(vdsl.usable(65_000_000), 64_000_000);
        assert_eq!(vdsl.on_line(30), 65);
    }
}
