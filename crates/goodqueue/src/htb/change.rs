//! Changes of the classes of `htb` while packets are queued: as in Linux, what stays keeps its
//! buckets, its turn and its packets.

use alloc::vec::Vec;

use super::class::{Class, Mode};
use super::{Htb, HtbConfig, Index};
use crate::leaf::Leaf;
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops};

impl<P: Packet + Flow, Q: Inner<P>> Htb<P, Q> {
    pub(super) fn change(&mut self, config: HtbConfig<Q::Config>, drops: &mut impl Drops<P>) {
        for position in 0..self.tree.classes.len() {
            let Ok(index) = Index::try_from(position) else { break };
            let Some(old) = self.config.classes.get(position) else { break };
            let new = config.position(old.minor).and_then(|at| config.classes.get(at));
            let gone = new.is_none();
            let is_inner = new.is_some_and(|new| new.leaf.is_none());
            let was_inner = old.leaf.is_none();
            if !was_inner && (gone || is_inner) {
                self.close(index, drops);
            }
            if gone || is_inner != was_inner {
                self.tree.deactivate(index);
                self.tree.wait_no_more(index);
            }
        }
        let old = core::mem::replace(&mut self.config, config);
        self.renumber(&old);
        for position in 0..self.tree.classes.len() {
            if let Ok(index) = Index::try_from(position) {
                self.change_leaf(index, drops);
            }
        }
        while self.direct.len() > self.config.direct_qlen as usize
            && self.drop_direct(DropReason::Overlimit, drops)
        {}
    }

    /// Purges a class that is no longer a leaf.
    fn close(&mut self, index: Index, drops: &mut impl Drops<P>) {
        let Some(mut leaf) = self.leaves.get_mut(index as usize).and_then(Option::take) else { return };
        (self.len, self.bytes) = (self.len - leaf.len(), self.bytes - leaf.backlog());
        leaf.purge(self.now, drops);
        self.beside = self.beside.plus(&leaf.stats());
    }

    /// Puts the classes in the places that they have in the configuration now; `old` has those that
    /// they had.
    fn renumber(&mut self, old: &HtbConfig<Q::Config>) {
        let places: Vec<Option<Index>> =
            old.classes.iter().map(|class| self.config.index(class.minor)).collect();
        let place = |index: Index| places.get(index as usize).copied().flatten();
        let fresh = self.fresh_classes();
        let mut before = self.tree.renumber(fresh, place);
        let mut leaves = core::mem::take(&mut self.leaves);
        for (class, config) in self.tree.classes.iter_mut().zip(&self.config.classes) {
            let from = old.position(config.minor);
            self.leaves.push(from.and_then(|from| leaves.get_mut(from)?.take()));
            if let Some(known) = from.and_then(|from| before.get_mut(from)) {
                class.carry_on(known);
            }
        }
    }

    /// Changes the discipline in a leaf, or makes one in a class that has become a leaf.
    fn change_leaf(&mut self, index: Index, drops: &mut impl Drops<P>) {
        let Some(class) = self.config.classes.get(index as usize) else { return };
        let (minor, Some(wanted)) = (class.minor, class.leaf.clone()) else { return };
        let Some(place) = self.leaves.get_mut(index as usize) else { return };
        let Some(leaf) = place else {
            *place = Some(Leaf::new(wanted, minor, self.salt, &mut self.random));
            return;
        };
        let before = leaf.load();
        leaf.reconfigure(self.now, wanted, drops);
        let emptied = leaf.is_empty();
        self.settle(index, before);
        if emptied {
            self.tree.deactivate(index);
        }
    }
}

impl Class {
    /// Goes on as `before`, on its own terms.
    fn carry_on(&mut self, before: &mut Self) {
        (self.lended, self.borrowed) = (before.lended, before.borrowed);
        // As in Linux, a class that has lost its last child starts again.
        if before.level > 0 && self.level == 0 {
            return;
        }
        (self.tokens, self.ctokens, self.filled_at) = (before.tokens, before.ctokens, before.filled_at);
        if before.level == self.level {
            (self.mode, self.active, self.wait) = (before.mode, before.active, before.wait);
            self.deficit = before.deficit;
            core::mem::swap(&mut self.feed, &mut before.feed);
        } else {
            self.mode = Mode::CanSend;
        }
    }
}
