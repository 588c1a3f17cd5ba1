//! The two sorts of devices that packets are read from and written to: TUN devices and network
//! interfaces.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use crate::gso::Offload;
use crate::interface::Interface;
use crate::packet::Framing;
use crate::tun::Tun;

/// A source and sink of packets. Reads and writes never block.
#[derive(Debug)]
pub enum Device {
    /// A TUN device.
    Tun(Tun),
    /// A network interface.
    Interface(Interface),
}

impl Device {
    /// Reads one packet or super-packet, preceded by the kernel's offload header.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, and errors of the system.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file().read(into)
    }

    /// Writes one packet or super-packet, given in pieces.
    ///
    /// # Errors
    /// `WouldBlock` if the device is full, and errors of the system.
    pub(crate) fn write<'p>(
        &mut self,
        offload: Offload,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> io::Result<()> {
        let header = offload.write();
        let first: &[u8] = &header;
        let all: Vec<IoSlice<'_>> =
            std::iter::once(first).chain(pieces.map(|piece| -> &[u8] { piece })).map(IoSlice::new).collect();
        // Both kinds of devices take a packet as a whole or refuse it, so no part can be left over.
        self.file().write_vectored(&all).map(|_| ())
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Tun(tun) => tun.file(),
            Self::Interface(interface) => interface.file(),
        }
    }

    /// True if a super-packet may be written to it.
    pub(crate) const fn takes_super_packets(&self) -> bool {
        matches!(self, Self::Tun(_))
    }

    /// Returns the link header of its packets. Where there is none, queues count `counted` bytes.
    #[must_use]
    pub const fn framing(&self, counted: u32) -> Framing {
        match self {
            Self::Tun(tun) if tun.has_ethernet() => Framing::Ethernet,
            Self::Tun(_) => Framing::Ip { counted },
            Self::Interface(_) => Framing::Ethernet,
        }
    }

    /// Returns the name of the kernel's interface.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Tun(tun) => tun.name(),
            Self::Interface(interface) => interface.name(),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Interface(interface) => interface.as_fd(),
        }
    }
}
