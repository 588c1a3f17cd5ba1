//! Files that appear whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is written piece by piece: under its own name it appears when it is finished, whole; until then, and if it never
/// is, there is a temporary file at most.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Growing {
    /// Begins a file.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(".goodqueue-").tempfile_in(folder(path))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Gives the file its name, when it is on the disk.
    ///
    /// # Errors
    /// The disk is full, or there is a folder of that name.
    pub fn finish(self) -> io::Result<()> {
        self.end(true)
    }

    fn end(self, synced: bool) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if synced {
            file.as_file().sync_all()?;
        }
        allow_reading(file.path());
        file.persist(self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes `contents` to a temporary file in the folder of `path`, then renames it to `path`: whatever happens, there is
/// never a half-written file of that name.
///
/// # Errors
/// The folder cannot be written, the disk is full, or `path` is a folder.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    write(path, contents, true)
}

/// The same without waiting for the disk: after a power failure the file may be there and empty. For what can be made again.
pub(crate) fn write_soon(path: &Path, contents: &[u8]) -> io::Result<()> {
    write(path, contents, false)
}

fn write(path: &Path, contents: &[u8], synced: bool) -> io::Result<()> {
    let mut file = Growing::create(path)?;
    file.write_all(contents)?;
    file.end(synced)
}

/// Fails if [`write_whole`] would fail now.
///
/// # Errors
/// As `write_whole`.
pub fn check_writable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    // A temporary file in the same folder is what will be renamed: if it can be made, so can the result.
    tempfile::Builder::new().prefix(".goodqueue-").tempfile_in(folder(path)).map(drop)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A temporary file is private; a result is as readable as any file that its user makes.
#[cfg(unix)]
fn allow_reading(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // Should this fail the result is still there, only less readable.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644));
}

#[cfg(not(unix))]
fn allow_reading(_path: &Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("result.json");
        write_whole(&path, b"old").expect("written");
        write_whole(&path, b"new").expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn a_file_that_grows_has_no_name_until_it_is_finished() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (given_up, path) = (folder.path().join("given-up.csv"), folder.path().join("whole.csv"));
        for (path, finished) in [(&given_up, false), (&path, true)] {
            let mut file = Growing::create(path).expect("begun");
            file.write_all(b"half").expect("written");
            assert!(!path.exists());
            if finished {
                file.finish().expect("finished");
            }
        }
        assert!(!given_up.exists());
        assert_eq!(std::fs::read(&path).expect("there"), b"half");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
    }

    #[test]
    fn a_folder_or_a_file_in_no_folder_is_refused_before_any_work() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(check_writable(folder.path()).is_err());
        assert!(check_writable(&folder.path().join("missing/result.json")).is_err());
        assert!(write_whole(folder.path(), b"x").is_err());
        assert!(check_writable(&folder.path().join("result.json")).is_ok());
    }
}
