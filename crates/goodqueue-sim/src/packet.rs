//! The packet of the simulator: plain data, moved by value.

use goodqueue::random::mix_64;
use goodqueue::{Ecn, Flow, Instant};
use goodqueue_tcp::Segment;

/// Towards the client or away from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the server to the client: a download's data.
    Down,
    /// From the client to the server: an upload's data, a download's acknowledgements.
    Up,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// The other one.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// 0 for down, 1 for up.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word used in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it came to the queue that it is in.
    pub queued_at: Instant,
    /// The flow that it belongs to, by its number in the scenario.
    pub flow: u32,
    /// Bytes as the queue counts them, link header included.
    pub len: u32,
    /// What it carries.
    pub payload: Payload,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A TCP segment; its ECN field is the packet's.
    Tcp(Segment),
    /// A datagram.
    Datagram {
        /// When the sender sent it; an echo keeps it.
        sent_at: Instant,
        /// Its number in the flow.
        number: u64,
        /// Its ECN field.
        ecn: Ecn,
    },
}

impl goodqueue::Packet for Packet {
    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        match &self.payload {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Datagram { ecn, .. } => *ecn,
        }
    }

    #[inline]
    fn set_ce(&mut self) -> bool {
        let ecn = match &mut self.payload {
            Payload::Tcp(segment) => &mut segment.ecn,
            Payload::Datagram { ecn, .. } => ecn,
        };
        if ecn.is_capable() {
            *ecn = Ecn::Ce;
        }
        ecn.is_capable()
    }
}

impl Flow for Packet {
    #[inline]
    fn flow_hash(&self, salt: u32) -> u32 {
        let mixed = mix_64((u64::from(salt) << 32) | u64::from(self.flow));
        u32::try_from(mixed >> 32).unwrap_or(0)
    }
}
