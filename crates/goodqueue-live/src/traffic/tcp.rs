//! The kernel's TCP: sockets with chosen settings, and the kernel's counters.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, sockopt};

use super::spec::{FlowTally, TcpOptions};

/// Creates an unconnected socket with the settings of `tcp`.
pub(super) fn tcp_socket(tcp: &TcpOptions) -> io::Result<OwnedFd> {
    let socket =
        nix::sys::socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    setsockopt(&socket, sockopt::TcpCongestion, &std::ffi::OsString::from(&tcp.congestion_control)).map_err(
        |errno| {
            let problem = format!(
                "the kernel refuses the congestion control `{}` ({errno}); available: {}",
                tcp.congestion_control,
                available_congestion_controls()
            );
            io::Error::new(ErrorKind::InvalidInput, problem)
        },
    )?;
    if let Some(mss) = tcp.mss {
        // Set before the connection, the size is also announced to the other end (tcp(7)).
        setsockopt(&socket, sockopt::TcpMaxSeg, &mss)?;
    }
    Ok(socket)
}

/// Returns the kernel's list of its congestion controls.
#[must_use]
pub fn available_congestion_controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .map_or_else(|_| "?".to_owned(), |list| list.trim().to_owned())
}

/// Returns the kernel's packet counters of a connection.
///
/// The offsets are those of `struct tcp_info` (`include/uapi/linux/tcp.h`), which only ever grows
/// at its end.
#[expect(unsafe_code, reason = "no crate reads TCP_INFO of newer kernels completely")]
pub(super) fn tcp_info(socket: BorrowedFd<'_>) -> FlowTally {
    // Longer than the fields that are read; the kernel writes no more than fits.
    let mut info = [0_u8; 256];
    let mut length = libc::socklen_t::try_from(info.len()).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has that length, and stores
    // the number of bytes written in `length`.
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
    // Fields that an older kernel does not write stay 0.
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn the_kernel_counts_the_packets_that_a_connection_sends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        (&client).write_all(&[0; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        let tally = tcp_info(client.as_fd());
        // 1000 bytes fit in one segment of the loopback interface.
        assert_eq!((tally.sent, tally.retransmits, tally.timeouts), (1, 0, 0));
        assert_eq!(tcp_info(server.as_fd()).sent, 0);
    }
}
