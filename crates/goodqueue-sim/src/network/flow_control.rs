//! Flow control between the links of a path: which device pauses which link, and the PAUSE frames
//! on their way.

use std::collections::VecDeque;

use goodqueue::{Duration, Instant};

use super::pausing::{Device, FlowControl};
use super::{Event, Network};
use crate::id::LinkId;
use crate::pause::{Pause, Sender};

impl Network {
    /// Lets devices send PAUSE frames: `pauses` by link. A link into which hosts send directly has
    /// no link before it, and its `Pause` has no effect.
    pub(crate) fn control_flows(&mut self, pauses: &[Option<Pause>]) {
        let mut devices = vec![None; self.links.len()];
        for (link, pause) in pauses.iter().enumerate() {
            let before = LinkId::from_index(link).previous(pauses.len());
            if let (Some(pause), Some(before)) = (pause, before) {
                self.links[before.index()].obey_pauses();
                devices[link] = Some(Device { sender: Sender::new(*pause), before });
            }
        }
        if devices.iter().any(Option::is_some) {
            let frames = vec![VecDeque::new(); self.links.len()];
            self.flow_control = Some(Box::new(FlowControl { devices, frames }));
        }
    }

    /// Sends a PAUSE frame if the queue of `link` has passed one of its marks. Kept out of line,
    /// for paths without flow control.
    #[cold]
    #[inline(never)]
    pub(super) fn control_flow(&mut self, now: Instant, link: LinkId) {
        let Some(control) = &mut self.flow_control else { return };
        let Some(device) = &mut control.devices[link.index()] else { return };
        let before = device.before;
        // The pause is measured in bit times of the link that it stops.
        let lasts = self.links[before.index()].pause_lasts(device.sender.config().time);
        let backlog = self.links[link.index()].held().bytes;
        let Some(time) = device.sender.decide(now, backlog, lasts) else { return };
        if let Some(when) = device.sender.renews_at() {
            // The link has nothing to do then, but its device looks at the buffer again.
            self.events.push(when, Event::Serve(link).encode());
        }
        // The frame takes the other direction of the cable on which the paused packets come.
        let back = before.reverse();
        // A cable that sends nothing loses the frame. The device tries again when it renews the
        // pause.
        let Some(taken) = self.links[back.index()].send_pause(now) else { return };
        // Both directions between two hops have the same delay.
        let delay = self.onward[before.index()].map(|line| self.lines[line.index()].delay);
        let arrives = taken.sent + delay.unwrap_or(Duration::ZERO);
        control.frames[before.index()].push_back(time);
        self.events.push(arrives, Event::Pause(before).encode());
        if let Some(when) = taken.call_at {
            self.events.push(when, Event::Serve(back).encode());
        }
    }

    /// Gives a link the PAUSE frame that arrives now.
    pub(crate) fn pause(&mut self, now: Instant, link: LinkId) {
        let Some(control) = &mut self.flow_control else { return };
        let Some(time) = control.frames[link.index()].pop_front() else { return };
        if let Some(when) = self.links[link.index()].receive_pause(now, time) {
            self.events.push(when, Event::Serve(link).encode());
        }
    }
}
