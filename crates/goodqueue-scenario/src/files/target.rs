//! The target of a path, and whether it may be written.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::system;

/// What happens to a symbolic link, a device or a FIFO that has the name of a file to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It is written to, because a user typed the name.
    Used,
    /// The file replaces it, because goodqueue or a scenario chose the name.
    Replaced,
}

/// The target of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A file in a folder, existing or not; symbolic links have been followed.
    File(PathBuf),
    /// A device, a FIFO, or a descriptor of this process (`/dev/stdout`). It is opened and written
    /// to.
    Stream(PathBuf),
}

/// Identity of a file: equal for two paths that lead to the same file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FileIdentity {
    /// An existing file: its device and inode number.
    Present(u64, u64),
    /// A new file: its folder and its name.
    Absent(PathBuf, OsString),
}

impl Target {
    /// Follows the symbolic links of `path` if those that exist are used, but never those that
    /// another user left in a folder that everybody may write.
    pub(super) fn from_path(path: &Path, existing: Existing) -> io::Result<Self> {
        let is_folder = || io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
        // Such a path means a folder, even one that does not exist.
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
            if existing == Existing::Replaced {
                return Ok(Self::File(path));
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
            // The text of these links is for people; only the kernel can follow them.
            if fs::canonicalize(folder(&path))?.starts_with("/proc") {
                return Ok(Self::Stream(path));
            }
            path = folder(&path).join(fs::read_link(&path)?);
        }
        Err(io::Error::other("too many symbolic links lead from one to the next"))
    }
}

impl FileIdentity {
    /// Returns the file that `path` leads to, or `None` for a device or a FIFO, which several
    /// outputs may share.
    ///
    /// # Errors
    /// The path does not lead to a file that can be written.
    pub fn from_path(path: &Path) -> io::Result<Option<Self>> {
        let Target::File(place) = Target::from_path(path, Existing::Used)? else { return Ok(None) };
        let about = fs::symlink_metadata(&place).ok();
        if let Some((device, number)) = about.as_ref().and_then(system::number) {
            return Ok(Some(Self::Present(device, number)));
        }
        let name = place.file_name().unwrap_or_default().to_owned();
        // The folder may not exist yet.
        let folder = folder(&place);
        let folder = fs::canonicalize(folder).or_else(|_| std::path::absolute(folder))?;
        Ok(Some(Self::Absent(folder, name)))
    }
}

/// Returns the folder that contains `path`.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Most symbolic links that are followed, as in Linux (path_resolution(7)).
const MOST_LINKS: u32 = 40;
