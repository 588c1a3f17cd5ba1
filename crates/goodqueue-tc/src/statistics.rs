//! Statistics as `tc -s -j qdisc show` prints them.
//!
//! One array with an object for each discipline, parents before the disciplines in them. An object
//! has the kind, the handle, `root` or `parent`, the options, the counters that every discipline
//! has, and the extended statistics of this one. Names, order and units are those of iproute2 6.1:
//! sizes in bytes, rates in bytes per second, times in whole microseconds, rounded down. Each
//! discipline lists its options itself ([`goodqueue::shown`]). The key `goodqueue` holds values
//! that tc does not know: sojourn times, counters in packets and bytes, classes.
//!
//! The root has handle `1:`, and the other disciplines follow in order. The counters start when the
//! queue is created.

use goodqueue::config::{Settings, Value};
use goodqueue::gauge::{Gauge, Observation, Part};
use goodqueue::shown::{self, Printed, Shown};
use goodqueue::{AnyConfig, AnyQdisc, Count, Duration, Flow, Instant, Packet, Qdisc, registry};
use serde_json::{Map, Value as Json, json};

/// Returns the statistics of `qdisc` and of all disciplines in it at `now`. `sojourn` is the
/// distribution of sojourn times, if measured.
#[must_use]
pub fn statistics<P: Packet + Flow>(qdisc: &AnyQdisc<P>, now: Instant, sojourn: Option<&Json>) -> Vec<Json> {
    statistics_of(&qdisc.config(), &Observation::from_qdisc(qdisc, now), sojourn)
}

/// Returns the statistics of a discipline with this configuration and this observation.
#[must_use]
pub fn statistics_of(config: &AnyConfig, seen: &Observation, sojourn: Option<&Json>) -> Vec<Json> {
    let mut all = Vec::new();
    add(&mut all, &config.to_settings(), seen, None, sojourn);
    all
}

/// Adds a discipline and those in it; `parent` is the class that it is in.
fn add(
    all: &mut Vec<Json>,
    settings: &Settings,
    seen: &Observation,
    parent: Option<String>,
    sojourn: Option<&Json>,
) {
    let major = all.len() + 1;
    let mut object = Map::new();
    let mut put = |name: &str, value: Json| object.insert(name.to_owned(), value);
    put("kind", json!(seen.kind));
    put("handle", json!(format!("{major:x}:")));
    match parent {
        Some(class) => put("parent", json!(class)),
        None => put("root", json!(true)),
    };
    let shown = registry::shown(seen.kind);
    put("options", Json::Object(options(shown, settings, seen)));
    put("bytes", json!(seen.stats.dequeued.bytes));
    put("packets", json!(seen.stats.dequeued.packets));
    put("drops", json!(seen.stats.dropped().packets));
    put("overlimits", json!(seen.overlimits));
    // Linux counts here packets that a device gave back, which no device does here.
    put("requeues", json!(0));
    put("backlog", json!(seen.bytes));
    put("qlen", json!(seen.packets));
    for (name, gauge) in &seen.gauges {
        let is_option = shown.iter().any(|option| matches!(option, Shown::Gauge(other) if other == name));
        if !is_option {
            put(name, figure(*gauge));
        }
    }
    if let Some(key) = seen.parts_key {
        put(key, seen.parts.iter().map(|part| Json::Object(figures(part))).collect());
    }
    put("goodqueue", Json::Object(ours(seen, settings, major, sojourn)));
    all.push(Json::Object(object));
    for (class, child) in &seen.children {
        // As in tc, a default inner discipline is not shown.
        let asked = settings.children().iter().find(|given| given.class == *class);
        if let Some((_, own)) = asked.and_then(|given| given.qdisc.as_ref()) {
            add(all, own, child, Some(format!("{major:x}:{class:x}")), None);
        }
    }
}

/// What tc has no name for.
fn ours(seen: &Observation, settings: &Settings, major: usize, sojourn: Option<&Json>) -> Map<String, Json> {
    let mut own = Map::new();
    if let Some(variant) = settings.choice("variant") {
        own.insert("variant".to_owned(), json!(variant));
    }
    let count = |count: &Count| json!({ "packets": count.packets, "bytes": count.bytes });
    let stats = &seen.stats;
    for (name, counted) in [
        ("offered", &stats.offered),
        ("enqueued", &stats.enqueued),
        ("dequeued", &stats.dequeued),
        ("dropped_before_enqueue", &stats.dropped_before),
        ("dropped_after_enqueue", &stats.dropped_after),
        ("marked", &stats.marked),
    ] {
        own.insert(name.to_owned(), count(counted));
    }
    if let Some(sojourn) = sojourn {
        own.insert("sojourn_s".to_owned(), json!(sojourn));
    }
    if seen.parts_key.is_none() && !seen.parts.is_empty() {
        let classes = seen.parts.iter().map(|part| {
            let mut class = Map::new();
            class.insert("class".to_owned(), json!(format!("{major:x}:{:x}", part.class)));
            if part.parent > 0 {
                class.insert("parent".to_owned(), json!(format!("{major:x}:{:x}", part.parent)));
            }
            class.extend(figures(part));
            Json::Object(class)
        });
        own.insert("classes".to_owned(), classes.collect());
    }
    own
}

fn figures(part: &Part) -> Map<String, Json> {
    part.gauges.iter().map(|(name, gauge)| ((*name).to_owned(), figure(*gauge))).collect()
}

fn figure(gauge: Gauge) -> Json {
    match gauge {
        Gauge::Number(number) => json!(number),
        Gauge::Signed(number) => json!(number),
        Gauge::Time(span) => json!(micros(span)),
        // tc prints a time that has passed as a negative one.
        Gauge::Overdue(span) => json!(-i64::try_from(micros(span)).unwrap_or(i64::MAX)),
        Gauge::Fraction(part) => fraction(part),
        Gauge::Flag(on) => json!(on),
        _ => Json::Null,
    }
}

/// Six significant figures, as tc prints them, and a whole number without a point.
fn fraction(part: f64) -> Json {
    let rounded: f64 = format!("{part:.5e}").parse().unwrap_or(part);
    if rounded == 0.0 || rounded == 1.0 { json!(u8::from(rounded > 0.0)) } else { json!(rounded) }
}

const fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1_000
}

/// The options of a discipline as tc prints them.
fn options(shown: &[Shown], settings: &Settings, seen: &Observation) -> Map<String, Json> {
    let all = shown::options(shown, settings, seen).into_iter();
    all.map(|(name, value)| (name.to_owned(), printed(value))).collect()
}

fn printed(option: Printed) -> Json {
    match option {
        Printed::Setting(value) => setting(value),
        Printed::Gauge(gauge) => figure(gauge),
        Printed::Group(group) => {
            let group = group.into_iter().map(|(name, value)| (name.to_owned(), printed(value)));
            Json::Object(group.collect())
        }
        _ => Json::Null,
    }
}

fn setting(value: Value) -> Json {
    match value {
        Value::Packets(n) | Value::Bytes(n) | Value::Integer(n) => json!(n),
        Value::Signed(n) => json!(n),
        Value::Time(span) => json!(micros(span)),
        Value::Rate(rate) => json!(rate.as_bps() / 8),
        // tc prints a default class with `0x`.
        Value::Class(minor) => json!(format!("{minor:#x}")),
        Value::Probability(part) => fraction(part),
        Value::Flag(on) => json!(on),
        Value::Choice(word) => json!(word),
        Value::Table(table) => json!(table.name),
        Value::Priomap(bands) => json!(bands),
    }
}
