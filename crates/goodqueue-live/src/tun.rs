//! TUN and TAP devices.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use nix::errno::Errno;
use nix::unistd::{Gid, Group};

use crate::error::LiveError;
use crate::interface_name;

/// A TUN device: the kernel's end is a network interface, our end is a file. Closing the file
/// removes the device.
///
/// The kernel may hand over super-packets, so that one system call brings many segments. The
/// [`gso`](crate::gso) module cuts them into packets. Checksums may be incomplete, as on the way to
/// a network card.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    ethernet: bool,
}

impl Tun {
    /// Creates a TUN device, which carries IP packets, in the network namespace of this thread.
    ///
    /// # Errors
    /// The system has no TUN devices, this process may not create one, or the name is taken.
    pub fn create(name: &str) -> Result<Self, LiveError> {
        Self::open(name, false)
    }

    /// Creates a TAP device, which carries Ethernet frames, in the network namespace of this
    /// thread.
    ///
    /// # Errors
    /// As for [`Tun::create`].
    pub fn create_tap(name: &str) -> Result<Self, LiveError> {
        Self::open(name, true)
    }

    /// Returns the name of the kernel's interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if packets have an Ethernet header.
    pub(crate) const fn has_ethernet(&self) -> bool {
        self.ethernet
    }

    /// Returns the file that packets are read from and written to, with their offload headers.
    pub(crate) const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    fn open(name: &str, ethernet: bool) -> Result<Self, LiveError> {
        interface_name::check(name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(TUN_PATH)
            .map_err(|error| {
                let advice = advice(&error);
                LiveError::system(format_args!("{TUN_PATH} cannot be opened"), error).help(advice)
            })?;
        attach(&file, name, ethernet).map_err(|errno| match errno {
            Errno::EBUSY => LiveError::new(format!("there is an interface `{name}` already"))
                .help("choose another name, or end the program that owns it"),
            errno => LiveError::system(format_args!("the TUN device `{name}` cannot be created"), errno)
                .help("this needs CAP_NET_ADMIN in the network namespace"),
        })?;
        Ok(Self { file, name: name.to_owned(), ethernet })
    }
}

/// Returns what to do about a device file that cannot be opened.
fn advice(error: &std::io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EACCES) => {
            let who = std::fs::metadata(TUN_PATH).map_or(Access { mode: 0, group: None }, |about| Access {
                mode: about.mode(),
                group: Group::from_gid(Gid::from_raw(about.gid())).ok().flatten().map(|group| group.name),
            });
            who.advice()
        }
        // The rules of a container for devices.
        Some(Errno::EPERM) => {
            "this container may not use the device: start it with `--device /dev/net/tun`".to_owned()
        }
        _ => "load the tun module (`modprobe tun`); in a container, pass the device on (`--device /dev/net/tun`)"
            .to_owned(),
    }
}

/// Who may open the device file.
struct Access {
    mode: u32,
    /// Name of its group, if it has one.
    group: Option<String>,
}

impl Access {
    fn advice(&self) -> String {
        let mode = self.mode & 0o777;
        match &self.group {
            Some(group) if mode & 0o060 == 0o060 && group != "root" => format!(
                "its mode is {mode:04o}: join the group `{group}` (`sudo usermod -aG {group} $USER`) and log in again"
            ),
            _ => format!(
                "its mode is {mode:04o}: run `sudo chmod 0666 {TUN_PATH}`, and for good add the udev rule \
                 `KERNEL==\"tun\", MODE=\"0666\"`; the kernel asks for privileges later, so this mode is the usual one"
            ),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Makes `file` the process's end of a device without the packet information header.
#[expect(
    unsafe_code,
    reason = "an ioctl with a pointer to its argument; there is no other way to create a TUN device"
)]
fn attach(file: &File, name: &str, ethernet: bool) -> nix::Result<()> {
    nix::ioctl_write_ptr_bad!(tun_set_iff, libc::TUNSETIFF, libc::ifreq);
    // SAFETY: all bits zero is a valid `ifreq`, which holds integers, bytes and a pointer that is
    // not used here.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0, because the name is shorter (`interface_name::check`).
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let kind = if ethernet { libc::IFF_TAP } else { libc::IFF_TUN };
    // Without `IFF_TUN_EXCL` the kernel would attach us to a persistent device of this name.
    let flags = kind | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = u16::try_from(flags).unwrap_or(u16::MAX).cast_signed();
    // SAFETY: `file` is an open descriptor. TUNSETIFF reads and writes one `ifreq`, which outlives
    // the call.
    unsafe { tun_set_iff(file.as_raw_fd(), &raw const request) }.map(|_| ())?;
    // If this fails, the kernel cuts super-packets and completes checksums itself, which is slower.
    // A kernel that does not know one of the flags refuses all of them.
    let _ = offload(file, OFFLOADS | UDP_OFFLOADS).or_else(|_| offload(file, OFFLOADS));
    Ok(())
}

/// Tells the kernel what it may leave undone in the packets read from `file`.
#[expect(unsafe_code, reason = "an ioctl; there is no other way to set the offloads of a TUN device")]
fn offload(file: &File, offloads: libc::c_int) -> nix::Result<()> {
    nix::ioctl_write_int_bad!(tun_set_offload, libc::TUNSETOFFLOAD);
    // SAFETY: `file` is an open descriptor, and TUNSETOFFLOAD takes a number.
    unsafe { tun_set_offload(file.as_raw_fd(), offloads) }.map(|_| ())
}

/// `TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO6`, `TUN_F_TSO_ECN` (`linux/if_tun.h`).
const OFFLOADS: libc::c_int = 0x0f;
/// `TUN_F_USO4`, `TUN_F_USO6`, since Linux 6.2.
const UDP_OFFLOADS: libc::c_int = 0x60;

const TUN_PATH: &str = "/dev/net/tun";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_own_advice() {
        let of = |errno: i32| advice(&std::io::Error::from_raw_os_error(errno));
        assert!(of(libc::ENOENT).contains("modprobe tun"));
        assert!(of(libc::EPERM).contains("--device /dev/net/tun"));
        let denied = of(libc::EACCES);
        assert!(denied.contains("its mode is") && !denied.contains("modprobe"), "{denied}");
    }

    #[test]
    fn a_group_that_may_open_it_is_named() {
        let advice = |mode, group: &str| Access { mode, group: Some(group.to_owned()) }.advice();
        // 0o20000 is the type of a character device (inode(7)).
        assert!(advice(0o20660, "netdev").contains("usermod -aG netdev"));
        assert!(advice(0o20600, "netdev").contains("chmod 0666"));
        assert!(advice(0o20660, "root").contains("chmod 0666"), "nobody should join root's group");
    }
}
