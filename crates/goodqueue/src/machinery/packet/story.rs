//! The packet of the disciplines' stories.

use super::{Ecn, Flow, Packet};
use crate::hash::mix_64;
use crate::time::Instant;

/// Packet type of the tests of disciplines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Datagram {
    /// Tells it from others.
    pub(crate) id: u64,
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
    pub(crate) class: Option<u32>,
    /// Earliest departure.
    pub(crate) earliest: Option<Instant>,
}

impl Datagram {
    /// Number 0 of flow 0.
    pub(crate) const fn new(bytes: u32, ecn: Ecn) -> Self {
        Self { id: 0, flow: 0, bytes, ecn, class: None, earliest: None }
    }

    pub(crate) const fn numbered(self, id: u64) -> Self {
        Self { id, ..self }
    }

    pub(crate) const fn of_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }

    pub(crate) const fn of_class(self, class: u32) -> Self {
        Self { class: Some(class), ..self }
    }

    pub(crate) const fn not_before(self, earliest: Instant) -> Self {
        Self { earliest: Some(earliest), ..self }
    }
}

impl Packet for Datagram {
    fn len(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.ecn.mark()
    }

    fn earliest_departure(&self) -> Option<Instant> {
        self.earliest
    }
}

impl Flow for Datagram {
    fn class(&self) -> Option<u32> {
        self.class
    }

    fn flow_hash(&self, salt: u32) -> u32 {
        u32::try_from(mix_64(u64::from(self.flow) << 32 | u64::from(salt)) >> 32).unwrap_or(0)
    }
}
