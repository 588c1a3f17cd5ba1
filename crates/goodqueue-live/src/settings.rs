//! The kernel's settings below `/proc/sys`. Programs inside a shell find them read-only; this
//! process can write them.
//!
//! Root in a user namespace that maps root may write settings of the whole machine
//! (`kernel/core_pattern`), because the kernel checks only the user's number. The read-only mount
//! protects against accidents. It is no protection against root inside, which can remove the mount,
//! as it can write root's files.

use std::fs;
use std::io;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::Uid;

/// Makes `/proc/sys` read-only in the mount namespace of this process if it runs as root. Other
/// users cannot write there anyway.
pub(crate) fn make_read_only() -> nix::Result<()> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let none: Option<&str> = None;
    mount(Some(PLACE), PLACE, none, MsFlags::MS_BIND, none)?;
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    mount(none, PLACE, none, flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, none)
}

/// Reverts [`make_read_only`] for this process, in its own mount namespace: a bottleneck inside
/// another one must change settings, too. Does not touch read-only mounts made by others, such as a
/// container's.
pub(crate) fn make_writable() {
    let is_ours = fs::read_to_string("/proc/self/mountinfo").is_ok_and(|mounts| is_ours(&mounts));
    if !is_ours || !Uid::effective().is_root() {
        return;
    }
    let none: Option<&str> = None;
    // If this fails, each required setting fails later with its own message.
    let _ = unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))
        .and_then(|()| umount2(PLACE, MntFlags::MNT_DETACH));
}

/// Sets `key`, a path below `/proc/sys/net`.
pub(crate) fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(format!("{PLACE}/net/{key}"), value)
}

/// True if `mountinfo` (proc_pid_mountinfo(5)) shows a read-only `/proc/sys` that belongs to a
/// /proc mounted from [`SOURCE`].
fn is_ours(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let Some((mounted, filesystem)) = line.split_once(" - ") else { return false };
        let mut mounted = mounted.split(' ').skip(4);
        mounted.next() == Some(PLACE)
            && mounted.next().is_some_and(|options| options.split(',').any(|option| option == "ro"))
            && filesystem.split(' ').nth(1) == Some(SOURCE)
    })
}

/// Name of the file system that [`crate::shell`] mounts at `/proc`. It distinguishes our read-only
/// mount from others.
pub(crate) const SOURCE: &str = "goodqueue";

const PLACE: &str = "/proc/sys";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_mount_of_a_container_is_not_taken_for_ours() {
        let line = |place: &str, options: &str, source: &str| {
            format!("60 52 0:25 /sys {place} {options} - proc {source} rw\n")
        };
        assert!(is_ours(&line("/proc/sys", "ro,nosuid,nodev,noexec,relatime", SOURCE)));
        assert!(is_ours(&format!(
            "28 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n{}",
            line("/proc/sys", "ro", SOURCE)
        )));
        assert!(!is_ours(&line("/proc/sys", "ro,nosuid", "proc")));
        assert!(!is_ours(&line("/proc/sys", "rw,nosuid", SOURCE)));
        assert!(!is_ours(&line("/proc", "ro,nosuid", SOURCE)));
        assert!(!is_ours("no such line\n"));
    }
}
