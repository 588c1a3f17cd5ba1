//! The numbers of flows, links and delay lines. Each has a type of its own, so that no function
//! takes one for another.

use std::fmt;

use goodqueue::Direction;

/// The number of a flow: its index in [`Config::flows`](crate::Config::flows).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FlowId(u32);

impl FlowId {
    /// Returns the flow with this number.
    #[must_use]
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the number as an index.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Prints the number.
impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One of the connections of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId {
    /// The flow.
    pub flow: FlowId,
    /// Number of the connection in its flow, as in
    /// [`Packet::connection`](crate::packet::Packet::connection).
    pub number: u32,
}

/// A flow with one connection.
impl From<FlowId> for ConnectionId {
    #[inline]
    fn from(flow: FlowId) -> Self {
        Self { flow, number: 0 }
    }
}

/// The number of a link. Hop `n` has link `2 n` down and link `2 n + 1` up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LinkId(u32);

impl LinkId {
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the link of a hop in this direction.
    pub(crate) fn of_hop(hop: usize, direction: Direction) -> Self {
        Self::from_index(2 * hop + direction.index())
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the hop to which the link belongs.
    pub(crate) const fn hop(self) -> usize {
        self.index() / 2
    }

    /// Returns the direction in which packets cross the link.
    #[inline]
    pub(crate) const fn direction(self) -> Direction {
        Direction::BOTH[self.index() & 1]
    }

    /// Returns the link of the same hop in the other direction.
    pub(crate) const fn reverse(self) -> Self {
        // The two links of a hop differ in the lowest bit.
        Self(self.0 ^ 1)
    }

    /// Returns the link of the previous hop, as packets of the direction see it; `None` for the
    /// first one. `links` is the number of links.
    pub(crate) fn previous(self, links: usize) -> Option<Self> {
        let before = match self.direction() {
            // The first hop has no hop before it for packets down, the last one none for packets
            // up.
            Direction::Down => self.index().checked_sub(2)?,
            Direction::Up => self.index() + 2,
        };
        (before < links).then(|| Self::from_index(before))
    }
}

/// The number of a delay line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LineId(u32);

impl LineId {
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_a_hop_a_direction_and_neighbours() {
        let [down, up] = Direction::BOTH.map(|direction| LinkId::of_hop(1, direction));
        assert_eq!([down.index(), up.index()], [2, 3]);
        assert_eq!([down.hop(), up.hop()], [1, 1]);
        assert_eq!([down.direction(), up.direction()], Direction::BOTH);
        assert_eq!([down.reverse(), up.reverse()], [up, down]);
        assert_eq!(down.previous(6), Some(LinkId::new(0)), "packets go down from hop 0");
        assert_eq!(up.previous(6), Some(LinkId::new(5)), "and up from the last hop");
        assert_eq!(LinkId::new(0).previous(6), None);
        assert_eq!(up.previous(4), None);
    }
}
