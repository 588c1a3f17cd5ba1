//! `cobalt` beside its model.

use goodqueue::Settings;
use goodqueue::cobalt::{Cobalt, CobaltConfig};
use goodqueue::config::Value;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, agree, configured, differ_nowhere, pick, uniform_32};

impl Model for Drawing<reference::cobalt::Cobalt> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        self.0.enqueue(now, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.0.dequeue(now, || uniform_32(&mut self.1))
    }
}

#[test]
fn cobalt_drops_as_described() {
    differ_nowhere(200, |events, seed| {
        let limit = pick(seed, 0, &[10_u64, 40, 1_000]);
        let settings =
            Settings::new().with("variant", Value::Choice("paper")).with("limit", Value::Packets(limit));
        let queue = Cobalt::new(configured::<CobaltConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::cobalt::Cobalt::new(usize::try_from(limit).unwrap());
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}
