//! `red` beside its model.

use goodqueue::Settings;
use goodqueue::config::Value;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::red::{Red, RedConfig};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, agree, configured, differ_nowhere, uniform_32};

impl Model for Drawing<reference::red::Red> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_32(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

#[test]
fn red_drops_as_floyd_and_jacobson_say() {
    differ_nowhere(200, |events, seed| {
        let gentle = seed & 1 == 1;
        let settings = Settings::new()
            .with("variant", Value::Choice("floyd1993"))
            // The model has no limit.
            .with("limit", Value::Bytes(1 << 31))
            .with("min", Value::Bytes(5_000))
            .with("max", Value::Bytes(15_000))
            .with("avpkt", Value::Bytes(1_000))
            .with("weight", Value::Probability(0.02))
            .with("probability", Value::Probability(0.1))
            .with("gentle", Value::Flag(gentle));
        let queue = Red::new(configured::<RedConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::red::Red {
            weight: 0.02,
            min: 5.0,
            max: 15.0,
            max_p: 0.1,
            gentle,
            // `avpkt` takes 800 us at 10 Mbit/s.
            packet_time: 800_000.0,
            queue: Vec::new(),
            average: 0.0,
            count: -1,
            idle_since: 0,
            look_at: None,
        };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn adaptive_red_drops_as_floyd_gummadi_and_shenker_say() {
    differ_nowhere(200, |events, seed| {
        let settings = Settings::new()
            .with("variant", Value::Choice("floyd1993"))
            .with("adaptive", Value::Flag(true))
            // The model has no limit.
            .with("limit", Value::Bytes(1 << 31))
            .with("min", Value::Bytes(5_000))
            .with("max", Value::Bytes(15_000))
            .with("avpkt", Value::Bytes(1_000))
            .with("weight", Value::Probability(0.02))
            .with("gentle", Value::Flag(true));
        let queue = Red::new(configured::<RedConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::red::Red {
            weight: 0.02,
            min: 5.0,
            max: 15.0,
            max_p: 0.1,
            gentle: true,
            packet_time: 800_000.0,
            queue: Vec::new(),
            average: 0.0,
            count: -1,
            idle_since: 0,
            look_at: Some(reference::red::LOOK_INTERVAL),
        };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}
