//! Datagrams with the length that a queue counts.

use goodqueue::{Datagram, FlowKey};

/// Returns a UDP datagram with the headers that the kernel counts in a queue: those of Ethernet, of
/// IPv4 or IPv6 by its addresses, and of UDP.
///
/// ```
/// use goodqueue::{FlowKey, Packet};
/// use goodqueue_link::ethernet;
///
/// let client = ([192, 0, 2, 1], 5000).into();
/// let server = ([198, 51, 100, 7], 443).into();
/// let packet = ethernet::datagram(FlowKey::new(client, server, FlowKey::UDP), vec![0; 1200]);
/// assert_eq!(packet.len(), 1242);
/// ```
#[must_use]
pub fn datagram<T: AsRef<[u8]>>(flow: FlowKey, content: T) -> Datagram<T> {
    let headers = ETHERNET + if flow.source().is_ipv4() { IPV4 } else { IPV6 } + UDP;
    let length = u32::try_from(content.as_ref().len()).unwrap_or(u32::MAX);
    Datagram::new(flow, length.saturating_add(headers), content)
}

// Without the frame check sequence, which the kernel does not count, and without options of IP.
const ETHERNET: u32 = 14;
const IPV4: u32 = 20;
const IPV6: u32 = 40;
const UDP: u32 = 8;
