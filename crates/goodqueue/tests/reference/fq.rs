//! `fq` beside its model.

use goodqueue::config::Value;
use goodqueue::fq::{Fq, FqConfig};
use goodqueue::{Rate, Settings};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick};

impl Model for reference::fq::Fq {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        // The harness sends flow n as class n + 1, which `fq` takes for the priority.
        let priority = flow as usize + 1;
        let lost = reference::fq::Fq::enqueue(self, now, flow as usize, priority, item);
        if lost { vec![item.id] } else { Vec::new() }
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), reference::fq::Fq::dequeue(self, now))
    }
}

#[test]
fn fq_serves_paces_and_drops_as_linux_does() {
    differ_nowhere(200, |events, seed| {
        let limit = pick(seed, 1, &[10_u64, 40, 10_000]);
        let flow_limit = pick(seed, 2, &[4_u64, 20, 100]);
        let quantum = pick(seed, 3, &[300_u64, 1514, 3028]);
        let initial = pick(seed, 4, &[0_u64, 1514, 15_140]);
        let weights = pick(seed, 5, &[[16_384_u64; 3], [589_824, 196_608, 65_536], [20_000, 40_000, 16_384]]);
        let rate = pick(seed, 6, &[0_u64, 400_000, 2_000_000, 20_000_000]);
        let mut settings = Settings::new()
            .with("limit", Value::Packets(limit))
            .with("flow_limit", Value::Packets(flow_limit))
            .with("quantum", Value::Bytes(quantum))
            .with("initial_quantum", Value::Bytes(initial))
            // The model has no hash. 16 bits of it keep the six flows apart.
            .with("orphan_mask", Value::Integer(65_535))
            .with("weights", Value::Integer(weights[0]))
            .with("weights.second", Value::Integer(weights[1]))
            .with("weights.third", Value::Integer(weights[2]));
        if rate > 0 {
            settings = settings.with("maxrate", Value::Rate(Rate::from_bps(rate)));
        }
        let whole = |number: u64| usize::try_from(number).unwrap();
        let signed = |number: u64| i64::try_from(number).unwrap();
        let limits = (whole(limit), whole(flow_limit));
        let quanta = (signed(quantum), signed(initial));
        let model = reference::fq::Fq::new(6, limits, quanta, weights.map(signed), rate / 8);
        agree(Fq::new(configured::<FqConfig>(&settings), 0), model, events)
    });
}
