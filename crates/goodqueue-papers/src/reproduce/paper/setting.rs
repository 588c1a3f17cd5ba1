//! One key of a scenario with a value of one's own.

use goodqueue_scenario::scenario::Document;
use goodqueue_tc::diagnostic::Diagnostic;

/// A key of a scenario and its value, as an argument gives them: `wifi.width=20`.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) text: String,
}

impl Setting {
    /// The name of the argument, for messages.
    const ARGUMENT: &'static str = "--set";

    /// Returns true if the scenario has the key's table. A key of the top level has none, and is
    /// for all scenarios.
    ///
    /// Otherwise a setting of the WiFi channel would put one behind every wire of a paper that has
    /// both.
    pub(super) fn is_for(&self, document: &Document) -> bool {
        let key = self.text.split('=').next().unwrap_or_default().trim();
        key.split_once('.').is_none_or(|(table, _)| document.has(table))
    }

    /// Changes the scenario, if the setting is for it.
    pub(super) fn apply(&self, document: &mut Document) -> Result<(), Diagnostic> {
        if self.is_for(document) { document.assign(Self::ARGUMENT, &self.text) } else { Ok(()) }
    }
}
