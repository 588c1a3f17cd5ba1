//! Files on Unix: owners, modes and locks; and on Linux, files without a name.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, FlockOperation, OFlags};
use rustix::io::Errno;

/// Whether a file is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lock {
    /// This process has locked it just now.
    Held,
    /// Another process holds the lock.
    Taken,
    /// The file system has no locks.
    Unknown,
}

/// Mode of a new file, before the kernel applies the umask.
pub(super) const ANY_MODE: u32 = 0o666;

/// The permissions of a file.
pub(super) fn mode(about: &Metadata) -> u32 {
    about.mode() & 0o777
}

/// Creates a file. Fails if the file exists.
pub(super) fn create_new(name: &Path, mode: u32) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(mode).open(name)
}

/// Creates a file without a name in `folder`, if the system can name it later.
#[cfg(target_os = "linux")]
pub(super) fn nameless(folder: &Path, mode: u32) -> Option<File> {
    // Without /proc the file could never get a name.
    if !Path::new(OPEN_FILES).exists() {
        return None;
    }
    // Read access is for `with_name`, which copies the contents.
    File::options().read(true).write(true).mode(mode).custom_flags(flags(OFlags::TMPFILE)).open(folder).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn nameless(_: &Path, _: u32) -> Option<File> {
    None
}

/// Gives a nameless file this name. Fails if the name is taken.
#[cfg(target_os = "linux")]
pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let file = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    // The path of an open file is a symbolic link.
    Ok(linkat(CWD, file, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Path of an open file: by it, linkat(2) names a file without privileges, see open(2).
#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";

/// Opens a file for reading. Does not follow a symbolic link, and does not wait for the writer of a
/// FIFO.
pub(super) fn open_without_following(name: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK)).open(name)
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// Locks a file until it is closed or the process ends.
pub(super) fn lock(file: &File) -> Lock {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Lock::Held,
        Err(Errno::WOULDBLOCK) => Lock::Taken,
        Err(_) => Lock::Unknown,
    }
}

/// Fails if this process may not write the file.
pub(super) fn may_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, Access::WRITE_OK)?)
}

/// Gives a file the mode of another, and its owner and group if that is allowed.
pub(super) fn be_like(file: &File, other: &Metadata) -> io::Result<()> {
    let now = file.metadata()?;
    let mut mode = mode(other);
    if now.gid() != other.gid() && fchown(file, None, Some(other.gid())).is_err() {
        // The group keeps its permissions only if the file has the same group.
        mode &= !0o070;
    }
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    // Last: this process may not change the mode of another user's file.
    if now.uid() != other.uid() {
        let _ = fchown(file, Some(other.uid()), None);
    }
    Ok(())
}

/// True if the file belongs to the user of this process.
pub(super) fn is_own(about: &Metadata) -> bool {
    about.uid() == rustix::process::geteuid().as_raw()
}

/// False if another user may have planted this entry in the folder for us to write to. The rule is
/// the kernel's for symbolic links and FIFOs (`fs.protected_symlinks`); a rename would bypass the
/// kernel's check.
pub(super) fn is_trusted(about: &Metadata, folder: &Path) -> io::Result<bool> {
    let folder = fs::metadata(folder)?;
    let is_shared = folder.mode() & SHARED == SHARED;
    let is_of_folder = about.uid() == folder.uid() && about.uid() != NOBODY;
    Ok(!is_shared || is_own(about) || is_of_folder)
}

/// True for a socket.
pub(super) fn is_socket(about: &Metadata) -> bool {
    about.file_type().is_socket()
}

/// Device and inode number, which identify a file.
pub(super) fn number(about: &Metadata) -> Option<(u64, u64)> {
    Some((about.dev(), about.ino()))
}

/// Mode bits of a folder that everybody may write, but where only owners may remove files.
const SHARED: u32 = 0o1002;
/// User id that a namespace shows for unknown users (`kernel.overflowuid`).
const NOBODY: u32 = 65534;
