//! Lines of the control socket.

use goodqueue::{AnyConfig, Disciplines, Duration, Instant, Qdisc, Rate};
use goodqueue_link::capacity::Capacity;
use goodqueue_live::buffer::Pool;
use goodqueue_live::link::{Delay, Link, LinkConfig};
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::orders::{Change, Order};
use goodqueue_live::packet::{Framing, IpPacket};
use goodqueue_tc as tc;
use goodqueue_testkit::edge;

use crate::operations::sorted_kinds;

/// Sends lines to a bottleneck that carries packets. Either an error explains what is wrong with a
/// line, or its changes are made. Packets neither disappear nor stay for ever, and the current
/// configuration can be written as a tc line.
///
/// # Panics
/// If one of these does not hold.
pub fn control_line(bytes: &[u8]) {
    /// Lines of one client.
    const MOST_LINES: usize = 30;
    let text = String::from_utf8_lossy(bytes);
    let pool = Pool::new(1 << 20);
    let mut links = Direction::BOTH.map(Running::new);
    for line in text.lines().take(MOST_LINES).map(str::trim) {
        let rates = [0, 1].map(|side: usize| links[side].rate());
        match Order::read(line, &Disciplines::new(), || Ok(rates)) {
            Ok(Order::Change(changes)) => {
                assert!(!changes.is_empty(), "{line:?} changes nothing");
                for change in changes {
                    match change {
                        Change::Qdisc(direction, config) => links[direction.index()].change_qdisc(*config),
                        Change::Capacity(direction, capacity) => {
                            links[direction.index()].change_rate(capacity)
                        }
                    }
                }
            }
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        links.iter_mut().for_each(|link| link.carry(&pool));
    }
    drop(links);
    assert_eq!(pool.in_use(), 0, "memory of packets is lost");
}

/// One direction with packets in it.
struct Running {
    link: Link,
    now: Instant,
    arrived: u64,
}

/// Observes nothing.
struct Unobserved;

impl Observer for Unobserved {}

impl Running {
    fn new(direction: Direction) -> Self {
        let kinds = sorted_kinds();
        let link = LinkConfig {
            capacity: Capacity::Constant(Rate::from_bps(10_000_000)),
            qdisc: edge::default_config(kinds.first().expect("there are disciplines")),
            path: None,
            delay: Delay::from_base(Duration::from_millis(1)),
            framing: 14,
            salt: 0,
            seed: 1,
        };
        Self { link: Link::new(direction, &link), now: Instant::ZERO, arrived: 0 }
    }

    fn rate(&self) -> Option<Rate> {
        self.link.capacity().rate_at(self.now).map(|(rate, _)| rate)
    }

    fn change_qdisc(&mut self, config: AnyConfig) {
        self.link.reconfigure(self.now, config, &mut Unobserved);
        let written = tc::to_tc(&self.link.qdisc().config());
        assert!(!written.is_empty());
    }

    fn change_rate(&mut self, capacity: Capacity) {
        self.link.set_capacity(self.now, capacity, &mut Unobserved);
    }

    /// Sends some packets of three flows, and lets time pass in which packets leave.
    fn carry(&mut self, pool: &Pool) {
        for number in 0..20_u8 {
            let Some(buffer) = pool.copy(&udp(number % 3)) else { continue };
            let packet = IpPacket::new(buffer, Framing::Ip { counted: 14 }, self.arrived, self.now);
            self.arrived += 1;
            self.link.arrive(self.now, packet, &mut Unobserved);
            self.now += Duration::from_micros(200);
            while self.link.poll(self.now, &mut Unobserved).is_some() {}
        }
    }
}

/// Returns a UDP datagram of one of several flows.
fn udp(port: u8) -> Vec<u8> {
    // The TOS byte 1 is ECT(1), so that disciplines can mark.
    let header = [0x45, 1, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header[..], &[0, port, 0, 53, 0, 8, 0, 0]].concat()
}
