//! A change of the configuration while packets are queued.

use alloc::vec::Vec;

use super::Cake;
use super::config::CakeConfig;
use super::held::charge_by;
use super::measured::Measured;
use super::queues::QUEUES_32;
use super::tally::TinTally;
use crate::memory::Memory;
use crate::packet::{Flow, Packet};
use crate::qdisc::Drops;
use crate::queue::Queued;
use crate::random::Random;
use crate::time::Instant;

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    /// As in Linux, queued packets stay in their queues, whatever the new isolation is. Only
    /// packets in removed tins are dropped. A lower memory limit applies to new packets.
    pub(super) fn change(&mut self, now: Instant, config: CakeConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        self.sizes = self.sizes.complete(&self.config);
        self.remember_measures(&config);
        let old = core::mem::replace(&mut self.config, config);
        if old.buffers != config.buffers {
            self.count_memory();
        }
        if old.rate != config.rate {
            self.rate = config.rate;
        }
        if config.autorate && !old.autorate {
            self.estimate.begin();
        }
        if old.variant != config.variant {
            self.rebuild(drops);
            return;
        }
        let wanted = config.classes.tins(config.rate).len();
        while self.tins.len() > wanted {
            self.clear(self.tins.len().saturating_sub(1), drops);
            self.spare.extend(self.tins.pop());
        }
        self.set_up();
        self.go_on_at_first();
    }

    /// Counts the memory again, after a change of the memory per packet.
    fn count_memory(&mut self) {
        let buffers = self.config.buffers;
        self.held.memory = Memory::new(buffers);
        for tin in &self.tins {
            for index in 0..QUEUES_32 {
                let queue = &tin.flows.at(index).packets;
                self.held.memory.enters(self.pool.charge_again(queue, |packet| charge_by(buffers, packet)));
            }
        }
    }

    /// Creates all tins and queues again and inserts every packet, queue by queue, so that no flow
    /// is reordered.
    fn rebuild(&mut self, drops: &mut impl Drops<P>) {
        let mut queued = Vec::new();
        for tin in 0..self.tins.len() {
            for index in 0..QUEUES_32 {
                while let Some((at, packet)) = self.arrival(tin, index).zip(self.take(tin, index)) {
                    queued.push(Queued { at, packet });
                }
            }
        }
        let tallies = self.begin_anew();
        for Queued { at, packet } in queued {
            let none = self.held.is_empty();
            // Queued packets are not counted twice.
            self.held.passage.returns(packet.len());
            self.insert(at, packet, none, drops);
        }
        self.restore(tallies);
    }

    /// Queued packets keep the length on the link that was measured at their arrival.
    fn remember_measures(&mut self, next: &CakeConfig) {
        let queued = &*self;
        let queues = (0..self.tins.len()).flat_map(|tin| (0..QUEUES_32).map(move |index| (tin, index)));
        let oldest = queues.filter_map(|(tin, index)| queued.arrival(tin, index)).min();
        let Some(oldest) = oldest else { return self.measured.clear() };
        // No queued packet is older, so nobody asks for these configurations again.
        self.measured.retain(|earlier| earlier.until > oldest);
        let entered = self.held.passage.entered().packets;
        // The configuration that ends has measured no packet, or only those of this instant.
        let unused =
            self.measured.last().is_some_and(|last| last.entered == entered || last.until == self.now);
        if !unused && !self.config.measures_as(next) {
            self.measured.push(Measured { until: self.now, entered, by: self.config });
        }
    }

    /// Creates all tins again. Returns the counters of the old ones for [`Self::restore`].
    pub(super) fn begin_anew(&mut self) -> Vec<TinTally> {
        let tallies = self.tins.iter().map(|tin| tin.tally).collect();
        self.tins.clear();
        self.spare.clear();
        self.set_up();
        tallies
    }

    pub(super) fn restore(&mut self, tallies: Vec<TinTally>) {
        for (tin, tally) in self.tins.iter_mut().zip(tallies) {
            tin.tally = tally;
        }
    }
}
