//! Results kept on disk, one file per run, so that a sweep that was stopped goes on where it was.

use std::path::{Path, PathBuf};

use goodqueue::random::mix_64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::files;

/// A folder of finished runs, by their key.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Entry<R> {
    key: String,
    run: R,
}

impl Store {
    /// The store in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path) -> Result<Self, Diagnostic> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Diagnostic::new(format!("the folder `{}` cannot be made: {error}", folder.display()))
                .help("choose another one with `--out`")
        })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The run with this key, if it is there and whole.
    #[must_use]
    pub fn load<R: DeserializeOwned>(&self, key: &str) -> Option<R> {
        let text = std::fs::read(self.path(key)).ok()?;
        let entry: Entry<R> = serde_json::from_slice(&text).ok()?;
        // Two keys may share a file name, however unlikely.
        (entry.key == key).then_some(entry.run)
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save<R: Serialize>(&self, key: &str, run: &R) -> Result<(), Diagnostic> {
        let path = self.path(key);
        let entry = Entry { key: key.to_owned(), run };
        serde_json::to_vec(&entry)
            .map_err(std::io::Error::other)
            .and_then(|text| files::write_whole(&path, &text))
            .map_err(|error| Diagnostic::new(format!("`{}` cannot be written: {error}", path.display())))
    }

    fn path(&self, key: &str) -> PathBuf {
        let digest = [0x6F6E_6521_u64, 0x7477_6F21]
            .map(|start| key.bytes().fold(start, |digest, byte| mix_64(digest ^ u64::from(byte))));
        self.folder.join(format!("{:016x}{:016x}.json", digest[0], digest[1]))
    }
}
