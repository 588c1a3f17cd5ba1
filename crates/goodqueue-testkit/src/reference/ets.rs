//! Bands as tc-ets(8) describes them: strict ones in their order, and behind them a round robin by
//! quanta, for which [`Drr`] stands.

use super::Item;
use super::drr::Drr;

/// The discipline.
#[derive(Clone, Debug)]
pub struct Ets {
    /// Packets that each strict band holds.
    pub limit: usize,
    /// What waits in the strict bands, in their order.
    pub strict: Vec<Vec<Item>>,
    /// The bands behind them.
    pub sharing: Drr,
    /// The band of packets that name none, which is that of priority 0. The first band is 0.
    pub stray: usize,
}

impl Ets {
    /// The packets dropped when `item` arrives and names `band`.
    pub fn enqueue(&mut self, band: usize, item: Item) -> Vec<u64> {
        let bands = self.strict.len() + self.sharing.flows.len();
        let band = if band < bands { band } else { self.stray };
        let Some(queue) = self.strict.get_mut(band) else {
            return self.sharing.enqueue(band - self.strict.len(), item);
        };
        if queue.len() >= self.limit {
            return vec![item.id];
        }
        queue.push(item);
        Vec::new()
    }

    /// The packet sent.
    pub fn dequeue(&mut self) -> Option<u64> {
        match self.strict.iter_mut().find(|queue| !queue.is_empty()) {
            Some(first) => Some(first.remove(0).id),
            None => self.sharing.dequeue(),
        }
    }
}
