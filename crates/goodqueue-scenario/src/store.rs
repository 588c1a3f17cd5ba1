//! Results kept on disk, one file per run, so that a sweep that was stopped goes on where it was.
//!
//! A run is identified by everything that determines it: the key of its job, and the program that
//! made it. A program that was built anew may decide otherwise under the same version, so it never
//! takes the results of another.

use std::io::Read;
use std::path::{Path, PathBuf};

use goodqueue::random::mix_64;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::input;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files;

/// A folder of finished runs, by their key and the program that made them.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Checksum of the program.
    program: u64,
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
    /// The folder cannot be made, or the file of this program cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Diagnostic> {
        let program = program().map_err(|error| {
            Diagnostic::new(format!(
                "the file of this program cannot be read: {error}; results are kept under its checksum"
            ))
            .help("start it again if it was replaced just now")
        })?;
        Self::of_program(folder, program)
    }

    fn of_program(folder: &Path, program: u64) -> Result<Self, Diagnostic> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Diagnostic::new(format!("the folder `{}` cannot be made: {error}", folder.display()))
                .help("choose another one with `--out`")
        })?;
        files::remove_stale(folder);
        Ok(Self { folder: folder.to_owned(), program })
    }

    /// The run with this key, if it is there and whole.
    #[must_use]
    pub fn load<R: DeserializeOwned>(&self, key: &str) -> Option<R> {
        let key = self.whole(key);
        let text = input::bytes(&self.path(&key), LARGEST_RUN).ok()?;
        let entry: Entry<R> = serde_json::from_slice(&text).ok()?;
        // Two keys may share a file name, however unlikely.
        (entry.key == key).then_some(entry.run)
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save<R: Serialize>(&self, key: &str, run: &R) -> Result<(), Diagnostic> {
        let key = self.whole(key);
        let path = self.path(&key);
        let entry = Entry { key, run };
        serde_json::to_vec(&entry)
            .map_err(std::io::Error::other)
            // A file that a power failure emptied does not load, and its run is made again.
            .and_then(|text| files::write_soon(&path, &text))
            .map_err(|error| Diagnostic::new(format!("`{}` cannot be written: {error}", path.display())))
    }

    fn whole(&self, key: &str) -> String {
        format!("{:016x} | {key}", self.program)
    }

    fn path(&self, key: &str) -> PathBuf {
        let digest = [0x6F6E_6521_u64, 0x7477_6F21]
            .map(|start| key.bytes().fold(start, |digest, byte| mix_64(digest ^ u64::from(byte))));
        self.folder.join(format!("{:016x}{:016x}.json", digest[0], digest[1]))
    }
}

/// Bytes of a result. One with a time series of a million steps takes less.
const LARGEST_RUN: u64 = 1 << 30;

/// A checksum of the file from which this program was started.
fn program() -> std::io::Result<u64> {
    // The kernel's own link to it leads there even after the file was replaced.
    let path =
        if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { std::env::current_exe()? };
    let mut file = std::fs::File::open(path)?;
    let (mut bytes, mut sum) = (Vec::new(), 0);
    loop {
        bytes.clear();
        if file.by_ref().take(1 << 20).read_to_end(&mut bytes)? == 0 {
            return Ok(sum);
        }
        sum = bytes.chunks(8).fold(sum, |sum: u64, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix_64(sum.rotate_left(1) ^ u64::from_le_bytes(word))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_built_anew_does_not_take_the_results_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let [before, after] = [1, 2].map(|program| Store::of_program(folder.path(), program).unwrap());
        before.save("codel, seed 1", &1.5).unwrap();
        assert_eq!(before.load("codel, seed 1"), Some(1.5));
        assert_eq!(after.load::<f64>("codel, seed 1"), None);
        after.save("codel, seed 1", &2.5).unwrap();
        assert_eq!((before.load("codel, seed 1"), after.load("codel, seed 1")), (Some(1.5), Some(2.5)));
    }

    #[test]
    fn a_file_that_is_not_whole_counts_as_missing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(folder.path(), 1).unwrap();
        store.save("codel, seed 1", &1.5).unwrap();
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&file, "").unwrap();
        assert_eq!(store.load::<f64>("codel, seed 1"), None);
    }

    #[test]
    fn runs_that_a_killed_program_began_to_write_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".goodqueue-0123456789abcdef"), "half").unwrap();
        Store::of_program(folder.path(), 1).unwrap().save("codel, seed 1", &1.5).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_same_program_finds_its_results_again() {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).unwrap().save("codel, seed 1", &1.5).unwrap();
        assert_eq!(Store::open(folder.path()).unwrap().load("codel, seed 1"), Some(1.5));
    }
}
