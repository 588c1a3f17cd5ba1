//! Packets of the flows' initial windows in the queue down.
//!
//! No other claim needs single packets, so a run is simulated again with its packets watched.

use std::collections::BTreeSet;

use goodqueue::{Direction, Instant};
use goodqueue_scenario::measure::float;
use goodqueue_scenario::run::RunSpec;
use goodqueue_sim::observer::{Fate, Observer, Visit};
use goodqueue_sim::packet::Payload;
use goodqueue_sim::{Config, Run, Traffic};

/// Returns the share of packets that belong to an initial window when the queue down is longest.
/// Retransmissions do not belong to it. `None` if no packet ever waited.
pub(super) fn share_at_peak(run: &RunSpec) -> Option<f64> {
    let left = run.config.flows.iter().map(|flow| match &flow.traffic {
        Traffic::Tcp(tcp) => Outstanding { segments: tcp.config.iw, next: 0 },
        _ => Outstanding::default(),
    });
    let mut queue = Queue { left: left.collect(), ..Queue::default() };
    // The first simulation of the run has kept the series.
    let config = Config { series_step: None, ..run.config.clone() };
    Run::new(&config).ok()?.to_end(|_| true, Some(&mut queue)).ok()?;
    // No later event settles the last instant.
    queue.settle();
    let Peak { packets, initial } = queue.peak;
    (packets > 0).then(|| float(initial) / float(packets))
}

/// The part of a flow's initial window that has not arrived yet.
#[derive(Clone, Copy, Default)]
struct Outstanding {
    segments: u32,
    /// Sequence number after the last segment that arrived.
    next: u64,
}

/// The queue when it was longest.
#[derive(Clone, Copy, Default)]
struct Peak {
    packets: u64,
    initial: u64,
}

/// The queue down, packet by packet.
#[derive(Default)]
struct Queue {
    /// Of each flow.
    left: Vec<Outstanding>,
    now: Instant,
    packets: u64,
    /// Numbers of the packets of initial windows that are queued.
    initial: BTreeSet<u64>,
    peak: Peak,
}

impl Queue {
    /// Notes the state at the end of an instant. Within an instant a discipline may still drop
    /// packets that arrived.
    fn settle(&mut self) {
        if self.packets > self.peak.packets {
            self.peak = Peak { packets: self.packets, initial: self.initial.len() as u64 };
        }
    }

    fn advance(&mut self, to: Instant) {
        if to > self.now {
            self.settle();
            self.now = to;
        }
    }

    /// True if this is a segment's first arrival, and within the initial window of its flow.
    fn is_initial(&mut self, visit: &Visit) -> bool {
        let Payload::Tcp(segment) = &visit.packet.payload else { return false };
        let Some(left) = self.left.get_mut(visit.packet.flow.index()) else { return false };
        // A segment without payload is a SYN or an ACK. A number below the next one is a
        // retransmission.
        if segment.len == 0 || segment.seq < left.next || left.segments == 0 {
            return false;
        }
        *left = Outstanding { segments: left.segments - 1, next: segment.seq + u64::from(segment.len) };
        true
    }
}

impl Observer for Queue {
    fn arrived(&mut self, visit: &Visit) {
        if visit.direction == Direction::Down {
            self.advance(visit.packet.queued_at);
            self.packets += 1;
            if self.is_initial(visit) {
                self.initial.insert(visit.number);
            }
        }
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        // A packet still queued at the end of the run never left.
        if visit.direction == Direction::Down && fate != Fate::Queued {
            self.advance(at);
            self.packets = self.packets.saturating_sub(1);
            self.initial.remove(&visit.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use goodqueue_scenario::run::PointRuns;
    use goodqueue_scenario::scenario::{Document, Names};

    use super::*;

    /// Returns the share of the initial window at the peak, for one flow of this number of segments
    /// with an initial window of 10.
    fn share(segments: u32) -> f64 {
        let text = format!(
            "duration = \"5s\"\nqdiscs = [\"pfifo limit 1000\"]\n[link]\ndown = \"1mbit\"\nup = \"1mbit\"\nrtt = \"100ms\"\n\
             [tcp]\niw = 10\n[[flows]]\nsize = {}\n",
            // The payload of a full segment: 1500 bytes without the headers of IPv4 and TCP and the
            // timestamps.
            segments * 1448
        );
        let document = Document::parse("x.toml", &text, std::path::Path::new("")).unwrap();
        let scenario = document.resolve(&Names::default()).unwrap();
        let runs = PointRuns::new((std::collections::BTreeMap::new(), scenario), None);
        share_at_peak(&runs.spec(0).unwrap()).unwrap()
    }

    #[test]
    fn a_queue_of_an_initial_window_alone_consists_of_it() {
        assert!((share(10) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_queue_that_grows_later_holds_none_of_it() {
        // Slow start makes the queue longest long after the first ten segments have left.
        assert!(share(400).abs() < 1e-9);
    }
}
