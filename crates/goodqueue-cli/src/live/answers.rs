//! What a running bottleneck answers at its control socket, and what it does between packets.

use std::collections::VecDeque;
use std::fmt::Write as _;

use goodqueue::config::Link as LinkDefaults;
use goodqueue::{AnyConfig, Duration, Instant, Qdisc};
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::capacity::Capacity;
use goodqueue_live::control::Request;
use goodqueue_live::flows::{FlowSeen, Flows};
use goodqueue_live::meter::Step;
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::shell::Attendant;
use goodqueue_scenario::diagnostic::Diagnostic;
use goodqueue_scenario::results::LinkResult;
use goodqueue_scenario::{tc, units};
use serde_json::{Value, json};

use super::{float, link_result, seconds, statistics};
use crate::messages::say;

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
    /// Nothing is said on standard error.
    quiet: bool,
}

impl Desk {
    /// `quiet`: nothing is said on standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, ..Self::default() }
    }

    /// Looks on at the flows, for those who ask.
    pub(crate) fn watch_flows(&self, bottleneck: &mut Bottleneck) {
        bottleneck.observers.push(Box::new(self.flows.clone()));
    }

    /// Ends what runs at this time, unless a request says `confirm` before.
    pub(crate) fn confirm_within(&mut self, by: Option<Instant>) {
        self.confirm_by = by;
    }

    /// The answer to one line.
    fn answer(&mut self, bottleneck: &mut Bottleneck, line: &str) -> Result<String, Diagnostic> {
        let order = line.split_whitespace().next().unwrap_or_default();
        match order {
            "stats" => {
                let mut all = statistics(bottleneck);
                all["history"] = self.history();
                all["flows"] = self.flows();
                Ok(all.to_string())
            }
            "metrics" => Ok(metrics(bottleneck)),
            "metrics-json" => Ok(json!({"metrics": metrics(bottleneck)}).to_string()),
            "tc-json" => Ok(tc_json(bottleneck).to_string()),
            "confirm" => {
                let was_waited_for = self.confirm_by.take().is_some();
                Ok(json!({"confirmed": was_waited_for}).to_string())
            }
            "qdisc" | "rate" => {
                for change in read_change(bottleneck, line)? {
                    change.make(bottleneck);
                }
                Ok(in_force(bottleneck))
            }
            _ => Err(goodqueue_scenario::diagnostic::unknown("the request", order, REQUESTS)),
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
        if !self.quiet {
            say(format_args!("goodqueue: {sentence}"));
        }
    }
}

impl Attendant for Desk {
    fn request(&mut self, bottleneck: &mut Bottleneck, request: Request) {
        let answer = self
            .answer(bottleneck, &request.line)
            .unwrap_or_else(|error| json!({"error": error.to_string()}).to_string());
        request.answer(answer);
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

/// `down`, `up` or neither in front of the rest: both.
fn directions(rest: &str) -> (&[Direction], &str) {
    let rest = rest.trim();
    match rest.split_once(char::is_whitespace) {
        Some(("down", rest)) => (&[Direction::Down], rest.trim()),
        Some(("up", rest)) => (&[Direction::Up], rest.trim()),
        _ => (&Direction::BOTH, rest),
    }
}

/// A change that is known to be good.
pub(crate) enum Change {
    /// Another discipline.
    Qdisc(Direction, Box<AnyConfig>),
    /// Another rate.
    Capacity(Direction, Capacity),
}

impl Change {
    pub(crate) fn make(self, bottleneck: &mut Bottleneck) {
        let now = bottleneck.now();
        let direction = match &self {
            Self::Qdisc(direction, _) | Self::Capacity(direction, _) => *direction,
        };
        let (link, observers) = bottleneck.link_mut(direction);
        match self {
            Self::Qdisc(_, config) => link.reconfigure(now, *config, observers),
            Self::Capacity(_, capacity) => link.set_capacity(now, capacity, observers),
        }
    }
}

/// Reads `qdisc [down|up] TC` or `rate [down|up] RATE`; nothing is changed yet, so a line that is wrong changes nothing.
pub(crate) fn read_change(bottleneck: &Bottleneck, line: &str) -> Result<Vec<Change>, Diagnostic> {
    let (order, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (directions, text) = directions(rest);
    let read = |direction: Direction| match order {
        "qdisc" => {
            let defaults = match bottleneck.link(direction).capacity().rate_at(bottleneck.now()) {
                Some((rate, _)) => LinkDefaults { rate, ..LinkDefaults::default() },
                None => LinkDefaults::default(),
            };
            let config = tc::parse(text, &defaults).map_err(|error| error.in_argument("qdisc", text))?;
            Ok(Change::Qdisc(direction, Box::new(config)))
        }
        "rate" if text == "unlimited" => Ok(Change::Capacity(direction, Capacity::Unlimited)),
        "rate" => {
            let rate = units::rate(text).map_err(|error| error.in_argument("rate", text))?;
            Ok(Change::Capacity(direction, Capacity::Constant(rate)))
        }
        _ => Err(goodqueue_scenario::diagnostic::unknown("the change", order, CHANGES)),
    };
    directions.iter().map(|&direction| read(direction)).collect()
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
        for mut qdisc in tc::statistics(link.qdisc(), now, Some(&measured.sojourn_s)) {
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

const REQUESTS: &[&str] = &["stats", "tc-json", "metrics", "qdisc", "rate", "confirm"];
const CHANGES: &[&str] = &["qdisc", "rate"];
/// What a long screen shows.
const MOST_FLOWS: usize = 100;
/// Four points a second make a lively display.
const STEP: Duration = Duration::from_millis(250);
/// A minute.
const REMEMBERED: usize = 240;
/// A fifth of what people notice; a busy machine is a few milliseconds late all the time.
const VERY_LATE: Duration = Duration::from_millis(20);
