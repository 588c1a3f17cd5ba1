//! The events of a run, packed into the numbers of the event queue.

/// A scheduled event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A link may take its next packet.
    Serve(u32),
    /// The rate of a link changes.
    RateChange(u32),
    /// The first packet of a delay line arrives.
    Arrive(u32),
    /// A flow asked to be woken.
    Wake(u32),
    /// A flow begins.
    Start(u32),
    /// A flow ends.
    Stop(u32),
    /// The WiFi channel has something to do.
    Wifi,
    /// A PAUSE frame for a link arrives.
    Pause(u32),
}

/// Largest number of flows. An event has 21 bits for an index, and a flow has up to four delay
/// lines.
pub(crate) const MAX_FLOWS: usize = 1 << 19;

impl Event {
    pub(crate) const fn encode(self) -> u32 {
        match self {
            Self::Serve(link) => link << 3,
            Self::RateChange(link) => 1 | link << 3,
            Self::Arrive(line) => 2 | line << 3,
            Self::Wake(flow) => 3 | flow << 3,
            Self::Start(flow) => 4 | flow << 3,
            Self::Stop(flow) => 5 | flow << 3,
            Self::Wifi => 6,
            Self::Pause(link) => 7 | link << 3,
        }
    }

    pub(crate) const fn decode(what: u32) -> Self {
        let index = what >> 3;
        match what & 7 {
            0 => Self::Serve(index),
            1 => Self::RateChange(index),
            2 => Self::Arrive(index),
            3 => Self::Wake(index),
            4 => Self::Start(index),
            5 => Self::Stop(index),
            6 => Self::Wifi,
            _ => Self::Pause(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EventQueue;

    #[test]
    fn events_survive_their_packing() {
        let last = 4 * u32::try_from(MAX_FLOWS).expect("fits") - 1;
        let events = [
            Event::Serve(0),
            Event::Serve(last),
            Event::RateChange(1),
            Event::Arrive(last),
            Event::Wake(last),
            Event::Start(0),
            Event::Stop(last),
            Event::Wifi,
            Event::Pause(0),
            Event::Pause(last),
        ];
        for event in events {
            assert!(event.encode() <= EventQueue::MAX_WHAT);
            assert_eq!(Event::decode(event.encode()), event);
        }
    }
}
