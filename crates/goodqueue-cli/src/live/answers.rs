//! What a running bottleneck answers, and what it does between packets.
//!
//! Everything here happens in the loop that carries packets: it opens no file, writes to no terminal and waits for nobody.

use std::collections::VecDeque;
use std::fmt::Write as _;

use goodqueue::{Duration, Instant, Qdisc};
use goodqueue_live::attendant::Attendant;
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::flows::{FlowSeen, Flows};
use goodqueue_live::mailbox::Requests;
use goodqueue_live::meter::Step;
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::orders::Order;
use goodqueue_scenario::results::LinkResult;
use goodqueue_tc as tc;
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::voice::Voice;
use super::{float, link_result, seconds, statistics};

/// Answers requests, keeps the recent past, and tells of troubles.
#[derive(Default)]
pub(crate) struct Desk {
    history: [VecDeque<Step>; 2],
    /// Drops by the kernel in front of us that the user has been told of.
    kernel_drops: u64,
    told_late: bool,
    ticks: u64,
    flows: Flows,
    /// When to end unless somebody confirms.
    confirm_by: Option<Instant>,
    /// `None`: nothing is said on standard error.
    voice: Option<Voice>,
    requests: Option<Requests<Order>>,
}

impl Desk {
    /// `quiet`: nothing is said on standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { voice: (!quiet).then(Voice::default), ..Self::default() }
    }

    /// Answers what is asked here from now on.
    pub(crate) fn attend(&mut self, requests: Requests<Order>) {
        self.requests = Some(requests);
    }

    /// Looks on at the flows, for those who ask.
    pub(crate) fn watch_flows(&self, bottleneck: &mut Bottleneck) {
        bottleneck.observers.push(Box::new(self.flows.clone()));
    }

    /// Ends what runs at this time, unless a request says `confirm` before.
    pub(crate) fn confirm_within(&mut self, by: Option<Instant>) {
        self.confirm_by = by;
    }

    /// The answer to one order.
    fn answer(&mut self, bottleneck: &mut Bottleneck, order: Order) -> String {
        match order {
            Order::Stats => {
                let mut all = statistics(bottleneck);
                all["history"] = self.history();
                all["flows"] = self.flows();
                all.to_string()
            }
            Order::Metrics => metrics(bottleneck),
            Order::MetricsJson => json!({"metrics": metrics(bottleneck)}).to_string(),
            Order::TcJson => tc_json(bottleneck).to_string(),
            Order::Confirm => {
                let was_waited_for = self.confirm_by.take().is_some();
                json!({"confirmed": was_waited_for}).to_string()
            }
            Order::InForce => in_force(bottleneck),
            Order::Change(changes) => {
                changes.into_iter().for_each(|change| change.make(bottleneck));
                in_force(bottleneck)
            }
        }
    }

    /// The recent past of both queues, oldest first.
    fn history(&self) -> Value {
        let of = |direction: Direction| -> Value {
            let steps = &self.history[direction.index()];
            let mean =
                |step: &Step| (step.packets > 0).then(|| float(step.sojourn_sum) / float(step.packets) / 1e9);
            json!({
                "sojourn_mean_s": steps.iter().map(mean).collect::<Vec<_>>(),
                "bytes": steps.iter().map(|step| step.bytes).collect::<Vec<_>>(),
                "drops": steps.iter().map(|step| step.drops).collect::<Vec<_>>(),
                "queued": steps.iter().map(|step| step.queued).collect::<Vec<_>>(),
            })
        };
        json!({"step_s": seconds(Instant::ZERO + STEP), "down": of(Direction::Down), "up": of(Direction::Up)})
    }

    /// The flows of both directions that were seen last.
    fn flows(&self) -> Value {
        let of = |direction: Direction| -> Value {
            let flows = self.flows.of(direction, MOST_FLOWS);
            let one = |flow: &FlowSeen| {
                json!({
                    "protocol": flow.name.protocol,
                    "source": flow.name.source,
                    "destination": flow.name.destination,
                    "throughput_bps": flow.bytes_last_second * 8,
                    "sojourn_mean_s": flow.sojourn_last_second.map(|sojourn| seconds(Instant::ZERO + sojourn)),
                    "queued_packets": flow.queued,
                    "packets": flow.sent,
                    "bytes": flow.bytes,
                    "dropped": flow.dropped,
                    "marked": flow.marked,
                })
            };
            flows.iter().map(one).collect()
        };
        json!({"down": of(Direction::Down), "up": of(Direction::Up)})
    }

    /// What the user should know, once each.
    fn tell_troubles(&mut self, bottleneck: &mut Bottleneck) {
        while let Some(trouble) = bottleneck.observers.trouble() {
            self.say(&trouble);
        }
        let latest = bottleneck.counters().latest;
        if latest > VERY_LATE && !self.told_late {
            self.told_late = true;
            self.say(&format!(
                "this process ran {} late: delays are that much too long at times; the machine is busy",
                units::show_time(latest)
            ));
        }
        // A question to the kernel now and then is enough.
        if !self.ticks.is_multiple_of(20) {
            return;
        }
        let dropped: u64 = bottleneck.kernel_counters().iter().flatten().map(|side| side.dropped).sum();
        if dropped > self.kernel_drops {
            if self.kernel_drops == 0 {
                self.say(&format!(
                    "the kernel dropped {dropped} packets in front of the bottleneck, which came faster than they were read"
                ));
            }
            self.kernel_drops = dropped;
        }
    }

    fn say(&self, sentence: &str) {
        if let Some(voice) = &self.voice {
            voice.say(format!("goodqueue: {sentence}"));
        }
    }
}

impl Attendant for Desk {
    fn request(&mut self, bottleneck: &mut Bottleneck) {
        if let Some(request) = self.requests.as_ref().and_then(Requests::take) {
            request.answer_with(|order| self.answer(bottleneck, order));
        }
    }

    fn tick(&mut self, bottleneck: &mut Bottleneck, now: Instant) -> Instant {
        for direction in Direction::BOTH {
            let step = bottleneck.link_mut(direction).0.meter.take_step();
            let history = &mut self.history[direction.index()];
            if history.len() >= REMEMBERED {
                history.pop_front();
            }
            history.push_back(step);
        }
        self.tell_troubles(bottleneck);
        self.ticks += 1;
        if self.ticks.is_multiple_of(4) {
            self.flows.end_second(now);
        }
        now + STEP
    }

    fn is_over(&mut self, now: Instant) -> bool {
        let is_over = self.confirm_by.is_some_and(|by| by <= now);
        if is_over {
            self.say("nobody has confirmed: everything is undone");
        }
        is_over
    }
}

fn in_force(bottleneck: &Bottleneck) -> String {
    let side = |direction: Direction| {
        let link = bottleneck.link(direction);
        let rate = link.capacity().rate_at(bottleneck.now()).map(|(rate, _)| rate.as_bps());
        json!({"qdisc": tc::to_tc(&link.qdisc().config()), "rate_bps": rate})
    };
    json!({"down": side(Direction::Down), "up": side(Direction::Up)}).to_string()
}

/// Both disciplines as `tc -s -j qdisc show` would print them.
fn tc_json(bottleneck: &Bottleneck) -> Value {
    let now = bottleneck.now();
    let mut all = Vec::new();
    for direction in Direction::BOTH {
        let link = bottleneck.link(direction);
        let measured = link_result(link, now);
        for mut qdisc in tc::statistics(link.qdisc(), now, Some(&serde_json::json!(measured.sojourn_s))) {
            if let Some(fields) = qdisc.as_object_mut() {
                // Behind kind and handle, as in tc.
                fields.shift_insert(fields.len().min(2), "dev".to_owned(), direction.name().into());
            }
            all.push(qdisc);
        }
    }
    Value::Array(all)
}

/// The text format of Prometheus; names follow those of node_exporter's qdisc collector.
fn metrics(bottleneck: &mut Bottleneck) -> String {
    let now = bottleneck.now();
    let sides: Vec<(Direction, LinkResult, u64, u64)> = Direction::BOTH
        .into_iter()
        .map(|direction| {
            let link = bottleneck.link(direction);
            let queued = (Qdisc::len(link.qdisc()) as u64, Qdisc::backlog(link.qdisc()));
            (direction, link_result(link, now), queued.0, queued.1)
        })
        .collect();
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP goodqueue_{name} {help}\n# TYPE goodqueue_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(text, "goodqueue_{name}{{{labels}}} {value}");
        }
    };
    let label = |side: &(Direction, LinkResult, u64, u64)| {
        let kind = side.1.qdisc.split_whitespace().next().unwrap_or("?");
        format!("direction=\"{}\",kind=\"{kind}\"", side.0.name())
    };
    type Value = fn(&(Direction, LinkResult, u64, u64)) -> f64;
    let simple: [(&str, &str, &str, Value); 6] = [
        ("qdisc_packets_total", "counter", "Packets that left the queue.", |side| {
            float(side.1.packets.dequeued)
        }),
        ("qdisc_drops_total", "counter", "Packets dropped.", |side| float(side.1.packets.dropped)),
        ("qdisc_ecn_marks_total", "counter", "Packets marked CE.", |side| float(side.1.packets.marked)),
        ("qdisc_current_queue_length", "gauge", "Packets queued.", |side| float(side.2)),
        ("qdisc_backlog", "gauge", "Bytes queued.", |side| float(side.3)),
        ("link_rate_bits_per_second", "gauge", "Rate of the link; 0: without limit.", |side| side.1.rate_bps),
    ];
    for (name, kind, help, value) in simple {
        let samples: Vec<_> = sides.iter().map(|side| (label(side), value(side))).collect();
        family(name, kind, help, &samples);
    }
    let mut by_reason = Vec::new();
    let mut sojourn = Vec::new();
    for side in &sides {
        for (reason, count) in &side.1.drops {
            by_reason.push((format!("{},reason=\"{reason}\"", label(side)), float(*count)));
        }
        let of = &side.1.sojourn_s;
        for (quantile, value) in [("0.5", of.p50), ("0.95", of.p95), ("0.99", of.p99)] {
            sojourn.extend(value.map(|value| (format!("{},quantile=\"{quantile}\"", label(side)), value)));
        }
    }
    family("qdisc_reason_drops_total", "counter", "Packets dropped, by reason.", &by_reason);
    family("qdisc_sojourn_seconds", "summary", "Time that packets spent in the queue.", &sojourn);
    let counters = bottleneck.counters();
    family(
        "late_wakeups_total",
        "counter",
        "Times this process ran over 1 ms late.",
        &[(String::new(), float(counters.late))],
    );
    text
}

/// What a long screen shows.
const MOST_FLOWS: usize = 100;
/// Four points a second make a lively display.
const STEP: Duration = Duration::from_millis(250);
/// A minute.
const REMEMBERED: usize = 240;
/// A fifth of what people notice; a busy machine is a few milliseconds late all the time.
const VERY_LATE: Duration = Duration::from_millis(20);
