//! What a discipline looked at when it decided about one packet.
//!
//! [`Evidence`] is the answer of [`Lookahead::evidence`](crate::Lookahead::evidence): the rule that
//! decides, and the values that the rule compares. Nobody asks on the data path. A witness in
//! `goodqueue-sim` asks around the one decision that it explains.
//!
//! A [`Rule`] has an identity and no words. The sentences of all rules are one table in
//! `goodqueue_sim::words`. A rule of another crate has its sentence with it
//! ([`Rule::with_sentence`]).
//!
//! ```
//! use goodqueue::decision::Quantity;
//! use goodqueue::Duration;
//! assert_eq!(Quantity::Span(Duration::from_nanos(142_301_123)).to_string(), "142 ms");
//! assert_eq!(Quantity::Ago(Duration::from_millis(5)).to_string(), "5 ms ago");
//! assert_eq!(Quantity::Fraction(0.0312).to_string(), "3.12 %");
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

pub use crate::quantity::Quantity;
use crate::reason::DropReason;
use crate::remembered::remembered;
pub use crate::remembered::{Recalled, Remembered};
use crate::time::{Duration, Instant};

/// What is asked about a packet.
#[derive(Debug)]
pub struct Question<'a, P> {
    /// The packet, as it arrived.
    pub packet: &'a P,
    /// The decision about the packet.
    pub about: Decision,
}

/// A decision about a packet, as known from an earlier run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Time of the decision.
    pub now: Instant,
    /// Time at which the packet arrived.
    pub arrived: Instant,
    /// Time at which the packet was sent or dropped.
    pub ended: Instant,
    /// The call in which the discipline decides.
    pub moment: Moment,
    /// The packet's fate.
    pub fate: Fate,
}

/// The call in which a discipline decides about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The packet arrives.
    Arrival,
    /// The packet waits, and another packet arrives or the configuration changes.
    Waiting,
    /// The link takes a packet.
    Departure,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Sent without a mark.
    Sent,
    /// Sent with a mark that this queue set.
    Marked,
    /// Dropped.
    Dropped(DropReason),
}

impl Decision {
    /// Returns how long the packet has been queued.
    #[must_use]
    pub fn sojourn(&self) -> Duration {
        self.now.since(self.arrived)
    }

    /// Returns true if the packet is sent or dropped now.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.now == self.ended
    }

    /// Returns true if the AQM signals congestion with this fate.
    #[must_use]
    pub const fn is_signal(&self) -> bool {
        matches!(self.fate, Fate::Marked | Fate::Dropped(DropReason::Congested))
    }
}

/// The state of a discipline in front of a decision, and the rule that decides.
#[derive(Clone, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct Evidence {
    /// Name of the discipline.
    pub kind: &'static str,
    /// Values that the rule looks at.
    pub facts: Vec<Fact>,
    /// Rules that lead to the fate, the deciding one last.
    pub rules: Vec<Applied>,
    /// State of the algorithm that [`facts`](Self::facts) does not name.
    pub state: Vec<Remembered>,
    /// Source of the discipline.
    pub reference: &'static str,
    /// Evidence of the inner discipline that holds the packet.
    pub inner: Option<Box<Self>>,
}

/// One value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fact {
    /// Name of the value in the standard or the code.
    pub name: &'static str,
    /// The value.
    pub value: Quantity,
    /// Meaning in a few words.
    pub doc: &'static str,
    /// The value is a parameter or belongs to the packet: the decision does not change it.
    pub is_given: bool,
}

/// A rule by which disciplines decide about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The algorithm and the rule, such as `codel.below_target`.
    pub id: &'static str,
    /// Names of the numbers that the rule compares: facts of the evidence, or numbers given with
    /// the rule.
    pub numbers: &'static [&'static str],
    /// The rule in words, for a rule of another crate. `{name}` is a number, `{name:n}` a number
    /// without its unit, and `{verb}` is "sent", "marked" or "dropped".
    pub sentence: Option<&'static str>,
}

impl Rule {
    /// Returns a rule that compares these numbers.
    #[must_use]
    pub const fn new(id: &'static str, numbers: &'static [&'static str]) -> Self {
        Self { id, numbers, sentence: None }
    }

    /// Returns the same rule with its sentence.
    #[must_use]
    pub const fn with_sentence(mut self, sentence: &'static str) -> Self {
        self.sentence = Some(sentence);
        self
    }
}

/// Declares rules, and the list of them: name, identity, numbers.
macro_rules! rules {
    ($(#[$about:meta])* $visible:vis $list:ident;
     $($(#[$doc:meta])* $name:ident: $id:literal [$($number:expr),*];)+) => {
        $($(#[$doc])* $visible const $name: $crate::decision::Rule =
            $crate::decision::Rule::new($id, &[$($number),*]);)+
        $(#[$about])*
        $visible const $list: &[$crate::decision::Rule] = &[$($name),+];
    };
}
pub(crate) use rules;

rules! {
    /// Rules of limits in packets or bytes, and of limits in memory.
    pub(crate) LIMITS;
    /// A full queue drops the packet that arrives.
    FULL: "limit.queue" ["held", "allowed"];
    /// A queue without free memory drops the packet that arrives.
    FULL_MEMORY: "limit.memory" ["held", "allowed"];
}

/// A number and its name.
pub type Named = (&'static str, Quantity);

/// A rule that applied to a packet.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// The rule.
    pub rule: Rule,
    /// Section of the standard, or the paper.
    pub source: &'static str,
    /// Numbers of the rule that are no facts of the evidence.
    pub numbers: Vec<Named>,
}

/// A limit, and the rule by which a queue at its limit drops a packet.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What counts against the limit.
    pub held: Quantity,
    /// The limit.
    pub allowed: Quantity,
    /// The rule, which has the numbers `held` and `allowed`.
    pub rule: Rule,
    /// Section of the standard, or the paper.
    pub source: &'static str,
}

impl Evidence {
    /// Returns the evidence of a discipline, without facts and rules.
    #[must_use]
    pub fn from_kind(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Adds a value.
    pub fn fact(&mut self, name: &'static str, value: Quantity, doc: &'static str) {
        self.facts.push(Fact { name, value, doc, is_given: false });
    }

    /// Adds a parameter, or a value of the packet.
    pub fn given(&mut self, name: &'static str, value: Quantity, doc: &'static str) {
        self.facts.push(Fact { name, value, doc, is_given: true });
    }

    /// Adds the fields of an algorithm's state at `now`, without those that a fact names.
    pub(crate) fn remember(&mut self, state: &impl fmt::Debug, now: Instant) {
        let is_new = |field: &Remembered| self.facts.iter().all(|fact| fact.name != field.name);
        self.state = remembered(state, now).into_iter().filter(is_new).collect();
    }

    /// Adds the queue of the packet's flow, as it is before the decision.
    pub(crate) fn flow_queue(&mut self, index: u32, packets: u64, backlog: u64) {
        let number = Quantity::Number(u64::from(index));
        self.given("flow", number, "the queue to which this packet's flow hashes");
        self.fact("flow_packets", Quantity::Packets(packets), "packets in that queue");
        self.fact("flow_backlog", Quantity::Bytes(backlog), "bytes in that queue");
    }

    /// Adds a rule that applied. It takes those of `numbers` that it names; its other numbers are
    /// facts.
    pub fn rule(&mut self, rule: Rule, source: &'static str, numbers: &[Named]) {
        let named = numbers.iter().filter(|number| rule.numbers.contains(&number.0));
        self.rules.push(Applied { rule, source, numbers: named.copied().collect() });
    }

    /// Adds a limit. Adds its rule and returns it if the packet was dropped for `why`, which is the
    /// reason of a drop at this limit.
    pub fn limit(&mut self, about: &Decision, why: DropReason, limit: &Limit) -> Option<&mut Applied> {
        let (name, doc) = match why {
            DropReason::Overmemory => ("memory_limit", "memory that the queue may use"),
            DropReason::FlowLimit => ("flow_limit", "what one flow may queue"),
            DropReason::BandLimit => ("limit", "what one band may queue"),
            _ => ("limit", "what the queue holds"),
        };
        self.given(name, limit.allowed, doc);
        if about.fate != Fate::Dropped(why) || !about.is_end() {
            return None;
        }
        self.rule(limit.rule, limit.source, &[("held", limit.held), ("allowed", limit.allowed)]);
        self.rules.last_mut()
    }

    /// Returns a number of a rule of this evidence, or the fact with this name.
    #[must_use]
    pub fn number(&self, applied: &Applied, name: &str) -> Option<Quantity> {
        let given = applied.numbers.iter().find(|number| number.0 == name).map(|number| number.1);
        given.or_else(|| self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value))
    }

    /// Sets the evidence of the inner discipline that holds the packet.
    #[must_use]
    pub fn with_inner(mut self, inner: Option<Self>) -> Self {
        self.inner = inner.map(Box::new);
        self
    }

    /// Returns the evidence of each discipline, the outermost first.
    pub fn levels(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |evidence| evidence.inner.as_deref())
    }

    /// Returns the value called `name`, at any level.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Quantity> {
        self.levels().flat_map(|level| &level.facts).find(|fact| fact.name == name).map(|fact| fact.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn numbers_have_three_digits_and_no_needless_zeros() {
        let span = |nanos| Quantity::Span(Duration::from_nanos(nanos)).to_string();
        assert_eq!(span(0), "0 ns");
        assert_eq!(span(999), "999 ns");
        assert_eq!(span(1_500), "1.5 µs");
        assert_eq!(span(999_900), "1 ms");
        assert_eq!(span(57_735_026), "57.7 ms");
        assert_eq!(span(1_000_000_000), "1 s");
        assert_eq!(span(73_214_000_000), "73.2 s");
        assert_eq!(Quantity::Difference(-0.0123).to_string(), "-12.3 ms");
        assert_eq!(Quantity::Fraction(0.000_4).to_string(), "0.04 %");
        assert_eq!(Quantity::Fraction(0.0).to_string(), "0 %");
        assert_eq!(Quantity::Real(8.5).to_string(), "8.5");
        assert_eq!(Quantity::Real(1234.5).to_string(), "1234");
    }
}
