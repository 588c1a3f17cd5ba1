//! What the tests are told with: a queue under supervision that says who it is when something is
//! wrong.

use goodqueue::config::{Kind, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Duration, Ecn, Qdisc};
use goodqueue_testkit::check::{Checked, Outcome};
use goodqueue_testkit::edge::{Case, accepted, cases, default_config};
use goodqueue_testkit::operation::{Operation, Step, TestPacket};

/// A queue whose invariants are checked after every operation.
#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) name: String,
    pub(crate) queue: Checked,
    step: u32,
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

impl Story {
    pub(crate) fn new(name: impl Into<String>, config: AnyConfig) -> Self {
        Self { name: name.into(), queue: Checked::new(config, 1), step: 0 }
    }

    pub(crate) fn of(case: &Case) -> Self {
        Self::new(case.name.clone(), case.config.clone())
    }

    pub(crate) fn with_defaults(kind: &Kind) -> Self {
        Self::new(kind.name, default_config(kind))
    }

    /// The discipline with room for as many packets as it ever has, everything else at its default.
    pub(crate) fn roomy(kind: &Kind) -> Self {
        Self::new(format!("{}, roomy", kind.name), roomy(kind))
    }

    pub(crate) fn does(&mut self, operation: &Operation) -> Outcome {
        self.step += 1;
        let Self { name, queue, step } = self;
        queue.apply(operation).unwrap_or_else(|broken| {
            panic!("{name}\n{:?}\nstep {step}, {operation:?}: {broken}", queue.qdisc().config())
        })
    }

    /// Offers a packet of `flow`, not ECN-capable.
    pub(crate) fn offers(&mut self, flow: u32, len: u32) -> Outcome {
        self.does(&Operation::Enqueue { len, flow, class: None, ecn: Ecn::NotEct })
    }

    pub(crate) fn offers_ect(&mut self, flow: u32, len: u32) -> Outcome {
        self.does(&Operation::Enqueue { len, flow, class: None, ecn: Ecn::Ect0 })
    }

    pub(crate) fn sends(&mut self) -> Option<TestPacket> {
        self.does(&Operation::Dequeue).sent
    }

    pub(crate) fn waits(&mut self, span: Duration) {
        self.does(&Operation::Advance(Step::Forward(span)));
    }

    pub(crate) fn goes_back(&mut self, span: Duration) {
        self.does(&Operation::Advance(Step::Back(span)));
    }

    pub(crate) fn purges(&mut self) -> Outcome {
        self.does(&Operation::Purge)
    }

    pub(crate) fn becomes(&mut self, config: &AnyConfig) -> Outcome {
        self.does(&Operation::Reconfigure(config.clone()))
    }

    /// Everything leaves, or there is a reason why it waits.
    pub(crate) fn empties(&mut self) {
        if let Err(broken) = self.queue.drain() {
            panic!("{}\n{:?}\nat the end: {broken}", self.name, self.queue.qdisc().config());
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.qdisc().len()
    }

    pub(crate) fn offered(&self) -> u64 {
        self.queue.qdisc().stats().offered.packets
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.queue.qdisc().stats().dropped().packets
    }

    /// A bit of everything that happens to a queue: light load, overload, silence, a link that
    /// stands still; packets of every length and codepoint; then it empties.
    pub(crate) fn ordeal(&mut self) {
        const LENGTHS: [u32; 10] = [1514, 64, 1514, 0, 1, 65_535, 1513, 1515, 262_144, 1514];
        const ECN: [Ecn; 5] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ect0];
        for number in 0_u32..90 {
            let len = LENGTHS[number as usize % LENGTHS.len()];
            let ecn = ECN[number as usize % ECN.len()];
            let class = (number % 3 == 0).then_some(number % 5);
            self.does(&Operation::Enqueue { len, flow: number % 7, class, ecn });
            match number {
                // Faster than it comes; then three arrivals for each departure; then the link
                // stands still.
                0..20 => {
                    self.sends();
                    // 1514 bytes take so long at 10 Mbit/s.
                    self.waits(nanos(1_211_200));
                    self.sends();
                }
                20..70 if number % 3 == 0 => {
                    self.waits(ms(7));
                    self.sends();
                }
                _ => self.waits(nanos(100)),
            }
        }
        for pause in [ms(1), ms(100), ms(101), Duration::from_secs(3_600)] {
            self.waits(pause);
            for _ in 0..8 {
                self.sends();
                self.waits(ms(3));
            }
            self.offers(1, 1514);
        }
        self.empties();
    }
}

/// The configuration with as much room as can be had: every limit at its greatest.
pub(crate) fn roomy(kind: &Kind) -> AnyConfig {
    let mut config = default_config(kind);
    let mut settings = goodqueue::Settings::new();
    for parameter in kind.parameters.iter().filter(|p| is_limit(p.name) || p.name == "depth") {
        let mut values = goodqueue_testkit::edge::values(parameter.unit);
        // The greatest value comes first, and the first that fits is taken.
        values.reverse();
        for value in values {
            let wider = settings.clone().with(parameter.name, value);
            if let Some(fits) = accepted(kind, &wider) {
                (settings, config) = (wider, fits);
                break;
            }
        }
    }
    config
}

pub(crate) fn is_limit(name: &str) -> bool {
    matches!(name, "limit" | "memory_limit" | "memlimit")
}

/// The same for every case of every discipline.
pub(crate) fn everywhere(mut story: impl FnMut(&Kind, &Case)) {
    for kind in KINDS {
        for case in cases(kind) {
            story(kind, &case);
        }
    }
}

/// The same for every variant of every discipline: with its defaults, and with everything at its
/// least and greatest.
pub(crate) fn in_every_variant(mut story: impl FnMut(&Kind, &Case)) {
    everywhere(|kind, case| {
        if case.name.contains(" variant ") {
            story(kind, case);
        }
    });
}

/// Every discipline with `name` set to each of `values` that it accepts; how many there were.
pub(crate) fn with_each(name: &str, values: &[Value], mut story: impl FnMut(&Kind, &Case)) -> usize {
    let mut told = 0;
    for kind in KINDS {
        let Some(parameter) = kind.parameters.iter().find(|parameter| parameter.name == name) else {
            continue;
        };
        let unit = goodqueue_testkit::edge::values(parameter.unit);
        let same_unit = |value: &&Value| {
            unit.iter().any(|one| std::mem::discriminant(one) == std::mem::discriminant(*value))
        };
        for value in values.iter().filter(same_unit) {
            let settings = goodqueue_testkit::edge::only(parameter, value.clone());
            if let Some(config) = accepted(kind, &settings) {
                story(kind, &Case { name: format!("{} {name} {value}", kind.name), config });
                told += 1;
            }
        }
    }
    told
}
