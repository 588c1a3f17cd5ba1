//! Every congestion controller of this crate, by name. A new one is added in the list below and nowhere else.

use goodqueue::{Duration, Instant};

use crate::congestion::{Ack, Congestion, CongestionControl, Feedback, Window};

/// A congestion controller as its users see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// The document that defines it.
    pub reference: &'static str,
    /// What is built in.
    pub constants: &'static [Constant],
    /// What it needs of both ends.
    pub needs: Needs,
}

/// What a controller needs of both ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Timestamps, for one-way delays.
    Timestamps,
    /// ECN with an echo of each segment's own mark.
    AccurateEcn,
}

/// A constant of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    /// The name its document gives it.
    pub name: &'static str,
    /// Value and unit.
    pub value: &'static str,
    /// Where it stands.
    pub source: &'static str,
}

/// Writes the enum over all controllers and the dispatch.
macro_rules! controllers {
    ($($name:ident = $controller:ty;)+) => {
        /// All controllers, in the order of the list.
        pub const CONTROLLERS: &[About] = &[$(<$controller>::ABOUT),+];

        /// Any controller, chosen at run time. One branch per call; no allocation, no virtual table.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each arm is the controller of its name")]
        pub enum AnyCongestionControl {
            $($name($controller)),+
        }

        impl AnyCongestionControl {
            /// A fresh controller of this name; `None` if there is none.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                $(if name == <$controller>::ABOUT.name {
                    return Some(Self::$name(<$controller>::default()));
                })+
                None
            }

            /// What this controller is.
            #[must_use]
            pub const fn about(&self) -> About {
                match self {
                    $(Self::$name(_) => <$controller>::ABOUT),+
                }
            }
        }

        impl CongestionControl for AnyCongestionControl {
            fn name(&self) -> &'static str {
                self.about().name
            }

            #[inline]
            fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
                match self {
                    $(Self::$name(controller) => controller.on_ack(ack, cwnd)),+
                }
            }

            fn on_congestion(&mut self, event: &Congestion) -> u64 {
                match self {
                    $(Self::$name(controller) => controller.on_congestion(event)),+
                }
            }

            fn on_idle(&mut self, now: Instant, idle: Duration) {
                match self {
                    $(Self::$name(controller) => controller.on_idle(now, idle)),+
                }
            }

            fn on_start(&mut self, now: Instant, pause: Duration) {
                match self {
                    $(Self::$name(controller) => controller.on_start(now, pause)),+
                }
            }

            fn on_timeout(&mut self, lost: u64) {
                match self {
                    $(Self::$name(controller) => controller.on_timeout(lost)),+
                }
            }

            fn on_undo(&mut self) {
                match self {
                    $(Self::$name(controller) => controller.on_undo()),+
                }
            }

            fn wants_feedback(&self) -> bool {
                match self {
                    $(Self::$name(controller) => controller.wants_feedback()),+
                }
            }

            fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
                match self {
                    $(Self::$name(controller) => controller.on_feedback(feedback, window)),+
                }
            }

            fn hears_first(&self) -> bool {
                match self {
                    $(Self::$name(controller) => controller.hears_first()),+
                }
            }

            fn on_loss_after_mark(&mut self, event: &Congestion) -> Option<u64> {
                match self {
                    $(Self::$name(controller) => controller.on_loss_after_mark(event)),+
                }
            }

            fn takes_standard_slow_start(&mut self) -> bool {
                match self {
                    $(Self::$name(controller) => controller.takes_standard_slow_start()),+
                }
            }

            fn controls_all(&self) -> bool {
                match self {
                    $(Self::$name(controller) => controller.controls_all()),+
                }
            }

            fn pacing_rate(&self) -> Option<u64> {
                match self {
                    $(Self::$name(controller) => controller.pacing_rate()),+
                }
            }

            fn least_burst(&self) -> u32 {
                match self {
                    $(Self::$name(controller) => controller.least_burst()),+
                }
            }

            fn fine_window(&self) -> Option<u64> {
                match self {
                    $(Self::$name(controller) => controller.fine_window()),+
                }
            }
        }

        $(impl From<$controller> for AnyCongestionControl {
            fn from(controller: $controller) -> Self {
                Self::$name(controller)
            }
        })+
    };
}

controllers! {
    NewReno = crate::new_reno::NewReno;
    NewRenoNs2 = crate::new_reno_ns2::NewRenoNs2;
    Cubic = crate::cubic::Cubic;
    CubicLinux = crate::cubic_linux::CubicLinux;
    CubicNs2 = crate::cubic_ns2::CubicNs2;
    Reno = crate::reno::Reno;
    Dctcp = crate::dctcp::Dctcp;
    Vegas = crate::vegas::Vegas;
    Ledbat = crate::ledbat::Ledbat;
    LedbatUtp = crate::ledbat_utp::LedbatUtp;
    LedbatNs2 = crate::ledbat_ns2::LedbatNs2;
    TcpLp = crate::tcp_lp::TcpLp;
    Nice = crate::nice::Nice<false>;
    NiceNs2 = crate::nice::Nice<true>;
    Compound = crate::compound::Compound;
    Bbr = crate::bbr::Bbr;
}

/// The names of all controllers.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|about| about.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_makes_the_controller_of_that_name() {
        for name in names() {
            assert_eq!(AnyCongestionControl::by_name(name).map(|cc| cc.name()), Some(name));
        }
        assert!(AnyCongestionControl::by_name("vegas2").is_none());
    }
}
