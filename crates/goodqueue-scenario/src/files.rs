//! Files that appear whole or not at all.
//!
//! A result is written to a temporary file in the folder of its final place, which then takes the
//! name. Where the system has nameless files the temporary file is one, and a process that is
//! killed leaves nothing behind. Elsewhere the file is called `.goodqueue-...` and is locked while
//! its writer lives; the next start removes those that nobody holds.
//!
//! Devices, FIFOs and the like cannot appear whole: they are opened and written to.

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
pub use target::Identity;
pub(crate) use temporary::remove_stale;

/// A file that is written piece by piece: under its own name it appears when it is finished, whole;
/// until then, and if it never is, there is a temporary file at most. What is no file in a folder
/// (a device, a FIFO) gets the pieces as they come.
#[derive(Debug)]
pub struct Growing(BufWriter<Unfinished>);

#[derive(Debug)]
enum Unfinished {
    Temporary(Temporary),
    Stream(File),
}

impl Growing {
    /// Begins a file.
    ///
    /// # Errors
    /// The folder cannot be written, or `path` is a directory or belongs to somebody else in a
    /// folder that all may write.
    pub fn create(path: &Path) -> io::Result<Self> {
        let unfinished = match Target::of(path)? {
            Target::File(place) => Unfinished::Temporary(Temporary::for_place(place)?),
            // A pipe or a terminal ignores where to write; a file that standard output leads to
            // continues at its end.
            Target::Stream(path) => Unfinished::Stream(File::options().append(true).open(path)?),
        };
        Ok(Self(BufWriter::new(unfinished)))
    }

    /// Gives the file its name, when it is on the disk.
    ///
    /// # Errors
    /// The disk is full, or there is a folder of that name.
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

impl Write for Growing {
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

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `contents` to `path`: whatever happens, there is never a half-written file of that name.
/// A symbolic link stays, and the file that it leads to is replaced. A file that is replaced keeps
/// its mode, and its owner where that is allowed.
///
/// # Errors
/// As [`Growing`].
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    write(path, contents, true)
}

/// The same without waiting for the disk: after a power failure the file may be there and empty.
/// For files that can be written again.
pub(crate) fn write_soon(path: &Path, contents: &[u8]) -> io::Result<()> {
    write(path, contents, false)
}

fn write(path: &Path, contents: &[u8], synced: bool) -> io::Result<()> {
    let mut file = Growing::create(path)?;
    file.write_all(contents)?;
    file.end(synced)
}

/// Returns an error if [`write_whole`] would fail now. Removes files that killed processes left in
/// the folder.
///
/// # Errors
/// As `write_whole`.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match Target::of(path)? {
        Target::File(place) => {
            remove_stale(target::folder(&place));
            if place.exists() {
                system::may_write(&place)?;
            }
            // A temporary file in the same folder is what gets the name: if it can be made, so can
            // the result.
            Temporary::for_place(place).map(drop)
        }
        // A FIFO that nobody reads yet would block here.
        Target::Stream(path) => system::may_write(&path),
    }
}

#[cfg(test)]
mod tests;
