//! Temporary files: a file gets its name when it is complete. Files that killed processes left
//! behind are removed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::system::{self, Lock};
use super::target::folder;

/// A file without its final name. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct Temporary {
    file: File,
    /// Temporary name, if the file has one.
    name: Option<PathBuf>,
    place: PathBuf,
}

impl Temporary {
    /// Creates the temporary file of a file at `place`.
    pub(super) fn for_place(place: PathBuf) -> io::Result<Self> {
        // Other users may read the file only if they could read the file that it replaces.
        let mode = replaced(&place).map_or(system::ANY_MODE, |about| system::mode(&about));
        if let Some(file) = system::nameless(folder(&place), mode) {
            // `finish` may give it a temporary name, which must then be locked already.
            let _ = system::lock(&file);
            return Ok(Self { file, name: None, place });
        }
        Self::named(place, mode)
    }

    fn named(place: PathBuf, mode: u32) -> io::Result<Self> {
        loop {
            let name = new_name(&place);
            match system::create_new(&name, mode) {
                // Before the lock, another process may have removed it as stale.
                Ok(file) if system::lock(&file) != Lock::Taken && name.exists() => {
                    return Ok(Self { file, name: Some(name), place });
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
    }

    /// Gives the file its name. With `synced`, waits until the contents are on the disk.
    pub(super) fn finish(mut self, synced: bool) -> io::Result<()> {
        if let Some(about) = replaced(&self.place) {
            // Before the file has its name, so that nobody can open it with other permissions.
            system::be_like(&self.file, &about)?;
        }
        if synced {
            self.file.sync_all()?;
        }
        if self.name.is_none() {
            let linked = match system::link(&self.file, &self.place) {
                Ok(()) => return Ok(()),
                // Only a file with a name can replace another one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let name = new_name(&self.place);
                    system::link(&self.file, &name).map(|()| name)
                }
                Err(error) => Err(error),
            };
            match linked {
                Ok(name) => self.name = Some(name),
                // Some sandboxes do not let a nameless file get a name.
                Err(_) => return self.with_name()?.finish(synced),
            }
        }
        if let Some(name) = &self.name {
            fs::rename(name, &self.place)?;
            self.name = None;
        }
        Ok(())
    }

    /// Copies the contents to a file with a temporary name.
    fn with_name(mut self) -> io::Result<Self> {
        let mut named = Self::named(self.place.clone(), system::mode(&self.file.metadata()?))?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut named.file)?;
        Ok(named)
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// Returns the file at `place` that will be replaced.
fn replaced(place: &Path) -> Option<fs::Metadata> {
    fs::symlink_metadata(place).ok().filter(fs::Metadata::is_file)
}

fn new_name(place: &Path) -> PathBuf {
    // The keys of this hasher are random.
    folder(place).join(format!("{PREFIX}{:016x}", RandomState::new().build_hasher().finish()))
}

/// Removes stale temporary files in `folder`: those of this user that no process is writing. Each
/// folder is cleaned once.
pub(crate) fn remove_stale(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned()) {
        remove_unheld(folder);
    }
}

/// Removes a file if possible. A file that cannot be removed does no harm.
fn remove_unheld(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if is_ours && entry.metadata().is_ok_and(|about| about.is_file() && system::is_own(&about)) {
            let _ = remove_if_unheld(&entry.path());
        }
    }
}

fn remove_if_unheld(name: &Path) -> io::Result<()> {
    let file = system::open_without_following(name)?;
    let is_stale = match system::lock(&file) {
        Lock::Held => true,
        Lock::Taken => false,
        // Without locks, only the age of a file shows that it is stale.
        Lock::Unknown => file.metadata()?.modified()?.elapsed().is_ok_and(|age| age > OLD),
    };
    if is_stale { fs::remove_file(name) } else { Ok(()) }
}

const PREFIX: &str = ".goodqueue-";
/// Age at which a file without a lock is stale: longer than any writer pauses.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let listed = fs::read_dir(folder).unwrap();
        listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("result.json");
        let live = Temporary::named(place.clone(), system::ANY_MODE).unwrap();
        let held = live.name.clone().unwrap();
        fs::write(folder.path().join(".goodqueue-0123456789abcdef"), "half").unwrap();
        fs::write(folder.path().join("goodqueue-notes"), "of the user").unwrap();
        fs::create_dir(folder.path().join(".goodqueue-folder")).unwrap();
        remove_unheld(folder.path());
        let mut left = names(folder.path());
        left.sort();
        let held = held.file_name().unwrap().to_string_lossy().into_owned();
        let mut expected = vec![held, ".goodqueue-folder".to_owned(), "goodqueue-notes".to_owned()];
        expected.sort();
        assert_eq!(left, expected);
        live.finish(true).unwrap();
        assert!(place.exists());
    }

    #[test]
    fn where_files_need_a_name_a_result_replaces_the_one_before_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("result.json");
        for contents in ["old", "new"] {
            let mut file = Temporary::named(place.clone(), system::ANY_MODE).unwrap();
            file.write_all(contents.as_bytes()).unwrap();
            file.finish(true).unwrap();
            assert_eq!(fs::read_to_string(&place).unwrap(), contents);
        }
        let mut nameless = Temporary::for_place(place.clone()).unwrap();
        nameless.write_all(b"newest").unwrap();
        nameless.with_name().unwrap().finish(true).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "newest");
        drop(Temporary::named(place, system::ANY_MODE).unwrap());
        assert_eq!(names(folder.path()), ["result.json"]);
    }
}
