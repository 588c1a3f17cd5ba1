//! The kernel's TCP: what it is asked for, and what it counts.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, sockopt};

use super::FlowTally;

/// What can be asked of the kernel's TCP for one connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpOptions {
    /// Its congestion control, by the kernel's name.
    pub congestion_control: String,
    /// Largest segment, if it is not that of the path.
    pub mss: Option<u32>,
}

/// A socket that is as `tcp` asks, not connected yet.
pub(super) fn tcp_socket(tcp: &TcpOptions) -> io::Result<OwnedFd> {
    let socket =
        nix::sys::socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    setsockopt(&socket, sockopt::TcpCongestion, &std::ffi::OsString::from(&tcp.congestion_control)).map_err(
        |errno| {
            let problem = format!(
                "the kernel does not let us use the congestion control `{}` ({errno}); it has: {}",
                tcp.congestion_control,
                available_congestion_controls()
            );
            io::Error::new(ErrorKind::InvalidInput, problem)
        },
    )?;
    if let Some(mss) = tcp.mss {
        setsockopt(&socket, sockopt::TcpMaxSeg, &mss)?;
    }
    Ok(socket)
}

/// The congestion controls of this kernel, as it lists them.
#[must_use]
pub fn available_congestion_controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .map_or_else(|_| "?".to_owned(), |list| list.trim().to_owned())
}

/// What the kernel counts for a connection: offsets in `struct tcp_info` (`include/uapi/linux/tcp.h`), to which fields are
/// only ever added at the end.
#[expect(unsafe_code, reason = "no crate reads TCP_INFO of newer kernels whole")]
pub(super) fn tcp_info(socket: BorrowedFd<'_>) -> FlowTally {
    let mut info = [0_u8; 256];
    let mut length = libc::socklen_t::try_from(info.len()).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes to `info`, which holds as many, and tells how many it wrote.
    let answered = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answered != 0 {
        return FlowTally::default();
    }
    // What an older kernel did not write is 0.
    let word =
        |at: usize| u64::from(u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]));
    FlowTally {
        sent: word(DATA_SEGS_OUT),
        retransmits: word(TOTAL_RETRANS),
        timeouts: u64::from(u16::from_ne_bytes([info[TOTAL_RTO], info[TOTAL_RTO + 1]])),
        ..FlowTally::default()
    }
}

const TOTAL_RETRANS: usize = 100;
const DATA_SEGS_OUT: usize = 156;
const TOTAL_RTO: usize = 240;
