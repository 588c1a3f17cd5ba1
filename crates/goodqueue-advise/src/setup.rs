//! A setting of the router.

use goodqueue::Rate;

use crate::encapsulation::Encapsulation;
use crate::manager::{Manager, Side};
use crate::question::Question;

/// A discipline with the rates of its shapers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'m> {
    /// The discipline.
    pub(crate) manager: &'m dyn Manager,
    /// Rates of the shapers towards the home and the Internet, in thousandths of the modelled
    /// line's.
    pub(crate) shares: [u64; 2],
    /// Whether the shaper knows how the line carries packets.
    pub(crate) accounts: bool,
}

impl Setup<'_> {
    /// Returns the rates of the shapers in whole kbit/s.
    pub(crate) fn rates(&self, question: &Question) -> [Rate; 2] {
        let share = |side: usize| {
            let bps = question.kind.modelled(question.rates[side]).as_bps() * self.shares[side] / 1000;
            Rate::from_bps(bps / 1000 * 1000)
        };
        [share(0), share(1)]
    }

    /// Returns what the shapers are told about the line.
    pub(crate) fn accounted(&self, question: &Question) -> Option<&'static Encapsulation> {
        self.accounts.then_some(&question.kind.accounted)
    }

    /// Returns the lines in tc's grammar towards the home and the Internet.
    pub(crate) fn lines(&self, question: &Question) -> [String; 2] {
        let [down, up] = self.rates(question);
        let accounted = self.accounted(question);
        let [of_down, of_up] = Side::both(question.kind.port.egress);
        [self.manager.line(of_down, down, accounted), self.manager.line(of_up, up, accounted)]
    }
}
