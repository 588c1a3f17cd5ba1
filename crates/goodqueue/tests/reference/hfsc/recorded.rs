//! The model beside recordings of Linux. Where the discipline and the model agree, both could be
//! wrong in the same way; here the model stands alone.

use std::collections::BTreeMap;

use goodqueue::config::{Child, Settings, Value};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Flow as _, Instant, Link, Rate};
use goodqueue_testkit::kernel::{Arrival, Fate, RecordedLink, Recording};
use goodqueue_testkit::reference::Item;
use goodqueue_testkit::reference::hfsc::{Class, Curve, Limit, Model, Plan};

use super::{LS, RT, UL};

#[test]
fn the_model_of_hfsc_decides_as_the_recorded_kernel() {
    let mut compared = Vec::new();
    for path in Recording::all().unwrap() {
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hfsc")) {
            continue;
        }
        let recording = Recording::read(&path).unwrap();
        // The model has no AQM and no shaper in its leaves.
        let Some(plan) = plan_of(&recording.config.to_settings()) else { continue };
        let mut link = ModelLink::new(&plan, recording.rate(), recording.origin());
        let packets = recording.compare_on(&mut link, |_, _| None);
        assert!(packets.as_ref().is_ok_and(|packets| *packets > 100), "{}: {packets:?}", recording.name);
        compared.push(recording.name);
    }
    let expected = ["concave", "default", "ls", "no_default", "rt", "tree", "ul"];
    assert_eq!(compared, expected.map(|name| format!("hfsc_{name}")));
}

/// The configuration for the model, if all leaves are FIFOs.
fn plan_of(settings: &Settings) -> Option<Plan> {
    let default = match settings.get("default") {
        Some(Value::Class(class)) => class,
        _ => 0,
    };
    let classes: Option<Vec<Class>> = settings.children().iter().map(class_of).collect();
    let mut plan = Plan { default, classes: classes? };
    plan.classes.sort_by_key(|class| class.number);
    Some(plan)
}

fn class_of(child: &Child) -> Option<Class> {
    let [rt, ls, ul] = [RT, LS, UL].map(|words| curve_of(&child.settings, words));
    let queue = match &child.qdisc {
        Some((name, settings)) => {
            let inner = AnyConfig::from_settings(name, settings, &Link::default())?.ok()?.to_settings();
            match (*name, inner.get("limit")) {
                ("pfifo", Some(Value::Packets(limit))) => Some(Limit::Packets(u32::try_from(limit).ok()?)),
                _ => return None,
            }
        }
        None => None,
    };
    Some(Class { number: child.class, parent: child.parent, rt, ls, ul, queue })
}

fn curve_of(settings: &Settings, words: [&str; 3]) -> Option<Curve> {
    let bytes = |rate: Rate| u32::try_from(rate.as_bps() / 8).ok();
    let m1 = bytes(settings.rate(words[0])?)?;
    let d = u32::try_from(settings.time(words[1])?.as_nanos() / 1_000).ok()?;
    let m2 = bytes(settings.rate(words[2])?)?;
    Some(Curve { m1, d, m2 })
}

/// An ideal serial link that asks the model.
struct ModelLink {
    model: Model,
    rate: Rate,
    origin: Duration,
    packets: BTreeMap<u64, Arrival>,
    busy_until: Instant,
    ask_at: Option<Instant>,
    /// The comparison wants a discipline, which here has nothing to do.
    unused: AnyQdisc<Arrival>,
}

impl ModelLink {
    fn new(plan: &Plan, rate: Rate, origin: Duration) -> Self {
        let fifo = AnyConfig::from_settings("pfifo", &Settings::new(), &Link::default());
        let fifo = fifo.expect("a discipline").expect("valid settings");
        let unused = AnyQdisc::new(fifo, 0, Source::seeded(0));
        let model = Model::new(plan);
        let packets = BTreeMap::new();
        Self { model, rate, origin, packets, busy_until: Instant::ZERO, ask_at: None, unused }
    }

    fn ask(&mut self, now: Instant, report: &mut impl FnMut(Fate)) {
        let clock = (now + self.origin).as_nanos();
        self.ask_at = match self.model.dequeue(clock) {
            Some(seq) => {
                let Arrival { bytes, tos, .. } = self.packets[&seq];
                report(Fate::Sent { at: now, seq, bytes, tos });
                self.busy_until = now + self.rate.serialization(bytes);
                Some(self.busy_until)
            }
            None => self.model.next_event(clock).map(|event| Instant::from_nanos(event) - self.origin),
        };
    }
}

impl RecordedLink for ModelLink {
    fn arrive(&mut self, arrival: Arrival, report: &mut impl FnMut(Fate)) {
        self.run_until(arrival.at, report);
        self.packets.insert(arrival.seq, arrival);
        let clock = (arrival.at + self.origin).as_nanos();
        let item = Item { id: arrival.seq, len: arrival.bytes, at: clock };
        for seq in self.model.enqueue(clock, arrival.class(), item) {
            report(Fate::Dropped { at: arrival.at, seq, why: DropReason::Overlimit });
        }
        if self.busy_until <= arrival.at {
            self.ask(arrival.at, report);
        }
    }

    fn run_until(&mut self, end: Instant, report: &mut impl FnMut(Fate)) {
        while let Some(now) = self.ask_at.filter(|due| *due < end) {
            self.ask(now, report);
        }
    }

    fn reconfigure(&mut self, _: Instant, _: AnyConfig, _: &mut impl FnMut(Fate)) {
        unreachable!("no recording of hfsc has a change");
    }

    fn qdisc_mut(&mut self) -> &mut AnyQdisc<Arrival> {
        &mut self.unused
    }
}
