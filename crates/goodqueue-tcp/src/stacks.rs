//! The stacks of this crate. A new one is added in the list below and nowhere else.

use alloc::sync::Arc;

use goodqueue::Instant;

use crate::answer::{Answer, Standard};
use crate::config::{Config, LossDetection};
use crate::congestion::CongestionControl;
use crate::intake::Intake;
use crate::machinery::Core;
use crate::segment::Segment;
use crate::stack::Stack;

mod libutp;
mod linux;
mod linux3;
mod ns2;
mod ns2_full;
mod ns2_linux;
mod rfc;

/// Writes the enum over all stacks and the dispatch: one branch per event.
macro_rules! stacks {
    ($($name:ident($stack:ty, $receiver:ty) = $detection:ident;)+) => {
        /// The stack of a connection, with its own state and nobody else's.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyStack {
            $($name($stack)),+
        }

        impl AnyStack {
            /// The stack and the machinery of a new connection. `config` is valid.
            pub(crate) fn new<C: CongestionControl>(config: Arc<Config>, controller: C) -> (Self, Core<C>) {
                match config.loss_detection {
                    $(LossDetection::$detection => {
                        let stack = <$stack as Stack<C>>::new(&config);
                        let scoreboard = <$stack as Stack<C>>::scoreboard(&config);
                        (Self::$name(stack), Core::new(config, controller, scoreboard))
                    }),+
                }
            }

            pub(crate) fn on_open<C: CongestionControl>(&mut self, core: &mut Core<C>) {
                match self {
                    $(Self::$name(stack) => stack.on_open(core)),+
                }
            }

            pub(crate) fn kept<C: CongestionControl>(&self, core: &Core<C>) -> u64 {
                match self {
                    $(Self::$name(stack) => stack.kept(core)),+
                }
            }

            #[cold]
            pub(crate) fn on_handshake<C: CongestionControl>(
                &mut self,
                core: &mut Core<C>,
                now: Instant,
                segment: &Segment,
                is_syn: bool,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_handshake(core, now, segment, is_syn)),+
                }
            }

            #[inline]
            pub(crate) fn on_ack<C: CongestionControl>(
                &mut self,
                core: &mut Core<C>,
                now: Instant,
                segment: &Segment,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_ack(core, now, segment)),+
                }
            }

            #[cold]
            pub(crate) fn on_host_congestion<C: CongestionControl>(
                &mut self,
                core: &mut Core<C>,
                now: Instant,
                dropped: u64,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_host_congestion(core, now, dropped)),+
                }
            }

            #[cold]
            pub(crate) fn on_refused<C: CongestionControl>(
                &mut self,
                core: &mut Core<C>,
                now: Instant,
                segment: &Segment,
            ) {
                match self {
                    $(Self::$name(stack) => stack.on_refused(core, now, segment)),+
                }
            }

            #[inline]
            pub(crate) fn poll_transmit<C: CongestionControl>(
                &mut self,
                core: &mut Core<C>,
                now: Instant,
            ) -> Option<Segment> {
                match self {
                    $(Self::$name(stack) => stack.poll_transmit(core, now)),+
                }
            }
        }

        /// The receiver of a stack, with its own state.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyAnswer {
            $($name($receiver)),+
        }

        impl AnyAnswer {
            /// The receiver and the shared part of a new connection. `config` is valid.
            pub(crate) fn new(config: Arc<Config>) -> (Self, Intake) {
                match config.loss_detection {
                    $(LossDetection::$detection => {
                        (Self::$name(<$receiver>::default()), <$receiver>::intake(config))
                    }),+
                }
            }

            #[inline]
            pub(crate) fn on_segment(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
                match self {
                    $(Self::$name(receiver) => receiver.on_segment(intake, now, segment)),+
                }
            }

            #[inline]
            pub(crate) fn on_acknowledged(&mut self) {
                match self {
                    $(Self::$name(receiver) => receiver.on_acknowledged()),+
                }
            }

            pub(crate) fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)> {
                match self {
                    $(Self::$name(receiver) => receiver.carry(intake)),+
                }
            }
        }
    };
}

stacks! {
    Rfc(rfc::Rfc, Standard) = Sacked;
    Linux(linux::Linux, Standard) = Rack;
    Linux3(linux3::Linux3, Standard) = Fack;
    Libutp(libutp::Libutp, libutp::LibutpReceiver) = Libutp;
    Ns2(ns2::Ns2, ns2::Ns2Sink) = Ns2;
    Ns2Linux(ns2_linux::Ns2Linux, ns2_linux::Ns2LinuxSink) = Ns2Linux;
    Ns2Full(ns2_full::Ns2Full, ns2_full::Ns2FullReceiver) = Ns2Full;
}
