//! Profiles: the settings of sender and receiver that a system had, as one table.
//!
//! Each stack's file has the profiles of its stack. [`profiles`](crate::profiles()) lists all of
//! them.

use crate::config::Config;
use crate::registry::AnyCongestionControl;

/// The settings of one system.
#[derive(Clone, Copy, Debug)]
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
    /// Returns a fresh congestion controller of this name, in this profile's variant; `None` if
    /// there is none.
    #[must_use]
    pub fn controller(&self, name: &str) -> Option<AnyCongestionControl> {
        let variant = self.controllers.iter().find(|(plain, _)| *plain == name);
        AnyCongestionControl::by_name(variant.map_or(name, |(_, variant)| variant))
    }
}
