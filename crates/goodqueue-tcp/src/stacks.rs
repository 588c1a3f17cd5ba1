//! The list of all stacks, and the one place where an event reaches the stack of its connection.
//!
//! Each stack is one file below this one. A new stack needs that file, its `mod` line, and one line
//! in the list at the end. `stop_and_wait` is a small one, which only the tests of this crate have.

use alloc::sync::Arc;

use goodqueue::Instant;

use crate::answer::Answer;
use crate::config::Config;
use crate::intake::Intake;
use crate::machinery::Core;
use crate::profile::Profile;
use crate::registry::AnyCongestionControl;
use crate::segment::Segment;
use crate::stack::{Listed, Stack};
use crate::stack_info::StackInfo;

mod libutp;
mod linux;
mod linux3;
mod ns2;
mod ns2_full;
mod ns2_linux;
mod rfc;
#[cfg(test)]
mod stop_and_wait;

/// Writes the enums over all senders and all receivers, and the dispatch: one branch per event.
macro_rules! stacks {
    ($($(#[$condition:meta])* $name:ident = $stack:ty;)+) => {
        /// Every listed stack, with its profiles.
        const LIST: &[(&StackInfo, &[Profile])] = &[
            $($(#[$condition])* (<$stack as Listed>::INFO, <$stack as Listed>::PROFILES)),+
        ];

        /// The stack of a connection, with its own state and no other stack's.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyStack {
            $($(#[$condition])* $name($stack)),+
        }

        impl AnyStack {
            /// Returns the stack and the machinery of a new connection. `config` is valid.
            pub(crate) fn new(config: Arc<Config>, controller: AnyCongestionControl) -> (Self, Core) {
                $($(#[$condition])* if is::<$stack>(&config) {
                    let stack = <$stack as Stack>::new(&config);
                    let scoreboard = <$stack as Stack>::scoreboard(&config);
                    return (Self::$name(stack), Core::new(config, controller, scoreboard));
                })+
                unreachable!("every description is that of a listed stack")
            }

            pub(crate) fn on_open(&mut self, core: &mut Core) {
                match self {
                    $($(#[$condition])* Self::$name(stack) => stack.on_open(core)),+
                }
            }

            pub(crate) fn kept(&self, core: &Core) -> u64 {
                match self {
                    $($(#[$condition])* Self::$name(stack) => stack.kept(core)),+
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
                    $($(#[$condition])* Self::$name(stack) => stack.on_handshake(core, now, segment, is_syn)),+
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
                    $($(#[$condition])* Self::$name(stack) => stack.on_ack(core, now, segment)),+
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
                    $($(#[$condition])* Self::$name(stack) => stack.on_host_congestion(core, now, dropped)),+
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
                    $($(#[$condition])* Self::$name(stack) => stack.on_refused(core, now, segment)),+
                }
            }

            #[inline]
            pub(crate) fn poll_transmit(
                &mut self,
                core: &mut Core,
                now: Instant,
            ) -> Option<Segment> {
                match self {
                    $($(#[$condition])* Self::$name(stack) => stack.poll_transmit(core, now)),+
                }
            }
        }

        /// The receiver of a connection, with its own state and no other stack's.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyAnswer {
            $($(#[$condition])* $name(<$stack as Listed>::Receiver)),+
        }

        impl AnyAnswer {
            /// Returns the receiver and the shared part of a new connection. `config` is valid.
            pub(crate) fn new(config: Arc<Config>) -> (Self, Intake) {
                $($(#[$condition])* if is::<$stack>(&config) {
                    let receiver = <$stack as Listed>::Receiver::new(&config);
                    return (Self::$name(receiver), <$stack as Listed>::Receiver::intake(config));
                })+
                unreachable!("every description is that of a listed stack")
            }

            #[inline]
            pub(crate) fn on_segment(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
                match self {
                    $($(#[$condition])* Self::$name(receiver) => receiver.on_segment(intake, now, segment)),+
                }
            }

            #[inline]
            pub(crate) fn poll_transmit(&mut self, intake: &mut Intake, now: Instant) -> Option<Segment> {
                match self {
                    $($(#[$condition])* Self::$name(receiver) => receiver.poll_transmit(intake, now)),+
                }
            }

            pub(crate) fn set_window(&mut self, intake: &mut Intake, window: u32) {
                match self {
                    $($(#[$condition])* Self::$name(receiver) => receiver.set_window(intake, window)),+
                }
            }

            #[inline]
            pub(crate) fn on_acknowledged(&mut self) {
                match self {
                    $($(#[$condition])* Self::$name(receiver) => receiver.on_acknowledged()),+
                }
            }

            pub(crate) fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)> {
                match self {
                    $($(#[$condition])* Self::$name(receiver) => receiver.carry(intake)),+
                }
            }
        }
    };
}

/// True if the settings name the stack `S`.
fn is<S: Listed>(config: &Config) -> bool {
    config.stack.name == S::INFO.name
}

/// Returns all stacks, the default first.
pub fn stacks() -> impl Iterator<Item = &'static StackInfo> {
    LIST.iter().map(|(stack, _)| *stack)
}

/// Returns the profiles of all stacks, the default first.
pub fn profiles() -> impl Iterator<Item = &'static Profile> {
    LIST.iter().flat_map(|(_, profiles)| *profiles)
}

impl Profile {
    /// Returns the profile of this name; `None` if there is none.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        profiles().find(|profile| profile.name == name)
    }
}

stacks! {
    Rfc = rfc::Rfc;
    Linux = linux::Linux;
    Linux3 = linux3::Linux3;
    Libutp = libutp::Libutp;
    Ns2 = ns2::Ns2;
    Ns2Linux = ns2_linux::Ns2Linux;
    Ns2Full = ns2_full::Ns2Full;
    #[cfg(test)] StopAndWait = stop_and_wait::StopAndWait;
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
