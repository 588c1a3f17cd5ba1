//! How equally flows share the bottleneck.

use goodqueue_sim::Direction;

use super::labels::FlowLabels;
use crate::results::{Fairness, FlowResult, GroupFairness};
use crate::statistics::{float, jain};

pub(super) fn fairness(flows: &[FlowResult]) -> Fairness {
    let goodputs = |direction: Direction| -> Vec<f64> {
        let of = flows.iter().filter(|flow| flow.kind.is_bulk() && flow.direction == direction);
        of.map(|flow| flow.goodput_bps).collect()
    };
    let down = goodputs(Direction::Down);
    let up = goodputs(Direction::Up);
    let bulk = || flows.iter().filter(|flow| flow.kind.is_bulk() && flow.packets_sent > 0);
    let dropped = float(bulk().map(|flow| flow.packets_dropped).sum());
    let sent = float(bulk().map(|flow| flow.packets_sent).sum());
    // Share of drops in proportion to share of packets sent (Nichols & Jacobson 2012, Fig. 9).
    let shares: Vec<f64> = bulk()
        .map(|flow| (float(flow.packets_dropped) / dropped) / (float(flow.packets_sent) / sent))
        .collect();
    Fairness {
        jain_goodput: jain(if down.is_empty() { &up } else { &down }),
        jain_goodput_up: jain(&up),
        // Without drops, the shares are quotients of zeros.
        jain_drop_share: if dropped > 0.0 { jain(&shares) } else { None },
        groups: Vec::new(),
    }
}

/// Of each table with several flows of TCP or QUIC.
pub(super) fn group_fairness(tables: &[FlowLabels], flows: &[FlowResult]) -> Vec<GroupFairness> {
    let mut rest = flows;
    let mut groups = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let (own, others) = rest.split_at((table.count as usize).min(rest.len()));
        rest = others;
        // The flows of a table are alike, so the first one tells the kind of all.
        if own.len() > 1 && own[0].kind.is_bulk() {
            let goodputs: Vec<f64> = own.iter().map(|flow| flow.goodput_bps).collect();
            groups.push(GroupFairness {
                group: table.label.clone().unwrap_or_else(|| number.to_string()),
                flows: table.count,
                jain_goodput: jain(&goodputs),
            });
        }
    }
    groups
}
