//! The queue of the host: how much of a connection waits in it (TCP small queues), and when its
//! segments may leave it (Linux `tcp_small_queue_check`, `tcp_update_skb_after_send`).

use goodqueue::Instant;

use super::bursts::PER_SECOND;
use super::parts::Usage;
use super::{Core, State};
use crate::congestion::CongestionControl;
use crate::mechanism::Mechanism;

impl Core {
    /// Begins to use a queue of the host, if the stack can.
    pub(crate) fn set_host_queue(&mut self, paces: bool) {
        if self.config.stack.has(Mechanism::SmallQueues) {
            self.host.usage = if paces { Usage::Planned } else { Usage::Limited };
        }
    }

    /// Returns when the last segment may leave the queue of the host, if that queue keeps
    /// departures.
    pub(crate) fn planned_departure(&self) -> Option<Instant> {
        (self.host.usage == Usage::Planned).then_some(self.host.departure)
    }

    /// Returns when a segment that is sent at `now` leaves the host; `None`: it has to wait.
    #[inline]
    pub fn departure(&mut self, now: Instant) -> Option<Instant> {
        if self.host.usage == Usage::Unknown {
            return (!self.is_held_by_pacing(now)).then_some(now);
        }
        self.departure_from_queue(now)
    }

    #[inline(never)]
    fn departure_from_queue(&mut self, now: Instant) -> Option<Instant> {
        let begins = self.burst.left == 0;
        // As without a queue, the ACK of the handshake does not wait.
        if self.state != State::Established || self.due.ack {
            self.host.departure = now;
            return Some(now);
        }
        // A burst is one packet until the device cuts it.
        self.host.is_full = begins && self.fills_queue();
        if self.host.is_full {
            return None;
        }
        if self.host.usage == Usage::Limited {
            return (!self.is_held_by_pacing(now)).then_some(now);
        }
        if begins {
            // `fq` paces every connection, also those whose controller does not pace.
            if self.controller.pacing().rate.is_none() {
                self.pacer.rate = Some(self.usual_rate());
            }
            self.host.departure = self.pacer.next_departure;
        }
        self.host.departure = self.host.departure.max(now);
        Some(self.host.departure)
    }

    /// True if the queue holds more of the connection than leaves in about a millisecond at the
    /// pacing rate, and more than two bursts.
    fn fills_queue(&self) -> bool {
        let rate = self.pacer.rate.unwrap_or_else(|| self.usual_rate());
        let bursts = 2 * u64::from(self.most_of_burst()) * self.mss;
        // `tcp_small_queue_check()`: two bursts, or a millisecond of the pacing rate if that is
        // more.
        self.host.waiting * self.mss > bursts.max(rate / PER_SECOND)
    }
}
