//! Packet captures: pcap and pcapng.

use std::net::{IpAddr, Ipv4Addr};

use goodqueue::Duration;
use goodqueue_scenario::capture::PacketCapture;

/// Reads a capture. Either an error explains what is wrong with it, or its packets are in order and
/// can be sent repeatedly. The packets of one address are a subset of all.
///
/// # Panics
/// If one of these does not hold.
pub fn capture(bytes: &[u8]) {
    let all = match PacketCapture::read("fuzz", bytes, None) {
        Ok(all) => all,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(all.packets().first().map(|first| first.0), Some(Duration::ZERO));
    assert!(all.packets().is_sorted_by_key(|packet| packet.0), "times go back");
    assert!(all.packets().iter().all(|packet| packet.1 >= 20), "shorter than an IP header");
    let last = all.packets().last().map_or(Duration::ZERO, |last| last.0);
    match all.period() {
        Some(period) => assert!(period >= last, "the next round begins before this one ends"),
        None => assert!(last.is_zero()),
    }
    let host = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    match PacketCapture::read("fuzz", bytes, Some(host)) {
        Ok(some) => assert!(some.packets().len() <= all.packets().len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
