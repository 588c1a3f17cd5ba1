//! Configuration of interfaces through rtnetlink, in the network namespace of the thread that
//! opened the socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::error::LiveError;

/// A connection to the kernel about one network namespace. It keeps that namespace when the thread
/// moves to another.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// The kernel's counters of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct InterfaceCounters {
    /// Packets sent: to this process (TUN), or to the wire.
    pub sent: u64,
    /// Packets received: from this process (TUN), or from the wire.
    pub received: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets that the kernel dropped because its transmit queue was full.
    pub dropped: u64,
    /// Current MTU in bytes.
    pub mtu: u32,
    /// True if the interface is up.
    pub is_up: bool,
}

/// TCP settings of a route. `None` keeps the kernel's default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RouteTcp {
    /// Initial congestion window in segments.
    pub initial_window: Option<u32>,
    /// Minimum retransmission timeout in milliseconds.
    pub min_rto_ms: Option<u32>,
}

impl Netlink {
    /// Opens a connection for the network namespace of this thread.
    ///
    /// # Errors
    /// The system refuses the socket.
    pub fn open() -> Result<Self, LiveError> {
        let failed =
            |error| LiveError::system("the kernel's routing socket (netlink) cannot be opened", error);
        let mut socket = Socket::new(NETLINK_ROUTE).map_err(failed)?;
        socket.bind_auto().map_err(failed)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(failed)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Brings an interface up. Sets its MTU and the length of its transmit queue if given.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_up(&mut self, index: u32, mtu: Option<u32>, queue: Option<u32>) -> Result<(), LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        // Only this flag changes.
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        message.attributes.extend(queue.map(LinkAttribute::TxQueueLen));
        self.change("bring an interface up", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Limits an interface to single packets, so that TCP sends segment by segment instead of in
    /// bursts that are cut late.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn segment_at_sender(&mut self, index: u32) -> Result<(), LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::GsoMaxSegs(1));
        self.change("switch off segmentation offload", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Adds an address to an interface.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), LiveError> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        // Duplicate address detection is not needed: no other host is on this link.
        message.header.flags = AddressHeaderFlags::Nodad;
        // IPv4 needs the local address. A different second one would be that of a peer.
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.change("set an address", RouteNetlinkMessage::NewAddress(message), flags)
    }

    /// Adds a default route through an interface for the address family of `any`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn add_default_route(&mut self, index: u32, any: IpAddr, tcp: RouteTcp) -> Result<(), LiveError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(any);
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        // A route without a destination is a default route.
        message.attributes = vec![RouteAttribute::Oif(index)];
        message.attributes.extend(metrics(tcp));
        self.change("set a route", RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Reads the counters of an interface.
    ///
    /// # Errors
    /// The interface no longer exists.
    pub fn counters(&mut self, index: u32) -> Result<InterfaceCounters, LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let answer = self.ask("read an interface", RouteNetlinkMessage::GetLink(message), NLM_F_REQUEST)?;
        let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
            return Err(LiveError::new("the kernel's answer about an interface cannot be read"));
        };
        let mut counters =
            InterfaceCounters { is_up: link.header.flags.contains(LinkFlags::Up), ..Default::default() };
        for attribute in link.attributes {
            match attribute {
                LinkAttribute::Stats64(stats) => {
                    counters.sent = stats.tx_packets;
                    counters.received = stats.rx_packets;
                    counters.received_bytes = stats.rx_bytes;
                    counters.dropped = stats.tx_dropped;
                }
                LinkAttribute::Mtu(mtu) => counters.mtu = mtu,
                _ => {}
            }
        }
        Ok(counters)
    }

    /// Sets the hardware address of an interface.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn set_hardware_address(&mut self, index: u32, address: Vec<u8>) -> Result<(), LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::Address(address));
        self.change("set a hardware address", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Reads the hardware address of an interface.
    ///
    /// # Errors
    /// The interface no longer exists.
    pub(crate) fn hardware_address(&mut self, index: u32) -> Result<Vec<u8>, LiveError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let answer = self.ask("read an interface", RouteNetlinkMessage::GetLink(message), NLM_F_REQUEST)?;
        let Some(RouteNetlinkMessage::NewLink(link)) = answer else { return Ok(Vec::new()) };
        let address = link.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Address(address) => Some(address),
            _ => None,
        });
        Ok(address.unwrap_or_default())
    }

    /// Lists all addresses or routes of this network namespace, in the form in which the kernel
    /// takes them back.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn list(&mut self, what: Restorable) -> Result<Vec<Vec<u8>>, LiveError> {
        let failed = |error| LiveError::system(format_args!("cannot list {}s", what.name()), error);
        // Zeros stand for all address families. They are as long as `struct rtmsg`; `struct
        // ifaddrmsg` is shorter.
        self.send_raw(what.kind() + GET, NLM_F_REQUEST | NLM_F_DUMP, &[0; 12]).map_err(failed)?;
        let mut all = Vec::new();
        loop {
            let (answers, _) = self.socket.recv_from_full().map_err(failed)?;
            for (kind, sequence, message) in raw_messages(&answers) {
                if sequence != self.sequence {
                    continue;
                }
                match i32::from(kind) {
                    libc::NLMSG_DONE => return Ok(all),
                    libc::NLMSG_ERROR => return Err(failed(error_of(message))),
                    _ if kind == what.kind() => all.push(message.to_vec()),
                    _ => {}
                }
            }
        }
    }

    /// Restores an address or a route as it was listed.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn restore(&mut self, what: Restorable, message: &[u8]) -> Result<(), LiveError> {
        self.change_raw(what.kind(), NLM_F_CREATE | NLM_F_REPLACE, message)
            .map_err(|error| LiveError::system(format_args!("this {} cannot be set", what.name()), error))
    }

    /// Removes an address, with the routes that depend on it, or a route.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn remove(&mut self, what: Restorable, message: &[u8]) -> Result<(), LiveError> {
        self.change_raw(what.kind() + DELETE, 0, message)
            .map_err(|error| LiveError::system(format_args!("this {} cannot be removed", what.name()), error))
    }

    fn change_raw(&mut self, kind: u16, flags: u16, message: &[u8]) -> std::io::Result<()> {
        self.send_raw(kind, NLM_F_REQUEST | NLM_F_ACK | flags, message)?;
        for _ in 0..MOST_ANSWERS {
            let (answers, _) = self.socket.recv_from_full()?;
            for (kind, sequence, message) in raw_messages(&answers) {
                if sequence == self.sequence && i32::from(kind) == libc::NLMSG_ERROR {
                    return match error_of(message) {
                        // An error of 0 is the acknowledgement (netlink(7)).
                        error if error.raw_os_error() == Some(0) => Ok(()),
                        error => Err(error),
                    };
                }
            }
        }
        Err(std::io::ErrorKind::TimedOut.into())
    }

    fn send_raw(&mut self, kind: u16, flags: u16, message: &[u8]) -> std::io::Result<()> {
        self.sequence += 1;
        let mut bytes = u32::try_from(MESSAGE_HEADER + message.len()).unwrap_or(0).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        // Port 0: the kernel fills in the port of the socket.
        bytes.extend([0; 4]);
        bytes.extend(message);
        self.socket.send(&bytes, 0).map(|_| ())
    }

    fn change(&mut self, what: &str, message: RouteNetlinkMessage, flags: u16) -> Result<(), LiveError> {
        self.ask(what, message, NLM_F_REQUEST | NLM_F_ACK | flags).map(|_| ())
    }

    /// Sends one request and waits for its answer or acknowledgement.
    fn ask(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Option<RouteNetlinkMessage>, LiveError> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        let failed = |error| LiveError::system(format_args!("cannot {what}"), error);
        self.socket.send(&bytes, 0).map_err(failed)?;
        // Answers to earlier requests are skipped.
        for _ in 0..MOST_ANSWERS {
            let (answer, _) = self.socket.recv_from_full().map_err(failed)?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
                .map_err(|error| LiveError::new(format!("cannot {what}: {error}")))?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            return match answer.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => Err(failed(error.to_io())),
                NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
                _ => Ok(None),
            };
        }
        Err(LiveError::new(format!("cannot {what}: the kernel does not answer")))
    }
}

/// Configuration that moves from one interface to another and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Restorable {
    Address,
    Route,
}

impl Restorable {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Route => "route",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Address, Self::Route].into_iter().find(|one| one.name() == name)
    }

    /// `RTM_NEWADDR` or `RTM_NEWROUTE`. The requests to delete and to list follow in the numbering.
    const fn kind(self) -> u16 {
        match self {
            Self::Address => 20,
            Self::Route => 24,
        }
    }
}

/// Returns the type, sequence number and content of each message.
pub(crate) fn raw_messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    std::iter::from_fn(move || {
        let header = bytes.first_chunk::<MESSAGE_HEADER>()?;
        let word =
            |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let length = usize::try_from(word(0)).ok()?;
        // A length that is shorter than the header ends the list, because the range is invalid.
        let message = bytes.get(MESSAGE_HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, word(8), message))
    })
}

pub(crate) fn error_of(message: &[u8]) -> std::io::Error {
    let code = message.first_chunk().map_or(-libc::EPROTO, |code| i32::from_ne_bytes(*code));
    // The kernel sends the negative error number.
    std::io::Error::from_raw_os_error(code.saturating_neg())
}

/// Returns the attributes (type and value) of an rtnetlink message with `header` bytes in front of
/// them.
pub(crate) fn attributes(message: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = message.get(header..).unwrap_or_default();
    std::iter::from_fn(move || {
        let start = rest.first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([start[0], start[1]]));
        let kind = u16::from_ne_bytes([start[2], start[3]]) & TYPE_MASK;
        let value = rest.get(4..length)?;
        // Attributes begin at multiples of 4 bytes (netlink(7)). The last one may lack its padding.
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Returns the bytes of one attribute, padded.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn metrics(tcp: RouteTcp) -> Option<RouteAttribute> {
    let metrics: Vec<RouteMetric> =
        [tcp.initial_window.map(RouteMetric::InitCwnd), tcp.min_rto_ms.map(RouteMetric::RtoMin)]
            .into_iter()
            .flatten()
            .collect();
    (!metrics.is_empty()).then_some(RouteAttribute::Metrics(metrics))
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// Returns the index of the interface `name` in the network namespace of this thread.
///
/// # Errors
/// There is no such interface.
pub fn index_of(name: &str) -> Result<u32, LiveError> {
    nix::net::if_::if_nametoindex(name)
        .map_err(|error| LiveError::system(format_args!("there is no interface `{name}`"), error))
}

/// Stands for all IPv4 addresses.
pub const ANY_V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// Stands for all IPv6 addresses.
pub const ANY_V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

const MOST_ANSWERS: usize = 16;
const MESSAGE_HEADER: usize = 16;
/// `NLA_TYPE_MASK`: the two bits above are flags.
const TYPE_MASK: u16 = 0x3fff;
/// Offset from the message type that creates to the ones that delete and list.
const DELETE: u16 = 1;
const GET: u16 = 2;
