//! TUN and TAP devices.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;

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
                LiveError::system(format_args!("{TUN_PATH} cannot be opened"), error).help(
                    "load the tun module (`modprobe tun`); in a container, pass the device on (`--device /dev/net/tun`)",
                )
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
    let flags = kind | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = u16::try_from(flags).unwrap_or(u16::MAX).cast_signed();
    // SAFETY: `file` is an open descriptor. TUNSETIFF reads and writes one `ifreq`, which outlives
    // the call.
    unsafe { tun_set_iff(file.as_raw_fd(), &raw const request) }.map(|_| ())?;
    // If this fails, the kernel cuts super-packets and completes checksums itself, which is slower.
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
