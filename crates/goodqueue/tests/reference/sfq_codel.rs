//! `sfq_codel` beside its model.

use goodqueue::config::Value;
use goodqueue::sfq_codel::{SfqCodel, SfqCodelConfig};
use goodqueue::{Duration, Settings};
use goodqueue_testkit::reference::codel::{Author, Law};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick, times};

impl Model for reference::sfq_codel::SfqCodel {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.dequeue(now)
    }
}

#[test]
fn sfq_codel_serves_and_drops_as_nichols_wrote_it() {
    differ_nowhere(200, |events, seed| {
        let (target, interval) = times(seed);
        let limit = pick(seed, 1, &[10_u64, 40, 1_000]);
        let settings = Settings::new()
            .with("limit", Value::Packets(limit))
            .with("flows", Value::Integer(6))
            .with("target", Value::Time(Duration::from_nanos(target)))
            .with("interval", Value::Time(Duration::from_nanos(interval)));
        let mut law = Law::new(Author::Ns2, target, interval, 1514);
        law.scales_large_counts = false;
        law.keeps_first_above = true;
        let model = reference::sfq_codel::SfqCodel::new(usize::try_from(limit).unwrap(), 6, &law);
        agree(SfqCodel::new(configured::<SfqCodelConfig>(&settings), 0), model, events)
    });
}
