//! `blue` beside its model.

use goodqueue::blue::{Blue, BlueConfig};
use goodqueue::config::Value;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{Duration, Settings};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, agree, configured, differ_nowhere, uniform_32};

impl Model for Drawing<reference::blue::Blue> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_32(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

#[test]
fn blue_drops_as_feng_says() {
    differ_nowhere(200, |events, seed| {
        let threshold = (seed & 1 == 1).then_some(10);
        let mut settings = Settings::new()
            .with("limit", Value::Packets(30))
            .with("freeze_time", Value::Time(Duration::from_millis(10)));
        if let Some(threshold) = threshold {
            settings.set("threshold", Value::Packets(threshold));
        }
        let queue = Blue::new(configured::<BlueConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::blue::Blue {
            limit: 30,
            freeze_time: 10_000_000,
            // The defaults of `increment` and `decrement`.
            d1: 0.02,
            d2: 0.002,
            threshold: threshold.and_then(|packets| usize::try_from(packets).ok()),
            queue: Vec::new(),
            p_m: 0.0,
            last_update: None,
        };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}
