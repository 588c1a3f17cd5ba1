//! The forming of aggregates and the arrival of their packets.

use crate::channel::{Datagram, Seen, channel, client, driver, ht, radio};
use crate::formulas::{fraction, micros};
use goodqueue::{Duration, Instant};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::Medium;
use goodqueue_sim::wifi::forming::Forming;

#[test]
fn each_packet_of_an_aggregate_arrives_when_its_own_bits_end() {
    let modulation = ht(0, false);
    let mut config = channel(driver(123), vec![client(radio(modulation, 64))]);
    config.forming = [Forming::Ahead(1); 2];
    let mut medium = Medium::new(&config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    for number in 0..4 {
        let packet = Datagram { client: 0, flow: 0, number, ip_bytes: 960, dscp: 0, sent: Instant::ZERO };
        medium.enqueue(Instant::ZERO, Direction::Down, 0, packet, &client_of, &mut seen);
    }
    let mut last = Instant::ZERO;
    while let Some(event) = medium.next_event() {
        medium.advance(event, &client_of, &mut seen);
        last = event;
    }
    // The first packet is sent alone. The others follow its answer after 43 µs and a back-off. Each
    // takes 1004 bytes at 26 bits per symbol, after a preamble of 36 µs and two bytes of service
    // field. The padding of the last one precedes the answer.
    let arrived: Vec<f64> = seen.delays.iter().map(|delay| micros(*delay)).collect();
    let symbols = |bytes: u64| fraction((16 + 8 * bytes).div_ceil(26) * 4, 1);
    assert_eq!(arrived[0], 43.0 + 36.0 + symbols(998));
    assert_eq!(arrived[2] - arrived[1], symbols(1004 + 1002) - symbols(1002));
    assert_eq!(arrived[3] - arrived[1], symbols(2 * 1004 + 1002) - symbols(1002));
    let over = micros(last.since(Instant::ZERO));
    assert_eq!(over - arrived[3], 4.0 + 16.0 + 68.0, "a symbol with padding and tail, then the answer");
}

/// Returns the number of packets in each aggregate of the access point, which receives a packet
/// every 100 µs.
fn sizes_of_aggregates(forming: Forming) -> Vec<u64> {
    let mut config = channel(driver(123), vec![client(radio(ht(7, false), 64))]);
    config.forming[0] = forming;
    let mut medium = Medium::new(&config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    let mut sizes = Vec::new();
    let mut before = 0;
    for number in 0..100 {
        let now = Instant::ZERO + Duration::from_micros(100 * number);
        while let Some(event) = medium.next_event().filter(|&event| event <= now) {
            let ppdus = medium.radio_stats(0)[0].ppdus;
            medium.advance(event, &client_of, &mut seen);
            let [down, _] = medium.radio_stats(0);
            if down.ppdus > ppdus {
                sizes.push(down.mpdus - before);
                before = down.mpdus;
            }
        }
        let packet = Datagram { client: 0, flow: 0, number, ip_bytes: 1500, dscp: 0, sent: now };
        medium.enqueue(now, Direction::Down, 0, packet, &client_of, &mut seen);
    }
    sizes
}

#[test]
fn packets_that_come_before_the_channel_is_won_join_the_aggregate_unless_it_was_formed_ahead() {
    // The first packet is sent at 43 µs and answered at 315 µs. Until then two more packets have
    // arrived, and further ones during the back-off.
    let at_access = sizes_of_aggregates(Forming::AtAccess);
    assert_eq!(at_access[0], 1);
    assert!(at_access[1] >= 2, "{at_access:?}");
    // When one aggregate is formed while the other is in the air, the second is complete as soon as
    // the second packet arrives.
    assert_eq!(sizes_of_aggregates(Forming::Ahead(2))[..2], [1, 1]);
    // All waiting packets join, so the access point needs fewer transmissions.
    let mean = |sizes: &[u64]| fraction(sizes.iter().sum(), sizes.len() as u64);
    let ahead = [1, 2].map(|most| mean(&sizes_of_aggregates(Forming::Ahead(most))));
    assert!(ahead.iter().all(|ahead| mean(&at_access) > *ahead), "{} {ahead:?}", mean(&at_access));
}
