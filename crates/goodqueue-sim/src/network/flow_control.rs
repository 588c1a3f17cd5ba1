//! Flow control between the links of a path: which device pauses which link, and the PAUSE frames
//! on their way.

use std::collections::VecDeque;

use goodqueue::{Direction, Duration, Instant};

use super::pausing::{Device, FlowControl};
use super::{Event, Network};
use crate::pause::{Pause, Sender};

impl Network {
    /// Lets devices send PAUSE frames: `pauses` by link. A link into which hosts send directly has
    /// no link before it, and its `Pause` has no effect.
    pub(crate) fn control_flows(&mut self, pauses: &[Option<Pause>]) {
        let mut devices = vec![None; self.links.len()];
        for (link, pause) in pauses.iter().enumerate() {
            if let (Some(pause), Some(before)) = (pause, self.link_before(link)) {
                self.links[before as usize].obey_pauses();
                devices[link] = Some(Device { sender: Sender::new(*pause), before });
            }
        }
        if devices.iter().any(Option::is_some) {
            let frames = vec![VecDeque::new(); self.links.len()];
            self.flow_control = Some(Box::new(FlowControl { devices, frames }));
        }
    }

    /// Returns the link whose packets enter this one.
    fn link_before(&self, link: usize) -> Option<u32> {
        let before = match Direction::BOTH[link & 1] {
            Direction::Down => link.checked_sub(2)?,
            Direction::Up => link + 2,
        };
        (before < self.links.len()).then(|| super::number(before))
    }

    /// Sends a PAUSE frame if the queue of `link` has passed one of its marks. Kept out of line,
    /// for paths without flow control.
    #[cold]
    #[inline(never)]
    pub(super) fn control_flow(&mut self, now: Instant, link: u32) {
        let Some(control) = &mut self.flow_control else { return };
        let Some(device) = &mut control.devices[link as usize] else { return };
        let before = device.before;
        let lasts = self.links[before as usize].pause_lasts(device.sender.config().time);
        let backlog = self.links[link as usize].held().bytes;
        let Some(time) = device.sender.decide(now, backlog, lasts) else { return };
        if let Some(when) = device.sender.renews_at() {
            // The link has nothing to do then, but its device looks at the buffer again.
            self.events.push(when, Event::Serve(link).encode());
        }
        // The frame takes the other direction of the cable on which the paused packets come.
        let back = before ^ 1;
        let Some(taken) = self.links[back as usize].send_pause(now) else { return };
        let delay = self.onward[before as usize].map(|line| self.lines[line as usize].delay);
        let arrives = taken.sent + delay.unwrap_or(Duration::ZERO);
        control.frames[before as usize].push_back(time);
        self.events.push(arrives, Event::Pause(before).encode());
        if let Some(when) = taken.call_at {
            self.events.push(when, Event::Serve(back).encode());
        }
    }

    /// Gives a link the PAUSE frame that arrives now.
    pub(crate) fn pause(&mut self, now: Instant, link: u32) {
        let Some(control) = &mut self.flow_control else { return };
        let Some(time) = control.frames[link as usize].pop_front() else { return };
        if let Some(when) = self.links[link as usize].receive_pause(now, time) {
            self.events.push(when, Event::Serve(link).encode());
        }
    }
}
