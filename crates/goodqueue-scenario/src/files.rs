//! Files that appear completely or not at all.
//!
//! A result is written to a temporary file in its final folder, and the finished file gets the
//! final name. On systems with nameless files the temporary file has no name, so a killed process
//! leaves nothing behind. On other systems it is called `.goodqueue-...` and its writer holds a
//! lock. The next start removes temporary files that are not locked.
//!
//! A name that a user typed may be that of a symbolic link, a device or a FIFO, which is then
//! written to. A name that goodqueue or a scenario chose may have been taken by another user or by
//! an unpacked archive, so whatever has this name is replaced.

mod results;
#[cfg_attr(not(unix), path = "files/portable.rs")]
mod system;
mod target;
mod temporary;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use target::Target;
use temporary::Temporary;

pub use results::check_result;
pub use target::{Existing, FileIdentity};
pub(crate) use temporary::remove_stale;

/// A file that is written in pieces. It appears under its name when it is finished; before that, at
/// most a temporary file exists. A device or a FIFO receives each piece at once.
#[derive(Debug)]
pub struct StreamedFile(BufWriter<Unfinished>);

#[derive(Debug)]
enum Unfinished {
    Temporary(Temporary),
    Stream(File),
}

impl StreamedFile {
    /// Begins a file.
    ///
    /// # Errors
    /// The folder cannot be written, `path` is a directory, or `path` belongs to another user in a
    /// folder that everybody may write.
    pub fn create(path: &Path, existing: Existing) -> io::Result<Self> {
        let unfinished = match Target::from_path(path, existing)? {
            Target::File(place) => Unfinished::Temporary(Temporary::for_place(place)?),
            // A pipe or a terminal ignores the position. If standard output is a file, writing
            // continues at its end.
            Target::Stream(path) => Unfinished::Stream(File::options().append(true).open(path)?),
        };
        Ok(Self(BufWriter::new(unfinished)))
    }

    /// Gives the file its name after its contents have reached the disk.
    ///
    /// # Errors
    /// The disk is full, or a folder has this name.
    pub fn finish(self) -> io::Result<()> {
        self.end(true)
    }

    fn end(self, synced: bool) -> io::Result<()> {
        match self.0.into_inner().map_err(io::IntoInnerError::into_error)? {
            Unfinished::Temporary(file) => file.finish(synced),
            Unfinished::Stream(_) => Ok(()),
        }
    }
}

impl Write for StreamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Temporary(file) => file.write(bytes),
            Self::Stream(file) => file.write(bytes),
        }
    }

    // Neither sort of file has a buffer of its own.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `contents` to `path`, so that no half-written file of that name ever exists. If
/// `existing` is used, a symbolic link is kept, and its target is replaced. The new file has the
/// mode of the old one, and its owner if that is allowed.
///
/// # Errors
/// As [`StreamedFile`].
pub fn write_whole(path: &Path, contents: &[u8], existing: Existing) -> io::Result<()> {
    let mut file = StreamedFile::create(path, existing)?;
    file.write_all(contents)?;
    file.end(true)
}

/// Replaces the file at `path`, without waiting for the disk: after a power failure the file may be
/// empty. For files that can be written again.
pub(crate) fn replace_soon(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = StreamedFile::create(path, Existing::Replaced)?;
    file.write_all(contents)?;
    file.end(false)
}

/// Returns an error if [`write_whole`] would fail now. Removes files that killed processes left in
/// the folder.
///
/// # Errors
/// As `write_whole`.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match Target::from_path(path, Existing::Used)? {
        Target::File(place) => {
            if place != path && !target::folder(&place).exists() {
                return Err(leads_nowhere(path, &place));
            }
            remove_stale(target::folder(&place));
            if place.exists() {
                system::may_write(&place)?;
            }
            // The result begins as a temporary file in the same folder: if that can be created, so
            // can the result.
            Temporary::for_place(place).map(drop)
        }
        // Opening a FIFO without a reader would block.
        Target::Stream(path) => system::may_write(&path),
    }
}

/// Makes a folder, and those in which it is, unless it is there already.
///
/// # Errors
/// The folder cannot be made. If a symbolic link without a target or a file is in its place, the
/// error names it.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let Err(error) = std::fs::create_dir_all(path) else { return Ok(()) };
    for place in path.ancestors().filter(|place| !place.as_os_str().is_empty()) {
        // What is not there cannot be the reason; the nearest place that is there may be.
        let Ok(about) = place.symlink_metadata() else { continue };
        if about.is_symlink() && !place.exists() {
            return Err(leads_nowhere(place, &std::fs::read_link(place)?));
        }
        if !place.is_dir() {
            let problem = format!("`{}` is not a folder", place.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, problem));
        }
        break;
    }
    Err(error)
}

fn leads_nowhere(link: &Path, target: &Path) -> io::Error {
    let problem = format!(
        "`{}` is a symbolic link to `{}`, which does not exist; remove the link if you did not make it",
        link.display(),
        target.display()
    );
    io::Error::new(io::ErrorKind::NotFound, problem)
}

#[cfg(test)]
mod tests;
