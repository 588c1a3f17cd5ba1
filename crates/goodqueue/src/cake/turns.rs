//! The choice of the tin to serve: by schedule with a shaper, by weight without.

use super::queues::MOST_TINS;
use super::tin::Weight;
use super::{Cake, bit};
use crate::packet::{Flow, Packet};
use crate::random::Random;

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    /// The tin to serve; some packet must be queued.
    #[inline]
    pub(super) fn choose_tin(&mut self) -> Option<usize> {
        if self.shaper.is_on() {
            return self.choose_by_schedule();
        }
        // Without a shaper, tins are served by weight, in rounds. Tins without flows and without a
        // deficit to fill are skipped. Usually only one tin is left, and one or two rounds are
        // enough.
        let last = self.current;
        let alone = self.served == bit(last) && self.spent & !self.served == 0;
        let own = &mut self.tins.get_mut(last)?.weight;
        if alone && own.deficit > own.quantum.wrapping_mul(-2) {
            for _ in 0..2 {
                if own.deficit < 0 {
                    own.deficit = own.deficit.wrapping_add(own.quantum);
                    self.spent = 0;
                }
            }
            return Some(last);
        }
        self.choose_by_weight()
    }

    #[inline(never)]
    fn choose_by_weight(&mut self) -> Option<usize> {
        let mut index = self.current;
        let mut visits = 0;
        loop {
            let turn = u32::try_from(index % MOST_TINS).unwrap_or(0);
            let awaited = (self.served | self.spent).rotate_right(turn);
            index = (index + awaited.trailing_zeros() as usize) % MOST_TINS;
            let weight = &mut self.tins.get_mut(index)?.weight;
            // As in Linux, a deficit of 0 suffices for a turn, and is filled nevertheless when the
            // turn goes on.
            if weight.deficit >= 0 && self.served & bit(index) != 0 {
                return Some(index);
            }
            if weight.deficit <= 0 {
                weight.deficit = weight.deficit.wrapping_add(weight.quantum);
            }
            if weight.deficit > 0 {
                self.spent &= !bit(index);
            }
            index += 1;
            visits += 1;
            if visits == FRUITLESS_TINS {
                self.skip_fruitless_tins()?;
            }
        }
    }

    /// The last tin that is on schedule; if none is, the one that will be so first.
    #[inline(never)]
    fn choose_by_schedule(&self) -> Option<usize> {
        let mut best: Option<(u64, usize)> = None;
        for (index, tin) in self.tins.iter().enumerate().filter(|(index, _)| self.served & bit(*index) != 0) {
            let wait = tin.shaper.time_next.since(self.now).as_nanos();
            // `<=`: of several tins on schedule the last one, which has the highest priority, is
            // served.
            if best.is_none_or(|(least, _)| wait <= least) {
                best = Some((wait, index));
            }
        }
        best.map(|(_, index)| index)
    }

    /// Skips rounds at once when all tins with flows have a deficit of many rounds. `None` if no
    /// tin has flows.
    #[cold]
    fn skip_fruitless_tins(&mut self) -> Option<()> {
        // Without weights a round would fill nothing; the bound only keeps the division safe.
        let missing = |weight: &Weight| weight.deficit.min(0).saturating_neg() / weight.quantum.max(1);
        let with_flows = self.tins.iter().enumerate().filter(|(index, _)| self.served & bit(*index) != 0);
        let rounds = with_flows.map(|(_, tin)| missing(&tin.weight)).min()?;
        for weight in self.tins.iter_mut().map(|tin| &mut tin.weight) {
            let own = rounds.min(missing(weight));
            weight.deficit = weight.deficit.saturating_add(own.saturating_mul(weight.quantum));
        }
        Some(())
    }
}

// Far above what usual packets need: with the smallest weights, 64 of four tins and 98 of eight, a
// packet of 1514 bytes is paid for in 24 rounds of 4 visits or 16 rounds of 8.
/// After this number of visits without a packet, rounds are skipped at once.
const FRUITLESS_TINS: u32 = 4_096;
