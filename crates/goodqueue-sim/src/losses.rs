//! Loss statistics: how the drops of one flow cluster, and whether flows lose packets at the same
//! time.

use goodqueue::{Direction, Duration, Instant};

use crate::id::FlowId;

/// The drops of one flow in the direction of its data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowLosses {
    /// Packets dropped.
    pub packets: u64,
    /// Loss events: all drops within one base round-trip time of an event's first drop are one
    /// event (RFC 5348 §5.2).
    pub events: u64,
    /// Time between the first event and the last.
    pub span: Duration,
}

/// The properties of a flow that loss statistics need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watched {
    /// Direction of the flow's data.
    pub(crate) direction: Direction,
    /// Base round-trip time.
    pub(crate) rtt: Duration,
    /// True for TCP without end: the flows that are expected to slow down together.
    pub(crate) is_bulk: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    watched: Watched,
    losses: FlowLosses,
    first: Instant,
    event: Instant,
    /// Last congestion period in which the flow lost a packet.
    period: u64,
    active: bool,
}

/// The bulk flows of one direction. A congestion period begins with a drop and lasts for the
/// longest round-trip time of these flows.
#[derive(Clone, Copy, Default, Debug)]
struct BulkFlows {
    active: u32,
    longest_rtt: Duration,
    /// Number of the present period, from 1; 0 before the first.
    period: u64,
    /// Start of the present period.
    begun: Instant,
    /// Flows that have lost a packet in the present period.
    hit: u32,
    /// Sum, over the completed periods, of the share of flows that lost a packet.
    shares: f64,
    /// Number of completed periods.
    periods: u64,
}

/// The drops of all flows in a run.
#[derive(Debug)]
pub(crate) struct Losses {
    flows: Vec<Flow>,
    bulk: [BulkFlows; 2],
}

impl Losses {
    pub(crate) fn new(flows: impl Iterator<Item = Watched>) -> Self {
        let made = |watched| Flow {
            watched,
            losses: FlowLosses::default(),
            first: Instant::ZERO,
            event: Instant::ZERO,
            period: 0,
            active: false,
        };
        let flows: Vec<Flow> = flows.map(made).collect();
        let mut bulk = [BulkFlows::default(); 2];
        for flow in flows.iter().filter(|flow| flow.watched.is_bulk) {
            let all = &mut bulk[flow.watched.direction.index()];
            all.longest_rtt = all.longest_rtt.max(flow.watched.rtt);
        }
        Self { flows, bulk }
    }

    /// Records that a flow begins or ends.
    pub(crate) fn set_active(&mut self, flow: FlowId, active: bool) {
        let flow = &mut self.flows[flow.index()];
        if flow.watched.is_bulk && flow.active != active {
            flow.active = active;
            let all = &mut self.bulk[flow.watched.direction.index()];
            // A flow stops once, and a stop without a start has no effect above. The bound only
            // spares an overflow.
            all.active = if active { all.active + 1 } else { all.active.saturating_sub(1) };
        }
    }

    /// Returns whether a TCP flow without end is active, in each direction.
    pub(crate) fn is_loaded(&self) -> [bool; 2] {
        [0, 1].map(|direction| self.bulk[direction].active > 0)
    }

    /// Counts a packet of `flow` that was dropped on its way in `direction`.
    pub(crate) fn dropped(&mut self, now: Instant, direction: Direction, flow: FlowId) {
        let flow = &mut self.flows[flow.index()];
        // Drops of acknowledgements are no losses of the flow's data.
        if flow.watched.direction != direction {
            return;
        }
        let losses = &mut flow.losses;
        losses.packets += 1;
        if losses.events == 0 {
            (losses.events, flow.first, flow.event) = (1, now, now);
        } else if now.since(flow.event) > flow.watched.rtt {
            losses.events += 1;
            flow.event = now;
            losses.span = now.since(flow.first);
        }
        // Packets of a stopped flow are still on their way, but periods no longer count the flow.
        if !flow.active {
            return;
        }
        let all = &mut self.bulk[direction.index()];
        if all.period == 0 || now.since(all.begun) > all.longest_rtt {
            all.end_period();
            all.period += 1;
            (all.begun, all.hit) = (now, 0);
        }
        if flow.period != all.period {
            flow.period = all.period;
            all.hit += 1;
        }
    }

    /// Discards the drops counted so far, at the end of the warm-up.
    pub(crate) fn restart(&mut self) {
        for flow in &mut self.flows {
            flow.losses = FlowLosses::default();
        }
        for all in &mut self.bulk {
            // The present period goes on, and does not count again the flows that it has hit
            // before.
            (all.shares, all.periods, all.hit) = (0.0, 0, 0);
        }
    }

    pub(crate) fn of_flow(&self, flow: usize) -> FlowLosses {
        self.flows[flow].losses
    }

    /// Returns, per direction, the mean share of bulk flows that lose packets in the same
    /// congestion period: `1/n` to 1.
    ///
    /// `None` if no period had at least two active flows. The last period counts even if it has not
    /// ended.
    pub(crate) fn synchronization(&self) -> [Option<f64>; 2] {
        self.bulk.map(|mut all| {
            all.end_period();
            #[expect(clippy::cast_precision_loss, reason = "a number of periods")]
            let mean = all.shares / all.periods as f64;
            (all.periods > 0).then_some(mean)
        })
    }
}

impl BulkFlows {
    fn end_period(&mut self) {
        if self.hit > 0 && self.active > 1 {
            // A flow that has ended in the meantime may be among those hit, so the share is limited
            // to 1.
            self.shares += (f64::from(self.hit) / f64::from(self.active)).min(1.0);
            self.periods += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn flows(count: usize) -> Losses {
        let flow = Watched { direction: Direction::Down, rtt: Duration::from_millis(100), is_bulk: true };
        let mut losses = Losses::new(std::iter::repeat_n(flow, count));
        for flow in 0..4.min(count) {
            losses.set_active(FlowId::new(u32::try_from(flow).expect("few")), true);
        }
        losses
    }

    #[test]
    fn drops_within_a_round_trip_are_one_loss_event() {
        let mut losses = flows(1);
        for ms in [10, 20, 110, 111, 300, 900] {
            losses.dropped(at(ms), Direction::Down, FlowId::new(0));
        }
        losses.dropped(at(950), Direction::Up, FlowId::new(0));
        // From 10 to 900 ms. The drop at 110 ms is just within the first event.
        let span = Duration::from_millis(890);
        assert_eq!(losses.of_flow(0), FlowLosses { packets: 6, events: 4, span });
        losses.restart();
        losses.dropped(at(1000), Direction::Down, FlowId::new(0));
        assert_eq!(losses.of_flow(0), FlowLosses { packets: 1, events: 1, span: Duration::ZERO });
    }

    #[test]
    fn flows_that_lose_in_the_same_period_are_synchronized() {
        let mut losses = flows(5);
        // All four flows lose a packet in the first period, one in the second. The fifth flow has
        // not begun.
        for flow in [0, 1, 1, 2, 3, 4] {
            losses.dropped(at(10), Direction::Down, FlowId::new(flow));
        }
        losses.dropped(at(200), Direction::Down, FlowId::new(2));
        losses.dropped(at(210), Direction::Down, FlowId::new(2));
        assert_eq!(losses.synchronization(), [Some((1.0 + 0.25) / 2.0), None]);
    }

    #[test]
    fn one_flow_alone_is_synchronized_with_nobody() {
        let mut losses = flows(1);
        losses.dropped(at(10), Direction::Down, FlowId::new(0));
        assert_eq!(losses.synchronization(), [None, None]);
    }
}
