//! A link that obeys PAUSE frames, and the one on which they travel.

use goodqueue::{Duration, Instant};

use super::{Link, Server};
use crate::pause::{self, FRAME, PauseOutcome, Receiver};

/// A PAUSE frame that a link has taken.
pub(crate) struct Taken {
    /// Time at which the last bit of the frame is on the wire.
    pub(crate) sent: Instant,
    /// Time at which to call [`Link::serve`] again, unless that call was requested before.
    pub(crate) call_at: Option<Instant>,
}

impl Link {
    /// Makes the link obey PAUSE frames.
    pub(crate) fn obey_pauses(&mut self) {
        self.paused = Some(Box::default());
    }

    /// Returns the duration of a pause of this number of quanta.
    pub(crate) fn pause_lasts(&self, time: u16) -> Duration {
        match &self.server {
            Server::Rate { wire, .. } => pause::duration(time, wire.rate()),
            // A pause is a number of bit times at a rate. Scenarios refuse to pause these links.
            Server::Trace { .. } | Server::Granted(_) => Duration::ZERO,
        }
    }

    /// Sends a PAUSE frame after the packet in transmission, ahead of all others: flow control is
    /// below the queue of packets, and a pause of this link itself does not stop its PAUSE frames
    /// (IEEE 802.3, 31B.3). Returns `None` if the link sends nothing: a rate of 0, or a trace.
    pub(crate) fn send_pause(&mut self, now: Instant) -> Option<Taken> {
        let Server::Rate { wire, .. } = &mut self.server else { return None };
        if wire.rate().as_bps() == 0 {
            return None;
        }
        let begin = wire.ended().max(now);
        let sent = wire.end_of(begin, FRAME);
        self.monitor.sent(FRAME);
        let free = self.free_at.map_or(sent, |free| free.max(sent));
        Some(Taken { sent, call_at: self.becomes_free(free) })
    }

    /// Obeys a PAUSE frame. The packet in transmission ends first. Returns the time at which to
    /// call [`Self::serve`], unless that call was requested before.
    pub(crate) fn receive_pause(&mut self, now: Instant, time: u16) -> Option<Instant> {
        let lasts = self.pause_lasts(time);
        let until = self.paused.as_mut()?.receive(now, lasts);
        let Server::Rate { wire, .. } = &self.server else { return None };
        let free = wire.ended().max(until);
        self.becomes_free(free)
    }

    /// Moves the time at which the link becomes free. A link that waits to ask its queue asks then.
    fn becomes_free(&mut self, when: Instant) -> Option<Instant> {
        self.free_at = Some(when);
        // A link that is asleep stays asleep, and a call at that time is scheduled already.
        if self.ask_at.is_none_or(|ask| ask == when) {
            return None;
        }
        self.ask_at = Some(when);
        self.ask_at
    }

    /// Forgets the pauses before `now`.
    pub(crate) fn restart_pauses(&mut self, now: Instant) {
        if let Some(paused) = &mut self.paused {
            paused.restart(now);
        }
    }

    /// Returns the pauses until `end`; `None` for a link that no device pauses.
    pub(crate) fn pauses(&self, end: Instant) -> Option<PauseOutcome> {
        self.paused.as_deref().map(|paused: &Receiver| paused.clone().finish(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::link::LinkConfig;
    use crate::monitor::LinkMonitor;
    use crate::packet::{Ends, Packet, Payload};
    use goodqueue::random::{Source, Xoshiro256PlusPlus};
    use goodqueue::{AnyConfig, AnyQdisc, Ecn, Rate, Settings};
    use goodqueue_link::capacity::Capacity;

    /// A packet takes 121.12 us at 100 Mbit/s, and a PAUSE frame 5.12 us.
    const PACKET: u64 = 121_120;
    const CONTROL: u64 = 5_120;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn ethernet() -> Link {
        let qdisc = AnyConfig::from_settings("pfifo", &Settings::new(), &goodqueue::Link::default());
        let config = qdisc.expect("listed").expect("valid");
        let queue = AnyQdisc::new(config.clone(), 0, Source::Seeded(Xoshiro256PlusPlus::stream(1, 1)));
        let capacity = Capacity::Constant(Rate::from_bps(100_000_000));
        let mut link = Link::new(&LinkConfig::new(capacity, config), queue, 14, LinkMonitor::new(None));
        link.obey_pauses();
        link
    }

    /// Offers a packet and returns the time at which the link asks its queue.
    fn offer(link: &mut Link, now: u64) -> Option<Instant> {
        let payload = Payload::Datagram { sent_at: at(now), number: 0, ecn: Ecn::NotEct };
        let packet = Packet {
            queued_at: at(now),
            flow: FlowId::new(0),
            connection: 0,
            len: 1514,
            ends: Ends::default(),
            payload,
        };
        link.enqueue(at(now), packet)
    }

    /// Serves the link, and returns the end of the packet that it sends.
    fn served(link: &mut Link, now: u64) -> Option<Instant> {
        let served = link.serve(at(now));
        served.sent.map(|_| served.end)
    }

    #[test]
    fn a_pause_frame_waits_for_the_packet_in_transmission_and_for_no_other() {
        let mut link = ethernet();
        assert_eq!(offer(&mut link, 0), Some(at(0)));
        assert_eq!(served(&mut link, 0), Some(at(PACKET)));
        assert_eq!(offer(&mut link, 1000), Some(at(PACKET)));
        let taken = link.send_pause(at(2000)).expect("the link has a rate");
        assert_eq!(taken.sent, at(PACKET + CONTROL));
        assert_eq!(taken.call_at, Some(taken.sent), "the packet that waits goes behind it");
        assert_eq!(served(&mut link, PACKET), None, "the former call is superfluous");
        assert_eq!(served(&mut link, PACKET + CONTROL), Some(at(2 * PACKET + CONTROL)));
    }

    #[test]
    fn a_paused_link_still_sends_its_own_pause_frames() {
        let mut link = ethernet();
        assert_eq!(link.receive_pause(at(0), 100), None, "nothing waits");
        // A quantum of 512 bits takes 5.12 us.
        assert_eq!(offer(&mut link, 1000), Some(at(100 * 5_120)));
        let taken = link.send_pause(at(2000)).expect("the link has a rate");
        assert_eq!((taken.sent, taken.call_at), (at(2000 + CONTROL), None));
        assert_eq!(link.receive_pause(at(10_000), 0), Some(at(10_000)), "XON");
        assert_eq!(served(&mut link, 10_000), Some(at(10_000 + PACKET)));
    }

    #[test]
    fn xon_does_not_cut_a_packet_in_transmission_short() {
        let mut link = ethernet();
        offer(&mut link, 0);
        assert_eq!(served(&mut link, 0), Some(at(PACKET)));
        offer(&mut link, 1);
        assert_eq!(link.receive_pause(at(10), 1000), Some(at(10 + 1000 * 5_120)));
        assert_eq!(link.receive_pause(at(20), 0), Some(at(PACKET)));
        assert_eq!(served(&mut link, PACKET), Some(at(2 * PACKET)));
        let pauses = link.pauses(at(1_000_000)).expect("the link obeys");
        // From XOFF at 10 ns to XON at 20 ns.
        assert_eq!(pauses, PauseOutcome { frames: 2, time: Duration::from_nanos(10) });
    }
}
