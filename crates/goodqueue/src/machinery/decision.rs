//! What a discipline looked at when it decided about one packet.
//!
//! [`Evidence`] is the answer of [`Lookahead::evidence`](crate::Lookahead::evidence): the values
//! that the rule compares, and the rule in words with its source. Nobody asks on the data path; a
//! witness in `goodqueue-sim` asks around the one decision that it explains.
//!
//! ```
//! use goodqueue::decision::Quantity;
//! use goodqueue::Duration;
//! assert_eq!(Quantity::Span(Duration::from_nanos(142_301_123)).to_string(), "142 ms");
//! assert_eq!(Quantity::Ago(Duration::from_millis(5)).to_string(), "5 ms ago");
//! assert_eq!(Quantity::Fraction(0.0312).to_string(), "3.12 %");
//! ```

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use crate::quantity::Quantity;
pub(crate) use crate::quantity::readable;
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

    /// Returns the verb of a signal: "marked" or "dropped".
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        match self.fate {
            Fate::Sent => "sent",
            Fate::Marked => "marked",
            Fate::Dropped(_) => "dropped",
        }
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
    pub rules: Vec<Rule>,
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

/// A rule in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Sentences with the values that decided.
    pub text: String,
    /// Section of the standard, or the paper.
    pub source: &'static str,
}

impl Evidence {
    /// Returns the evidence of a discipline that has nothing to tell yet.
    #[must_use]
    pub fn of(kind: &'static str) -> Self {
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

    /// Adds a rule.
    pub fn rule(&mut self, text: String, source: &'static str) {
        self.rules.push(Rule { text, source });
    }

    /// Adds the limit of a queue, and the rule of a drop for `why` that a full queue causes.
    pub fn limit(
        &mut self,
        about: &Decision,
        why: DropReason,
        (held, limit): (Quantity, Quantity),
        (who, source): (&str, &'static str),
    ) {
        let (name, doc) = match why {
            DropReason::Overmemory => ("memory_limit", "memory that the queue may use"),
            DropReason::FlowLimit => ("flow_limit", "what one flow may queue"),
            DropReason::BandLimit => ("limit", "what one band may queue"),
            _ => ("limit", "what the queue holds"),
        };
        self.given(name, limit, doc);
        if about.fate == Fate::Dropped(why) && about.is_end() {
            let what = match why {
                DropReason::Overmemory => "The memory in use was",
                DropReason::FlowLimit => "Its flow held",
                DropReason::BandLimit => "Its band held",
                _ => "The queue held",
            };
            self.rule(format!("{what} {held}; the limit is {limit}. {who}"), source);
        }
    }

    /// Sets the evidence of the inner discipline that holds the packet.
    #[must_use]
    pub fn with_inner(mut self, inner: Option<Self>) -> Self {
        self.inner = inner.map(Box::new);
        self
    }

    /// Returns the accounts from the outermost discipline to the innermost.
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
