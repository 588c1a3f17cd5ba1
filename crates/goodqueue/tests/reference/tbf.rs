//! `tbf` beside its model.

use goodqueue::config::Value;
use goodqueue::random::Source;
use goodqueue::tbf::{Tbf, TbfConfig};
use goodqueue::{AnyConfig, AnyQdisc, Rate, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};

use crate::harness::{Model, agree, configured, differ_nowhere, pick};

impl Model for reference::tbf::Tbf {
    fn enqueue(&mut self, _: u64, _: u32, item: Item) -> Vec<u64> {
        Vec::from_iter(self.enqueue(item).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue(now))
    }
}

#[test]
fn tbf_lets_go_what_its_buckets_hold() {
    differ_nowhere(200, |events, seed| {
        // Whole nanoseconds per byte, so that integers and real numbers agree.
        let rate = pick(seed, 0, &[8_000_000_u64, 4_000_000, 2_000_000]);
        let burst = pick(seed, 1, &[1_000_u32, 1514, 5_000, 20_000]);
        let peak = pick(seed, 2, &[None, Some((16_000_000_u64, 1514_u32))]);
        let mut settings = Settings::new()
            .with("rate", Value::Rate(Rate::from_bps(rate)))
            .with("burst", Value::Bytes(u64::from(burst)))
            .with("limit", Value::Bytes(30_000));
        if let Some((rate, most)) = peak {
            settings.set("peakrate", Value::Rate(Rate::from_bps(rate)));
            settings.set("mtu", Value::Bytes(u64::from(most)));
        }
        let per_nano = |bits: u64| bits as f64 / 8e9;
        let peak = peak.map(|(rate, most)| (per_nano(rate), f64::from(most)));
        let model = reference::tbf::Tbf {
            rate: per_nano(rate),
            burst: f64::from(burst),
            peak,
            limit: 30_000.0,
            queue: Vec::new(),
            tokens: (f64::from(burst), peak.map_or(0.0, |(_, most)| most)),
            filled_at: 0,
        };
        agree(
            Tbf::<_, AnyQdisc<TestPacket>>::new(
                configured::<TbfConfig<AnyConfig>>(&settings),
                0,
                Source::seeded(seed),
            ),
            model,
            events,
        )
    });
}
