//! The folders of papers: those that come with goodqueue, and a user's own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::input;

use super::whole::Paper;

/// A paper and its files, as they come along.
#[derive(Clone, Copy, Debug)]
struct Folder {
    name: &'static str,
    claims: &'static str,
    /// Scenarios, and runs of real systems.
    files: &'static [(&'static str, &'static str)],
}

/// Takes the folders of `papers` in. A paper, or a file of one, is added in this list.
macro_rules! folders {
    ($($name:literal: [$($scenario:literal),* $(,)?]),+ $(,)?) => {
        const FOLDERS: &[Folder] = &[$(Folder {
            name: $name,
            claims: include_str!(concat!("../../../papers/", $name, "/claims.toml")),
            files: &[$((
                $scenario,
                include_str!(concat!("../../../papers/", $name, "/", $scenario)),
            )),*],
        }),+];
    };
}

folders! {
    "gbw": [
        "rrul-100-100.toml", "rrul-10-10.toml", "rrul-10-1.toml",
        "voip-one-100-100.toml", "voip-one-10-10.toml", "voip-one-10-1.toml",
        "voip-rrul-100-100.toml", "voip-rrul-10-10.toml", "voip-rrul-10-1.toml",
        "rtt-fairness-100.toml", "rtt-fairness-10.toml", "rtt-fairness-1.toml",
        "rrul-wifi.toml", "voip-one-wifi.toml", "voip-rrul-wifi.toml",
        "levels.toml", "overload.toml", "linux-3.14.1.json", "linux-3.14.1-small-segments.json",
        "linux-6.1.json",
    ],
    "gong": [
        "simulation.toml", "heterogeneous.toml", "testbed.toml", "internet.toml", "linux-3.2.71.json", "ns-2.35.json",
    ],
    "jk": ["download.toml", "ns-2.35.json", "ns-2.35-one-run.json"],
    "l4s": [
        "fallback.toml",
        "rtt-fairness-50.toml", "rtt-fairness-10.toml", "rfc3168.toml", "overload-1.toml", "overload-2.toml",
        "overload-3.toml", "alone.toml", "linux-7.3.json", "linux-7.3-prague.json",
    ],
    "nj": [
        "window.toml", "serial.toml", "static.toml", "settings.toml", "web.toml", "dynamic.toml", "edge.toml", "modem.toml",
        "ns-2.35.json", "linux-6.1.json",
    ],
    "rfc7928": ["dumbbell.toml"],
}

/// All papers, in the order of their names.
///
/// # Errors
/// A file of theirs is wrong, which no version that passes its tests has.
pub fn papers() -> Result<Vec<Paper>, Diagnostic> {
    FOLDERS
        .iter()
        .map(|folder| {
            let files = folder.files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            Paper::read(&format!("papers/{}", folder.name), folder.claims, files.collect(), Vec::new())
        })
        .collect()
}

/// The papers in the folders below `folder`, each with its `claims.toml`, in the order of their
/// names.
///
/// # Errors
/// There is none, or a file is wrong or cannot be read.
pub fn papers_in(folder: &Path) -> Result<Vec<Paper>, Diagnostic> {
    let shown = folder.display().to_string();
    let cannot = |error: std::io::Error| {
        Diagnostic::new(format!("it cannot be read: {error}")).in_argument("--papers", &shown)
    };
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(cannot)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("claims.toml").exists())
        .collect();
    // The order of `read_dir` depends on the file system.
    found.sort();
    if found.is_empty() {
        return Err(Diagnostic::new(format!("no folder below `{shown}` has a file `claims.toml`"))
            .in_argument("--papers", &shown));
    }
    let mut left = LARGEST_FOLDER;
    let too_much = || {
        Diagnostic::new(format!("its files are larger than {} MiB together", LARGEST_FOLDER >> 20))
            .help("give a folder that holds papers only")
            .in_argument("--papers", &shown)
    };
    let unreadable = |file: &Path, error: &std::io::Error| {
        Diagnostic::new(format!("it cannot be read: {error}")).in_file(&file.display().to_string())
    };
    let read = |path: &PathBuf| -> Result<Paper, Diagnostic> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).map_err(cannot)? {
            let file = entry.map_err(cannot)?.path();
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            // Verdicts are written here, not read.
            let is_read = |ending: &OsStr| ending == "toml" || ending == "json" && name != "verdicts.json";
            if file.extension().is_some_and(is_read) {
                let text = input::text(&file, LARGEST_FILE).map_err(|error| unreadable(&file, &error))?;
                left = left.checked_sub(text.len()).ok_or_else(too_much)?;
                files.push((name, text));
            }
        }
        Paper::of_files(&path.display().to_string(), files)
    };
    found.iter().map(read).collect()
}

/// Bytes of a file of a paper. The largest that comes with goodqueue has 0.7 MB.
const LARGEST_FILE: u64 = 4 << 20;
/// Bytes of all files of all papers in a folder.
const LARGEST_FOLDER: usize = 64 << 20;
