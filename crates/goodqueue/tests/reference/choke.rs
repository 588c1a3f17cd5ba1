//! `choke` beside its model.

use goodqueue::Settings;
use goodqueue::choke::{Choke, ChokeConfig};
use goodqueue::config::Value;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, agree, configured, differ_nowhere, uniform_32};

impl Model for Drawing<reference::choke::Choke> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        self.0.enqueue(now, flow, item, || uniform_32(&mut self.1))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

#[test]
fn choke_drops_as_pan_says() {
    differ_nowhere(200, |events, seed| {
        let settings = Settings::new()
            .with("variant", Value::Choice("infocom2000"))
            .with("limit", Value::Packets(60))
            .with("min", Value::Packets(1))
            .with("max", Value::Packets(2))
            .with("probability", Value::Probability(0.1));
        let queue = Choke::new(configured::<ChokeConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let red = reference::red::Red {
            weight: 0.002,
            min: 1.0,
            max: 2.0,
            max_p: 0.1,
            gentle: false,
            // 1000 bytes, the default of `avpkt`, take 800 us at 10 Mbit/s.
            packet_time: 800_000.0,
            queue: Vec::new(),
            average: 0.0,
            count: -1,
            idle_since: 0,
            look_at: None,
        };
        let model = reference::choke::Choke { limit: 60, red, flows: Vec::new() };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}
