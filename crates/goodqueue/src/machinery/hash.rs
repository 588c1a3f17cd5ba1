//! Hashes of flows.
//!
//! A discipline that separates flows asks each packet for a hash, salted with a number that an
//! outsider cannot guess. [`FlowKey`] hashes addresses and ports for packets of the Internet.

use core::net::{IpAddr, SocketAddr};

/// Finalizer of splitmix64: a bijection on 64 bits in which every output bit depends on every input
/// bit.
#[must_use]
pub const fn mix_64(value: u64) -> u64 {
    let a = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ (b >> 31)
}

/// Maps a 32-bit hash to one of `buckets` without a division: `hash * buckets / 2^32`, as Linux
/// does.
#[must_use]
pub fn scale_hash(hash: u32, buckets: u32) -> u32 {
    let wide = (u64::from(hash) * u64::from(buckets)) >> 32;
    u32::try_from(wide).unwrap_or(0)
}

/// What identifies a flow of the Internet: two addresses, two ports and a protocol.
///
/// Its three hashes serve [`Flow::flow_hash`](crate::Flow::flow_hash),
/// [`Flow::source_hash`](crate::Flow::source_hash) and
/// [`Flow::destination_hash`](crate::Flow::destination_hash). They mix every bit with a 32-bit salt
/// but are no cryptographic hashes.
///
/// ```
/// use goodqueue::hash::FlowKey;
///
/// let key = FlowKey::new("192.0.2.1:443".parse()?, "198.51.100.7:50000".parse()?, FlowKey::UDP);
/// assert_ne!(key.flow_hash(1), key.flow_hash(2), "another salt, another hash");
/// assert_ne!(key.flow_hash(1), key.reversed().flow_hash(1), "each direction is a flow");
/// assert_eq!(key.source_hash(1), key.reversed().destination_hash(1));
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    source: SocketAddr,
    destination: SocketAddr,
    protocol: u8,
}

impl FlowKey {
    /// Protocol number of TCP.
    pub const TCP: u8 = 6;
    /// Protocol number of UDP, and so of QUIC.
    pub const UDP: u8 = 17;

    /// Returns the key of packets from `source` to `destination`. Port 0 is for protocols without
    /// ports.
    #[must_use]
    pub const fn new(source: SocketAddr, destination: SocketAddr, protocol: u8) -> Self {
        Self { source, destination, protocol }
    }

    /// Address and port of the sender.
    #[must_use]
    pub const fn source(&self) -> SocketAddr {
        self.source
    }

    /// Address and port of the receiver.
    #[must_use]
    pub const fn destination(&self) -> SocketAddr {
        self.destination
    }

    /// Protocol number of the IP header.
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Returns the key of the opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, protocol: self.protocol }
    }

    /// Returns a hash of addresses, ports and protocol.
    #[must_use]
    pub fn flow_hash(&self, salt: u32) -> u32 {
        let ports = u64::from(self.source.port()) << 16 | u64::from(self.destination.port());
        let rest = ports << 8 | u64::from(self.protocol);
        let addresses = absorb(absorb(u64::from(salt), self.source.ip()), self.destination.ip());
        upper_half(mix_64(addresses ^ rest))
    }

    /// Returns a hash of the source address.
    #[must_use]
    pub fn source_hash(&self, salt: u32) -> u32 {
        upper_half(absorb(u64::from(salt), self.source.ip()))
    }

    /// Returns a hash of the destination address.
    #[must_use]
    pub fn destination_hash(&self, salt: u32) -> u32 {
        upper_half(absorb(u64::from(salt), self.destination.ip()))
    }
}

/// Mixes `address` into `state`. An IPv4 address counts as its IPv4-mapped IPv6 address.
fn absorb(state: u64, address: IpAddr) -> u64 {
    let bits = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let [high, low] = [bits >> 64, bits & u128::from(u64::MAX)].map(|half| u64::try_from(half).unwrap_or(0));
    // The sum makes an address of all zeros change the state.
    mix_64(mix_64(state.wrapping_add(high).wrapping_add(GOLDEN)) ^ low)
}

fn upper_half(wide: u64) -> u32 {
    u32::try_from(wide >> 32).unwrap_or(0)
}

/// 2^64 divided by the golden ratio, by which splitmix64 steps from one state to the next.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::net::Ipv4Addr;
    use std::vec::Vec;

    #[test]
    fn neighbouring_flows_fall_into_all_buckets_evenly() {
        let server = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 443));
        let mut buckets = [0_u32; 64];
        for port in 0..6_400_u16 {
            let client = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 7), port));
            let hash = FlowKey::new(server, client, FlowKey::UDP).flow_hash(7);
            buckets[scale_hash(hash, 64) as usize] += 1;
        }
        // On average 100, with a standard deviation of about 10.
        assert!(buckets.iter().all(|count| (60..140).contains(count)), "{buckets:?}");
    }

    #[test]
    fn every_part_of_the_key_changes_the_hash() {
        let at = |host: u8, port: u16| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), port));
        let mut hashes: Vec<u32> = [
            FlowKey::new(at(1, 1), at(2, 2), FlowKey::TCP),
            FlowKey::new(at(1, 1), at(2, 2), FlowKey::UDP),
            FlowKey::new(at(1, 2), at(2, 2), FlowKey::TCP),
            FlowKey::new(at(1, 1), at(2, 1), FlowKey::TCP),
            FlowKey::new(at(3, 1), at(2, 2), FlowKey::TCP),
            FlowKey::new(at(1, 1), at(3, 2), FlowKey::TCP),
        ]
        .iter()
        .map(|key| key.flow_hash(1))
        .collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 6);
    }
}
