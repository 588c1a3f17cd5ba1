//! Where packets come from and go to: TUN devices, and network interfaces seen through packet sockets.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;

use crate::error::LiveError;
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
    /// Reads one packet; `WouldBlock` if there is none.
    ///
    /// # Errors
    /// The system's.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tun(tun) => tun.file.read(into),
            Self::Interface(interface) => interface.read(into),
        }
    }

    /// Writes one packet.
    ///
    /// # Errors
    /// The system's; `WouldBlock` if it takes none now.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.file.write(packet).map(|_| ()),
            Self::Interface(interface) => interface.write(packet),
        }
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
/// No offloads are asked for, so the kernel cuts segments to the size of the MTU and completes checksums before a packet
/// comes here: nothing that we see is larger than one packet.
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
    let flags = kind | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
    request.ifr_ifru.ifru_flags = u16::try_from(flags).unwrap_or(u16::MAX).cast_signed();
    // SAFETY: `file` is an open descriptor, and TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    unsafe { tun_set_iff(std::os::fd::AsRawFd::as_raw_fd(file), &raw const request) }.map(|_| ())
}

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
