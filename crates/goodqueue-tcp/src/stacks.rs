//! The list of the stacks of this crate, and the one place where an event reaches the stack of its
//! connection.
//!
//! Each stack is one file below this one. A new stack needs that file, its `mod` line, and one line
//! in the list at the end. A stack of another crate needs neither ([`stack`](crate::stack)).

use alloc::sync::Arc;

use goodqueue::{ConfigError, Instant};

use crate::config::Config;
use crate::intake::Intake;
use crate::machinery::Core;
use crate::own_stack::{Maker, OwnReceiverStack, OwnStack};
use crate::profile::Profile;
use crate::receiver_stack::ReceiverStack;
use crate::registry::AnyCongestionControl;
use crate::segment::Segment;
use crate::stack::{Listed, Stack};
use crate::stack_info::StackInfo;

pub mod linux;
mod rfc;

/// Writes the enums over all senders and all receivers, and the dispatch: one branch per event. A
/// stack of another crate has one variant, and is called through a virtual table.
macro_rules! stacks {
    ($($name:ident = $stack:ty;)+) => {
        /// Every listed stack, with its profiles.
        pub(crate) const LIST: &[(&StackInfo, &[Profile])] = &[
            $((<$stack as Listed>::INFO, <$stack as Listed>::PROFILES)),+
        ];

        /// The stack of a connection, with its own state and no other stack's.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyStack {
            $($name($stack),)+
            /// A stack of another crate.
            Own(OwnStack),
        }

        impl AnyStack {
            /// Returns the stack and the machinery of a new connection. `config` is valid.
            pub(crate) fn new(
                config: Arc<Config>,
                controller: AnyCongestionControl,
            ) -> Result<(Self, Core), ConfigError> {
                $(if is::<$stack>(&config) {
                    let stack = <$stack as Stack>::new(&config);
                    let scoreboard = <$stack as Stack>::scoreboard(&config);
                    return Ok((Self::$name(stack), Core::new(config, controller, scoreboard)));
                })+
                Self::of_others(config, controller)
            }

            pub(crate) fn on_open(&mut self, core: &mut Core) {
                match self {
                    $(Self::$name(stack) => stack.on_open(core),)+
                    Self::Own(stack) => stack.on_open(core),
                }
            }

            pub(crate) fn on_write(&mut self, core: &mut Core) {
                match self {
                    $(Self::$name(stack) => stack.on_write(core),)+
                    Self::Own(stack) => stack.on_write(core),
                }
            }

            pub(crate) fn kept(&mut self, core: &Core) -> u64 {
                match self {
                    $(Self::$name(stack) => stack.kept(core),)+
                    Self::Own(stack) => stack.kept(core),
                }
            }

            #[cold]
            pub(crate) fn on_handshake(
                &mut self,
                core: &mut Core,
                now: Instant,
                segment: &Segment,
                is_syn: bool,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_handshake(core, now, segment, is_syn),)+
                    Self::Own(stack) => stack.on_handshake(core, now, segment, is_syn),
                }
            }

            #[inline]
            pub(crate) fn on_ack(
                &mut self,
                core: &mut Core,
                now: Instant,
                segment: &Segment,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_ack(core, now, segment),)+
                    Self::Own(stack) => stack.on_ack(core, now, segment),
                }
            }

            #[cold]
            pub(crate) fn on_host_congestion(
                &mut self,
                core: &mut Core,
                now: Instant,
                dropped: u64,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_host_congestion(core, now, dropped),)+
                    Self::Own(stack) => stack.on_host_congestion(core, now, dropped),
                }
            }

            #[cold]
            pub(crate) fn on_refused(
                &mut self,
                core: &mut Core,
                now: Instant,
                segment: &Segment,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_refused(core, now, segment),)+
                    Self::Own(stack) => stack.on_refused(core, now, segment),
                }
            }

            #[inline]
            pub(crate) fn poll_transmit(
                &mut self,
                core: &mut Core,
                now: Instant,
            ) -> Option<Segment> {
                match self {
                    $(Self::$name(stack) => stack.poll_transmit(core, now),)+
                    Self::Own(stack) => stack.poll_transmit(core, now),
                }
            }
        }

        /// The receiver of a connection, with its own state and no other stack's.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyReceiverStack {
            $($name(<$stack as Listed>::Receiver),)+
            /// The receiver of a stack of another crate.
            Own(OwnReceiverStack),
        }

        impl AnyReceiverStack {
            /// Returns the receiver and the shared part of a new connection. `config` is valid.
            pub(crate) fn new(config: Arc<Config>) -> Result<(Self, Intake), ConfigError> {
                $(if is::<$stack>(&config) {
                    let receiver = <$stack as Listed>::Receiver::new(&config);
                    return Ok((Self::$name(receiver), <$stack as Listed>::Receiver::intake(config)));
                })+
                Self::of_others(config)
            }

            #[inline]
            pub(crate) fn on_segment(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
                match self {
                    $(Self::$name(receiver) => receiver.on_segment(intake, now, segment),)+
                    Self::Own(receiver) => receiver.on_segment(intake, now, segment),
                }
            }

            #[inline]
            pub(crate) fn poll_transmit(&mut self, intake: &mut Intake, now: Instant) -> Option<Segment> {
                match self {
                    $(Self::$name(receiver) => receiver.poll_transmit(intake, now),)+
                    Self::Own(receiver) => receiver.poll_transmit(intake, now),
                }
            }

            pub(crate) fn set_window(&mut self, intake: &mut Intake, window: u32) {
                match self {
                    $(Self::$name(receiver) => receiver.set_window(intake, window),)+
                    Self::Own(receiver) => receiver.set_window(intake, window),
                }
            }

            #[inline]
            pub(crate) fn on_acknowledged(&mut self) {
                match self {
                    $(Self::$name(receiver) => receiver.on_acknowledged(),)+
                    Self::Own(receiver) => receiver.on_acknowledged(),
                }
            }

            pub(crate) fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)> {
                match self {
                    $(Self::$name(receiver) => receiver.carry(intake),)+
                    Self::Own(receiver) => receiver.carry(intake),
                }
            }
        }
    };
}

/// True if the settings name the stack `S` of this crate.
fn is<S: Listed>(config: &Config) -> bool {
    config.stack == S::INFO
}

impl AnyStack {
    /// Returns the stack of another crate that the settings name.
    #[cold]
    fn of_others(config: Arc<Config>, controller: AnyCongestionControl) -> Result<(Self, Core), ConfigError> {
        let maker = Maker::of_settings(&config)?;
        let scoreboard = (maker.scoreboard)(&config);
        Ok((Self::Own((maker.stack)(&config)), Core::new(config, controller, scoreboard)))
    }
}

impl AnyReceiverStack {
    /// Returns the receiver of the stack of another crate that the settings name.
    #[cold]
    fn of_others(config: Arc<Config>) -> Result<(Self, Intake), ConfigError> {
        let maker = Maker::of_settings(&config)?;
        Ok((Self::Own((maker.answer)(&config)), (maker.intake)(config)))
    }
}

/// Returns the stacks of this crate, the default first. A [`Catalogue`](crate::Catalogue) lists
/// those of other crates too.
pub fn stacks() -> impl Iterator<Item = &'static StackInfo> {
    LIST.iter().map(|(stack, _)| *stack)
}

/// Returns the profiles of the stacks of this crate, the default first.
pub fn profiles() -> impl Iterator<Item = &'static Profile> {
    LIST.iter().flat_map(|(_, profiles)| *profiles)
}

impl Profile {
    /// Returns the profile of a stack of this crate with this name; `None` if there is none.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        profiles().find(|profile| profile.name == name)
    }
}

stacks! {
    Rfc = rfc::Rfc;
    Linux = linux::Linux;
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::registry::{AnyCongestionControl, names};

    #[test]
    fn every_profile_is_valid_and_found_by_its_name_and_that_of_the_rfcs_comes_first() {
        for profile in profiles() {
            assert!(profile.settings.check().is_ok(), "{}", profile.name);
            assert_eq!(Profile::by_name(profile.name).map(|found| found.name), Some(profile.name));
            for name in names() {
                assert!(profile.controller(name).is_some());
            }
            for (plain, variant) in profile.controllers {
                assert!([plain, variant].iter().all(|name| AnyCongestionControl::by_name(name).is_some()));
            }
        }
        assert!(Profile::by_name("windows95").is_none());
        assert_eq!(profiles().next().map(|first| first.name), Some("rfc"));
    }

    #[test]
    fn every_stack_has_a_name_of_its_own_and_at_least_one_profile_with_its_settings() {
        let mut seen: Vec<&str> = stacks().map(|stack| stack.name).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), LIST.len());
        for (stack, profiles) in LIST {
            assert!(!stack.summary.is_empty() && !profiles.is_empty(), "{}", stack.name);
            assert!(profiles.iter().all(|profile| profile.settings.stack == *stack), "{}", stack.name);
        }
    }
}
