//! Statistics as `tc -s -j qdisc show` prints them.
//!
//! One array of objects, a discipline each, parents before the disciplines in them: kind, handle,
//! `root` or `parent`, options, the counters that every discipline has, and its extended statistics
//! in the same object. Names, order and units are those of iproute2 6.1: sizes in bytes, rates in
//! bytes per second, times in whole microseconds (rounded down, and `variant linux` of CoDel to its
//! clock first, so that 5 ms are 4999). What tc does not know is under one key, `goodqueue`:
//! sojourn times, counters in packets and bytes, classes.
//!
//! Handles are made up: `1:` is the root, the others follow in order. The counters are those since
//! the queue was made.

use goodqueue::config::{Settings, Value};
use goodqueue::gauge::{Gauge, Observation, Part};
use goodqueue::{AnyConfig, AnyQdisc, Count, Duration, Flow, Instant, Packet, Qdisc};
use serde_json::{Map, Value as Json, json};

use crate::line::settings::DEFAULT_PRIOMAP;

/// Returns the statistics of `qdisc` and of all disciplines in it at `now`. `sojourn` is the
/// distribution of sojourn times, if measured.
#[must_use]
pub fn statistics<P: Packet + Flow>(qdisc: &AnyQdisc<P>, now: Instant, sojourn: Option<&Json>) -> Vec<Json> {
    statistics_of(&qdisc.config(), &Observation::of(qdisc, now), sojourn)
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
    put("options", Json::Object(options(seen, settings)));
    put("bytes", json!(seen.stats.dequeued.bytes));
    put("packets", json!(seen.stats.dequeued.packets));
    put("drops", json!(seen.stats.dropped().packets));
    put("overlimits", json!(seen.overlimits));
    put("requeues", json!(0));
    put("backlog", json!(seen.bytes));
    put("qlen", json!(seen.packets));
    for (name, gauge) in &seen.gauges {
        if !OPTIONS_THAT_COUNT.contains(name) {
            put(name, figure(*gauge));
        }
    }
    let is_cake = seen.kind == "cake";
    if is_cake {
        put("tins", seen.parts.iter().map(|tin| Json::Object(figures(tin))).collect());
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
    if seen.kind != "cake" && !seen.parts.is_empty() {
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

/// Figures that tc counts among the options.
const OPTIONS_THAT_COUNT: [&str; 1] = ["direct_packets_stat"];

/// The options of a discipline as tc prints them: the words that tc prints in this order, each with
/// the setting that it stands for. A flag with `false` is printed in any case, one with `true` only
/// if it is on.
fn options(seen: &Observation, settings: &Settings) -> Map<String, Json> {
    let mut shown = Options { settings, map: Map::new(), coarse: false };
    match seen.kind {
        "codel" => {
            shown.coarse = settings.choice("variant") == Some("linux");
            shown.all(&["limit", "target", "ce_threshold", "interval"]);
            shown.if_on(&["ecn"]);
        }
        "fq_codel" => {
            shown.coarse = settings.choice("variant").is_some_and(|name| name.starts_with("linux"));
            shown.all(&["limit", "flows", "quantum", "target", "ce_threshold", "interval", "memory_limit"]);
            shown.if_on(&["ecn"]);
            shown.all(&["drop_batch"]);
        }
        "pie" => {
            shown.all(&["limit", "target", "tupdate", "alpha", "beta"]);
            shown.if_on(&["ecn", "bytemode", "dq_rate_estimator"]);
        }
        "fq_pie" => {
            shown.all(&["limit", "flows", "target", "tupdate", "alpha", "beta", "quantum"]);
            shown.all(&["memory_limit", "ecn_prob"]);
            shown.if_on(&["ecn", "bytemode", "dq_rate_estimator"]);
        }
        "red" | "choke" => {
            shown.all(&["limit", "min", "max"]);
            shown.flags(&["ecn", "harddrop", "adaptive", "nodrop"]);
        }
        "sfq" => {
            shown.all(&["limit", "quantum", "depth", "divisor"]);
            if let Some(seconds) = settings.time("perturb").filter(|span| !span.is_zero()) {
                shown.put("perturb", json!(seconds.as_nanos() / 1_000_000_000));
            }
            if settings.get("redflowlimit").is_some() {
                shown.all(&["min", "max", "probability"]);
                shown.flags(&["ecn", "harddrop"]);
            }
        }
        "sfb" => {
            // In milliseconds in the grammar, in microseconds here.
            for name in ["rehash", "db"] {
                shown.put(name, json!(shown.number(name).saturating_mul(1_000)));
            }
            shown.all(&["limit", "max", "target", "increment", "decrement"]);
            shown.all(&["penalty_rate", "penalty_burst"]);
        }
        "tbf" => tbf(&mut shown),
        "netem" => netem(&mut shown),
        "cake" => cake(&mut shown),
        "dualpi2" => dualpi2(&mut shown),
        "prio" => {
            shown.all(&["bands"]);
            shown.put("priomap", json!(priomap(settings)));
        }
        "pfifo_fast" => {
            shown.put("bands", json!(3));
            shown.put("priomap", json!(priomap(settings)));
            shown.put("multiqueue", json!(false));
        }
        "htb" => {
            shown.all(&["r2q"]);
            if let Some(Value::Class(minor)) = settings.get("default") {
                shown.put("default", json!(format!("{minor:#x}")));
            }
            let direct = seen.get("direct_packets_stat").map_or(json!(0), figure);
            shown.put("direct_packets_stat", direct);
            shown.all(&["direct_qlen"]);
        }
        // In Linux these have only classes and print no options.
        "drr" | "qfq" => {}
        // tc does not know them: every setting under its own name.
        _ => {
            for (name, value) in settings.iter().filter(|(name, _)| *name != "variant") {
                shown.put(name, printed(value, false));
            }
        }
    }
    shown.map
}

/// Options being collected.
struct Options<'a> {
    settings: &'a Settings,
    map: Map<String, Json>,
    /// Times are kept in units of 1024 ns.
    coarse: bool,
}

impl Options<'_> {
    fn put(&mut self, name: &str, value: Json) {
        self.map.insert(name.to_owned(), value);
    }

    /// Adds those of these settings that are set.
    fn all(&mut self, names: &[&str]) {
        for name in names {
            if let Some(value) = self.settings.get(name) {
                self.put(name, printed(value, self.coarse));
            }
        }
    }

    /// Adds flags that are printed on or off.
    fn flags(&mut self, names: &[&str]) {
        for name in names {
            self.put(name, json!(self.settings.flag(name).unwrap_or(false)));
        }
    }

    /// Adds flags that are printed only if they are on.
    fn if_on(&mut self, names: &[&str]) {
        for name in names.iter().filter(|name| self.settings.flag(name) == Some(true)) {
            self.put(name, json!(true));
        }
    }

    fn signed(&self, name: &str) -> i64 {
        if let Some(Value::Signed(n)) = self.settings.get(name) { n } else { 0 }
    }

    fn number(&self, name: &str) -> u64 {
        match self.settings.get(name) {
            Some(Value::Packets(n) | Value::Bytes(n) | Value::Integer(n)) => n,
            Some(Value::Rate(rate)) => rate.as_bps() / 8,
            _ => 0,
        }
    }
}

fn printed(value: Value, coarse: bool) -> Json {
    match value {
        Value::Packets(n) | Value::Bytes(n) | Value::Integer(n) => json!(n),
        Value::Signed(n) => json!(n),
        Value::Time(span) if coarse => json!((span.as_nanos() >> 10 << 10) / 1_000),
        Value::Time(span) => json!(micros(span)),
        Value::Rate(rate) => json!(rate.as_bps() / 8),
        Value::Class(minor) => json!(format!("{minor:#x}")),
        Value::Probability(part) => fraction(part),
        Value::Flag(on) => json!(on),
        Value::Choice(word) => json!(word),
        Value::Table(table) => json!(table.name),
        Value::Priomap(bands) => json!(bands),
    }
}

/// tc prints the limit as the time that it takes at the rate.
fn tbf(shown: &mut Options<'_>) {
    shown.all(&["rate", "burst", "peakrate", "mtu"]);
    let (rate, burst) = (shown.number("rate").max(1), shown.number("burst"));
    if shown.settings.get("limit").is_some() {
        let time = |bytes: u64| u128::from(bytes) * 1_000_000 / u128::from(rate);
        let latency = time(shown.number("limit")).saturating_sub(time(burst));
        shown.put("lat", json!(u64::try_from(latency).unwrap_or(u64::MAX)));
    }
}

fn netem(shown: &mut Options<'_>) {
    let settings = shown.settings;
    let seconds = |name: &str| {
        let nanos = settings.time(name).map_or(0, Duration::as_nanos);
        #[expect(
            clippy::cast_precision_loss,
            reason = "tc prints a time in seconds as a floating-point number"
        )]
        fraction(nanos as f64 / 1e9)
    };
    let share = |name: &str| fraction(settings.probability(name).unwrap_or(0.0));
    let is_set = |name: &str| settings.probability(name).is_some_and(|part| part > 0.0);
    shown.all(&["limit"]);
    if ["delay", "delay.jitter"].iter().any(|name| settings.time(name).is_some_and(|span| !span.is_zero())) {
        let correlation = share("delay.correlation");
        let delay = json!({ "delay": seconds("delay"), "jitter": seconds("delay.jitter"), "correlation": correlation });
        shown.put("delay", delay);
    }
    if is_set("loss") {
        shown.put("loss-random", json!({ "loss": share("loss"), "correlation": share("loss.correlation") }));
    }
    if settings.get("loss gemodel").is_some() {
        let model = json!({
            "p": share("loss gemodel"),
            "r": share("loss gemodel.r"),
            "1-h": share("loss gemodel.1-h"),
            "1-k": share("loss gemodel.1-k"),
        });
        shown.put("loss-gemodel", model);
    }
    if settings.get("loss state").is_some() {
        let model = json!({
            "p13": share("loss state"),
            "p31": share("loss state.p31"),
            "p32": share("loss state.p32"),
            "p23": share("loss state.p23"),
            "p14": share("loss state.p14"),
        });
        shown.put("loss-state", model);
    }
    for name in ["duplicate", "reorder", "corrupt"] {
        if is_set(name) {
            let correlation = share(&format!("{name}.correlation"));
            shown.put(name, json!({ name: share(name), "correlation": correlation }));
        }
    }
    if settings.get("rate").is_some() {
        let number = |name: &str| shown.number(name);
        let rate = json!({
            "rate": number("rate"),
            "packetoverhead": shown.signed("rate.packetoverhead"),
            "cellsize": number("rate.cellsize"),
            "celloverhead": shown.signed("rate.celloverhead"),
        });
        shown.put("rate", rate);
    }
    if settings.get("slot").is_some() || settings.get("slot distribution").is_some() {
        let slot = match settings.get("slot distribution") {
            Some(value) => json!({
                "distribution": value.to_string(),
                "delay": seconds("slot distribution.delay"),
                "jitter": seconds("slot distribution.jitter"),
                "packets": shown.number("packets"),
                "bytes": shown.number("bytes"),
            }),
            None => json!({
                "min-delay": seconds("slot"),
                "max-delay": seconds("slot.max"),
                "packets": shown.number("packets"),
                "bytes": shown.number("bytes"),
            }),
        };
        shown.put("slot", slot);
    }
    shown.flags(&["ecn"]);
    shown.put("gap", json!(shown.number("gap")));
    shown.all(&["seed"]);
}

fn cake(shown: &mut Options<'_>) {
    let settings = shown.settings;
    let on = |name: &&&str| settings.flag(name) == Some(true);
    let word =
        |names: &[&'static str], default: &'static str| names.iter().find(on).copied().unwrap_or(default);
    let bandwidth = match settings.rate("bandwidth") {
        Some(rate) => json!(rate.as_bps() / 8),
        None => json!("unlimited"),
    };
    shown.put("bandwidth", bandwidth);
    if settings.flag("autorate-ingress") == Some(true) {
        shown.put("autorate", json!("autorate-ingress"));
    }
    let classes = ["besteffort", "precedence", "diffserv8", "diffserv4", "diffserv3"];
    shown.put("diffserv", json!(word(&classes, "diffserv3")));
    let isolations = [
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    ];
    shown.put("flowmode", json!(word(&isolations, "triple-isolate")));
    shown.flags(&["nat", "wash", "ingress"]);
    let filter = match word(&["ack-filter", "ack-filter-aggressive"], "") {
        "ack-filter" => "enabled",
        "ack-filter-aggressive" => "aggressive",
        _ => "disabled",
    };
    shown.put("ack-filter", json!(filter));
    shown.put("split_gso", json!(settings.flag("split-gso").unwrap_or(true)));
    shown.all(&["rtt"]);
    shown.if_on(&["raw", "atm", "ptm"]);
    shown.put("overhead", json!(shown.signed("overhead")));
    if shown.number("mpu") > 0 {
        shown.all(&["mpu"]);
    }
    if settings.get("memlimit").is_some() {
        shown.put("memlimit", json!(shown.number("memlimit")));
    }
    let mask = match shown.number("fwmark") {
        0 => "0".to_owned(),
        mask => format!("{mask:#x}"),
    };
    shown.put("fwmark", json!(mask));
}

fn dualpi2(shown: &mut Options<'_>) {
    let settings = shown.settings;
    shown.all(&["limit"]);
    shown.put("memory-limit", json!(shown.number("memlimit")));
    shown.all(&["target", "tupdate"]);
    // In hertz, as tc takes them; a gain counts in 256ths.
    for name in ["alpha", "beta"] {
        #[expect(clippy::cast_precision_loss, reason = "a gain is at most 2^24")]
        shown.put(name, fraction(shown.number(name) as f64 / 256.0));
    }
    let step = settings.time("step_thresh").map_or(0, micros);
    shown.put("step-thresh-us", json!(step));
    shown.put("coupling", json!(shown.number("coupling_factor")));
    let overload = if settings.flag("overflow") == Some(true) { "overflow" } else { "drop" };
    shown.put("overload", json!(overload));
    shown.put("classic-protection", json!(shown.number("classic_protection")));
}

/// The band of each priority; `pfifo_fast` cannot be told.
fn priomap(settings: &Settings) -> [u8; 16] {
    match settings.get("priomap") {
        Some(Value::Priomap(map)) => map,
        _ => DEFAULT_PRIOMAP,
    }
}
