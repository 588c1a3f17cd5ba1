//! `fq_codel` beside its model.

use goodqueue::config::Value;
use goodqueue::fq_codel::{FqCodel, FqCodelConfig};
use goodqueue::{Duration, Settings};
use goodqueue_testkit::reference::codel::{Author, Law};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick, times};

impl Model for reference::fq_codel::FqCodel {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.dequeue(now)
    }
}

#[test]
fn fq_codel_serves_and_drops_as_rfc_8290_says() {
    differ_nowhere(200, |events, seed| {
        let (target, interval) = times(seed);
        let limit = pick(seed, 1, &[10_u64, 40, 10_240]);
        let batch = pick(seed, 2, &[1_u64, 4, 64]);
        let quantum = pick(seed, 3, &[1_u64, 300, 1514, 4000]);
        let settings = Settings::new()
            .with("variant", Value::Choice("rfc8290"))
            .with("limit", Value::Packets(limit))
            .with("flows", Value::Integer(6))
            .with("quantum", Value::Bytes(quantum))
            .with("drop_batch", Value::Integer(batch))
            .with("target", Value::Time(Duration::from_nanos(target)))
            .with("interval", Value::Time(Duration::from_nanos(interval)));
        let law = Law::new(Author::Rfc8289, target, interval, 1514);
        let limit = usize::try_from(limit).unwrap();
        let batch = usize::try_from(batch).unwrap();
        let model = reference::fq_codel::FqCodel::new(limit, i64::try_from(quantum).unwrap(), batch, 6, &law);
        agree(FqCodel::new(configured::<FqCodelConfig>(&settings), 0), model, events)
    });
}
