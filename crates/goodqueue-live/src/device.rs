//! Where packets come from and go to: TUN devices, and network interfaces seen through packet sockets.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;

use crate::error::LiveError;
use crate::gso::Offload;
use crate::packet::Framing;

/// Something that packets are read from and written to, without ever waiting.
#[derive(Debug)]
pub enum Device {
    /// A TUN device.
    Tun(Tun),
    /// A network interface.
    Interface(crate::interface::Interface),
}

impl Device {
    /// Reads what the kernel takes for one packet, with what it says in front of it; `WouldBlock` if there is none.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file().read(into)
    }

    /// Writes what the kernel takes for one packet, in pieces.
    ///
    /// # Errors
    /// The system's; `WouldBlock` if it takes none now.
    pub(crate) fn write<'p>(
        &mut self,
        offload: Offload,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> io::Result<()> {
        let header = offload.write();
        let first: &[u8] = &header;
        let all: Vec<IoSlice<'_>> =
            std::iter::once(first).chain(pieces.map(|piece| -> &[u8] { piece })).map(IoSlice::new).collect();
        self.file().write_vectored(&all).map(|_| ())
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Tun(tun) => &mut tun.file,
            Self::Interface(interface) => interface.file(),
        }
    }

    /// Several packets can be given to it as one, for a stack that takes them like that.
    pub(crate) const fn takes_super_packets(&self) -> bool {
        matches!(self, Self::Tun(_))
    }

    /// What stands in front of the IP header, with so many bytes counted where there is nothing.
    #[must_use]
    pub const fn framing(&self, counted: u32) -> Framing {
        match self {
            Self::Tun(tun) if tun.frames => Framing::Ethernet,
            Self::Tun(_) => Framing::Ip { counted },
            Self::Interface(_) => Framing::Ethernet,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Tun(tun) => &tun.name,
            Self::Interface(interface) => interface.name(),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.file.as_fd(),
            Self::Interface(interface) => interface.as_fd(),
        }
    }
}

/// A TUN device: the kernel's end is a network interface, ours a file. Both vanish when the file is closed.
///
/// Super-packets are asked for: one system call brings many segments, which are cut before anything else is done with them.
/// Checksums are left open, as they would be on their way to a network card.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    frames: bool,
}

impl Tun {
    /// Makes one in the network namespace of this thread.
    ///
    /// # Errors
    /// There are no TUN devices, we may not make one, or the name is taken.
    pub fn create(name: &str) -> Result<Self, LiveError> {
        Self::open(name, false)
    }

    /// The same with Ethernet frames instead of IP packets.
    ///
    /// # Errors
    /// As [`Tun::create`].
    pub fn create_tap(name: &str) -> Result<Self, LiveError> {
        Self::open(name, true)
    }

    /// The name of the kernel's end.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn open(name: &str, frames: bool) -> Result<Self, LiveError> {
        check_name(name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(TUN_PATH)
            .map_err(|error| {
                LiveError::system(format_args!("{TUN_PATH} cannot be opened"), error).help(
                    "load the tun module (`modprobe tun`); in a container, pass the device on (`--device /dev/net/tun`)",
                )
            })?;
        attach(&file, name, frames).map_err(|errno| match errno {
            Errno::EBUSY => LiveError::new(format!("there is an interface `{name}` already"))
                .help("choose another name, or end the program that it belongs to"),
            errno => LiveError::system(format_args!("the TUN device `{name}` cannot be made"), errno)
                .help("this needs CAP_NET_ADMIN in the network namespace"),
        })?;
        Ok(Self { file, name: name.to_owned(), frames })
    }
}

/// Linux's rule (`dev_valid_name`), and no `%`, which the kernel would replace by a number.
pub(crate) fn check_name(name: &str) -> Result<(), LiveError> {
    let length_is_good = (1..libc::IFNAMSIZ).contains(&name.len());
    let bad = |c: char| c == '/' || c == ':' || c == '%' || c == '\0' || c.is_whitespace();
    if length_is_good && name != "." && name != ".." && !name.contains(bad) {
        return Ok(());
    }
    Err(LiveError::new(format!("`{}` cannot be the name of an interface", name.escape_debug()))
        .help("1 to 15 bytes without white space, `/`, `:` and `%`"))
}

/// Makes `file` one end of a TUN device without packet information header.
#[expect(
    unsafe_code,
    reason = "an ioctl with a pointer to its argument; there is no other way to make a TUN device"
)]
fn attach(file: &File, name: &str, frames: bool) -> nix::Result<()> {
    nix::ioctl_write_ptr_bad!(tun_set_iff, libc::TUNSETIFF, libc::ifreq);
    // SAFETY: all bits zero is a value of `ifreq`, which holds integers and bytes only (and a pointer not used here).
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0: `check_name` has seen to the length.
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let kind = if frames { libc::IFF_TAP } else { libc::IFF_TUN };
    let flags = kind | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = u16::try_from(flags).unwrap_or(u16::MAX).cast_signed();
    // SAFETY: `file` is an open descriptor, and TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    unsafe { tun_set_iff(std::os::fd::AsRawFd::as_raw_fd(file), &raw const request) }.map(|_| ())?;
    // Without this the kernel cuts and completes before a packet comes here: slower, and right as well.
    let _ = offload(file, OFFLOADS | UDP_OFFLOADS).or_else(|_| offload(file, OFFLOADS));
    Ok(())
}

/// Says what may be left to do with the packets that are read from `file`.
#[expect(unsafe_code, reason = "an ioctl; there is no other way to set the offloads of a TUN device")]
fn offload(file: &File, what: libc::c_int) -> nix::Result<()> {
    nix::ioctl_write_int_bad!(tun_set_offload, libc::TUNSETOFFLOAD);
    // SAFETY: `file` is an open descriptor, and TUNSETOFFLOAD takes a number.
    unsafe { tun_set_offload(std::os::fd::AsRawFd::as_raw_fd(file), what) }.map(|_| ())
}

/// `TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO6`, `TUN_F_TSO_ECN` (`linux/if_tun.h`).
const OFFLOADS: libc::c_int = 0x0f;
/// `TUN_F_USO4`, `TUN_F_USO6`, from Linux 6.2 on.
const UDP_OFFLOADS: libc::c_int = 0x60;

const TUN_PATH: &str = "/dev/net/tun";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_kernel_would_refuse_or_change_are_refused() {
        for bad in ["", ".", "..", "a/b", "a%d", "a b", "0123456789abcdef", "a:b", "a\0"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        for good in ["gq0", "0123456789abcde"] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
    }
}
