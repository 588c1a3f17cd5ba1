//! `cnq_codel_af` beside its model.

use goodqueue::cnq_codel_af::{CnqCodelAf, CnqCodelAfConfig};
use goodqueue::config::Value;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{Duration, Ecn, Flow as _, Instant, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, SALT, agree, configured, differ_nowhere, pick, uniform_32};

/// The model, and the ECN field of each packet.
struct Cnq {
    drawing: Drawing<reference::cnq_codel_af::CnqCodelAf>,
    capable: Vec<bool>,
}

impl Model for Cnq {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        self.capable.push(self.codepoint(flow) != Ecn::NotEct);
        // The hash is the packet's own.
        let at = Instant::from_nanos(now);
        let ecn = Ecn::NotEct;
        let packet = TestPacket { id: 0, len: 0, flow, class: None, came_with: ecn, ecn, at };
        let number = u16::try_from(packet.flow_hash(SALT) % 65_536).expect("16 bits");
        self.drawing.0.enqueue(number, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        let capable = &self.capable;
        let random = &mut self.drawing.1;
        let is_capable = |id: u64| capable[usize::try_from(id).expect("few packets")];
        self.drawing.0.dequeue(now, || uniform_32(random), is_capable)
    }

    fn codepoint(&self, flow: u32) -> Ecn {
        if flow % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn has_marked(&self, id: u64) -> bool {
        self.drawing.0.marked.contains(&id)
    }
}

#[test]
fn cnq_codel_af_queues_and_drops_as_its_module() {
    differ_nowhere(100, |events, seed| {
        let limit = pick(seed, 0, &[40_u64, 200, 10_240]);
        let target = pick(seed, 1, &[1_000_000_u64, 5_000_000, 20_000_000]);
        // Short ones reach BLUE, whose threshold is four intervals.
        let interval = pick(seed, 2, &[2_000_000_u64, 20_000_000, 100_000_000]);
        let settings = Settings::new()
            .with("limit", Value::Packets(limit))
            .with("target", Value::Time(Duration::from_nanos(target)))
            .with("interval", Value::Time(Duration::from_nanos(interval)));
        let config = configured::<CnqCodelAfConfig>(&settings);
        let queue = CnqCodelAf::new(config, SALT, Xoshiro256PlusPlus::new(seed));
        let limit = usize::try_from(limit).unwrap();
        let model = reference::cnq_codel_af::CnqCodelAf::new(limit, target, interval);
        let drawing = Drawing(model, Xoshiro256PlusPlus::new(seed));
        agree(queue, Cnq { drawing, capable: Vec::new() }, events)
    });
}
