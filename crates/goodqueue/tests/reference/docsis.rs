//! `docsis` beside its model.

use goodqueue::config::Value;
use goodqueue::docsis::{Docsis, DocsisConfig};
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{Duration, Ecn, Flow as _, Instant, Rate, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, SALT, agree, configured, differ_nowhere, pick, uniform_64};

impl Model for Drawing<reference::docsis::Docsis> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        // The hash is the packet's own.
        let ecn = self.codepoint(flow);
        let at = Instant::from_nanos(now);
        let packet = TestPacket { id: 0, len: 0, flow, class: None, came_with: ecn, ecn, at };
        let uflow = (ecn == Ecn::Ect1).then(|| packet.flow_hash(SALT));
        Vec::from_iter(self.0.enqueue(now, item, uflow, || uniform_64(&mut self.1)).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }

    fn codepoint(&self, flow: u32) -> Ecn {
        [Ecn::Ect1, Ecn::Ect0, Ecn::Ect1][flow as usize % 3]
    }

    fn has_marked(&self, id: u64) -> bool {
        self.0.marked.contains(&id)
    }
}

#[test]
fn docsis_marks_drops_and_moves_packets_as_the_documents_say() {
    let moved = std::cell::Cell::new(0);
    differ_nowhere(200, |events, seed| {
        let rate = pick(seed, 0, &[8_000_000_u64, 80_000_000]);
        let protects = pick(seed, 1, &[true, true, false]);
        let limit = pick(seed, 2, &[30_000_u64, 100_000, 1_000_000]);
        let score = pick(seed, 3, &[100_u64, 4_000]);
        let settings = Settings::new()
            .with("bandwidth", Value::Rate(Rate::from_bps(rate)))
            .with("classic_limit", Value::Bytes(limit))
            .with("critical_score", Value::Time(Duration::from_micros(score)))
            .with("qprotect", Value::Flag(protects));
        let mut model = reference::docsis::Docsis::new(rate as f64, limit as f64, 1514);
        model.protects = protects;
        model.critical_score = score as f64 * 1e3;
        let queue = Docsis::new(configured::<DocsisConfig>(&settings), SALT, Xoshiro256PlusPlus::new(seed));
        let mut drawing = Drawing(model, Xoshiro256PlusPlus::new(seed));
        let agreed = agree(queue, &mut drawing, events);
        moved.set(moved.get() + drawing.0.sanctioned.len());
        agreed
    });
    assert!(moved.get() > 100, "{} packets were moved", moved.get());
}
