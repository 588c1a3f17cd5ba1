//! A block-ack agreement between two nodes: the sender's window of 64 numbers and the receiver's
//! reordering buffer.
//!
//! An MPDU that was not received is sent again before all new ones. The receiver delivers packets
//! in order: packets behind a gap wait until the gap is filled, or until the sender gives up and
//! moves the window. This waiting causes WiFi's bursts of delay. BlockAck frames are never lost
//! here, and the BlockAckReq that moves the receiver's window takes no time.

use std::collections::VecDeque;

/// Largest number of unacknowledged frames (IEEE 802.11-2012 §9.21.7).
pub const WINDOW: usize = 64;

/// A packet that has left its queue.
#[derive(Clone, Debug)]
pub(crate) struct Taken<P> {
    /// Position among all packets that arrived at the queue.
    pub(crate) position: u64,
    pub(crate) packet: P,
}

/// A numbered frame.
#[derive(Clone, Debug)]
pub(crate) struct Mpdu<P> {
    pub(crate) number: u64,
    /// Number of failed transmissions.
    pub(crate) failures: u32,
    /// Position among all packets that arrived at the packet's queue.
    pub(crate) position: u64,
    pub(crate) packet: P,
}

/// The two ends of an agreement.
#[derive(Clone, Debug)]
pub(crate) struct Session<P> {
    /// Oldest number that is neither acknowledged nor given up.
    start: u64,
    /// For each number from `start` on: true if it is acknowledged or given up.
    settled: VecDeque<bool>,
    /// Frames to be sent again, in the order of their numbers.
    retries: VecDeque<Mpdu<P>>,
    /// A packet that left its queue but did not fit into the last aggregate.
    held: Option<Taken<P>>,
    receiver: Reordering<P>,
}

/// Limits of one transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Largest number of MPDUs.
    pub(crate) subframes: usize,
    /// Largest length of the PSDU in bytes.
    pub(crate) bytes: u32,
}

#[derive(Clone, Debug)]
struct Reordering<P> {
    /// First number that has not arrived.
    expected: u64,
    /// Packets from number `expected` on; the first one is missing.
    buffer: VecDeque<Option<P>>,
}

impl<P> Default for Session<P> {
    fn default() -> Self {
        let receiver = Reordering { expected: 0, buffer: VecDeque::new() };
        Self { start: 0, settled: VecDeque::new(), retries: VecDeque::new(), held: None, receiver }
    }
}

impl<P> Session<P> {
    /// Returns the position of the first packet that has left the queue and waits to be sent, or
    /// sent again.
    pub(crate) fn waiting(&self) -> Option<u64> {
        let retry = self.retries.front().map(|frame| frame.position);
        retry.or_else(|| self.held.as_ref().map(|taken| taken.position))
    }

    /// Returns true if the number of the next frame would lie in the window.
    pub(crate) fn may_send(&self) -> bool {
        // A frame that is sent again has its number already, which is in the window.
        !self.retries.is_empty() || self.settled.len() < WINDOW
    }

    /// Calls `show` for the packets that wait at either end.
    pub(crate) fn for_each(&self, show: &mut impl FnMut(&P)) {
        self.retries.iter().for_each(|frame| show(&frame.packet));
        let held = self.held.iter().map(|taken| &taken.packet);
        held.chain(self.receiver.buffer.iter().flatten()).for_each(show);
    }

    /// Returns the frames of one transmission, with their numbers: retransmissions first, then new
    /// packets from `next`. `length` gives the bytes that a packet takes in an aggregate. The first
    /// frame always fits.
    pub(crate) fn aggregate(
        &mut self,
        limits: Limits,
        length: impl Fn(&P) -> u32,
        mut next: impl FnMut() -> Option<Taken<P>>,
    ) -> Vec<Mpdu<P>> {
        // A configured aggregate may be larger than the window, which no PPDU exceeds.
        let mut frames: Vec<Mpdu<P>> = Vec::with_capacity(limits.subframes.min(WINDOW));
        let mut bytes = 0_u32;
        let fits = |total: u32, before: &[Mpdu<P>]| before.is_empty() || total <= limits.bytes;
        while frames.len() < limits.subframes {
            // A frame that is sent again has its number in the window already.
            if let Some(retry) = self.retries.front() {
                bytes = bytes.saturating_add(length(&retry.packet));
                if !fits(bytes, &frames) {
                    break;
                }
                frames.extend(self.retries.pop_front());
                continue;
            }
            if self.settled.len() >= WINDOW {
                break;
            }
            let Some(taken) = self.held.take().or_else(&mut next) else { break };
            bytes = bytes.saturating_add(length(&taken.packet));
            if !fits(bytes, &frames) {
                self.held = Some(taken);
                break;
            }
            let Taken { position, packet } = taken;
            let number = self.start + self.settled.len() as u64;
            frames.push(Mpdu { number, failures: 0, position, packet });
            self.settled.push_back(false);
        }
        frames
    }

    /// Records that the receiver got a frame. `deliver` gets the packets that are now in order.
    pub(crate) fn arrived(&mut self, frame: Mpdu<P>, deliver: &mut impl FnMut(P)) {
        self.receiver.accept(frame.number, frame.packet, deliver);
    }

    /// Records that the sender has learned of the arrival of this frame.
    pub(crate) fn acknowledged(&mut self, number: u64, deliver: &mut impl FnMut(P)) {
        self.settle(number);
        // Frames behind this one that were given up may have waited for its acknowledgement.
        self.receiver.expect(self.start, deliver);
    }

    /// Schedules a retransmission.
    pub(crate) fn retry(&mut self, frame: Mpdu<P>) {
        // The PPDU of a later frame may have been prepared before the PPDU of this one failed.
        let place = self.retries.partition_point(|earlier| earlier.number < frame.number);
        self.retries.insert(place, frame);
    }

    /// Gives a frame up and returns its packet. `deliver` gets the packets that waited for it.
    pub(crate) fn give_up(&mut self, frame: Mpdu<P>, deliver: &mut impl FnMut(P)) -> P {
        self.settle(frame.number);
        self.receiver.expect(self.start, deliver);
        frame.packet
    }

    fn settle(&mut self, number: u64) {
        let place = usize::try_from(number.saturating_sub(self.start)).unwrap_or(usize::MAX);
        if let Some(settled) = self.settled.get_mut(place) {
            *settled = true;
        }
        while self.settled.front() == Some(&true) {
            self.settled.pop_front();
            self.start += 1;
        }
    }
}

impl<P> Reordering<P> {
    fn accept(&mut self, number: u64, packet: P, deliver: &mut impl FnMut(P)) {
        let place = usize::try_from(number.saturating_sub(self.expected)).unwrap_or(usize::MAX);
        debug_assert!(number >= self.expected && place < WINDOW, "the sender keeps to its window");
        // The bound keeps the memory small if a sender did not keep to its window.
        while self.buffer.len() <= place.min(WINDOW) {
            self.buffer.push_back(None);
        }
        if let Some(slot) = self.buffer.get_mut(place) {
            *slot = Some(packet);
        }
        self.release(deliver);
    }

    /// Records that no number below `number` will arrive any more.
    fn expect(&mut self, number: u64, deliver: &mut impl FnMut(P)) {
        while self.expected < number {
            self.expected += 1;
            if let Some(Some(packet)) = self.buffer.pop_front() {
                deliver(packet);
            }
        }
        self.release(deliver);
    }

    fn release(&mut self, deliver: &mut impl FnMut(P)) {
        while let Some(Some(_)) = self.buffer.front() {
            self.expected += 1;
            if let Some(Some(packet)) = self.buffer.pop_front() {
                deliver(packet);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Limits = Limits { subframes: 64, bytes: u32::MAX };

    fn send(session: &mut Session<u32>, limits: Limits, packets: &mut Vec<u32>) -> Vec<Mpdu<u32>> {
        packets.reverse();
        let taken = |packet: u32| Taken { position: u64::from(packet), packet };
        // A packet of 1500 bytes with headers, delimiter and padding (`phy::subframe_bytes`).
        let frames = session.aggregate(limits, |_| 1_544, || packets.pop().map(taken));
        packets.reverse();
        frames
    }

    fn receive(session: &mut Session<u32>, frame: Mpdu<u32>, delivered: &mut Vec<u32>) {
        let number = frame.number;
        session.arrived(frame, &mut |packet| delivered.push(packet));
        session.acknowledged(number, &mut |packet| delivered.push(packet));
    }

    #[test]
    fn what_came_behind_a_gap_waits_until_the_gap_is_filled() {
        let mut session = Session::default();
        let mut frames = send(&mut session, ALL, &mut vec![10, 11, 12]).into_iter();
        let mut delivered = Vec::new();
        let missing = frames.next().expect("three");
        session.retry(missing);
        assert_eq!(session.waiting(), Some(10));
        for frame in frames {
            receive(&mut session, frame, &mut delivered);
        }
        assert!(delivered.is_empty());
        let again = send(&mut session, ALL, &mut vec![13]);
        assert_eq!(again.iter().map(|frame| frame.number).collect::<Vec<_>>(), [0, 3], "the old one first");
        for frame in again {
            receive(&mut session, frame, &mut delivered);
        }
        assert_eq!(delivered, [10, 11, 12, 13]);
    }

    #[test]
    fn a_frame_given_up_lets_go_what_it_held_up() {
        let mut session = Session::default();
        let mut frames = send(&mut session, ALL, &mut vec![10, 11, 12, 13]).into_iter();
        let mut delivered = Vec::new();
        let first = frames.next().expect("four");
        let second = frames.next().expect("four");
        for frame in frames {
            receive(&mut session, frame, &mut delivered);
        }
        assert_eq!(session.give_up(second, &mut |packet| delivered.push(packet)), 11);
        assert!(delivered.is_empty(), "the first one is still missing");
        receive(&mut session, first, &mut delivered);
        assert_eq!(delivered, [10, 12, 13], "nobody waits for 11 any more");
        let more = send(&mut session, ALL, &mut vec![14]);
        let mut none = Vec::new();
        assert_eq!(more[0].number, 4);
        assert!(send(&mut session, ALL, &mut none).is_empty());
    }

    #[test]
    fn no_more_than_64_numbers_are_under_way() {
        let mut session = Session::default();
        let mut packets: Vec<u32> = (0..200).collect();
        let half = Limits { subframes: 32, ..ALL };
        let first = send(&mut session, half, &mut packets);
        let second = send(&mut session, half, &mut packets);
        assert_eq!((first.len(), second.len()), (32, 32));
        assert!(!session.may_send() && send(&mut session, half, &mut packets).is_empty());
        let mut first = first.into_iter();
        let lost = first.next().expect("32");
        for frame in first {
            receive(&mut session, frame, &mut Vec::new());
        }
        session.retry(lost);
        let third = send(&mut session, half, &mut packets);
        assert_eq!(third.iter().map(|frame| frame.number).collect::<Vec<_>>(), [0], "the window waits for 0");
    }

    #[test]
    fn an_aggregate_ends_before_the_packet_that_does_not_fit() {
        let mut session = Session::default();
        // Room for three of the subframes that `send` makes.
        let limits = Limits { subframes: 64, bytes: 3 * 1_544 };
        let mut packets: Vec<u32> = (0..5).collect();
        assert_eq!(send(&mut session, limits, &mut packets).len(), 3);
        assert_eq!(session.waiting(), Some(3), "the fourth is out of its queue");
        assert_eq!(send(&mut session, limits, &mut packets).len(), 2);
        assert!(session.waiting().is_none() && packets.is_empty());
        let short = Limits { subframes: 64, bytes: 10 };
        assert_eq!(send(&mut session, short, &mut vec![9]).len(), 1, "a lone frame may be long");
    }
}
