//! The stacks, profiles and congestion controllers that can be found by name.

use alloc::vec::Vec;

use crate::congestion::{About, Controller, Needs};
use crate::profile::Profile;
use crate::registry::{AnyCongestionControl, CONTROLLERS, KNOWN, KnownController};
use crate::stack::Listed;
use crate::stack_info::StackInfo;
use crate::stacks::LIST;

/// The stacks, profiles and congestion controllers that can be found by name: those of this crate,
/// and those of other crates that were added.
///
/// ```
/// use goodqueue_tcp::Catalogue;
/// # use goodqueue_tcp::congestion::{About, Ack, Congestion, Controller};
/// # use goodqueue_tcp::CongestionControl;
/// # #[derive(Clone, Debug, Default)]
/// # struct Ten;
/// # impl CongestionControl for Ten {
/// #     fn on_ack(&mut self, ack: &mut Ack, _cwnd: u64) -> u64 { 10 * u64::from(ack.mss) }
/// #     fn on_congestion(&mut self, event: &Congestion) -> u64 { 10 * u64::from(event.mss) }
/// # }
/// # impl Controller for Ten {
/// #     const ABOUT: About = About { name: "ten", ..About::PLAIN };
/// # }
/// let catalogue = Catalogue::new().with_controller::<Ten>();
/// assert!(catalogue.controller("ten").is_some());
/// assert!(catalogue.controller("cubic").is_some());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Catalogue {
    controllers: Vec<KnownController>,
    stacks: Vec<(&'static StackInfo, &'static [Profile])>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    /// Returns the stacks, profiles and controllers of this crate.
    #[must_use]
    pub fn new() -> Self {
        Self { controllers: KNOWN.to_vec(), stacks: LIST.to_vec() }
    }

    /// Returns the same catalogue with the controller `C`. It replaces one of yours with the same
    /// name; the name of a controller of this crate does not compile. A variant follows the
    /// controller of which it is one, and others come last.
    #[must_use]
    pub fn with_controller<C: Controller>(mut self) -> Self {
        const { assert!(!is_controller(C::ABOUT.name), "a controller of goodqueue-tcp has this name") };
        let new = KnownController::own::<C>();
        // A controller that is added again would be listed twice.
        self.controllers.retain(|known| *known != new);
        let is_akin = |known: &KnownController| {
            let known = known.about();
            let plain = C::ABOUT.variant_of;
            plain.is_some() && (Some(known.name) == plain || known.variant_of == plain)
        };
        let place =
            self.controllers.iter().rposition(is_akin).map_or(self.controllers.len(), |last| last + 1);
        self.controllers.insert(place, new);
        self
    }

    /// Returns the same catalogue with the stack `S` and its profiles. It replaces one of yours
    /// with the same name; the name of a stack of this crate does not compile.
    #[must_use]
    pub fn with_stack<S: Listed>(mut self) -> Self {
        const { assert!(!is_stack(S::INFO.name), "a stack of goodqueue-tcp has this name") };
        // A stack that is added again replaces the one of its name.
        self.stacks.retain(|(known, _)| known.name != S::INFO.name);
        self.stacks.push((S::INFO, S::PROFILES));
        self
    }

    /// Returns the descriptions of all controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &'static About> + Clone + '_ {
        self.controllers.iter().map(KnownController::about)
    }

    /// Returns the controller called `name`.
    #[must_use]
    pub fn known(&self, name: &str) -> Option<KnownController> {
        self.controllers.iter().find(|known| known.about().name == name).copied()
    }

    /// Returns a fresh controller called `name`; `None` if there is none.
    #[must_use]
    pub fn controller(&self, name: &str) -> Option<AnyCongestionControl> {
        self.known(name).map(|known| known.make())
    }

    /// Returns a fresh controller called `name`, in the variant of `profile`; `None` if there is
    /// none.
    #[must_use]
    pub fn controller_in(&self, profile: &Profile, name: &str) -> Option<AnyCongestionControl> {
        self.controller(profile.variant(name))
    }

    /// Returns what the controller called `name` needs of both ends.
    #[must_use]
    pub fn needs(&self, name: &str) -> Needs {
        self.known(name).map_or(Needs::Nothing, |known| known.about().needs)
    }

    /// Returns all stacks, the default first.
    pub fn stacks(&self) -> impl Iterator<Item = &'static StackInfo> + Clone + '_ {
        self.stacks.iter().map(|(stack, _)| *stack)
    }

    /// Returns the profiles of all stacks, the default first.
    pub fn profiles(&self) -> impl Iterator<Item = &'static Profile> + Clone + '_ {
        self.stacks.iter().flat_map(|(_, profiles)| *profiles)
    }

    /// Returns the profile called `name`; `None` if there is none.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&'static Profile> {
        self.profiles().find(|profile| profile.name == name)
    }
}

// A constant function has no iterators, and `==` does not work for strings in it.
/// Returns true if a controller of this crate has this name.
const fn is_controller(name: &str) -> bool {
    let mut index = 0;
    while index < CONTROLLERS.len() {
        if is_equal(CONTROLLERS[index].name, name) {
            return true;
        }
        index += 1;
    }
    false
}

/// Returns true if a stack of this crate has this name.
const fn is_stack(name: &str) -> bool {
    let mut index = 0;
    while index < LIST.len() {
        if is_equal(LIST[index].0.name, name) {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_equal(one: &str, other: &str) -> bool {
    let one = one.as_bytes();
    let other = other.as_bytes();
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::congestion::{Ack, Congestion, CongestionControl};

    /// A variant of NewReno with a fixed window.
    #[derive(Clone, Debug, Default)]
    struct FixedWindow;

    impl CongestionControl for FixedWindow {
        fn on_ack(&mut self, _ack: &mut Ack, cwnd: u64) -> u64 {
            cwnd
        }

        fn on_congestion(&mut self, event: &Congestion) -> u64 {
            event.cwnd
        }
    }

    impl Controller for FixedWindow {
        const ABOUT: About = About { name: "newreno_still", variant_of: Some("newreno"), ..About::PLAIN };
    }

    #[test]
    fn a_variant_of_another_crate_follows_the_controller_of_which_it_is_one() {
        // Added twice, because the second one replaces the first.
        let catalogue = Catalogue::new().with_controller::<FixedWindow>().with_controller::<FixedWindow>();
        let names: Vec<&str> = catalogue.controllers().map(|about| about.name).collect();
        let place = names.iter().position(|name| *name == "newreno_still").expect("added");
        assert!(names[..place].iter().all(|name| name.starts_with("newreno")), "{names:?}");
        assert_eq!(names.len(), CONTROLLERS.len() + 1);
        assert_eq!(catalogue.controller("newreno_still").map(|cc| cc.about().name), Some("newreno_still"));
    }
}
