//! `dualpi2` beside its model.

use goodqueue::config::Value;
use goodqueue::dualpi2::{DualPi2, DualPi2Config};
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{Ecn, Settings};
use goodqueue_testkit::reference::dualpi2::Codepoint;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, agree, configured, differ_nowhere, pick, uniform_64};

impl Model for Drawing<reference::dualpi2::DualPi2> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        let needs = match self.codepoint(flow) {
            Ecn::Ect1 => Codepoint::Ect1,
            Ecn::Ect0 => Codepoint::Ect0,
            _ => Codepoint::NotEct,
        };
        Vec::from_iter(self.0.enqueue(now, item, needs).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.0.dequeue(now, || uniform_64(&mut self.1))
    }

    fn codepoint(&self, flow: u32) -> Ecn {
        [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct][flow as usize % 3]
    }

    fn has_marked(&self, id: u64) -> bool {
        self.0.marked.contains(&id)
    }
}

#[test]
fn dualpi2_serves_marks_and_drops_as_rfc_9332_says() {
    differ_nowhere(200, |events, seed| {
        let limit = pick(seed, 0, &[30_u64, 10_000]);
        let settings =
            Settings::new().with("variant", Value::Choice("rfc9332")).with("limit", Value::Packets(limit));
        let queue = DualPi2::new(configured::<DualPi2Config>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::dualpi2::DualPi2::new(usize::try_from(limit).unwrap(), 1514);
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}
