//! The order in which a driver serves its receivers.

use std::collections::VecDeque;

use super::demand::Demand;

/// The order in which a driver serves its receivers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// Round robin, one aggregate each (ath9k).
    #[default]
    Turns,
    /// The receiver of the oldest packet, together with further packets for the same receiver. This
    /// is the behaviour of ns-3 and of hardware with one queue for all receivers.
    OldestHead,
}

/// The next packet for one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) demand: Demand,
    /// Position of the next packet among all that arrived at the driver; arbitrary if there is
    /// none.
    pub(super) position: u64,
}

/// The receivers of one access category.
#[derive(Clone, Debug)]
pub(super) enum Schedule {
    Turns(Turns),
    /// The number of receivers.
    OldestHead(usize),
}

impl Schedule {
    pub(super) fn new(order: Order, peers: usize) -> Self {
        match order {
            Order::Turns => Self::Turns(Turns { waiting: VecDeque::new(), listed: vec![false; peers] }),
            Order::OldestHead => Self::OldestHead(peers),
        }
    }

    /// Adds a receiver to which there may be something to send.
    pub(super) fn list(&mut self, peer: usize) {
        if let Self::Turns(turns) = self {
            turns.list(peer);
        }
    }

    /// Returns the receiver whose turn it is.
    pub(super) fn next(&mut self, head: impl Fn(usize) -> Head) -> Option<usize> {
        match self {
            Self::Turns(turns) => turns.next(head),
            Self::OldestHead(peers) => {
                let ready = (0..*peers).filter_map(|peer| {
                    let Head { demand, position } = head(peer);
                    (demand == Demand::Ready).then_some((position, peer))
                });
                ready.min().map(|(_, peer)| peer)
            }
        }
    }

    /// Returns true if [`Self::next`] would return a receiver.
    pub(super) fn has_next(&self, head: impl Fn(usize) -> Head) -> bool {
        let ready = |peer| head(peer).demand == Demand::Ready;
        match self {
            Self::Turns(turns) => turns.waiting.iter().copied().any(ready),
            Self::OldestHead(peers) => (0..*peers).any(ready),
        }
    }
}

/// Receivers in round robin.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Receivers to which there is something to send.
    waiting: VecDeque<usize>,
    listed: Vec<bool>,
}

impl Turns {
    fn list(&mut self, peer: usize) {
        if !self.listed[peer] {
            self.listed[peer] = true;
            self.waiting.push_back(peer);
        }
    }

    fn next(&mut self, head: impl Fn(usize) -> Head) -> Option<usize> {
        // Each receiver once, because all of them may be blocked.
        for _ in 0..self.waiting.len() {
            let peer = self.waiting.pop_front()?;
            match head(peer).demand {
                // The next packet for this receiver lists it again.
                Demand::Nothing => self.listed[peer] = false,
                Demand::Blocked => self.waiting.push_back(peer),
                Demand::Ready => {
                    self.waiting.push_back(peer);
                    return Some(peer);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the receivers in the order in which they are served. `packets` are the receivers of
    /// the packets, in the order of arrival; each turn sends one packet.
    fn served(order: Order, packets: &[usize]) -> Vec<usize> {
        let mut schedule = Schedule::new(order, 3);
        let mut queues = [const { VecDeque::new() }; 3];
        for (position, &peer) in (0_u64..).zip(packets) {
            queues[peer].push_back(position);
            schedule.list(peer);
        }
        let mut served = Vec::new();
        while let Some(peer) = schedule.next(|peer| match queues[peer].front() {
            Some(&position) => Head { demand: Demand::Ready, position },
            None => Head { demand: Demand::Nothing, position: 0 },
        }) {
            queues[peer].pop_front();
            served.push(peer);
        }
        served
    }

    #[test]
    fn receivers_are_served_in_turn_or_as_their_packets_came() {
        let packets = [2, 2, 2, 0, 1, 0];
        assert_eq!(served(Order::Turns, &packets), [2, 0, 1, 2, 0, 2]);
        assert_eq!(served(Order::OldestHead, &packets), packets);
    }

    #[test]
    fn a_receiver_that_may_not_be_sent_to_lets_the_others_pass() {
        for order in [Order::Turns, Order::OldestHead] {
            let mut schedule = Schedule::new(order, 3);
            (0..3).for_each(|peer| schedule.list(peer));
            let zero_waits = |peer| Head {
                demand: if peer == 0 { Demand::Blocked } else { Demand::Ready },
                position: peer as u64,
            };
            assert!(schedule.has_next(zero_waits));
            assert_eq!(schedule.next(zero_waits), Some(1));
            assert!(!schedule.has_next(|_| Head { demand: Demand::Blocked, position: 0 }));
        }
    }
}
