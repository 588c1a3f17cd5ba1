//! What a front end is asked for: a scenario, and changes to it.

#[cfg(feature = "clap")]
mod described;

use std::path::Path;

use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Map, Value};

use crate::extensions::Extensions;
use crate::library;
use crate::scenario::{Document, Overrides};
#[cfg(feature = "clap")]
pub use described::{DescribedOption, described_options};

/// A scenario, and changes to it: the arguments of `goodqueue compare`, and of every other front
/// end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Request {
    /// Scenario to start from instead of the default: a file, or a built-in name (see `goodqueue
    /// list scenarios`).
    pub scenario: Option<String>,
    /// Name of a built-in scenario, if no scenario is named.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub builtin: Option<String>,
    /// Text of a scenario file, if no scenario is named.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub toml: Option<String>,
    /// Changes of the scenario.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub options: Overrides,
}

impl Request {
    /// Reads a request from JSON: the object has the keys `builtin` and `toml`, and those of
    /// [`Overrides`] except for the traces. A request from elsewhere, such as a link to a page,
    /// cannot name a scenario file or a trace of this machine. The text of a scenario, and `set`,
    /// still can.
    ///
    /// # Errors
    /// It is not JSON, or has an unknown key.
    pub fn from_json(json: &str) -> Result<Self, Diagnostic> {
        let unread =
            |error: serde_json::Error| Diagnostic::new(format!("the request cannot be read: {error}"));
        let mut keys: Map<String, Value> = serde_json::from_str(json).map_err(unread)?;
        // By hand: serde cannot refuse unknown keys of a struct with flattened fields.
        let mut text = |key: &str| keys.remove(key).map_or(Ok(None), serde_json::from_value).map_err(unread);
        let builtin = text("builtin")?;
        let toml = text("toml")?;
        let options: Overrides = serde_json::from_value(Value::Object(keys)).map_err(unread)?;
        let traces = [("trace_down", &options.trace_down), ("trace_up", &options.trace_up)];
        if let Some((key, _)) = traces.iter().find(|(_, path)| path.is_some()) {
            return Err(Diagnostic::new(format!("the request cannot be read: `{key}` names a file")));
        }
        Ok(Self { scenario: None, builtin, toml, options })
    }

    /// Returns the scenario with the changes. It may name any of `extensions`.
    ///
    /// # Errors
    /// There is no such scenario, or a change is not possible.
    pub fn document(&self, extensions: &Extensions) -> Result<Document, Diagnostic> {
        let document = match (&self.scenario, &self.builtin, &self.toml) {
            (Some(name), ..) => library::load(name)?,
            (None, Some(name), _) => library::load_builtin(name)?,
            (None, None, Some(text)) => Document::parse(GIVEN, text, Path::new(""))?,
            (None, None, None) => Document::default(),
        };
        let mut document = document.with_extensions(extensions.clone());
        document.apply(&self.options)?;
        Ok(document)
    }
}

/// Name of a scenario whose text came with the request, in messages.
const GIVEN: &str = "scenario.toml";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn a_request_from_a_page_has_the_keys_of_the_options() {
        let request = Request::from_json(
            r#"{"toml": "qdiscs = ['pie', 'codel']", "rate": "4mbit", "seeds": "3", "set": ["duration=1s"]}"#,
        )
        .unwrap();
        let session = Session::new(&request.document(&Extensions::new()).unwrap()).unwrap();
        let scenario = session.record();
        let scenario = scenario.as_json();
        assert_eq!((&scenario["link"]["down"], &scenario["seeds"]), (&"4mbit".into(), &3.into()));
        assert_eq!(scenario["duration"], "1s");
        let named = Request::from_json(r#"{"builtin": "rrul-10-1", "flows": null}"#).unwrap();
        let named = named.document(&Extensions::new()).unwrap();
        assert_eq!(Session::new(&named).unwrap().record().name(), Some("rrul-10-1"));
    }

    #[test]
    fn files_and_unknown_keys_are_refused_by_name() {
        for (text, says) in [
            (r#"{"scenario": "/etc/passwd"}"#, "unknown field `scenario`"),
            (r#"{"trace_up": "/etc/passwd"}"#, "`trace_up` names a file"),
            (r#"{"ratee": "1mbit"}"#, "unknown field `ratee`"),
            (r#"{"builtin": 7}"#, "invalid type"),
            ("[]", "the request cannot be read"),
        ] {
            let error = Request::from_json(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
