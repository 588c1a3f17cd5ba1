//! The events of a run, packed into the numbers of the event queue.

use crate::id::{FlowId, LineId, LinkId};

/// A scheduled event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A link may take its next packet.
    Serve(LinkId),
    /// The rate of a link changes.
    RateChange(LinkId),
    /// The first packet of a delay line arrives.
    Arrive(LineId),
    /// A flow asked to be woken.
    Wake(FlowId),
    /// A flow begins.
    Start(FlowId),
    /// A flow ends.
    Stop(FlowId),
    /// The WiFi channel has something to do.
    Wifi,
    /// A PAUSE frame for a link arrives.
    Pause(LinkId),
}

/// Largest number of flows. An event has 21 bits for an index, and a flow has up to four delay
/// lines. Hosts with a discipline of their own add two, which this number does not allow for.
pub(crate) const MAX_FLOWS: usize = 1 << 19;

impl Event {
    pub(crate) const fn encode(self) -> u32 {
        match self {
            // Three bits name one of eight kinds. The other 21 of an event are the index.
            Self::Serve(link) => link.number() << 3,
            Self::RateChange(link) => 1 | link.number() << 3,
            Self::Arrive(line) => 2 | line.number() << 3,
            Self::Wake(flow) => 3 | flow.number() << 3,
            Self::Start(flow) => 4 | flow.number() << 3,
            Self::Stop(flow) => 5 | flow.number() << 3,
            Self::Wifi => 6,
            Self::Pause(link) => 7 | link.number() << 3,
        }
    }

    pub(crate) const fn decode(what: u32) -> Self {
        let index = what >> 3;
        match what & 7 {
            0 => Self::Serve(LinkId::new(index)),
            1 => Self::RateChange(LinkId::new(index)),
            2 => Self::Arrive(LineId::new(index)),
            3 => Self::Wake(FlowId::new(index)),
            4 => Self::Start(FlowId::new(index)),
            5 => Self::Stop(FlowId::new(index)),
            6 => Self::Wifi,
            _ => Self::Pause(LinkId::new(index)),
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
            Event::Serve(LinkId::new(0)),
            Event::Serve(LinkId::new(last)),
            Event::RateChange(LinkId::new(1)),
            Event::Arrive(LineId::new(last)),
            Event::Wake(FlowId::new(last)),
            Event::Start(FlowId::new(0)),
            Event::Stop(FlowId::new(last)),
            Event::Wifi,
            Event::Pause(LinkId::new(0)),
            Event::Pause(LinkId::new(last)),
        ];
        for event in events {
            assert!(event.encode() <= EventQueue::MAX_WHAT);
            assert_eq!(Event::decode(event.encode()), event);
        }
    }
}
