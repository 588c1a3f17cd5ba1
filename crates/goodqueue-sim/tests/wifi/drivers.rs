//! A driver below a queue discipline.

use crate::channel::{Datagram, Seen, Sender, channel, client, ht, qdisc, radio, run};
use crate::formulas::{close, fraction, mbits, micros, standard_formula};
use goodqueue::config::{Settings, Value};
use goodqueue::{Instant, Rate};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::{MacConfig, Medium, RadioConfig};

#[test]
fn packets_below_the_discipline_wait_for_the_whole_drivers_buffer() {
    // The discipline is a FIFO of one packet, so all waiting packets wait in the driver.
    let one = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1)));
    for limit in [64, 123, 224] {
        let access_point =
            MacConfig::Driver(Box::new(DriverConfig { qdisc: one.clone(), limit, order: Order::default() }));
        let radio = RadioConfig::new(ht(7, false));
        let (seen, _) =
            run(&channel(access_point, vec![client(radio)]), &[Sender::at(Direction::Down, 0, 100)], 10_000);
        let rate = mbits(seen.arrived(Direction::Down, 0), 10_000);
        let waits = &seen.delays[seen.delays.len() / 2..];
        let mean = waits.iter().map(|delay| micros(*delay)).sum::<f64>() / fraction(waits.len() as u64, 1);
        // Little's law. The buffer is full except for the aggregate that has just left, which has
        // at most 21 packets.
        let packets = mean * rate / 12_000.0;
        assert!(packets > f64::from(limit) - 21.0 && packets <= f64::from(limit) + 1.0, "{limit}: {packets}");
    }
}

#[test]
fn a_driver_that_serves_the_oldest_packet_lets_a_burst_hold_up_another_station() {
    // 60 packets for one station, then one for the other. Served in turn, the single packet
    // overtakes most of them.
    let delay = |order| {
        let pfifo = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1000)));
        let access_point = MacConfig::Driver(Box::new(DriverConfig { qdisc: pfifo, limit: 123, order }));
        let radio = radio(ht(7, false), 8);
        let mut medium = Medium::new(&channel(access_point, vec![client(radio), client(radio)]));
        let mut seen = Seen::default();
        let client_of = |packet: &Datagram| packet.client;
        for number in 0..61 {
            let (client, flow) = if number < 60 { (0, 0) } else { (1, 1) };
            let packet = Datagram { client, flow, number, ip_bytes: 1500, dscp: 0, sent: Instant::ZERO };
            medium.enqueue(Instant::ZERO, Direction::Down, client, packet, &client_of, &mut seen);
        }
        while let Some(event) = medium.next_event() {
            medium.advance(event, &client_of, &mut seen);
        }
        seen.delay_of[&1].0
    };
    let all = 60.0 * 12_000.0 / standard_formula(8, ht(7, false));
    close(delay(Order::OldestHead), all, 0.1, "behind all packets of the other station");
    assert!(delay(Order::Turns) < all / 4.0);
}

#[test]
fn a_shaper_above_the_driver_is_obeyed() {
    let tbf = Settings::new()
        .with("rate", Value::Rate(Rate::from_bps(5_000_000)))
        .with("burst", Value::Bytes(10_000))
        .with("limit", Value::Bytes(100_000));
    let access_point = MacConfig::Driver(Box::new(DriverConfig {
        qdisc: qdisc("tbf", &tbf),
        limit: 123,
        order: Order::default(),
    }));
    let radio = RadioConfig::new(ht(7, false));
    let (seen, _) =
        run(&channel(access_point, vec![client(radio)]), &[Sender::at(Direction::Down, 0, 50)], 10_000);
    // tbf counts the 14 bytes of framing.
    close(mbits(seen.arrived(Direction::Down, 0), 10_000), 5.0 * 1500.0 / 1514.0, 0.01, "rate");
}
