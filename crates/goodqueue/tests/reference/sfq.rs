//! `sfq` beside its model.

use goodqueue::Settings;
use goodqueue::config::Value;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::sfq::{Sfq, SfqConfig};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere};

impl Model for reference::sfq::Sfq {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow, item)
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue())
    }
}

#[test]
fn sfq_serves_and_drops_as_its_model() {
    differ_nowhere(300, |events, seed| {
        // The seed picks the configuration.
        let pick = |shift: u32, choices: &[u64]| {
            choices[usize::from((seed >> shift).to_le_bytes()[0]) % choices.len()]
        };
        let settings = Settings::new()
            .with("limit", Value::Packets(pick(0, &[1, 2, 5, 20, 127])))
            .with("depth", Value::Packets(pick(8, &[1, 2, 10, 127])))
            .with("flows", Value::Integer(pick(16, &[1, 2, 4, 128])))
            .with("quantum", Value::Bytes(pick(24, &[1, 300, 1514, 3000, 65_536])))
            .with("headdrop", Value::Flag(pick(32, &[0, 1]) == 1));
        let config: SfqConfig = configured(&settings);
        let model = reference::sfq::Sfq {
            limit: config.limit() as usize,
            depth: config.depth() as usize,
            flows: config.flows() as usize,
            quantum: i64::from(config.quantum()),
            head_drop: settings.flag("headdrop") == Some(true),
            round: Vec::new(),
            clock: 0,
        };
        agree(Sfq::new(config, 0, Xoshiro256PlusPlus::new(seed)), model, events)
    });
}
