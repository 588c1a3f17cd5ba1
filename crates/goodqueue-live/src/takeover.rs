//! Moving the addresses and routes of one interface to another for the lifetime of this process,
//! for `shape --take-over`.
//!
//! The host then sends and receives through the other interface, which has the same hardware
//! address. A packet filter rule hides frames that arrive at the first interface from the host's
//! network stack; only our packet socket sees them. The rule and the other interface end with this
//! process. A [`Guardian`] restores addresses and routes.

use std::net::IpAddr;
use std::path::Path;

use crate::error::LiveError;
use crate::netlink::{self, Netlink, Restorable, attribute, attributes};
use crate::nftables::{Chain, Family, HOOK_INGRESS, Rule, Rules};
use crate::undo::{Guardian, Undo};

/// A taken-over interface. Dropping this restores its addresses and routes.
#[derive(Debug)]
pub(crate) struct TakeOver {
    _rules: Rules,
    _guardian: Guardian,
}

impl TakeOver {
    /// Moves addresses and routes from `from` to `to`, which must be up. Writes the previous state
    /// to `undo_file` first.
    ///
    /// # Errors
    /// This process lacks the privilege, the kernel lacks a feature, or `from` has a route that
    /// could not be restored. Nothing is changed.
    pub(crate) fn begin(from: &str, to: &str, undo_file: &Path) -> Result<Self, LiveError> {
        let mut netlink = Netlink::open()?;
        let old = netlink::index_of(from)?;
        let new = netlink::index_of(to)?;
        let addresses: Vec<Vec<u8>> = netlink
            .list(Restorable::Address)?
            .into_iter()
            .filter(|message| index_of_address(message) == Some(old) && !is_link_local(message))
            .collect();
        let routes = routes_of(&netlink.list(Restorable::Route)?, from, old)?;

        let mut undo = Undo::by(&format!("goodqueue shape --before {from} --take-over"));
        for message in &addresses {
            undo.note(from, old, Restorable::Address, &words_of_address(message, from), message);
        }
        for message in &routes {
            undo.note(from, old, Restorable::Route, &words_of_route(message, from), message);
        }
        let guardian = Guardian::start(undo_file)?;
        undo.write(undo_file)?;
        // If a later step fails, dropping the guardian undoes the earlier ones.
        let nothing = [Rule::default().drop()];
        let ingress = Chain {
            name: "ingress",
            kind: "filter",
            hook: HOOK_INGRESS,
            priority: 0,
            device: Some(from),
            rules: &nothing,
        };
        let rules = Rules::create(Family::Netdev, &format!("goodqueue-{from}"), &[ingress])?;
        for message in &addresses {
            netlink.restore(Restorable::Address, &address_on(message, new))?;
        }
        // The kernel may remove the other addresses of a network with its first one, so that one
        // goes last.
        for message in addresses.iter().rev() {
            let _ = netlink.remove(Restorable::Address, message);
        }
        for message in &routes {
            // The kernel may have removed the route together with its address.
            let _ = netlink.remove(Restorable::Route, message);
        }
        for message in &routes {
            netlink.restore(Restorable::Route, &route(message, new))?;
        }
        Ok(Self { _rules: rules, _guardian: guardian })
    }
}

/// Returns the routes of an interface, except those that come with its addresses. Routes without a
/// gateway come first, because gateways are reached through them.
fn routes_of(all: &[Vec<u8>], name: &str, index: u32) -> Result<Vec<Vec<u8>>, LiveError> {
    let mut routes = Vec::new();
    for message in all {
        let Some(header) = message.first_chunk::<ROUTE_HEADER>() else { continue };
        let of = |kind: u16| attributes(message, ROUTE_HEADER).find(|one| one.0 == kind).map(|one| one.1);
        let number = |value: &[u8]| value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        // The header has one byte for the table, the attribute has room for tables above 255.
        let table = of(RTA_TABLE).and_then(number).unwrap_or(u32::from(header[4]));
        if table == TABLE_LOCAL {
            continue;
        }
        if of(RTA_MULTIPATH).is_some_and(|hops| hops_through(hops, index)) {
            return Err(LiveError::new(format!(
                "a route has several next hops, one of them through `{name}`"
            ))
            .help("--take-over can only move routes with one next hop; `ip route` shows them"));
        }
        if of(RTA_OIF).and_then(number) == Some(index) && header[5] != PROTOCOL_KERNEL {
            routes.push(route(message, index));
        }
    }
    // The kernel takes a gateway only if a route leads to it, so routes without one come first.
    routes.sort_by_key(|message| {
        attributes(message, ROUTE_HEADER).any(|one| one.0 == RTA_GATEWAY || one.0 == RTA_VIA)
    });
    Ok(routes)
}

/// True if one of the next hops (`struct rtnexthop`) uses this interface.
fn hops_through(mut hops: &[u8], index: u32) -> bool {
    while let Some(hop) = hops.first_chunk::<8>() {
        if u32::from_ne_bytes([hop[4], hop[5], hop[6], hop[7]]) == index {
            return true;
        }
        // A length shorter than the structure would not advance.
        let length = usize::from(u16::from_ne_bytes([hop[0], hop[1]])).max(hop.len());
        hops = hops.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// Returns a route as it can be set, through the interface `index`: without the fields that the
/// kernel only reports.
fn route(message: &[u8], index: u32) -> Vec<u8> {
    let mut bytes = message.get(..ROUTE_HEADER).unwrap_or_default().to_vec();
    if let Some(flags) = bytes.get_mut(8..12) {
        let told = u32::from_ne_bytes([flags[0], flags[1], flags[2], flags[3]]);
        // Of the flags only `onlink` is configuration; others, such as `linkdown`, tell a state.
        flags.copy_from_slice(&(told & ONLINK).to_ne_bytes());
    }
    for (kind, value) in attributes(message, ROUTE_HEADER) {
        match kind {
            RTA_OIF => bytes.extend(attribute(kind, &index.to_ne_bytes())),
            // The kernel refuses the number of a next hop beside its interface and gateway.
            RTA_CACHEINFO | RTA_NH_ID => {}
            _ => bytes.extend(attribute(kind, value)),
        }
    }
    bytes
}

fn address_on(message: &[u8], index: u32) -> Vec<u8> {
    let mut bytes = message.get(..ADDRESS_HEADER).unwrap_or_default().to_vec();
    if let Some(place) = bytes.get_mut(4..8) {
        place.copy_from_slice(&index.to_ne_bytes());
    }
    // A label contains the name of the old interface.
    for (kind, value) in attributes(message, ADDRESS_HEADER).filter(|one| one.0 != IFA_LABEL) {
        bytes.extend(attribute(kind, value));
    }
    bytes
}

fn index_of_address(message: &[u8]) -> Option<u32> {
    let header = message.first_chunk::<ADDRESS_HEADER>()?;
    Some(u32::from_ne_bytes([header[4], header[5], header[6], header[7]]))
}

/// True of a link-local address, of which each interface has its own.
fn is_link_local(message: &[u8]) -> bool {
    message
        .first_chunk::<ADDRESS_HEADER>()
        .is_some_and(|header| i32::from(header[0]) == libc::AF_INET6 && header[3] == SCOPE_LINK)
}

fn words_of_address(message: &[u8], interface: &str) -> String {
    let of = |kind: u16| attributes(message, ADDRESS_HEADER).find(|one| one.0 == kind).map(|one| one.1);
    let address = of(IFA_LOCAL).or_else(|| of(IFA_ADDRESS)).map_or_else(String::new, in_words);
    let prefix = message.get(1).copied().unwrap_or(0);
    format!("address {address}/{prefix} of {interface}")
}

fn words_of_route(message: &[u8], interface: &str) -> String {
    let of = |kind: u16| attributes(message, ROUTE_HEADER).find(|one| one.0 == kind).map(|one| one.1);
    let prefix = message.get(1).copied().unwrap_or(0);
    let to = of(RTA_DST).map_or_else(|| "default".to_owned(), |dst| format!("{}/{prefix}", in_words(dst)));
    let via = of(RTA_GATEWAY).map_or_else(String::new, |gateway| format!(" via {}", in_words(gateway)));
    format!("route {to}{via} of {interface}")
}

fn in_words(address: &[u8]) -> String {
    <[u8; 4]>::try_from(address)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(address).map(IpAddr::from))
        .map_or_else(|_| "?".to_owned(), |address| address.to_string())
}

// `linux/if_addr.h`, `linux/rtnetlink.h`.
const ADDRESS_HEADER: usize = 8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_LABEL: u16 = 3;
const SCOPE_LINK: u8 = 253;
const ROUTE_HEADER: usize = 12;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_MULTIPATH: u16 = 9;
const RTA_CACHEINFO: u16 = 12;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_NH_ID: u16 = 30;
const TABLE_LOCAL: u32 = 255;
/// Routes of this protocol come and go with an address.
const PROTOCOL_KERNEL: u8 = 2;
const ONLINK: u32 = 4;
