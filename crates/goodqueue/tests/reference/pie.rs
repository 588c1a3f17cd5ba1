//! `pie` beside its model.

use goodqueue::Settings;
use goodqueue::config::Value;
use goodqueue::pie::{Pie, PieConfig};
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Drawing, Model, agree, configured, differ_nowhere, uniform_64};

impl Model for Drawing<reference::pie::Pie> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_64(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

/// The draft's PIE has no `drop_early` of its own to draw for.
impl Model for Drawing<reference::pie_draft00::Pie> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_64(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

#[test]
fn pie_drops_as_rfc_8033_says() {
    differ_nowhere(200, |events, seed| {
        let queue = Pie::new(
            configured::<PieConfig>(&Settings::new().with("variant", Value::Choice("rfc8033"))),
            Xoshiro256PlusPlus::new(seed),
        );
        let model = Drawing(reference::pie::Pie::new(1000), Xoshiro256PlusPlus::new(seed));
        agree(queue, model, events)
    });
}

#[test]
fn pie_of_2013_drops_as_its_draft_says() {
    differ_nowhere(200, |events, seed| {
        let settings = Settings::new().with("variant", Value::Choice("draft00"));
        let queue = Pie::new(configured::<PieConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = Drawing(reference::pie_draft00::Pie::new(1000), Xoshiro256PlusPlus::new(seed));
        agree(queue, model, events)
    });
}
