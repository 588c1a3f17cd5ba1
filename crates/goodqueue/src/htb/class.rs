//! A class of `htb`: its buckets, what they allow it, and whose turn it is among those that
//! borrow from it.

use alloc::collections::BTreeSet;

use super::config::{Index, LEVELS, Terms};

/// Linux `TC_HTB_NUMPRIO`.
pub(super) const PRIOS: usize = 8;

/// Nanoseconds beyond which debts are forgotten (Linux `mbuffer`: one minute).
const LONGEST_WAIT: i64 = 60_000_000_000;

/// Classes served in turn.
#[derive(Clone, Default, Debug)]
pub(super) struct Turn {
    pub(super) classes: BTreeSet<Index>,
    /// The class whose turn it is.
    pub(super) at: Option<Index>,
    /// Whose turn it was when it left.
    pub(super) left: Option<Index>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    CanSend,
    MayBorrow,
    CannotSend,
}

#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) terms: Terms,
    pub(super) parent: Option<Index>,
    pub(super) level: usize,
    pub(super) tokens: i64,
    pub(super) ctokens: i64,
    pub(super) filled_at: u64,
    pub(super) mode: Mode,
    /// Bit `p` is set: active at priority `p`.
    pub(super) active: u8,
    /// Where it stands in `waiting`.
    pub(super) wait: Option<(u64, u64)>,
    /// Packets sent with its own tokens, by whomever, and packets of classes below it, or its own,
    /// sent with those of a class above.
    pub(super) lended: u64,
    pub(super) borrowed: u64,
    pub(super) deficit: [i64; LEVELS],
    pub(super) feed: [Turn; PRIOS],
}

impl Turn {
    /// The turn passes to the next class; past the last one there is none until the next look.
    pub(super) fn pass(&mut self) {
        if let Some(at) = self.at {
            self.at = self.classes.range(at + 1..).next().copied();
        }
    }
}

impl Class {
    pub(super) fn new(terms: Terms, parent: Option<Index>, now: u64) -> Self {
        Self {
            terms,
            parent,
            level: 0,
            tokens: terms.depth,
            ctokens: terms.cdepth,
            filled_at: now,
            mode: Mode::CanSend,
            active: 0,
            wait: None,
            lended: 0,
            borrowed: 0,
            deficit: [0; LEVELS],
            feed: core::array::from_fn(|_| Turn::default()),
        }
    }

    pub(super) fn elapsed(&self, now: u64) -> i64 {
        i64::try_from(now.saturating_sub(self.filled_at)).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
    }

    /// Its mode once `elapsed` has gone by, and how long until that changes.
    pub(super) fn mode_after(&self, elapsed: i64) -> (Mode, i64) {
        // Without the hysteresis that Linux has as an option (`htb_hysteresis`, off by default).
        let ctokens = self.ctokens.saturating_add(elapsed);
        if ctokens < 0 {
            return (Mode::CannotSend, ctokens.saturating_neg());
        }
        let tokens = self.tokens.saturating_add(elapsed);
        // A packet, not time, ends the mode of a class that can send. Its second value is not used.
        if tokens >= 0 { (Mode::CanSend, elapsed) } else { (Mode::MayBorrow, tokens.saturating_neg()) }
    }
}

/// A bucket after `elapsed` and a packet that costs `cost`.
pub(super) fn charged(tokens: i64, elapsed: i64, depth: i64, cost: i64) -> i64 {
    // Linux `htb_accnt_tokens()` limits a debt to one nanosecond less than the longest wait.
    tokens.saturating_add(elapsed).min(depth).saturating_sub(cost).max(1 - LONGEST_WAIT)
}
