//! The kernel's settings: `/proc/sys`, and the other files by which root changes the machine.
//!
//! Root in a user namespace that maps root may write settings of the whole machine
//! (`kernel/core_pattern`), because the kernel checks only the user's number. So root's programs
//! find these files read-only. The mounts belong to an outer user namespace, and the programs are
//! in an inner one. There the kernel locks all mounts of the outer one, and it refuses another
//! `/proc` because a part of the existing one is covered (mount_namespaces(7)).
//!
//! The settings of the programs' own network and user namespaces stay writable.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::error::LiveError;

/// Makes the kernel's settings read-only in the mount namespace of this process, except those of
/// its network and user namespaces. They stay so for all processes in user namespaces inside the
/// one that owns this mount namespace.
///
/// # Errors
/// `/proc/sys` stays writable.
pub(crate) fn protect() -> Result<(), LiveError> {
    for place in OWN {
        let _ = bind(place, MsFlags::empty());
    }
    for place in PLACES.iter().filter(|place| Path::new(place).exists()) {
        // The copies of `OWN` are carried along, and stay writable.
        let _ = bind(place, MsFlags::MS_REC).and_then(|()| make_read_only(Path::new(place), CAUTIOUS));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    for other in others(&mounts) {
        // A mount that another one covers cannot be reached, neither here nor by programs.
        let _ = make_read_only(&other.place, other.flags);
    }
    // A container may forbid all this, and then has it read-only itself.
    match statvfs(SYS) {
        Ok(about) if !about.flags().contains(FsFlags::ST_RDONLY) => Err(LiveError::new(
            "the settings of this machine (/proc/sys) cannot be made read-only for programs that root runs",
        )
        .help("run goodqueue as another user; in a container, allow `mount`, or make /proc/sys read-only")),
        _ => Ok(()),
    }
}

fn bind(place: &str, more: MsFlags) -> nix::Result<()> {
    let none: Option<&str> = None;
    mount(Some(place), place, none, MsFlags::MS_BIND | more, none)
}

/// `flags` are those that the mount has, because the kernel refuses to take some of them away.
fn make_read_only(place: &Path, flags: MsFlags) -> nix::Result<()> {
    let none: Option<&str> = None;
    mount(none, place, none, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | flags, none)
}

/// Sets `key`, a path below `/proc/sys/net`.
pub(crate) fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(format!("{SYS}/net/{key}"), value)
}

/// A mount of a file system that consists of the kernel's settings.
#[derive(PartialEq, Eq, Debug)]
struct Mounted {
    place: PathBuf,
    flags: MsFlags,
}

/// Returns the writable mounts of the kernel's settings outside of `/proc` from the contents of
/// `mountinfo` (proc_pid_mountinfo(5)).
fn others(mounts: &str) -> Vec<Mounted> {
    let read = |line: &str| {
        let (mounted, file_system) = line.split_once(" - ")?;
        // Skips the numbers of mount, parent and device, and the root of the mount.
        let mut mounted = mounted.split(' ').skip(4);
        let place = mounted.next()?;
        let options = mounted.next()?;
        let has = |name: &str| options.split(',').any(|option| option == name);
        let is_ours = place == "/proc" || OWN.contains(&place);
        if is_ours || has("ro") || !KINDS.contains(&file_system.split(' ').next()?) {
            return None;
        }
        let all =
            [("nosuid", MsFlags::MS_NOSUID), ("nodev", MsFlags::MS_NODEV), ("noexec", MsFlags::MS_NOEXEC)];
        let flags = all.into_iter().filter(|(name, _)| has(name)).map(|(_, flag)| flag).collect();
        Some(Mounted { place: unescaped(place), flags })
    };
    mounts.lines().filter_map(read).collect()
}

/// Returns a path of `mountinfo`, in which blanks and some other bytes are octal numbers.
fn unescaped(place: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = place.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let number = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match (first, after.get(..3).and_then(number)) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

const SYS: &str = "/proc/sys";
/// Settings of the namespaces of the process that opens them.
const OWN: [&str; 2] = ["/proc/sys/net", "/proc/sys/user"];
/// Files by which root changes the machine, as containers protect them (OCI runtime specification,
/// `readonlyPaths`).
const PLACES: [&str; 7] =
    ["/proc/acpi", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/scsi", SYS, "/proc/sysrq-trigger"];
/// File systems that consist of the kernel's settings.
const KINDS: [&str; 10] = [
    "proc",
    "sysfs",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "efivarfs",
    "pstore",
    "binfmt_misc",
    "selinuxfs",
];
/// Flags with which `/proc` is mounted.
const CAUTIOUS: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_mounted_elsewhere_are_found_with_the_flags_that_they_must_keep() {
        let mounts = "22 1 0:21 / /proc rw,nosuid - proc proc rw
23 1 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
24 23 0:7 / /sys/kernel/debug rw - debugfs none rw
25 1 0:21 / /srv/a\\040box/proc rw,nodev - proc proc rw
26 1 0:21 /sys /srv/ro/sys ro,nosuid - proc proc rw
27 22 0:21 /sys/net /proc/sys/net rw,nosuid - proc goodqueue rw
28 1 8:1 / /srv rw - ext4 /dev/sda1 rw
no such line";
        let found: Vec<_> = others(mounts).into_iter().map(|one| (one.place, one.flags)).collect();
        assert_eq!(
            found,
            [
                (PathBuf::from("/sys"), CAUTIOUS),
                (PathBuf::from("/sys/kernel/debug"), MsFlags::empty()),
                (PathBuf::from("/srv/a box/proc"), MsFlags::MS_NODEV),
            ]
        );
    }
}
