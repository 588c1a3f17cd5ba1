//! Packets of C programs.

use goodqueue::hash::mix_64;
use goodqueue::{Ecn, Flow, Packet};

/// ECN field of a packet whose transport does not understand ECN.
pub const GQ_NOT_ECT: u8 = 0;
/// ECN field of a packet that asks for L4S treatment (RFC 9331).
pub const GQ_ECT1: u8 = 1;
/// ECN field of an ECN-capable packet (RFC 3168).
pub const GQ_ECT0: u8 = 2;
/// ECN field of a marked packet.
pub const GQ_CE: u8 = 3;

/// A packet. The caller keeps its bytes, and finds them by `id`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GqPacket {
    /// Any number or pointer of the caller.
    pub id: u64,
    /// Length in bytes as the link counts it. The kernel counts the Ethernet header: 1514 for a
    /// full packet.
    pub bytes: u32,
    /// Number of the flow. Disciplines that separate flows hash it.
    pub flow: u32,
    /// TOS byte: the code point, and in the two low bits the ECN field, such as `GQ_ECT0`.
    pub tos: u8,
}

impl Packet for GqPacket {
    fn len(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    fn set_ce(&mut self) -> bool {
        let is_capable = self.ecn().is_capable();
        if is_capable {
            self.tos |= GQ_CE;
        }
        is_capable
    }

    fn duplicate(&self) -> Option<Self> {
        Some(*self)
    }
}

impl Flow for GqPacket {
    fn flow_hash(&self, salt: u32) -> u32 {
        // Not 0 for flow 0 without a salt.
        let mixed = mix_64(u64::from(salt) << 32 ^ (u64::from(self.flow) + 1));
        u32::try_from(mixed >> 32).unwrap_or(0)
    }

    fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    fn clear_dscp(&mut self) {
        self.tos &= GQ_CE;
    }

    fn same_flow(&self, other: &Self) -> bool {
        self.flow == other.flow
    }
}
