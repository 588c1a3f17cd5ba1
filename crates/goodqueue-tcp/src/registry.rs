//! Every congestion controller of this crate, by name. A new one is added in the list below and
//! nowhere else.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use goodqueue::{ConfigError, Duration, Instant};

use crate::config::Config;
use crate::congestion::own::Own;
use crate::congestion::parameter::Value;
use crate::congestion::{
    About, Ack, Congestion, CongestionControl, Controller, Feedback, LostSegment, Needs, Pacing, Start,
    Window,
};
use crate::mechanism::Mechanism;

/// Writes the enum over all controllers and the dispatch.
macro_rules! controllers {
    ($($name:ident = $controller:ty;)+) => {
        /// The controllers of this crate, in the order of the list.
        pub const CONTROLLERS: &[About] = &[$(<$controller as Controller>::ABOUT),+];

        /// The controllers of this crate with the functions that make them.
        pub(crate) const KNOWN: &[KnownController] = &[$(KnownController {
            about: &<$controller as Controller>::ABOUT,
            make: || AnyCongestionControl::$name(<$controller>::default()),
        }),+];

        /// Any controller, chosen at run time. A controller of this crate costs one branch per
        /// call; it needs no allocation and no virtual table.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each arm is the controller of its name")]
        pub enum AnyCongestionControl {
            $($name($controller),)+
            /// A controller of another crate, called through a virtual table.
            Own(Own),
        }

        impl AnyCongestionControl {
            /// Returns the description of the controller, and what it needs of its sender.
            #[must_use]
            pub fn about(&self) -> &'static About {
                match self {
                    $(Self::$name(_) => &<$controller as Controller>::ABOUT,)+
                    Self::Own(controller) => controller.about(),
                }
            }

            /// Sets a parameter of this controller.
            ///
            /// # Errors
            /// The controller has no parameter of this name, or the value is of another sort or out
            /// of range. The controller is as before.
            pub fn set(&mut self, parameter: &'static str, value: Value) -> Result<(), ConfigError> {
                let known = self.about().parameters;
                let Some(found) = known.iter().find(|known| known.name == parameter) else {
                    let names: Vec<&str> = known.iter().map(|known| known.name).collect();
                    return Err(ConfigError::new(parameter, value.to_string(), one_of(&names)));
                };
                found.check(value)?;
                match self {
                    $(Self::$name(controller) => Controller::set(controller, parameter, value),)+
                    Self::Own(controller) => controller.set(parameter, value),
                }
                Ok(())
            }
        }

        impl AnyCongestionControl {
            /// Gives the controller the feedback that `make` returns. Each controller has a call of
            /// `make` of its own, so that one that reads three of its values computes three.
            #[inline]
            pub(crate) fn take_feedback(&mut self, make: impl Fn() -> Feedback, window: &mut Window) {
                match self {
                    $(Self::$name(controller) => controller.on_feedback(&make(), window),)+
                    Self::Own(controller) => controller.on_feedback(&make(), window),
                }
            }
        }

        impl CongestionControl for AnyCongestionControl {
            #[inline]
            fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
                match self {
                    $(Self::$name(controller) => controller.on_ack(ack, cwnd),)+
                    Self::Own(controller) => controller.on_ack(ack, cwnd),
                }
            }

            fn on_congestion(&mut self, event: &Congestion) -> u64 {
                match self {
                    $(Self::$name(controller) => controller.on_congestion(event),)+
                    Self::Own(controller) => controller.on_congestion(event),
                }
            }

            fn on_idle(&mut self, now: Instant, idle: Duration) {
                match self {
                    $(Self::$name(controller) => controller.on_idle(now, idle),)+
                    Self::Own(controller) => controller.on_idle(now, idle),
                }
            }

            fn on_start(&mut self, start: &Start) {
                match self {
                    $(Self::$name(controller) => controller.on_start(start),)+
                    Self::Own(controller) => controller.on_start(start),
                }
            }

            fn on_timeout(&mut self, lost: u64) {
                match self {
                    $(Self::$name(controller) => controller.on_timeout(lost),)+
                    Self::Own(controller) => controller.on_timeout(lost),
                }
            }

            fn on_undo(&mut self) {
                match self {
                    $(Self::$name(controller) => controller.on_undo(),)+
                    Self::Own(controller) => controller.on_undo(),
                }
            }

            #[inline]
            fn pacing(&self) -> Pacing {
                match self {
                    $(Self::$name(controller) => controller.pacing(),)+
                    Self::Own(controller) => controller.pacing(),
                }
            }

            fn on_lost(&mut self, lost: &LostSegment) {
                match self {
                    $(Self::$name(controller) => controller.on_lost(lost),)+
                    Self::Own(controller) => controller.on_lost(lost),
                }
            }

            fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
                match self {
                    $(Self::$name(controller) => controller.on_feedback(feedback, window),)+
                    Self::Own(controller) => controller.on_feedback(feedback, window),
                }
            }

            fn on_loss_after_mark(&mut self, event: &Congestion) -> Option<u64> {
                match self {
                    $(Self::$name(controller) => controller.on_loss_after_mark(event),)+
                    Self::Own(controller) => controller.on_loss_after_mark(event),
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

impl AnyCongestionControl {
    /// Returns a fresh controller of this crate with this name; `None` if there is none. A
    /// [`Catalogue`](crate::Catalogue) knows those of other crates too.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        KNOWN.iter().find(|known| known.about.name == name).map(KnownController::make)
    }
}

impl From<Own> for AnyCongestionControl {
    fn from(controller: Own) -> Self {
        Self::Own(controller)
    }
}

/// A controller with a name.
#[derive(Clone, Copy, Debug)]
pub struct KnownController {
    about: &'static About,
    make: fn() -> AnyCongestionControl,
}

impl KnownController {
    /// Returns a controller of another crate.
    pub(crate) const fn own<C: Controller>() -> Self {
        Self { about: &C::ABOUT, make: || AnyCongestionControl::Own(Own::new(C::default())) }
    }

    /// Returns the description of the controller.
    #[must_use]
    pub const fn about(&self) -> &'static About {
        self.about
    }

    /// Returns a fresh controller.
    #[must_use]
    pub fn make(&self) -> AnyCongestionControl {
        (self.make)()
    }
}

/// Two are equal if they have the same name.
impl PartialEq for KnownController {
    fn eq(&self, other: &Self) -> bool {
        self.about.name == other.about.name
    }
}

impl Eq for KnownController {}

controllers! {
    NewReno = crate::congestion::new_reno::NewReno;
    Cubic = crate::congestion::cubic::Cubic;
    CubicLinux = crate::congestion::cubic_linux::CubicLinux;
    Reno = crate::congestion::reno::Reno;
    Dctcp = crate::congestion::dctcp::Dctcp;
    Prague = crate::congestion::prague::Prague;
    Vegas = crate::congestion::vegas::Vegas;
    Ledbat = crate::congestion::ledbat::Ledbat;
    TcpLp = crate::congestion::tcp_lp::TcpLp;
    Nice = crate::congestion::nice::Nice;
    Compound = crate::congestion::compound::Compound;
    Bbr = crate::congestion::bbr::Bbr;
    Bbr3 = crate::congestion::bbr3::Bbr3;
    Fixed = crate::congestion::fixed::Fixed;
}

/// The names of all controllers.
pub fn names() -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|about| about.name)
}

fn one_of(names: &[&str]) -> String {
    if names.is_empty() { String::from("none: it has no parameters") } else { names.join(", ") }
}

impl Config {
    /// Returns these settings with what a controller needs beside them: timestamps, ECN with
    /// accurate echo, or L4S if the stack has AccECN.
    #[must_use]
    pub const fn suited_to(mut self, needs: Needs) -> Self {
        match needs {
            Needs::Timestamps => self.timestamps = true,
            Needs::AccurateEcn => {
                self.ecn = true;
                self.accurate_ecn_echo = true;
            }
            Needs::L4s if self.stack.has(Mechanism::AccurateEcn) => {
                self.ecn = true;
                self.accecn = true;
                self.accurate_ecn_echo = true;
                self.ecn_on_all = true;
                self.l4s = true;
            }
            // The stack has no AccECN.
            Needs::L4s => {
                self.ecn = false;
                self.l4s = false;
            }
            Needs::Nothing => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn every_listed_name_makes_the_controller_of_that_name() {
        for name in names() {
            assert_eq!(AnyCongestionControl::by_name(name).map(|cc| cc.about().name), Some(name));
        }
        assert!(AnyCongestionControl::by_name("vegas2").is_none());
    }

    #[test]
    fn setting_a_parameter_to_its_default_changes_nothing_and_to_another_value_something() {
        for about in CONTROLLERS {
            for parameter in about.parameters {
                let fresh = AnyCongestionControl::by_name(about.name).expect("listed");
                let mut set = fresh.clone();
                set.set(parameter.name, parameter.default).expect("a default is in range");
                assert_eq!(format!("{set:?}"), format!("{fresh:?}"), "{} {}", about.name, parameter.name);
                set.set(parameter.name, parameter.most).expect("in range");
                assert_ne!(format!("{set:?}"), format!("{fresh:?}"), "{} {}", about.name, parameter.name);
            }
        }
    }

    #[test]
    fn every_controller_has_parameters_but_the_two_whose_rfc_fixes_everything() {
        let without = CONTROLLERS.iter().filter(|about| about.parameters.is_empty());
        assert_eq!(without.map(|about| about.name).collect::<Vec<_>>(), ["newreno", "reno"]);
    }

    #[test]
    fn a_parameter_that_is_unknown_out_of_range_or_of_another_sort_is_refused() {
        let mut ledbat = AnyCongestionControl::by_name("ledbat").expect("listed");
        let wrong = [
            (
                "targt",
                Value::Time(Duration::from_millis(5)),
                "`targt 5ms` is not possible: allowed is target, gain",
            ),
            (
                "target",
                Value::Time(Duration::ZERO),
                "`target 0s` is not possible: allowed is above 0s, at most 10s",
            ),
            ("target", Value::Number(5.0), "`target 5` is not possible: allowed is above 0s, at most 10s"),
            ("gain", Value::Number(f64::NAN), "`gain NaN` is not possible: allowed is above 0, at most 1000"),
        ];
        for (name, value, message) in wrong {
            assert_eq!(ledbat.set(name, value).map_err(|error| format!("{error}")), Err(message.into()));
        }
        let mut reno = AnyCongestionControl::by_name("reno").expect("listed");
        assert!(reno.set("beta", Value::Number(0.5)).is_err());
    }
}
