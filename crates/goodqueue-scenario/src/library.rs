//! The scenarios that come with goodqueue, known by name wherever the command runs.

use std::path::Path;

use goodqueue_tc::diagnostic::Diagnostic;

use crate::scenario::Document;

/// A scenario and its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Name of the file without its ending.
    pub name: &'static str,
    /// Contents of the file.
    pub text: &'static str,
}

/// Takes the files of the `scenarios` folder in. A new one is added in this list.
macro_rules! scenarios {
    ($($(#[$needs:meta])? $name:literal),+ $(,)?) => {
        /// Every scenario that comes with goodqueue.
        pub const SCENARIOS: &[Entry] =
            &[$(
                $(#[$needs])?
                Entry { name: $name, text: include_str!(concat!("../scenarios/", $name, ".toml")) },
            )+];
    };
}

scenarios![
    "rrul-10-1",
    "rrul-10-10",
    "rrul-100-100",
    "codel-dynamic-link",
    "rtt-fairness",
    "sparse-flow",
    "rrul",
    "voip",
    "upload-sweep",
    "ecn",
    "l4s",
    "prague-alone",
    "queue-protection",
    "classic-ecn-bottleneck",
    "l4s-bursty",
    "wifi",
    "wifi-anomaly",
    "packmime",
    "web-pages",
    "adaptive-video",
    "modem",
    "dsl",
    "shared-line",
    #[cfg(feature = "quic")]
    "quic-beside-tcp",
];

/// The scenario file at this path, or the one of this name that comes with goodqueue.
///
/// # Errors
/// There is neither, or the file cannot be read.
pub fn load(name: &str) -> Result<Document, Diagnostic> {
    let path = Path::new(name);
    // A folder is no scenario, so results in a folder `l4s` do not hide the scenario of this name.
    let is_folder_of_same_name = path.is_dir() && SCENARIOS.iter().any(|entry| entry.name == name);
    if path.exists() && !is_folder_of_same_name {
        return Document::load(path);
    }
    load_builtin(name)
}

/// The scenario of this name that comes with goodqueue.
///
/// # Errors
/// There is none.
pub fn load_builtin(name: &str) -> Result<Document, Diagnostic> {
    if let Some(entry) = SCENARIOS.iter().find(|entry| entry.name == name) {
        return Document::parse(&format!("{name}.toml"), entry.text, Path::new(""));
    }
    let names: Vec<&str> = SCENARIOS.iter().map(|entry| entry.name).collect();
    Err(Diagnostic::new(format!(
        "there is no scenario file `{name}`, and none of this name comes with goodqueue"
    ))
    .one_of(name, &names)
    .in_argument("SCENARIO", name))
}
