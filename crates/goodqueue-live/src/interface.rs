//! Network interfaces through packet sockets: whole Ethernet frames, all that arrive and none of
//! our own.
//!
//! Frames are read and written with an offload header. Promiscuous mode, the only change to the
//! interface, ends with the socket.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;

use crate::error::LiveError;
use crate::interface_name;
use crate::netlink;

/// A network interface, used through a packet socket.
#[derive(Debug)]
pub struct Interface {
    socket: File,
    name: String,
}

impl Interface {
    /// Opens the interface `name` in the network namespace of this thread.
    ///
    /// # Errors
    /// There is no such interface, it is part of a bridge, or this process lacks the privilege.
    pub fn open(name: &str) -> Result<Self, LiveError> {
        interface_name::check(name)?;
        let index = netlink::index_of(name)?;
        if std::path::Path::new("/sys/class/net").join(name).join("master").exists() {
            return Err(LiveError::new(format!(
                "`{name}` is part of a bridge or bond, which already forwards its frames"
            ))
            .help(format!("remove it from there first: `ip link set {name} nomaster`")));
        }
        let socket = packet_socket(index).map_err(|errno| {
            let error = LiveError::system(format_args!("frames of `{name}` cannot be read"), errno);
            match errno {
                Errno::EPERM | Errno::EACCES => {
                    error.help("this needs CAP_NET_RAW and CAP_NET_ADMIN: run it with sudo, or grant them to the program with setcap")
                }
                _ => error,
            }
        })?;
        Ok(Self { socket: File::from(socket), name: name.to_owned() })
    }

    /// Returns the file that frames are read from and written to, with their offload headers.
    pub(crate) const fn file(&mut self) -> &mut File {
        &mut self.socket
    }

    /// Returns the name of the interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[expect(unsafe_code, reason = "no safe crate binds packet sockets")]
fn packet_socket(index: u32) -> nix::Result<OwnedFd> {
    // packet(7) wants the protocol in network byte order.
    let every = libc::c_int::from(u16::try_from(libc::ETH_P_ALL).unwrap_or(0).to_be());
    // Protocol 0 receives nothing, so no frame of another interface arrives before `bind`.
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: socket(2) takes numbers only, and nothing else owns the descriptor that it returns.
    let socket = unsafe {
        let descriptor = Errno::result(libc::socket(libc::AF_PACKET, kind, 0))?;
        OwnedFd::from_raw_fd(descriptor)
    };
    set(&socket, PACKET_VNET_HDR, &1)?;
    // A socket for all protocols also sees frames that the host sends through the interface.
    // They do not arrive from this side.
    set(&socket, PACKET_IGNORE_OUTGOING, &1)?;
    let index = libc::c_int::try_from(index).map_err(|_| Errno::ENODEV)?;
    // SAFETY: all bits zero is a valid `sockaddr_ll`, which holds integers only.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = u16::try_from(every).unwrap_or(0);
    address.sll_ifindex = index;
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or(0);
    // SAFETY: `address` is a `sockaddr_ll` of the given length and outlives the call.
    Errno::result(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    let everybody =
        libc::packet_mreq { mr_ifindex: index, mr_type: PACKET_MR_PROMISC, mr_alen: 0, mr_address: [0; 8] };
    set(&socket, libc::PACKET_ADD_MEMBERSHIP, &everybody)?;
    Ok(socket)
}

#[expect(unsafe_code, reason = "no safe crate sets options of packet sockets")]
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> nix::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: `value` has the given length and outlives the call. The kernel only reads it.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    Errno::result(answer).map(|_| ())
}

// `include/uapi/linux/if_packet.h`.
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const PACKET_MR_PROMISC: u16 = 1;
