//! What is known of a TCP stack before a connection runs: the settings that it allows, the length
//! of its options, and where its code is.
//!
//! Settings refer to a description of this kind ([`Config::stack`](crate::Config::stack)). Shared
//! code asks the description and never for the name of a stack.

use core::any::Any;
use core::fmt;

/// A TCP stack: the sender and receiver of one system. A [`Catalogue`](crate::Catalogue) lists
/// them. The module [`stack`](crate::stack) explains how to write one.
#[derive(PartialEq, Eq)]
pub struct StackInfo {
    /// Name of the stack.
    pub name: &'static str,
    /// One sentence: whose TCP it is, and how it finds losses.
    pub summary: &'static str,
    /// It works only with [`Config::sack`](crate::Config::sack).
    pub needs_sack: bool,
    /// It can probe for a lost tail ([`Config::tail_loss_probe`](crate::Config::tail_loss_probe)).
    pub can_probe_tails: bool,
    /// It can retransmit early ([`Config::early_retransmit`](crate::Config::early_retransmit)).
    pub can_retransmit_early: bool,
    /// It can offer refused segments again ([`Config::offers_again`](crate::Config::offers_again)).
    pub can_offer_again: bool,
    /// Its receiver adapts ACKs and windows to the traffic:
    /// [`Config::adaptive_acks`](crate::Config::adaptive_acks),
    /// [`quick_acks`](crate::Config::quick_acks),
    /// [`quick_after_gap`](crate::Config::quick_after_gap) and
    /// [`sack_delay`](crate::Config::sack_delay).
    pub adapts_acks: bool,
    /// It can take reductions back ([`Config::undo`](crate::Config::undo)).
    pub can_undo: bool,
    /// It has Accurate ECN ([`Config::accecn`](crate::Config::accecn)).
    pub has_accecn: bool,
    /// The counter of ECT(1) bytes is the first one of its AccECN options (kind 174), and otherwise
    /// only with [`Config::l4s`](crate::Config::l4s). Each change of the ECN field is acknowledged
    /// at once, and not each second mark (Linux 7.3).
    pub puts_ect1_first: bool,
    /// Its data carries the acknowledgement of data in the other direction, and its server closes
    /// when the client has closed.
    pub carries_acks: bool,
    /// Length of its SACK option.
    pub sack_option: SackOption,
    /// The options that only a SYN carries count in its length: segment size, window scale, SACK.
    pub counts_syn_options: bool,
    /// Its timestamps clock at the start of the simulation, in milliseconds modulo 2^32. TCP-LP's
    /// wrong estimates depend on it, nothing else does.
    pub clock_start_ms: u32,
    /// The crate that has the stack: this one, or another.
    pub origin: Origin,
}

/// The crate that has a stack. `Origin::new::<MyStack>()` leads to a stack of another crate.
#[derive(Clone, Copy)]
pub struct Origin(Option<&'static (dyn Any + Send + Sync)>);

impl Origin {
    /// The stack is one of this crate, and found by its name.
    pub const BUILT_IN: Self = Self(None);

    /// Returns the origin of a stack that `maker` makes.
    pub(crate) const fn other(maker: &'static (dyn Any + Send + Sync)) -> Self {
        Self(Some(maker))
    }

    /// Returns the maker of a stack of another crate.
    pub(crate) const fn maker(self) -> Option<&'static (dyn Any + Send + Sync)> {
        self.0
    }
}

/// Two are equal if both are this crate, or both another one.
impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for Origin {}

/// How the length of a SACK option is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SackOption {
    /// Kind, length and blocks, padded to a multiple of four bytes (RFC 2018 §3).
    Padded,
    /// Kind, length and blocks without padding.
    Unpadded,
    /// The blocks alone.
    BlocksOnly,
}

impl StackInfo {
    /// A stack without a name that allows what the RFCs recommend. Others state their differences:
    /// `StackInfo { name: "mine", ..StackInfo::PLAIN }`.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        needs_sack: false,
        can_probe_tails: true,
        can_retransmit_early: false,
        can_offer_again: false,
        adapts_acks: false,
        can_undo: false,
        has_accecn: false,
        puts_ect1_first: false,
        carries_acks: false,
        sack_option: SackOption::Padded,
        counts_syn_options: false,
        // Linux since 4.13 counts from the start of the host. The first SYN of the recordings of
        // Linux 6.1 carries 3.
        clock_start_ms: 3,
        origin: Origin::BUILT_IN,
    };
}

/// Prints the name, which stands for the rest.
impl fmt::Debug for StackInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
