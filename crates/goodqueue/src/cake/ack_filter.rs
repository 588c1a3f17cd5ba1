//! The ACK filter: which acknowledgement a later one makes superfluous.

use super::Cake;
use super::config::AckFilter;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops};
use crate::random::Random;

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    /// An ACK at the end of a queue makes older ones of its connection superfluous: one of them goes, the oldest that may
    /// be spared. Two such are needed, unless the filter is aggressive and nothing stands between.
    #[inline(never)]
    pub(super) fn filter_acks(&mut self, tin: usize, index: u32, drops: &mut impl Drops<P>) {
        let Some(flow) = self.tins.get(tin).map(|tin| tin.flows.at(index)) else { return };
        let Some((last, newest)) = self.pool.back(&flow.packets) else { return };
        let Some(trigger) = newest.packet.tcp_ack() else { return };
        let tag = newest.packet.flow_hash(self.salt);
        let mut found: Option<(u32, u8)> = None;
        let mut behind_found = NIL_NODE;
        let mut spare = false;
        for (node, older) in self.pool.nodes(&flow.packets) {
            if found.is_some() && behind_found == NIL_NODE {
                behind_found = node;
            }
            if node == last {
                break;
            }
            let Some(ack) = older.tcp_ack() else { continue };
            if older.flow_hash(self.salt) != tag {
                continue;
            }
            if found.is_some_and(|(_, ecn)| ecn != ack.ecn) {
                found = None;
                behind_found = NIL_NODE;
            }
            if !ack.is_superseded_by(&trigger) {
                continue;
            }
            if found.is_some() {
                spare = true;
                break;
            }
            found = Some((node, ack.ecn));
        }
        let Some((node, ecn)) = found else { return };
        let adjacent = behind_found == last && ecn == trigger.ecn;
        let aggressive = self.config.ack_filter == AckFilter::Aggressive;
        if !(spare || aggressive && adjacent) {
            return;
        }
        let Some(state) = self.tins.get_mut(tin) else { return };
        let Some(old) = self.pool.remove(&mut state.flows.at_mut(index).packets, node) else { return };
        state.tally.ack_drops = state.tally.ack_drops.wrapping_add(1);
        let bytes = old.len();
        self.forget(tin, index, bytes);
        self.charge_drop(tin, bytes);
        self.stats.dropped_after.add(bytes);
        drops.dropped(old, DropReason::Superseded);
    }
}

/// "No node" of the pool.
const NIL_NODE: u32 = u32::MAX;
