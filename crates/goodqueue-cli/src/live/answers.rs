//! What a running bottleneck answers at its control socket, and what it does between packets.

use std::collections::VecDeque;
use std::fmt::Write as _;

use goodqueue::config::Link as LinkDefaults;
use goodqueue::{Duration, Instant, Qdisc};
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::capacity::Capacity;
use goodqueue_live::control::Request;
use goodqueue_live::meter::Step;
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::shell::Attendant;
use goodqueue_scenario::diagnostic::Diagnostic;
use goodqueue_scenario::results::LinkResult;
use goodqueue_scenario::{tc, units};
use serde_json::{Value, json};

use super::{float, link_result, seconds, statistics};

/// Answers requests, keeps the recent past, and tells of troubles.
#[derive(Default)]
pub(crate) struct Desk {
    history: [VecDeque<Step>; 2],
    /// Drops by the kernel in front of us that the user has been told of.
    kernel_drops: u64,
    told_late: bool,
    ticks: u64,
    /// Nothing is said on standard error.
    quiet: bool,
}

impl Desk {
    /// `quiet`: nothing is said on standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, ..Self::default() }
    }

    /// The answer to one line.
    fn answer(&self, bottleneck: &mut Bottleneck, line: &str) -> Result<String, Diagnostic> {
        let (order, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match order {
            "stats" => {
                let mut all = statistics(bottleneck);
                all["history"] = self.history();
                Ok(all.to_string())
            }
            "metrics" => Ok(metrics(bottleneck)),
            "qdisc" => change_qdisc(bottleneck, rest),
            "rate" => change_rate(bottleneck, rest),
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
            eprintln!("goodqueue: {sentence}");
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
        now + STEP
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

/// All is read before anything is changed: a line that is wrong changes nothing.
fn change_qdisc(bottleneck: &mut Bottleneck, rest: &str) -> Result<String, Diagnostic> {
    let (directions, line) = directions(rest);
    let mut changes = Vec::new();
    for &direction in directions {
        let link = bottleneck.link(direction);
        let defaults = match link.capacity().rate_at(bottleneck.now()) {
            Some((rate, _)) => LinkDefaults { rate, ..LinkDefaults::default() },
            None => LinkDefaults::default(),
        };
        changes
            .push((direction, tc::parse(line, &defaults).map_err(|error| error.in_argument("qdisc", line))?));
    }
    let now = bottleneck.now();
    for (direction, config) in changes {
        let (link, observers) = bottleneck.link_mut(direction);
        link.reconfigure(now, config, observers);
        observers.reconfigured(now, direction);
    }
    Ok(in_force(bottleneck))
}

fn change_rate(bottleneck: &mut Bottleneck, rest: &str) -> Result<String, Diagnostic> {
    let (directions, text) = directions(rest);
    let capacity = if text == "unlimited" {
        Capacity::Unlimited
    } else {
        Capacity::Constant(units::rate(text).map_err(|error| error.in_argument("rate", text))?)
    };
    let now = bottleneck.now();
    for &direction in directions {
        let (link, observers) = bottleneck.link_mut(direction);
        link.set_capacity(now, capacity.clone(), observers);
        observers.reconfigured(now, direction);
    }
    Ok(in_force(bottleneck))
}

fn in_force(bottleneck: &Bottleneck) -> String {
    let side = |direction: Direction| {
        let link = bottleneck.link(direction);
        let rate = link.capacity().rate_at(bottleneck.now()).map(|(rate, _)| rate.as_bps());
        json!({"qdisc": tc::to_tc(&link.qdisc().config()), "rate_bps": rate})
    };
    json!({"down": side(Direction::Down), "up": side(Direction::Up)}).to_string()
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

const REQUESTS: &[&str] = &["stats", "metrics", "qdisc", "rate"];
/// Four points a second make a lively display.
const STEP: Duration = Duration::from_millis(250);
/// A minute.
const REMEMBERED: usize = 240;
/// A fifth of what people notice; a busy machine is a few milliseconds late all the time.
const VERY_LATE: Duration = Duration::from_millis(20);
