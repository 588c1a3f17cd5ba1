//! The bytes that a packet takes on a line.

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
    pub const ETHERNET: Self = Self { overhead: ETHERNET_HEADER, mpu: 0, framing: Framing::Whole };

    /// Returns the bytes on the line of an IP packet of `bytes`.
    #[must_use]
    pub fn on_line(&self, bytes: u32) -> u32 {
        let whole = bytes.saturating_add(self.overhead).max(self.mpu);
        match self.framing {
            Framing::Whole => whole,
            Framing::Atm => whole.div_ceil(48).saturating_mul(53),
            Framing::Ptm => whole.saturating_add(whole.div_ceil(64)),
        }
    }
}

/// Header of Ethernet, which `tc` counts and the overhead of a line includes.
pub const ETHERNET_HEADER: u32 = 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_takes_two_cells_and_a_full_packet_32() {
        let adsl = Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm };
        assert_eq!([adsl.on_line(52), adsl.on_line(1492)], [2 * 53, 32 * 53]);
    }

    #[test]
    fn ptm_takes_a_byte_of_65() {
        let vdsl = Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm };
        assert_eq!(vdsl.on_line(30), 65);
    }
}
