//! Answers of a running bottleneck, and its work between packets.
//!
//! All of this runs in the loop that carries packets. It opens no file, writes to no terminal and
//! never waits.

use std::collections::VecDeque;
use std::fmt::Write as _;

use goodqueue::{Duration, Instant, Qdisc};
use goodqueue_live::between_packets::BetweenPackets;
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::flows::{FlowSeen, Flows};
use goodqueue_live::mailbox::Requests;
use goodqueue_live::meter::Step;
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::orders::Order;
use goodqueue_scenario::measure::histogram_summary;
use goodqueue_scenario::results::LinkResult;
use goodqueue_tc as tc;
use goodqueue_tc::units;
use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::statistics::{VERY_LATE, discarded, float, link_result, seconds, statistics};

/// Takes a message to the user. It must not wait, because the loop that carries packets calls it.
pub type Tell = Box<dyn Fn(String) + Send>;

/// Answers requests, keeps the recent history, and reports troubles.
#[derive(Default)]
pub struct RequestHandler {
    history: [VecDeque<Step>; 2],
    /// Sojourn times since the start, as they were at each of the last seconds, the oldest first.
    sojourns: [VecDeque<Histogram<u64>>; 2],
    /// Drops by the kernel in front of the bottleneck that have been reported.
    kernel_drops: u64,
    told_late: bool,
    told_discarded: bool,
    ticks: u64,
    flows: Flows,
    /// Time at which to end unless the user confirms.
    confirm_by: Option<Instant>,
    /// Takes messages; `None` if they are switched off.
    tell: Option<Tell>,
    requests: Option<Requests<Order>>,
}

impl RequestHandler {
    /// Creates a handler whose messages go to `tell`; `None` switches them off.
    #[must_use]
    pub fn new(tell: Option<Tell>) -> Self {
        Self { tell, ..Self::default() }
    }

    /// Sets the mailbox whose requests are answered.
    pub fn attend(&mut self, requests: Requests<Order>) {
        self.requests = Some(requests);
    }

    /// Observes the flows, for requests about them.
    pub fn watch_flows(&self, bottleneck: &mut Bottleneck) {
        bottleneck.observers.push(Box::new(self.flows.clone()));
    }

    /// Ends the run at this time, unless it is confirmed before.
    pub fn confirm_within(&mut self, by: Option<Instant>) {
        self.confirm_by = by;
    }

    /// Returns the answer to one order.
    fn answer(&mut self, bottleneck: &mut Bottleneck, order: Order) -> String {
        match order {
            Order::Stats => {
                let mut all = statistics(bottleneck);
                all["history"] = self.history();
                all["recent"] = self.recent(bottleneck);
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
                // All changes are known to be valid, so none can fail after another was made.
                changes.into_iter().for_each(|change| change.make(bottleneck));
                in_force(bottleneck)
            }
        }
    }

    /// Returns the recent history of both queues, oldest first.
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

    /// Returns percentiles of the sojourn times of the last seconds.
    fn recent(&self, bottleneck: &Bottleneck) -> Value {
        let of = |direction: Direction| -> Value {
            let before = &self.sojourns[direction.index()];
            let mut sojourn = bottleneck.link(direction).meter.sojourn().clone();
            // What is subtracted was counted in the same histogram, so this cannot fail.
            let _ = before.front().map(|oldest| sojourn.subtract(oldest));
            // Only percentiles are taken from the summary, so it needs no exact mean.
            let summary = histogram_summary(&sojourn, None);
            json!({"p50": summary.p50, "p95": summary.p95, "p99": summary.p99})
        };
        let seconds = self.sojourns[0].len();
        json!({"seconds": seconds, "down": of(Direction::Down), "up": of(Direction::Up)})
    }

    /// Returns the flows of both directions that were seen last.
    fn flows(&self) -> Value {
        let of = |direction: Direction| -> Value {
            let flows = self.flows.in_direction(direction, MOST_FLOWS);
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

    /// Reports each trouble once.
    fn tell_troubles(&mut self, bottleneck: &mut Bottleneck) {
        while let Some(trouble) = bottleneck.observers.trouble() {
            self.say(&trouble);
        }
        let latest = bottleneck.counters().latest;
        if latest > VERY_LATE && !self.told_late {
            self.told_late = true;
            self.say(&format!(
                "this process woke up {} late, because the machine is busy; some delays are too long by that much",
                units::show_time(latest)
            ));
        }
        if !self.told_discarded
            && let Some(words) = discarded(bottleneck)
        {
            self.told_discarded = true;
            self.say(&words);
        }
        // Asking the kernel takes system calls, so only every 20th tick does.
        if !self.ticks.is_multiple_of(20) {
            return;
        }
        let dropped: u64 = bottleneck.kernel_counters().iter().flatten().map(|side| side.dropped).sum();
        if dropped > self.kernel_drops {
            // Later drops are only counted.
            if self.kernel_drops == 0 {
                self.say(&format!(
                    "the kernel dropped {dropped} packets in front of the bottleneck, because they arrived faster than they were read"
                ));
            }
            self.kernel_drops = dropped;
        }
    }

    fn say(&self, sentence: &str) {
        if let Some(tell) = &self.tell {
            tell(format!("goodqueue: {sentence}"));
        }
    }
}

impl BetweenPackets for RequestHandler {
    fn request(&mut self, bottleneck: &mut Bottleneck) {
        if let Some(request) = self.requests.as_ref().and_then(Requests::take) {
            request.answer_with(|order| self.answer(bottleneck, order));
        }
    }

    fn tick(&mut self, bottleneck: &mut Bottleneck, now: Instant) -> Instant {
        for direction in Direction::BOTH {
            // The meter of a step starts anew; the meter of the whole run continues.
            let step = bottleneck.link_mut(direction).0.meter.take_step();
            let history = &mut self.history[direction.index()];
            if history.len() >= REMEMBERED {
                history.pop_front();
            }
            history.push_back(step);
        }
        self.tell_troubles(bottleneck);
        self.ticks += 1;
        // Four steps of the history are a second.
        if self.ticks.is_multiple_of(4) {
            for direction in Direction::BOTH {
                let sojourns = &mut self.sojourns[direction.index()];
                if sojourns.len() >= RECENT {
                    sojourns.pop_front();
                }
                sojourns.push_back(bottleneck.link(direction).meter.sojourn().clone());
            }
            self.flows.end_second(now);
        }
        now + STEP
    }

    fn is_over(&mut self, now: Instant) -> bool {
        let is_over = self.confirm_by.is_some_and(|by| by <= now);
        if is_over {
            self.say("not confirmed in time: everything is undone");
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

/// Returns the statistics of both disciplines in the format of `tc -s -j qdisc show`.
fn tc_json(bottleneck: &Bottleneck) -> Value {
    let now = bottleneck.now();
    let mut all = Vec::new();
    for direction in Direction::BOTH {
        let link = bottleneck.link(direction);
        let measured = link_result(link, now);
        for mut qdisc in tc::statistics(link.qdisc(), now, Some(&serde_json::json!(measured.sojourn_s))) {
            if let Some(fields) = qdisc.as_object_mut() {
                // The device follows kind and handle, as in tc.
                // `shift_insert` panics at a place beyond the end, so the place is clamped.
                fields.shift_insert(fields.len().min(2), "dev".to_owned(), direction.name().into());
            }
            all.push(qdisc);
        }
    }
    Value::Array(all)
}

/// Returns the metrics in the text format of Prometheus. Names follow those of node_exporter's
/// qdisc collector.
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
        ("link_rate_bits_per_second", "gauge", "Rate of the link; 0 means no limit.", |side| side.1.rate_bps),
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
        "Wake-ups that came more than 1 ms late.",
        &[(String::new(), float(counters.late))],
    );
    family(
        "out_of_memory_packets_total",
        "counter",
        "Packets discarded because the memory for packets was full.",
        &[(String::new(), float(counters.out_of_memory))],
    );
    text
}

/// Flows of an answer: as many as a long screen shows.
const MOST_FLOWS: usize = 100;
/// Step of the history. Four points per second make a lively display.
const STEP: Duration = Duration::from_millis(250);
/// Seconds over which recent percentiles are taken.
const RECENT: usize = 10;
/// Steps of the history: one minute.
const REMEMBERED: usize = 240;
