//! `hhf` beside its model.

use goodqueue::config::Value;
use goodqueue::hhf::{Hhf, HhfConfig};
use goodqueue::{Duration, Ecn, Flow as _, Instant, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, SALT, agree, configured, differ_nowhere, pick};

impl Model for reference::hhf::Hhf {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        // The hash is the packet's own.
        let at = Instant::from_nanos(now);
        let ecn = Ecn::NotEct;
        let packet = TestPacket { id: 0, len: 0, flow, class: None, came_with: ecn, ecn, at };
        self.enqueue(now, packet.flow_hash(SALT), item)
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue())
    }
}

#[test]
fn hhf_serves_as_its_manual_says() {
    differ_nowhere(200, |events, seed| {
        let quantum = pick(seed, 0, &[300_u32, 1514, 5_000]);
        let weight = pick(seed, 1, &[1_u32, 2, 7]);
        let admit = pick(seed, 2, &[1_u32, 4_000, 12_000]);
        let reset = pick(seed, 3, &[1_u64, 13, 40]);
        let evict = pick(seed, 4, &[1_u64, 50, 1_000]);
        let settings = Settings::new()
            .with("limit", Value::Packets(40))
            .with("quantum", Value::Bytes(u64::from(quantum)))
            .with("non_hh_weight", Value::Integer(u64::from(weight)))
            .with("admit_bytes", Value::Bytes(u64::from(admit)))
            .with("reset_timeout", Value::Time(Duration::from_millis(reset)))
            .with("evict_timeout", Value::Time(Duration::from_millis(evict)));
        let shares = [i64::from(quantum), i64::from(quantum * weight)];
        let model = reference::hhf::Hhf::new(40, shares, admit, [reset, evict]);
        agree(Hhf::new(configured::<HhfConfig>(&settings), SALT), model, events)
    });
}
