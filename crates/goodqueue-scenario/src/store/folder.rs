//! A folder of runs, which machines may share.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::input;

use super::place::Place;
use crate::files::{self, Existing};

/// A folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The option that named it.
    option: &'static str,
}

impl Folder {
    /// The folder at `path`, which is made if it is not there.
    pub(super) fn open(path: &Path, option: &'static str) -> Result<Self, Diagnostic> {
        files::make_folder(path).map_err(|error| {
            Diagnostic::new(format!("the folder `{}` cannot be made: {error}", path.display()))
                .help(format!("choose another one with `{option}`"))
        })?;
        files::remove_stale(path);
        Ok(Self { path: path.to_owned(), option })
    }
}

impl Place for Folder {
    fn read(&self, name: &str, largest: u64) -> io::Result<Option<Vec<u8>>> {
        match input::regular_bytes(&self.path.join(name), largest) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        // A file that a power failure emptied does not load, and its run is made again.
        let mut outcome = files::replace_soon(&path, contents);
        for _ in 0..ATTEMPTS {
            // Another machine may have taken the temporary file for one of a dead process, where a
            // file system does not show locks to other machines.
            if !matches!(&outcome, Err(error) if error.kind() == ErrorKind::NotFound) {
                break;
            }
            outcome = files::replace_soon(&path, contents);
        }
        outcome
    }

    fn write_lasting(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        files::write_whole(&self.path.join(name), contents, Existing::Replaced)
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    fn another(&self) -> String {
        format!("another folder with `{}`", self.option)
    }

    fn needed(&self) -> [&'static str; 2] {
        ["a folder that can be written, with space for all runs", "make space or change its permissions"]
    }

    fn is_remote(&self) -> bool {
        false
    }
}

/// Further attempts to write a file whose temporary file vanished.
const ATTEMPTS: usize = 3;
