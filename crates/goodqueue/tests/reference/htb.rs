//! `htb` beside its model.

use goodqueue::config::{Child, Value};
use goodqueue::htb::{Htb, HtbConfig};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, Rate, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick};

impl Model for reference::htb::Htb {
    fn enqueue(&mut self, _: u64, _: u32, item: Item) -> Vec<u64> {
        Vec::from_iter(self.enqueue(item).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue(now))
    }
}

#[test]
fn htb_lends_along_a_chain_of_classes() {
    differ_nowhere(200, |events, seed| {
        // The leaf and the classes above it: rate and ceiling in ns per byte.
        let chain = pick(
            seed,
            0,
            &[
                [(4_000_u64, 1_000_u64), (2_000, 1_000), (1_000, 1_000)],
                [(8_000, 2_000), (4_000, 2_000), (1_000, 500)],
                [(1_000, 1_000), (2_000, 2_000), (4_000, 4_000)],
            ],
        );
        let burst = pick(seed, 1, &[1_600_u64, 16_000]);
        let mut settings = Settings::new().with("default", Value::Class(1));
        let mut classes = Vec::new();
        for (number, (rate, ceil)) in (1..).zip(chain) {
            let of = |nanos: u64| Value::Rate(Rate::from_bps(8_000_000_000 / nanos));
            let own = Settings::new()
                .with("rate", of(rate))
                .with("ceil", of(ceil))
                .with("burst", Value::Bytes(burst))
                .with("cburst", Value::Bytes(burst));
            let limit = Settings::new().with("limit", Value::Packets(20));
            let parent = if number < 3 { number + 1 } else { 0 };
            let qdisc = (number == 1).then_some(("pfifo", limit));
            settings.add_child(Child { class: number, parent, settings: own, qdisc });
            classes.push(reference::htb::Class::new((rate as f64, ceil as f64), burst as f64));
        }
        let queue = Htb::<_, AnyQdisc<TestPacket>>::new(
            configured::<HtbConfig<AnyConfig>>(&settings),
            0,
            Source::seeded(seed),
        );
        agree(queue, reference::htb::Htb { limit: 20, classes, queue: Vec::new() }, events)
    });
}
