//! Disciplines inside disciplines: what a parent needs to know of the type of its children.
//!
//! A parent is generic over its inner disciplines. `Prio<P, FqCodel<P>>` has an `fq_codel` in every
//! band and no choice at run time. `Prio<P, AnyQdisc<P>>` holds whatever its configuration says.

use alloc::format;
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::config::{Build, Child, ConfigError, Configure, Kind, Link, Settings};
use crate::fifo::{Bfifo, Pfifo, PfifoHeadDrop};
use crate::gauge::Observe;
use crate::packet::Packet;
use crate::qdisc::{Lookahead, Qdisc};
use crate::random::Source;
use crate::time::Instant;

/// A discipline that another one can hold. The body of an implementation may be empty.
pub trait Inner<P>: Qdisc<P, Config: InnerConfig> + Lookahead<P> + Observe + Build<P, Source> {
    /// Returns the name of the discipline.
    fn name(&self) -> &'static str {
        self.config().kind().name
    }

    /// Returns the `pfifo` that this is, if it is one. A parent serves it without a detour.
    fn as_pfifo(&self) -> Option<&Pfifo<P>> {
        None
    }

    /// Like [`Self::as_pfifo`], for a call that changes it.
    fn as_pfifo_mut(&mut self) -> Option<&mut Pfifo<P>> {
        None
    }
}

// [`Inner`] names `Pfifo`, so the FIFOs are below this module and cannot import it.
impl<P: Packet> Inner<P> for Pfifo<P> {}
impl<P: Packet> Inner<P> for Bfifo<P> {}
impl<P: Packet> Inner<P> for PfifoHeadDrop<P> {}

/// The configuration of a discipline that another one can hold.
///
/// Every [`Configure`] with a default value is one.
pub trait InnerConfig: Clone + PartialEq + Debug {
    /// Returns the configuration of the discipline called `kind`.
    ///
    /// # Errors
    /// No discipline that fits here has this name, or it refuses a value.
    fn of_kind(kind: &str, settings: &Settings, link: &Link) -> Result<Self, ConfigError>;

    /// Returns the configuration for a class or band without a discipline of its own.
    fn usual() -> Self;

    /// Returns the configuration of a queue that holds at most `bytes`, if this type has one.
    fn of_bytes(bytes: u32) -> Option<Self> {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = bytes;
        None
    }

    /// Returns the limit if this is a `pfifo`, else 0.
    fn pfifo_limit(&self) -> u32 {
        0
    }

    /// Returns [`Configure::LIMIT_DROPS_NEXT`] of the discipline.
    fn limit_drops_next(&self) -> bool;

    /// Returns the description of the discipline.
    fn kind(&self) -> Kind;

    /// Returns every parameter with the value in force.
    fn to_settings(&self) -> Settings;
}

impl<C: Configure + Default + Clone + PartialEq + Debug> InnerConfig for C {
    fn of_kind(kind: &str, settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        if kind == Self::KIND.name {
            return C::from_settings(settings, link);
        }
        Err(ConfigError::new("qdisc", kind, Self::KIND.name))
    }

    fn usual() -> Self {
        Self::default()
    }

    fn limit_drops_next(&self) -> bool {
        Self::LIMIT_DROPS_NEXT
    }

    fn kind(&self) -> Kind {
        Self::KIND
    }

    fn to_settings(&self) -> Settings {
        Configure::to_settings(self)
    }
}

/// Returns the configuration of the discipline in `child`, if one is given.
pub(crate) fn qdisc_of<C: InnerConfig>(child: &Child, link: &Link) -> Result<Option<C>, ConfigError> {
    let Some((kind, settings)) = &child.qdisc else { return Ok(None) };
    C::of_kind(kind, settings, link).map(Some)
}

/// Returns a child that holds `qdisc`.
pub(crate) fn child(class: u32, settings: Settings, qdisc: &impl InnerConfig) -> Child {
    Child { class, parent: 0, settings, qdisc: Some((qdisc.kind().name, qdisc.to_settings())) }
}

/// Checks that every class has a number of its own, from 1 to 65535 (tc: 16 bits, of which 0 is the
/// discipline itself).
pub(crate) fn check_minors(children: &[Child]) -> Result<(), ConfigError> {
    let mut minors: Vec<u32> = children.iter().map(|child| child.class).collect();
    // Equal numbers become neighbours; which of them is which does not matter.
    minors.sort_unstable();
    for pair in minors.windows(2) {
        match pair {
            [a, b] if a == b => {
                return Err(ConfigError::new("class", format!("{a:x}"), "each class once").in_class(*a));
            }
            _ => (),
        }
    }
    match minors.iter().find(|minor| !(1..=0xffff).contains(*minor)) {
        Some(minor) => Err(ConfigError::new("class", format!("{minor:x}"), "1 to ffff").in_class(*minor)),
        None => Ok(()),
    }
}

/// Returns the earlier of two events, either of which may be absent.
pub(crate) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
