//! `codel` beside its model.

use goodqueue::Duration;
use goodqueue::codel::{Codel, CodelConfig, CodelParams, CodelVariant, Startup};
use goodqueue_testkit::reference::codel::{Author, Law};
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, differ_nowhere, times};

impl Model for reference::codel::Codel {
    fn enqueue(&mut self, _: u64, _: u32, item: Item) -> Vec<u64> {
        self.enqueue(item);
        Vec::new()
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.dequeue(now)
    }
}

#[test]
fn codel_drops_as_rfc_8289_the_article_of_2012_and_ns_2_say() {
    let authors = [
        (Author::Rfc8289, CodelVariant::Rfc8289),
        (Author::Cacm2012, CodelVariant::Cacm2012),
        (Author::Ns2, CodelVariant::Ns2),
    ];
    for (author, variant) in authors {
        differ_nowhere(200, |events, seed| {
            let (target, interval) = times(seed);
            let params = CodelParams {
                target: Duration::from_nanos(target),
                interval: Duration::from_nanos(interval),
                variant,
                ..CodelParams::new(1514)
            };
            // The model has no limit.
            let queue = Codel::new(CodelConfig::new(100_000, params).unwrap());
            let law = Law::new(author, target, interval, 1514);
            agree(queue, reference::codel::Codel { law, queue: Vec::new() }, events)
        });
    }
}

#[test]
fn ns_2_begins_above_target_if_asked_to() {
    differ_nowhere(100, |events, seed| {
        let (target, interval) = times(seed);
        let params = CodelParams {
            target: Duration::from_nanos(target),
            interval: Duration::from_nanos(interval),
            variant: CodelVariant::Ns2,
            startup: Some(Startup::Ns2),
            ..CodelParams::new(1514)
        };
        let queue = Codel::new(CodelConfig::new(100_000, params).unwrap());
        let law = Law::new(Author::Ns2, target, interval, 1514).above_target_for_long();
        agree(queue, reference::codel::Codel { law, queue: Vec::new() }, events)
    });
}
