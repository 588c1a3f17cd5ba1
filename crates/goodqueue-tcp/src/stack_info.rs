//! What is known of a TCP stack before a connection runs: the settings that it allows, the length
//! of its options, and where its code is.
//!
//! Settings refer to a description of this kind ([`Config::stack`](crate::Config::stack)). Shared
//! code asks the description and never for the name of a stack.

use core::any::Any;
use core::fmt;

use crate::mechanism::Mechanism;

/// A TCP stack: the sender and receiver of one system. A [`Catalogue`](crate::Catalogue) lists
/// them. The module [`stack`](crate::stack) explains how to write one.
#[derive(PartialEq, Eq)]
pub struct StackInfo {
    /// Name of the stack.
    pub name: &'static str,
    /// One sentence: whose TCP it is, and how it finds losses.
    pub summary: &'static str,
    /// What it can do beyond what every stack does.
    pub mechanisms: &'static [Mechanism],
    /// How its receiver reports ECN with Accurate ECN.
    pub ecn_feedback: EcnFeedback,
    /// Which segments carry acknowledgements.
    pub ack_carrier: AckCarrier,
    /// Length of its SACK option.
    pub sack_option: SackOption,
    /// Length of the options that only a SYN carries.
    pub syn_options: SynOptions,
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

/// How a receiver reports ECN with Accurate ECN ([`Config::accecn`](crate::Config::accecn)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EcnFeedback {
    /// Each change to a mark and each second mark are acknowledged at once (RFC 9768 §3.2.2.5.1).
    /// The counter of ECT(0) bytes comes first in the options (kind 172), or with
    /// [`Config::l4s`](crate::Config::l4s) that of ECT(1) bytes (kind 174).
    Rfc9768,
    /// Each change of the ECN field is acknowledged at once, and not each second mark. The counter
    /// of ECT(1) bytes always comes first (Linux 7.3).
    Linux,
}

/// Which segments carry acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AckCarrier {
    /// Segments without data, since each connection has data in one direction only.
    PureAcks,
    /// Data too, for data in the other direction. Its server closes when the client has closed.
    DataToo,
}

/// How the length of the options that only a SYN carries is counted: segment size, window scale,
/// SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SynOptions {
    /// They take 12 bytes, or 8 beside timestamps.
    Counted,
    /// A SYN has the length of an ACK.
    Uncounted,
}

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
        mechanisms: &[Mechanism::RecoveryWithoutSack, Mechanism::TailLossProbe],
        ecn_feedback: EcnFeedback::Rfc9768,
        ack_carrier: AckCarrier::PureAcks,
        sack_option: SackOption::Padded,
        syn_options: SynOptions::Uncounted,
        // Linux since 4.13 counts from the start of the host. The first SYN of the recordings of
        // Linux 6.1 carries 3.
        clock_start_ms: 3,
        origin: Origin::BUILT_IN,
    };

    /// Returns true if the stack has this mechanism.
    #[must_use]
    pub const fn has(&self, mechanism: Mechanism) -> bool {
        let mut rest = self.mechanisms;
        // Neither `contains` nor `==` can be called in constants.
        while let [first, others @ ..] = rest {
            if *first as u8 == mechanism as u8 {
                return true;
            }
            rest = others;
        }
        false
    }
}

/// Prints the name, which stands for the rest.
impl fmt::Debug for StackInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
