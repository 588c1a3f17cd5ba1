//! Profiles: the settings of sender and receiver that a system had, as one table.
//!
//! Each stack's file has the profiles of its stack. [`profiles`](crate::profiles()) lists those of
//! the stacks of this crate, and a [`Catalogue`](crate::Catalogue) those of other crates too.

use crate::config::Config;
use crate::registry::AnyCongestionControl;

/// The settings of one system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// One sentence: whose TCP it is.
    pub summary: &'static str,
    /// All settings.
    pub settings: Config,
    /// Names of congestion controllers that stand for another controller in this profile, each with
    /// that controller.
    pub controllers: &'static [(&'static str, &'static str)],
    /// Where the settings come from, one line each.
    pub sources: &'static [&'static str],
}

impl Profile {
    /// Returns a fresh congestion controller of this crate with this name, in this profile's
    /// variant; `None` if there is none.
    /// [`Catalogue::controller_in`](crate::Catalogue::controller_in) knows those of other crates
    /// too.
    #[must_use]
    pub fn controller(&self, name: &str) -> Option<AnyCongestionControl> {
        AnyCongestionControl::by_name(self.variant(name))
    }

    /// Returns the name of the controller that stands for the one called `name` in this profile.
    #[must_use]
    pub fn variant<'n>(&self, name: &'n str) -> &'n str {
        self.controllers.iter().find(|(plain, _)| *plain == name).map_or(name, |(_, variant)| variant)
    }
}
