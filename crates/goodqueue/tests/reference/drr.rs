//! `drr` beside its model.

use goodqueue::config::{Child, Value};
use goodqueue::drr::{Drr, DrrConfig};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick};

impl Model for reference::drr::Drr {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue())
    }
}

#[test]
fn drr_serves_as_shreedhar_and_varghese_say() {
    differ_nowhere(200, |events, seed| {
        let mut settings = Settings::new();
        let mut flows = Vec::new();
        for flow in 0..6_u32 {
            let quantum = pick(seed, flow as usize, &[1_u64, 300, 1514, 5_000]);
            let own = Settings::new().with("quantum", Value::Bytes(quantum));
            let limit = Settings::new().with("limit", Value::Packets(20));
            settings.add_child(Child {
                class: flow + 1,
                parent: 0,
                settings: own,
                qdisc: Some(("pfifo", limit)),
            });
            // As in Linux, less counts as 256.
            flows.push(reference::drr::Flow { quantum: quantum.max(256), ..Default::default() });
        }
        let queue = Drr::<_, AnyQdisc<TestPacket>>::new(
            configured::<DrrConfig<AnyConfig>>(&settings),
            0,
            Source::seeded(seed),
        );
        agree(queue, reference::drr::Drr { limit: 20, flows, active: Vec::new() }, events)
    });
}
