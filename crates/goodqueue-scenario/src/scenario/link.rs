//! `[link]`: how fast the bottleneck is and how far away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodqueue::{Direction, Duration, Link, Rate};
use goodqueue_sim::{Driver, Pause};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::document::{Node, Origin, Raw};
use super::form::{Time, time};
use super::reader::{Reader, measured};
use crate::trace::Trace;

/// The bottleneck.
#[derive(Clone, PartialEq, Debug)]
pub struct BottleneckLink {
    /// Towards the client.
    pub down: LinkEnd,
    /// From the client.
    pub up: LinkEnd,
    /// Base round-trip time: propagation both ways, without queues and serialization.
    pub rtt: Duration,
    /// Clock tick of the emulator that adds the round-trip time; `None`: exact to the nanosecond.
    pub delay_tick: Option<Duration>,
    /// Rates of the line (down, up), if they are given beside those of its links: percentages refer
    /// to them.
    pub line: Option<[Rate; 2]>,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// Bytes that queues and links count on top of each IP packet.
    pub framing: u32,
}

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

impl BottleneckLink {
    /// Returns the properties of a link of this `rate` from which a discipline in this direction
    /// derives its defaults: with a line those of the line.
    #[must_use]
    pub fn as_seen_by_qdisc(&self, direction: Direction, rate: &LinkRate) -> Link {
        let delay = Duration::from_nanos(self.rtt.as_nanos() / 2);
        let rate = self.line_rate(direction).unwrap_or_else(|| rate.nominal());
        Link { rate, mtu: self.mtu.saturating_add(self.framing), delay }
    }

    /// Returns the rate of the line in this direction, if there is a line.
    pub(super) fn line_rate(&self, direction: Direction) -> Option<Rate> {
        let [down, up] = self.line?;
        Some(match direction {
            Direction::Down => down,
            Direction::Up => up,
        })
    }
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
            Self::Unlimited | Self::Trace { .. } => false,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Unlimited => json!("unlimited"),
            Self::Fixed(rate) => json!(rate.to_string()),
            Self::Schedule(steps) => {
                let steps: Value =
                    steps.iter().map(|(time, rate)| json!([time.to_string(), rate.to_string()])).collect();
                json!({ "schedule": steps })
            }
            Self::Trace { file, .. } => json!({ "trace": file.to_string_lossy() }),
        }
    }
}

impl LinkEnd {
    pub(super) fn to_json(&self) -> Value {
        let rate = self.rate.to_json();
        if self.driver.is_none() && self.pause.is_none() {
            return rate;
        }
        let mut table = match rate {
            Value::Object(_) => rate,
            rate => json!({ "rate": rate }),
        };
        if let Some(driver) = self.driver {
            table["driver"] = json!(match driver {
                Driver::Packets(packets) => format!("{packets}p"),
                Driver::Bytes(bytes) => format!("{bytes}b"),
                Driver::Bql => "bql".to_owned(),
            });
        }
        if let Some(Pause { high, low, time }) = self.pause {
            table["pause"] = json!({ "high": high, "low": low, "time": time });
        }
        table
    }
}

pub(super) fn read_link(root: &Reader<'_>, duration: Duration) -> Result<BottleneckLink, Diagnostic> {
    let table = root.table("link", "[link]")?;
    table.only(&["down", "up", "rtt", "delay_tick", "mtu", "framing"])?;
    let line = read_line(root)?;
    let of_line = |side: usize| line.map(|rates| rates[side]);
    let down = read_link_end(&table, "down", duration, of_line(0))?;
    let up = read_link_end(&table, "up", duration, of_line(1))?;
    for (key, end) in [("down", &down), ("up", &up)] {
        if end.as_ref().is_some_and(|end| end.rate == LinkRate::Unlimited) {
            let message =
                Diagnostic::new("a link without a limit is no bottleneck").allowed("a rate above 0");
            return Err(table.error(key, message.help("only links in [[hops]] may be \"unlimited\"")));
        }
    }
    let fixed = |rate| LinkEnd { rate: LinkRate::Fixed(rate), driver: None, pause: None };
    // A line with one given rate is symmetric. Without any rate it is the 10/1 line of `compare`.
    let default_up = down.clone().unwrap_or_else(|| fixed(DEFAULT_UP));
    Ok(BottleneckLink {
        down: down.unwrap_or_else(|| fixed(DEFAULT_DOWN)),
        up: up.unwrap_or(default_up),
        rtt: read_rtt(&table, DEFAULT_RTT)?,
        line,
        delay_tick: table.time("delay_tick")?.filter(|tick| !tick.is_zero()),
        mtu: table.small("mtu", 1500, 68, 65_535)?,
        framing: table.small("framing", 14, 0, 1000)?,
    })
}

/// Reads `[line]`.
fn read_line(root: &Reader<'_>) -> Result<Option<[Rate; 2]>, Diagnostic> {
    if root.node("line").is_none() {
        return Ok(None);
    }
    let table = root.table("line", "[line]")?;
    table.only(&["down", "up"])?;
    let Some(down) = read_rate_above_0(&table, "down")? else {
        return Err(table.error("down", Diagnostic::new("the line has no `down`").allowed("a rate above 0")));
    };
    Ok(Some([down, read_rate_above_0(&table, "up")?.unwrap_or(down)]))
}

/// A base round-trip time.
pub(super) const RTT: Time = time("a base round-trip time of {} is not possible", Duration::ZERO..=MAX_RTT);

pub(super) fn read_rtt(table: &Reader<'_>, default: Duration) -> Result<Duration, Diagnostic> {
    let rtt = table.time("rtt")?.unwrap_or(default);
    if rtt > MAX_RTT {
        let message = Diagnostic::new(format!("a base round-trip time of {rtt} is not possible"));
        return Err(table.error("rtt", message.allowed("at most 1h")));
    }
    Ok(rtt)
}

pub(super) fn read_link_end(
    table: &Reader<'_>,
    key: &str,
    duration: Duration,
    line: Option<Rate>,
) -> Result<Option<LinkEnd>, Diagnostic> {
    let Some(node) = table.node(key) else { return Ok(None) };
    let Raw::Table(_) = node.raw else {
        let rate = read_rate_or_unlimited(table, key, line)?;
        return Ok(rate.map(|rate| LinkEnd { rate, driver: None, pause: None }));
    };
    let name = format!("`{key}`");
    let inner = Reader::of(table.document(), node, &name)?;
    inner.only(&["rate", "trace", "schedule", "repeat", "driver", "pause"])?;
    let driver = read_driver(&inner)?;
    let pause = read_pause(&inner)?;
    let end = |rate| LinkEnd { rate, driver, pause };
    let forms = ["rate", "trace", "schedule"].into_iter().filter(|form| inner.node(form).is_some());
    let forms = forms.collect::<Vec<_>>();
    if inner.node("repeat").is_some() && forms != ["schedule"] {
        return Err(inner.error("repeat", Diagnostic::new("only a schedule can repeat")));
    }
    match forms.as_slice() {
        ["rate"] => Ok(read_rate_or_unlimited(&inner, "rate", line)?.map(end)),
        ["trace"] => Ok(Some(end(read_trace(&inner)?))),
        ["schedule"] => {
            let mut steps = read_schedule(&inner)?;
            repeat(&inner, &mut steps, duration)?;
            Ok(Some(end(LinkRate::Schedule(steps))))
        }
        given => {
            let message =
                Diagnostic::new(format!("{} of `rate`, `trace` and `schedule` are given", given.len()));
            Err(table.error(key, message.allowed("exactly one of the three")))
        }
    }
}

fn read_rate_or_unlimited(
    table: &Reader<'_>,
    key: &str,
    line: Option<Rate>,
) -> Result<Option<LinkRate>, Diagnostic> {
    if let Some(Node { raw: Raw::Text(word), .. }) = table.node(key) {
        if word == "unlimited" {
            return Ok(Some(LinkRate::Unlimited));
        }
        if word.ends_with('%') {
            let Some(line) = line else {
                let message = Diagnostic::new(format!("`{}` of which line?", shortened(word)));
                let help = "give the rates of the line in [line], or a rate such as \"10mbit\"";
                return Err(table.error(key, message.help(help)));
            };
            let rate = units::share(word, line).map_err(|error| table.error(key, error))?;
            return Ok(Some(LinkRate::Fixed(rate)));
        }
    }
    read_rate_above_0(table, key).map(|rate| rate.map(LinkRate::Fixed))
}

fn read_driver(table: &Reader<'_>) -> Result<Option<Driver>, Diagnostic> {
    let Some(given) = table.text("driver")? else { return Ok(None) };
    let number = |unit: char| given.strip_suffix(unit).and_then(|digits| digits.parse().ok());
    let driver = match given {
        "bql" => Some(Driver::Bql),
        _ => number('p').map(Driver::Packets).or_else(|| number('b').map(Driver::Bytes)),
    };
    if driver.is_none_or(|driver| matches!(driver, Driver::Packets(0) | Driver::Bytes(0))) {
        let message = Diagnostic::new(format!("`{}` is no limit of a device", shortened(given)));
        let forms = "packets such as \"256p\", bytes such as \"3028b\", both above 0, or \"bql\"";
        return Err(table.error("driver", message.allowed(forms)));
    }
    Ok(driver)
}

/// Reads the water marks and the time of PAUSE frames.
fn read_pause(table: &Reader<'_>) -> Result<Option<Pause>, Diagnostic> {
    if table.node("pause").is_none() {
        return Ok(None);
    }
    let table = table.table("pause", "`pause`")?;
    table.only(&["high", "low", "time"])?;
    let Some(high) = table.size("high")? else {
        let message = Diagnostic::new("the high water mark is missing");
        return Err(table.error("high", message.allowed("a size, such as \"3028b\"")));
    };
    let low = table.size("low")?.unwrap_or(high / 2);
    if low >= high {
        let message = Diagnostic::new(format!("the low water mark of {low} bytes is not below the high one"));
        return Err(table.error("low", message.allowed(format!("less than {high} bytes"))));
    }
    let time = table.integer("time", u64::from(u16::MAX), 1, u64::from(u16::MAX))?;
    Ok(Some(Pause { high, low, time: u16::try_from(time).unwrap_or(u16::MAX) }))
}

pub(super) fn read_rate_above_0(table: &Reader<'_>, key: &str) -> Result<Option<Rate>, Diagnostic> {
    let rate = table.rate(key)?;
    if rate == Some(Rate::from_bps(0)) {
        let message = Diagnostic::new("at a rate of 0 nothing ever leaves the queue");
        let message = message.allowed("a rate above 0");
        return Err(table.error(key, message.help("for an outage write a schedule with a step of \"0bit\"")));
    }
    Ok(rate)
}

fn read_trace(table: &Reader<'_>) -> Result<LinkRate, Diagnostic> {
    let (Some(file), Some(node)) = (table.text("trace")?, table.node("trace")) else {
        return Err(table.error("trace", Diagnostic::new("no file is given")));
    };
    let path = match node.origin {
        Origin::File(_) => table.document().folder().join(file),
        _ => Path::new(file).to_owned(),
    };
    let trace = table.document().files().trace(&path)?;
    Ok(LinkRate::Trace { file: path, trace })
}

fn read_schedule(table: &Reader<'_>) -> Result<Vec<(Duration, Rate)>, Diagnostic> {
    let form = "a list of [time, rate] in quotes, such as [[\"0s\", \"100mbit\"], [\"50s\", \"10mbit\"]]";
    let document = table.document();
    let Some(Node { raw: Raw::List(steps), .. }) = table.node("schedule") else {
        return Err(table.error("schedule", Diagnostic::new("this is not a list").allowed(form)));
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
        return Err(table.error("schedule", message));
    }
    Ok(schedule)
}

/// Goes through the schedule again and again until `duration`, if that is asked for.
fn repeat(
    table: &Reader<'_>,
    steps: &mut Vec<(Duration, Rate)>,
    duration: Duration,
) -> Result<(), Diagnostic> {
    let (Some(period), Some(&(last, _))) = (table.time("repeat")?, steps.last()) else { return Ok(()) };
    let refused = |allowed: &str| {
        let message = Diagnostic::new(format!("a schedule cannot repeat every {period}"));
        Err(table.error("repeat", message.allowed(allowed.to_owned())))
    };
    if period <= last {
        return refused("more than the time of its last step");
    }
    let times = duration.as_nanos() / period.as_nanos();
    if times.saturating_mul(steps.len() as u64) > MAX_STEPS {
        return refused("so that there are at most a million steps");
    }
    let once = steps.clone();
    for turn in 1..=times {
        let begin = Duration::from_nanos(turn * period.as_nanos());
        steps.extend(once.iter().map(|&(at, rate)| (begin + at, rate)).filter(|step| step.0 < duration));
    }
    Ok(())
}

/// The rate of a link that is never the bottleneck.
const UNLIMITED: Rate = Rate::from_bps(u64::MAX);
/// Of a schedule that repeats.
const MAX_STEPS: u64 = 1_000_000;
const DEFAULT_DOWN: Rate = Rate::from_bps(10_000_000);
const DEFAULT_UP: Rate = Rate::from_bps(1_000_000);
const DEFAULT_RTT: Duration = Duration::from_millis(50);
pub(super) const MAX_RTT: Duration = Duration::from_secs(3600);
