//! The ACK filter: which acknowledgement a later one makes superfluous.

use super::Cake;
use super::config::AckFilter;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops};
use crate::random::Random;

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    // The filter is off unless asked for.
    /// An ACK at the end of a queue makes older ones of its connection superfluous: one of them
    /// goes, the oldest that may be spared. Two such are needed, unless the filter is aggressive
    /// and nothing stands between. Its bytes; 0: none goes.
    #[inline(never)]
    pub(super) fn filter_acks(&mut self, tin: usize, index: u32, drops: &mut impl Drops<P>) -> u32 {
        self.drop_superfluous(tin, index, drops).unwrap_or(0)
    }

    fn drop_superfluous(&mut self, tin: usize, index: u32, drops: &mut impl Drops<P>) -> Option<u32> {
        let flow = self.tins.get(tin)?.flows.at(index);
        let (last, newest) = self.pool.back(&flow.packets)?;
        let trigger = newest.packet.tcp_ack()?;
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
            if !older.same_flow(newest.packet) {
                continue;
            }
            // A change of the ECN flags must reach the sender, so the ACK before it stays.
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
        let (node, ecn) = found?;
        // With one superfluous ACK only, a packet between the two could carry other ECN flags, so
        // Linux `cake_ack_filter()` demands that they are neighbours with equal flags.
        let adjacent = behind_found == last && ecn == trigger.ecn;
        let aggressive = self.config.ack_filter == AckFilter::Aggressive;
        if !(spare || aggressive && adjacent) {
            return None;
        }
        let at = self.pool.at(node)?.at;
        let memory = self.pool.memory(node);
        let state = self.tins.get_mut(tin)?;
        let old = self.pool.remove(&mut state.flows.at_mut(index).packets, node)?;
        state.tally.ack_drops = state.tally.ack_drops.wrapping_add(1);
        let bytes = old.len();
        self.forget(tin, index, bytes, memory);
        self.charge_drop(tin, at, bytes);
        self.stats.dropped_after.add(bytes);
        drops.dropped(old, DropReason::Superseded);
        Some(bytes)
    }
}

/// "No node" of the pool.
const NIL_NODE: u32 = u32::MAX;
