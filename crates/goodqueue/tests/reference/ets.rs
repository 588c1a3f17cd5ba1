//! `ets` beside its model.

use goodqueue::config::{Child, Value};
use goodqueue::ets::{Ets, EtsConfig};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick};

impl Model for reference::ets::Ets {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue())
    }
}

/// Packets in a band.
const LIMIT: u16 = 20;

/// The names of the first quanta, one for each band that may share.
const QUANTA: [&str; 6] =
    ["quanta", "quanta.second", "quanta.third", "quanta.fourth", "quanta.fifth", "quanta.sixth"];

#[test]
fn ets_serves_strict_bands_first_and_the_others_by_their_quanta() {
    differ_nowhere(300, |events, seed| {
        // Up to six bands, of which none, some or all are strict. Packets name six bands, so that
        // some name none that there is.
        let bands = pick(seed, 0, &[1, 2, 4, 5, 6]);
        let strict = pick(seed, 1, &[0, 1, 2, 3, 6]).min(bands);
        let stray = pick(seed, 2, &[0, 1, 3, 5]).min(bands - 1);
        let settings = Settings::new()
            .with("bands", Value::Integer(bands as u64))
            .with("strict", Value::Integer(strict as u64))
            .with("priomap", Value::Priomap([u8::try_from(stray).expect("below six"); 16]));
        let limit = || Settings::new().with("limit", Value::Packets(LIMIT.into()));
        let bands_of = (1..=u32::try_from(bands).expect("six at most")).map(|class| Child {
            class,
            parent: 0,
            settings: Settings::new(),
            qdisc: Some(("pfifo", limit())),
        });
        let settings = bands_of.fold(settings, Settings::with_child);
        let quanta: Vec<u64> =
            (strict..bands).map(|band| pick(seed, band, &[1, 300, 1514, 5_000, 2_000_000])).collect();
        let settings = QUANTA
            .iter()
            .zip(&quanta)
            .fold(settings, |all, (name, quantum)| all.with(name, Value::Integer(*quantum)));
        let queue = Ets::<_, AnyQdisc<TestPacket>>::new(
            configured::<EtsConfig<AnyConfig>>(&settings),
            0,
            Source::seeded(seed),
        );
        // As in Linux, less counts as 256, and more as a MiB.
        let share = |quantum: &u64| reference::drr::Flow {
            quantum: (*quantum).clamp(256, 1 << 20),
            ..Default::default()
        };
        let flows = quanta.iter().map(share).collect();
        let sharing = reference::drr::Drr { limit: LIMIT.into(), flows, active: Vec::new() };
        let model =
            reference::ets::Ets { limit: LIMIT.into(), strict: vec![Vec::new(); strict], sharing, stray };
        agree(queue, model, events)
    });
}
