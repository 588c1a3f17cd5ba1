//! `sfb` beside its model.

use goodqueue::config::Value;
use goodqueue::random::{Random as _, Xoshiro256PlusPlus};
use goodqueue::sfb::{Sfb, SfbConfig};
use goodqueue::{Ecn, Flow as _, Instant, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, SALT, agree, configured, differ_nowhere, pick};

impl Model for Drawing<reference::sfb::Sfb> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        // The hash is the packet's own.
        let at = Instant::from_nanos(now);
        let ecn = Ecn::NotEct;
        let packet = TestPacket { id: 0, len: 0, flow, class: None, came_with: ecn, ecn, at };
        // As in Linux, no flow has the hash 0, and a draw has 16 bits.
        let dropped = self.0.enqueue(now, packet.flow_hash(SALT).max(1), item, || self.1.next_u32() & 0xffff);
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue())
    }
}

#[test]
fn sfb_drops_as_feng_says() {
    differ_nowhere(200, |events, seed| {
        let (increment, decrement) = pick(seed, 0, &[(66_u32, 11_u32), (655, 65), (32_768, 6_553)]);
        let (max, target) = pick(seed, 1, &[(25_u32, 20_u32), (8, 6), (4, 2)]);
        // SFB_MAX_PROB of Linux is 65,535.
        let of = |part: u32| Value::Probability(f64::from(part) / 65_535.0);
        let settings = Settings::new()
            .with("limit", Value::Packets(60))
            .with("rehash", Value::Integer(0))
            .with("max", Value::Packets(u64::from(max)))
            .with("target", Value::Packets(u64::from(target)))
            .with("increment", of(increment))
            .with("decrement", of(decrement));
        let queue = Sfb::new(configured::<SfbConfig>(&settings), SALT, Xoshiro256PlusPlus::new(seed));
        // The last pair has the defaults of `penalty_rate` and `penalty_burst`.
        let model = reference::sfb::Sfb::new(60, max, target, (increment, decrement), (10.0, 20.0));
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}
