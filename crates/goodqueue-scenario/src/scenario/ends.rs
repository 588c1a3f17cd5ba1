//! The ends of links: the rate of one direction, and the queue of its device.

use std::path::PathBuf;
use std::sync::Arc;

use goodqueue::{Duration, Rate};
use goodqueue_sim::{Driver, Grants, Pause};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::document::{Node, Raw};
use super::form::{Context, Form, Maybe, Own};
use super::grants::{self, GRANTS};
use super::keys::{Table, keys, written};
use super::plain::{FILE, SIZE, SPEED, TEXT, TIME, whole};
use super::quantity::Quantity;
use super::reader::{Reader, measured};
use crate::trace::Trace;

/// One direction of a link: its rate, and the queue of its device.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkEnd {
    /// How fast it is.
    pub rate: LinkRate,
    /// The queue of the device below the discipline; `None`: the device takes a packet when it can
    /// send it.
    pub driver: Option<Driver>,
    /// PAUSE frames to the link before this one; `None`: none.
    pub pause: Option<Pause>,
    /// Requests and grants of a DOCSIS upstream; `None`: it sends whenever it is free.
    pub grants: Option<Grants>,
}

/// How fast one direction of a link is.
#[derive(Clone, PartialEq, Debug)]
pub enum LinkRate {
    /// Packets take no time; only beside the bottleneck.
    Unlimited,
    /// Always this rate, above 0.
    Fixed(Rate),
    /// From each time on, this rate; the first time is 0, a rate of 0 blocks the link.
    Schedule(Vec<(Duration, Rate)>),
    /// A Mahimahi trace.
    Trace {
        /// The file it was read from.
        file: PathBuf,
        /// Its opportunities.
        trace: Arc<Trace>,
    },
}

impl LinkRate {
    /// The rate from which a discipline derives its defaults: the fixed one, the first above 0 of a
    /// schedule, the mean of a trace.
    #[must_use]
    pub fn nominal(&self) -> Rate {
        match self {
            Self::Unlimited => UNLIMITED,
            Self::Fixed(rate) => *rate,
            Self::Schedule(steps) => {
                steps.iter().map(|step| step.1).find(|rate| rate.as_bps() > 0).unwrap_or_default()
            }
            Self::Trace { trace, .. } => trace.mean_rate(),
        }
    }

    /// Returns true if the link has a rate above 0 at all times.
    pub(super) fn always_sends(&self) -> bool {
        match self {
            Self::Fixed(rate) => rate.as_bps() > 0,
            Self::Schedule(steps) => steps.iter().all(|step| step.1.as_bps() > 0),
            // An unlimited link has no bit times, and a trace has times without a rate.
            Self::Unlimited | Self::Trace { .. } => false,
        }
    }
}

keys! {
    /// One direction of a link, as a table. Exactly one of `rate`, `trace` and `schedule` is given.
    struct EndTable(table, line: Option<Rate>) {
        /// Constant rate above 0; a percentage of the rate in `[line]`; in `[[hops]]` also
        /// "unlimited".
        rate: Option<LinkRate> = "10mbit", Maybe(RATE)
            => from(table.node("rate").map(|node| read_rate(table, "rate", node, line)).transpose()?);
        /// Mahimahi trace, a path relative to the scenario file.
        trace: Option<LinkRate> = "lte.down", Maybe(TRACE) => none;
        /// Rates from some times on. A rate of 0 blocks the link.
        schedule: Option<LinkRate> = [["0s", "100mbit"], ["50s", "0bit"], ["51s", "10mbit"]],
            Maybe(SCHEDULE) => none;
        /// Time after which the schedule starts again, until the run ends. Default: never.
        repeat: Option<Duration> = "60s", Maybe(TIME) => none;
        /// Queue of the device below the discipline: packets, including the one that is being sent;
        /// bytes ("3028b": the device takes another packet while it holds fewer); or byte queue
        /// limits ("bql"). Default: the device takes a packet when it can send it.
        driver: Option<Driver> = "256p", Maybe(DRIVER) => none;
        /// Ethernet flow control, see below. Default: none.
        pause: Option<Pause> = { high = "3028b" }, Maybe(PAUSE) => none;
        /// Request-grant delay of a DOCSIS upstream, see below. Default: none.
        grants: Option<Grants> = {}, Maybe(GRANTS) => none;
    }
}

keys! {
    /// Ethernet flow control.
    struct PauseTable(table, _around: ()) {
        /// Bytes in the link's queue at which its device sends XOFF.
        high: u64 = "3028b", SIZE => required("the high water mark is missing");
        /// Bytes at which the link before it may resume. Default: half of `high`.
        low: u64 = "1514b", SIZE => or(high / 2);
        /// Time of a pause in quanta of 512 bit times.
        time: u16 = 65535, whole(1..=65_535);
    }
    then {
        if low >= high {
            let message = format!("the low water mark of {low} bytes is not below the high one");
            let message = Diagnostic::new(message).allowed(format!("less than {high} bytes"));
            return Err(table.error("low", message));
        }
    }
}

impl LinkEnd {
    /// A link that always has this rate.
    pub(super) const fn fixed(rate: Rate) -> Self {
        Self::plain(LinkRate::Fixed(rate))
    }

    /// A link without a queue in its device.
    pub(super) const fn plain(rate: LinkRate) -> Self {
        Self { rate, driver: None, pause: None, grants: None }
    }

    /// Returns true if nothing but the rate is given.
    const fn is_plain(&self) -> bool {
        self.driver.is_none() && self.pause.is_none() && self.grants.is_none()
    }

    pub(super) fn to_json(&self) -> Value {
        let rate = Some(self.rate.clone());
        let none = EndTable {
            rate: None,
            trace: None,
            schedule: None,
            repeat: None,
            driver: self.driver,
            pause: self.pause,
            grants: self.grants,
        };
        let table = match self.rate {
            LinkRate::Schedule(_) => EndTable { schedule: rate, ..none },
            LinkRate::Trace { .. } => EndTable { trace: rate, ..none },
            // A rate alone is written as a text, as most scenarios have it.
            _ if self.is_plain() => return (RATE.write)(&self.rate),
            _ => EndTable { rate, ..none },
        };
        written(|object| table.write(object))
    }
}

/// A rate, or a table.
pub(super) const LINK_END: Context<LinkEnd> = Context {
    write: LinkEnd::to_json,
    schema: || json!({ "anyOf": [{ "type": "string" }, EndTable::TABLE.schema()] }),
    quantity: Some(Quantity::Rate),
};

/// The tables inside `[link]` and `[[hops]]`.
pub(super) const TABLES: [&Table; 3] = [&EndTable::TABLE, &PauseTable::TABLE, grants::TABLE];

const RATE: Context<LinkRate> = Context {
    write: |rate| match rate {
        LinkRate::Fixed(rate) => json!(rate.to_string()),
        // Schedules and traces are written as tables (`LinkEnd::to_json`).
        _ => json!("unlimited"),
    },
    schema: || json!({ "type": "string" }),
    quantity: Some(Quantity::Rate),
};

const TRACE: Own<LinkRate> = Own {
    read: |table, key, node| {
        let file = FILE.read(table, key, node)?;
        let trace = table.document().files().trace(&file)?;
        Ok(LinkRate::Trace { file, trace })
    },
    write: |rate| match rate {
        LinkRate::Trace { file, .. } => json!(file.to_string_lossy()),
        _ => Value::Null,
    },
    schema: || json!({ "type": "string" }),
    quantity: None,
};

const SCHEDULE: Own<LinkRate> = Own {
    read: |table, key, node| read_schedule(table, key, node).map(LinkRate::Schedule),
    write: |rate| match rate {
        LinkRate::Schedule(steps) => {
            steps.iter().map(|(time, rate)| json!([time.to_string(), rate.to_string()])).collect()
        }
        _ => Value::Null,
    },
    schema: || {
        let text = json!({ "type": "string" });
        let step = json!({ "type": "array", "items": text, "minItems": 2, "maxItems": 2 });
        json!({ "type": "array", "items": step, "minItems": 1 })
    },
    quantity: None,
};

const DRIVER: Own<Driver> = Own {
    read: read_driver,
    write: |driver| {
        json!(match driver {
            Driver::Packets(packets) => format!("{packets}p"),
            Driver::Bytes(bytes) => format!("{bytes}b"),
            Driver::Bql => "bql".to_owned(),
        })
    },
    schema: || json!({ "type": "string" }),
    quantity: None,
};

const PAUSE: Own<Pause> = Own {
    read: |table, key, node| {
        let PauseTable { high, low, time } =
            PauseTable::read(&PauseTable::TABLE.inside(table, key, node)?, ())?;
        Ok(Pause { high, low, time })
    },
    write: |&Pause { high, low, time }| written(|object| PauseTable { high, low, time }.write(object)),
    schema: || PauseTable::TABLE.schema(),
    quantity: None,
};

pub(super) fn read_link_end(
    table: &Reader<'_>,
    key: &str,
    node: &Node,
    line: Option<Rate>,
    duration: Duration,
) -> Result<LinkEnd, Diagnostic> {
    let Raw::Table(_) = node.raw else { return read_rate(table, key, node, line).map(LinkEnd::plain) };
    let inner = EndTable::TABLE.inside(table, key, node)?;
    let forms = ["rate", "trace", "schedule"].into_iter().filter(|form| inner.node(form).is_some());
    let forms = forms.collect::<Vec<_>>();
    if forms.len() != 1 {
        let message = Diagnostic::new(format!("{} of `rate`, `trace` and `schedule` are given", forms.len()));
        return Err(table.error(key, message.allowed("exactly one of the three")));
    }
    if inner.node("repeat").is_some() && forms != ["schedule"] {
        return Err(inner.error("repeat", Diagnostic::new("only a schedule can repeat")));
    }
    let EndTable { rate, trace, mut schedule, repeat, driver, pause, grants } = EndTable::read(&inner, line)?;
    if let (Some(LinkRate::Schedule(steps)), Some(period)) = (&mut schedule, repeat) {
        continue_schedule(&inner, steps, period, duration)?;
    }
    // The forms were counted.
    let rate = rate.or(trace).or(schedule).unwrap_or(LinkRate::Unlimited);
    if let Some(grants) = &grants {
        check_grants(&inner, &rate, grants)?;
    }
    Ok(LinkEnd { rate, driver, pause, grants })
}

/// Checks that a link of this rate can have these grants. `end` is the table of the link's end.
fn check_grants(end: &Reader<'_>, rate: &LinkRate, grants: &Grants) -> Result<(), Diagnostic> {
    let highest = match rate {
        LinkRate::Fixed(rate) => *rate,
        LinkRate::Schedule(steps) => steps.iter().map(|step| step.1).max().unwrap_or_default(),
        LinkRate::Unlimited | LinkRate::Trace { .. } => {
            let message = Diagnostic::new("a link with `grants` needs a rate");
            return Err(end.error("grants", message.allowed("a rate, or a schedule of rates")));
        }
    };
    match grants.proactive() {
        Some(proactive) if proactive > highest => {
            let message =
                Diagnostic::new(format!("a proactive rate of {proactive} is above the link's rate"));
            Err(end.error("grants", message.allowed(format!("at most {highest}"))))
        }
        _ => Ok(()),
    }
}

fn read_rate(table: &Reader<'_>, key: &str, node: &Node, line: Option<Rate>) -> Result<LinkRate, Diagnostic> {
    match &node.raw {
        Raw::Text(word) if word == "unlimited" => Ok(LinkRate::Unlimited),
        Raw::Text(share) if share.ends_with('%') => {
            let Some(line) = line else {
                let message = Diagnostic::new(format!("`{}` of which line?", shortened(share)));
                let help = "give the rates of the line in [line], or a rate such as \"10mbit\"";
                return Err(table.error(key, message.help(help)));
            };
            let rate = units::share(share, line).map_err(|error| table.error(key, error))?;
            Ok(LinkRate::Fixed(rate))
        }
        _ => SPEED.read(table, key, node).map(LinkRate::Fixed),
    }
}

fn read_driver(table: &Reader<'_>, key: &str, node: &Node) -> Result<Driver, Diagnostic> {
    let given = TEXT.read(table, key, node)?;
    let number = |unit: char| given.strip_suffix(unit).and_then(|digits| digits.parse().ok());
    let driver = match given.as_str() {
        "bql" => Some(Driver::Bql),
        _ => number('p').map(Driver::Packets).or_else(|| number('b').map(Driver::Bytes)),
    };
    driver.filter(|driver| !matches!(driver, Driver::Packets(0) | Driver::Bytes(0))).ok_or_else(|| {
        let message = Diagnostic::new(format!("`{}` is no limit of a device", shortened(&given)));
        let forms = "packets such as \"256p\", bytes such as \"3028b\", both above 0, or \"bql\"";
        table.error(key, message.allowed(forms))
    })
}

fn read_schedule(table: &Reader<'_>, key: &str, node: &Node) -> Result<Vec<(Duration, Rate)>, Diagnostic> {
    let form = "a list of [time, rate] in quotes, such as [[\"0s\", \"100mbit\"], [\"50s\", \"10mbit\"]]";
    let document = table.document();
    let Raw::List(steps) = &node.raw else {
        return Err(table.error(key, Diagnostic::new("this is not a list").allowed(form)));
    };
    let mut schedule: Vec<(Duration, Rate)> = Vec::new();
    for step in steps {
        let pair = match &step.raw {
            Raw::List(pair) => pair.as_slice(),
            _ => &[],
        };
        let [at, rate] = pair else {
            return Err(document.at(Diagnostic::new("this is not a step of a schedule").allowed(form), step));
        };
        let text = |node: &Node| {
            measured(node).ok_or_else(|| {
                document.at(Diagnostic::new(format!("{} is not possible", node.sort())).allowed(form), node)
            })
        };
        let time = units::time(&text(at)?).map_err(|error| document.at(error, at))?;
        let value = units::rate(&text(rate)?).map_err(|error| document.at(error, rate))?;
        match schedule.last() {
            None if !time.is_zero() => {
                let message =
                    Diagnostic::new(format!("the schedule begins at {time}")).allowed("a first step at 0s");
                return Err(document.at(message, at));
            }
            Some((previous, _)) if time <= *previous => {
                let message = Diagnostic::new(format!("{time} does not come after {previous}"));
                return Err(document.at(message.allowed("times that increase"), at));
            }
            _ => schedule.push((time, value)),
        }
    }
    if schedule.iter().all(|(_, rate)| *rate == Rate::from_bps(0)) {
        let message = Diagnostic::new("the schedule has no step with a rate above 0").allowed(form);
        return Err(table.error(key, message));
    }
    Ok(schedule)
}

/// Goes through the schedule again and again until `duration`.
fn continue_schedule(
    table: &Reader<'_>,
    steps: &mut Vec<(Duration, Rate)>,
    period: Duration,
    duration: Duration,
) -> Result<(), Diagnostic> {
    let Some(&(last, _)) = steps.last() else { return Ok(()) };
    let refused = |allowed: &str| {
        let message = Diagnostic::new(format!("a schedule cannot repeat every {period}"));
        Err(table.error("repeat", message.allowed(allowed.to_owned())))
    };
    if period <= last {
        return refused("more than the time of its last step");
    }
    let times = duration.as_nanos() / period.as_nanos();
    // A short period in a long run would fill the memory with steps.
    if times.saturating_mul(steps.len() as u64) > MAX_STEPS {
        return refused("so that there are at most a million steps");
    }
    let once = steps.clone();
    for turn in 1..=times {
        let begin = Duration::from_nanos(turn * period.as_nanos());
        // A change after the end of the run is never made.
        steps.extend(once.iter().map(|&(at, rate)| (begin + at, rate)).filter(|step| step.0 < duration));
    }
    Ok(())
}

/// The rate of a link that is never the bottleneck.
const UNLIMITED: Rate = Rate::from_bps(u64::MAX);
/// Of a schedule that repeats.
const MAX_STEPS: u64 = 1_000_000;
