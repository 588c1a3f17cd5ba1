//! Stacks of other crates among those of this one: [`AnyStack::Own`] and [`AnyReceiverStack::Own`].
//!
//! [`AnyStack::Own`]: crate::stacks::AnyStack::Own
//! [`AnyReceiverStack::Own`]: crate::stacks::AnyReceiverStack::Own

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt::{self, Debug};

use goodqueue::{ConfigError, Instant};

use crate::config::Config;
use crate::intake::Intake;
use crate::machinery::Core;
use crate::receiver_stack::ReceiverStack;
use crate::scoreboard::Scoreboard;
use crate::segment::Segment;
use crate::stack::{Listed, Stack};
use crate::stack_info::Origin;

/// The functions that make both ends of a connection of one stack.
pub(crate) struct Maker {
    pub(crate) stack: fn(&Config) -> OwnStack,
    pub(crate) scoreboard: fn(&Config) -> Scoreboard,
    pub(crate) answer: fn(&Config) -> OwnReceiverStack,
    pub(crate) intake: fn(Arc<Config>) -> Intake,
}

impl Maker {
    const fn new<S: Listed>() -> Self {
        Self {
            stack: |config| OwnStack(Box::new(<S as Stack>::new(config))),
            scoreboard: S::scoreboard,
            answer: |config| OwnReceiverStack(Box::new(<S::Receiver as ReceiverStack>::new(config))),
            intake: S::Receiver::intake,
        }
    }

    /// Returns the maker of the stack that the settings name.
    ///
    /// # Errors
    /// The description of the stack does not lead to its code.
    pub(crate) fn of_settings(config: &Config) -> Result<&'static Self, ConfigError> {
        let maker = config.stack.origin.maker().and_then(|maker| maker.downcast_ref());
        maker.ok_or_else(|| {
            let allowed = "a stack of goodqueue-tcp, or one with an `origin`";
            ConfigError::new("stack", String::from(config.stack.name), allowed)
        })
    }
}

impl Origin {
    /// Returns the origin of the stack `S` of another crate.
    #[must_use]
    pub const fn new<S: Listed>() -> Self {
        Self::other(const { &Maker::new::<S>() })
    }
}

/// The sender of a stack of another crate.
pub(crate) struct OwnStack(Box<dyn DynStack>);

/// The receiver of a stack of another crate.
pub(crate) struct OwnReceiverStack(Box<dyn DynAnswer>);

/// Writes a trait with the methods of another one that events reach, for any type with that one,
/// and the calls through a virtual table.
macro_rules! boxed {
    ($(#[$about:meta])* $name:ident: $of:ident, $own:ident {
        $(fn $method:ident(&mut self $(, $argument:ident: $type:ty)*) $(-> $output:ty)?;)+
    }) => {
        $(#[$about])*
        trait $name: Debug + Send + Sync {
            fn boxed(&self) -> Box<dyn $name>;
            $(fn $method(&mut self $(, $argument: $type)*) $(-> $output)?;)+
        }

        impl<S: $of> $name for S {
            fn boxed(&self) -> Box<dyn $name> {
                Box::new(self.clone())
            }

            $(fn $method(&mut self $(, $argument: $type)*) $(-> $output)? {
                $of::$method(self $(, $argument)*)
            })+
        }

        impl $own {
            $(pub(crate) fn $method(&mut self $(, $argument: $type)*) $(-> $output)? {
                self.0.$method($($argument),*)
            })+
        }

        impl Clone for $own {
            fn clone(&self) -> Self {
                Self(self.0.boxed())
            }
        }

        impl Debug for $own {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

boxed! {
    /// A [`Stack`] behind a pointer.
    DynStack: Stack, OwnStack {
        fn on_open(&mut self, core: &mut Core);
        fn on_write(&mut self, core: &mut Core);
        fn kept(&mut self, core: &Core) -> u64;
        fn on_handshake(&mut self, core: &mut Core, now: Instant, segment: &Segment, is_syn: bool);
        fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment);
        fn on_host_congestion(&mut self, core: &mut Core, now: Instant, dropped: u64);
        fn on_refused(&mut self, core: &mut Core, now: Instant, segment: &Segment);
        fn poll_transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment>;
    }
}

boxed! {
    /// An [`ReceiverStack`] behind a pointer.
    DynAnswer: ReceiverStack, OwnReceiverStack {
        fn on_segment(&mut self, intake: &mut Intake, now: Instant, segment: &Segment);
        fn poll_transmit(&mut self, intake: &mut Intake, now: Instant) -> Option<Segment>;
        fn set_window(&mut self, intake: &mut Intake, window: u32);
        fn on_acknowledged(&mut self);
        fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)>;
    }
}
