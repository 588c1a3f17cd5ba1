//! Where a path leads to, and whether it may be written.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::system;

/// The target of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A file in a folder, there already or not: symbolic links are followed.
    File(PathBuf),
    /// A device, a FIFO, or a descriptor of this process (`/dev/stdout`): opened and written to.
    Stream(PathBuf),
}

/// A file by what it is, not by its name: the same for two paths that lead to one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Identity {
    /// A file that is there: its device and its number.
    Present(u64, u64),
    /// A file to be made: its folder and its name.
    Absent(PathBuf, OsString),
}

impl Target {
    /// Follows `path` as far as its user would: not through what others left in a folder that
    /// everybody may write.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let is_folder = || io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(is_folder());
        }
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let about = match fs::symlink_metadata(&path) {
                Ok(about) => about,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::File(path)),
                Err(error) => return Err(error),
            };
            if about.is_dir() {
                return Err(is_folder());
            }
            if !system::is_trusted(&about, folder(&path))? {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "it belongs to another user, in a folder that everybody may write",
                ));
            }
            if !about.is_symlink() {
                return if about.is_file() {
                    Ok(Self::File(path))
                } else if system::is_socket(&about) {
                    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a socket"))
                } else {
                    Ok(Self::Stream(path))
                };
            }
            // What the links there say is for people: only the kernel can follow them.
            if fs::canonicalize(folder(&path))?.starts_with("/proc") {
                return Ok(Self::Stream(path));
            }
            path = folder(&path).join(fs::read_link(&path)?);
        }
        Err(io::Error::other("too many symbolic links lead from one to the next"))
    }
}

impl Identity {
    /// The file that `path` leads to; `None` for devices, FIFOs and the like, which may be written
    /// to by several.
    ///
    /// # Errors
    /// The path leads to no file that could be written.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let Target::File(place) = Target::of(path)? else { return Ok(None) };
        let about = fs::symlink_metadata(&place).ok();
        if let Some((device, number)) = about.as_ref().and_then(system::number) {
            return Ok(Some(Self::Present(device, number)));
        }
        let name = place.file_name().unwrap_or_default().to_owned();
        // The folder may be yet to be made.
        let folder = folder(&place);
        let folder = fs::canonicalize(folder).or_else(|_| std::path::absolute(folder))?;
        Ok(Some(Self::Absent(folder, name)))
    }
}

/// The folder in which `path` is.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// As many as Linux follows (path_resolution(7)).
const MOST_LINKS: u32 = 40;
