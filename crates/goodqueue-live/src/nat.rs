//! The connection from a private network to the networks of the host, for `shell --nat`.
//!
//! ```text
//!   program's namespace      goodqueue               the host
//!   program -- TUN === qdisc, rate, delay === TUN -- forwarding, masquerading -- networks
//! ```
//!
//! The program uses the host's address. No other host can open a connection to it, and the host
//! forwards no other packets because of it. The TUN device and the packet filter rules end with a
//! descriptor. A [`Guardian`] restores the forwarding settings of the host's interfaces.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use nix::net::if_::if_indextoname;

use crate::error::LiveError;
use crate::namespace::{End, TUN_QUEUE, be_silent};
use crate::netlink::{self, Netlink, Restorable, attributes};
use crate::nftables::{Chain, Family, HOOK_FORWARD, HOOK_POSTROUTING, PRIORITY_SOURCE_NAT, Rule, Rules};
use crate::tun::Tun;
use crate::undo::{self, Guardian, Undo};

/// The host's end of a bottleneck, and its connection to the host's networks.
#[derive(Debug)]
pub(crate) struct Nat {
    /// Device in the host's network namespace.
    pub(crate) tun: Tun,
    /// Connection to the kernel about the device.
    pub(crate) netlink: Netlink,
    /// Index of the device.
    pub(crate) index: u32,
    /// Changes to the host, which end when this is dropped.
    pub(crate) hold: HostChanges,
}

/// Changes to the host's network. Dropping this restores it.
#[derive(Debug)]
pub(crate) struct HostChanges {
    _rules: Vec<Rules>,
    _guardian: Option<Guardian>,
    _turn: Option<UnixListener>,
}

impl Nat {
    /// Opens the connection in the network namespace of this thread, which is the host's. Gives the
    /// two ends addresses in a network that the host does not use. `undo_file` is the path of the
    /// undo file, if one is needed.
    ///
    /// # Errors
    /// This process lacks the privilege, or the kernel lacks a feature. Nothing is left behind.
    pub(crate) fn open(ends: &mut [End; 2], undo_file: Option<&std::path::Path>) -> Result<Self, LiveError> {
        let mut netlink = Netlink::open()?;
        let has_v6 = forwards_v6(&mut netlink)?;
        let addresses = addresses(&mut netlink)?;
        let (number, tun) = free_device(&addresses)?;
        let [client, host] = ends;
        client.v4 = Ipv4Addr::new(198, 18, number, 1);
        host.v4 = Ipv4Addr::new(198, 18, number, 2);
        // A host that begins to forward IPv6 loses the settings that it learned from its routers
        // (RFC 4861 §6.2.2), so IPv6 is for hosts that forward it already.
        let v6 = |end| has_v6.then(|| Ipv6Addr::new(0x2001, 2, 0, u16::from(number), 0, 0, 0, end));
        (client.v6, host.v6) = (v6(1), v6(2));
        let index = netlink::index_of(tun.name())?;
        be_silent(tun.name());
        netlink.set_up(index, Some(host.mtu), Some(TUN_QUEUE))?;
        netlink.add_address(index, IpAddr::V4(host.v4), 24)?;
        if let Some(v6) = host.v6 {
            netlink.add_address(index, IpAddr::V6(v6), 64)?;
        }
        // This setting ends with our device, so nobody has to undo it.
        write_setting(&forwarding(tun.name()), "1")?;

        // Only one process at a time may change forwarding, because it will restore the old
        // setting.
        let turn = take_turn()?;
        let mut closed = Vec::new();
        for (of, name) in interfaces(&addresses) {
            if read_setting(&forwarding(&name))? == "0" {
                closed.push((of, name));
            }
        }
        // The rules exist before an interface in `closed` forwards, so no packet of another host is
        // forwarded. They also exist before the guardian: it inherits their sockets, so they last
        // until it has restored the settings.
        let mut all = vec![rules(tun.name(), index, IpAddr::V4(host.v4), &closed)?];
        if let Some(v6) = host.v6 {
            all.push(rules(tun.name(), index, IpAddr::V6(v6), &[])?);
        }
        let (guardian, turn) = if closed.is_empty() {
            (None, None)
        } else {
            let mut undo = Undo::by("goodqueue shell --nat");
            for (_, name) in &closed {
                undo.note_setting(&format!("ipv4/conf/{name}/forwarding"))?;
            }
            let path = undo_file.map_or_else(|| undo::default_path(tun.name()), ToOwned::to_owned);
            let guardian = Guardian::start(&path)?;
            undo.write(&path)?;
            (Some(guardian), Some(turn))
        };
        for (_, name) in &closed {
            write_setting(&forwarding(name), "1")?;
        }
        Ok(Self { tun, netlink, index, hold: HostChanges { _rules: all, _guardian: guardian, _turn: turn } })
    }
}

/// Creates the rules: masquerading for the network of an address, only answers to the program, and
/// no other forwarding from the interfaces in `closed`, whose forwarding this process switches on.
fn rules(table: &str, index: u32, network: IpAddr, closed: &[(u32, String)]) -> Result<Rules, LiveError> {
    let family = if network.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 };
    let out = [Rule::default().source_in(network).masquerade()];
    // The first rule that matches decides. Answers to the program arrive at interfaces in `closed`
    // as well, so their rule comes first.
    let mut forward = vec![Rule::default().to(index).answers().accept(), Rule::default().to(index).drop()];
    forward.extend(closed.iter().map(|(of, _)| Rule::default().from(*of).drop()));
    let chains = [
        Chain {
            name: "out",
            kind: "nat",
            hook: HOOK_POSTROUTING,
            priority: PRIORITY_SOURCE_NAT,
            device: None,
            rules: &out,
        },
        Chain {
            name: "forward",
            kind: "filter",
            hook: HOOK_FORWARD,
            // `NF_IP_PRI_FILTER`.
            priority: 0,
            device: None,
            rules: &forward,
        },
    ];
    Rules::create(family, table, &chains)
}

/// Returns the IPv4 addresses of this network namespace, each with the index of its interface.
fn addresses(netlink: &mut Netlink) -> Result<Vec<(u32, Ipv4Addr)>, LiveError> {
    let all = netlink.list(Restorable::Address)?;
    let v4 = all.iter().filter_map(|message| {
        // `struct ifaddrmsg`: family, prefix length, flags and scope, a byte each, then the index.
        let header = message.first_chunk::<8>()?;
        let index = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]);
        let (_, local) = attributes(message, header.len()).find(|attribute| attribute.0 == IFA_LOCAL)?;
        let address = <[u8; 4]>::try_from(local).ok()?;
        (i32::from(header[0]) == libc::AF_INET).then(|| (index, Ipv4Addr::from(address)))
    });
    Ok(v4.collect())
}

/// Returns true if this host forwards IPv6 and has an address that its networks know.
fn forwards_v6(netlink: &mut Netlink) -> Result<bool, LiveError> {
    if !fs::read_to_string(FORWARDING_V6).is_ok_and(|value| value.trim() == "1") {
        return Ok(false);
    }
    Ok(netlink.list(Restorable::Address)?.iter().any(|message| {
        let Some(header) = message.first_chunk::<8>() else { return false };
        let is_global = i32::from(header[0]) == libc::AF_INET6 && header[3] == libc::RT_SCOPE_UNIVERSE;
        let address = attributes(message, header.len()).find(|attribute| attribute.0 == IFA_ADDRESS);
        // Those of this program lead nowhere else.
        is_global && address.is_some_and(|(_, address)| !address.starts_with(&BENCHMARKS))
    }))
}

/// Returns the interfaces by which packets of other hosts can arrive.
fn interfaces(addresses: &[(u32, Ipv4Addr)]) -> Vec<(u32, String)> {
    let mut indices: Vec<u32> =
        addresses.iter().filter(|(_, address)| !address.is_loopback()).map(|(index, _)| *index).collect();
    indices.sort_unstable();
    // An interface may have several addresses.
    indices.dedup();
    let named = indices
        .into_iter()
        .filter_map(|index| Some((index, if_indextoname(index).ok()?.into_string().ok()?)));
    named.collect()
}

/// Creates a device whose network 198.18.N.0/24 is free on this host. Its name differs between
/// runs.
fn free_device(taken: &[(u32, Ipv4Addr)]) -> Result<(u8, Tun), LiveError> {
    let mut last = LiveError::new("all of 198.18.0.0/16 is in use on this host");
    for number in 0..=u8::MAX {
        if taken.iter().any(|(_, address)| address.octets()[..3] == [198, 18, number]) {
            continue;
        }
        match Tun::create(&format!("gq-nat{number}")) {
            Ok(tun) => return Ok((number, tun)),
            // An interface of this name need not have an address of the network. The next number
            // may be free.
            Err(error) if error.problem().starts_with("there is an interface") => last = error,
            Err(error) => {
                return Err(error.help(
                    "--nat changes the host's network, which needs CAP_NET_ADMIN: run it with sudo, or omit --nat",
                ));
            }
        }
    }
    Err(last)
}

/// Takes a name that only one process in this network namespace can have, until it and its guardian
/// have ended.
fn take_turn() -> Result<UnixListener, LiveError> {
    let name = SocketAddr::from_abstract_name(TURN)
        .map_err(|error| LiveError::system("the lock of --nat cannot be taken", error))?;
    // Another run may hold the name only while it checks whether it needs it.
    let mut tries = 0..50;
    let taken = loop {
        match UnixListener::bind_addr(&name) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && tries.next().is_some() => {
                std::thread::sleep(Duration::from_millis(20));
            }
            taken => break taken,
        }
    };
    taken.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            LiveError::new("another run with --nat has enabled forwarding on this host and will disable it at its end")
                .help("wait for its end, or enable forwarding permanently (`sysctl net.ipv4.ip_forward=1`), which allows any number of runs")
        }
        _ => LiveError::system("the lock of --nat cannot be taken", error),
    })
}

fn forwarding(interface: &str) -> String {
    format!("/proc/sys/net/ipv4/conf/{interface}/forwarding")
}

fn read_setting(path: &str) -> Result<String, LiveError> {
    fs::read_to_string(path)
        .map(|value| value.trim().to_owned())
        .map_err(|error| LiveError::system(format_args!("`{path}` cannot be read"), error))
}

fn write_setting(path: &str, value: &str) -> Result<(), LiveError> {
    fs::write(path, value).map_err(|error| {
        LiveError::system(format_args!("`{path}` cannot be set to {value}"), error)
            .help("--nat must enable forwarding: in a container, make /proc/sys writable")
    })
}

const TURN: &[u8] = b"goodqueue forwards";

/// Of all interfaces: IPv6 packets are forwarded only if it is 1.
const FORWARDING_V6: &str = "/proc/sys/net/ipv6/conf/all/forwarding";
/// 2001:2::/48 (RFC 5180).
const BENCHMARKS: [u8; 6] = [0x20, 0x01, 0, 2, 0, 0];
/// `linux/if_addr.h`.
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// Returns the host's name server configuration, if it names a server other than the host itself. A
/// server at a loopback address cannot be reached from another network namespace.
pub(crate) fn name_servers() -> Option<String> {
    // With systemd-resolved, the first file names its stub at a loopback address. The second one
    // has the real servers.
    ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"].into_iter().find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        reachable_name_servers(&text).then_some(text)
    })
}

fn reachable_name_servers(text: &str) -> bool {
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let mut addresses = servers.filter_map(|rest| rest.trim().parse::<IpAddr>().ok());
    // The program may have no IPv6, see `forwards_v6`.
    addresses.any(|address| address.is_ipv4() && !address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_on_the_host_itself_is_not_used_inside() {
        assert!(!reachable_name_servers("nameserver 127.0.0.53\noptions edns0\n"));
        assert!(!reachable_name_servers(""));
        assert!(reachable_name_servers("# stub\nnameserver 127.0.0.1\nnameserver 192.0.2.53\n"));
    }
}
