//! Files on systems other than Unix, by the standard library alone.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Whether a file is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lock {
    /// This process has locked it just now.
    #[expect(dead_code, reason = "nothing is locked here")]
    Held,
    /// Another process holds the lock.
    Taken,
    /// This system cannot tell.
    Unknown,
}

/// This system has no file modes.
pub(super) const ANY_MODE: u32 = 0;

pub(super) fn mode(_: &Metadata) -> u32 {
    ANY_MODE
}

pub(super) fn create_new(name: &Path, _: u32) -> io::Result<File> {
    File::options().write(true).create_new(true).open(name)
}

pub(super) fn nameless(_: &Path, _: u32) -> Option<File> {
    None
}

pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn open_without_following(name: &Path) -> io::Result<File> {
    File::open(name)
}

pub(super) fn lock(_: &File) -> Lock {
    Lock::Unknown
}

pub(super) fn may_write(path: &Path) -> io::Result<()> {
    // Appending neither creates the file nor empties it.
    File::options().append(true).open(path).map(drop)
}

pub(super) fn be_like(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

pub(super) fn is_own(_: &Metadata) -> bool {
    true
}

pub(super) fn is_trusted(_: &Metadata, _: &Path) -> io::Result<bool> {
    Ok(true)
}

pub(super) fn is_socket(_: &Metadata) -> bool {
    false
}

pub(super) fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}
