//! What can be asked of a running bottleneck: lines of text are read here, in the threads of those who ask. They may name files
//! (`netem distribution`), which the loop that carries packets must not open.

use std::path::Path;

use goodqueue::config::{Link as LinkDefaults, Settings, Value as Setting};
use goodqueue::{AnyConfig, Rate};
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::capacity::Capacity;
use goodqueue_live::mailbox::Asker;
use goodqueue_live::observer::Direction;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::{Diagnostic, unknown};
use goodqueue_tc::{input, units};
use serde_json::{Value, json};

/// An order that is known to be good.
pub(crate) enum Order {
    /// All that there is to know, as JSON.
    Stats,
    /// Both disciplines as `tc -s -j qdisc show` prints them.
    TcJson,
    /// The text format of Prometheus.
    Metrics,
    /// Disciplines and rates, as JSON.
    InForce,
    /// What runs is to go on.
    Confirm,
    /// All of these, and then disciplines and rates as JSON.
    Change(Vec<Change>),
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

/// Rates of both directions, from which some disciplines take defaults; `None` where there is no limit.
pub(crate) type Rates = [Option<Rate>; 2];

/// The rates of a bottleneck that does not run yet.
pub(crate) fn rates_of(bottleneck: &Bottleneck) -> Rates {
    let now = bottleneck.now();
    Direction::BOTH.map(|direction| bottleneck.link(direction).capacity().rate_at(now).map(|(rate, _)| rate))
}

/// Deals with those who ask.
#[derive(Clone)]
pub(crate) struct Clerk(pub(crate) Asker<Order>);

impl Clerk {
    /// The answer to one line: JSON, in one line unless it is the text of Prometheus.
    pub(crate) fn answer(&self, line: &str) -> String {
        self.answer_or_refuse(line).unwrap_or_else(|error| json!({"error": error.to_string()}).to_string())
    }

    fn answer_or_refuse(&self, line: &str) -> Result<String, Diagnostic> {
        let order = match line.split_whitespace().next().unwrap_or_default() {
            "stats" => Order::Stats,
            "tc-json" => Order::TcJson,
            "metrics" => Order::Metrics,
            "metrics-json" => return Ok(json!({"metrics": self.ask(Order::Metrics)?}).to_string()),
            "confirm" => Order::Confirm,
            "qdisc" | "rate" => Order::Change(read_change(&self.rates()?, line)?),
            other => return Err(unknown("the request", other, REQUESTS)),
        };
        self.ask(order)
    }

    /// Figures for Prometheus.
    pub(crate) fn metrics(&self) -> Option<String> {
        self.0.ask(Order::Metrics)
    }

    /// Makes the changes of a file, all or none.
    pub(crate) fn change_all(&self, path: &Path) -> Result<(), Diagnostic> {
        let changes = read_changes(&self.rates()?, path)?;
        self.ask(Order::Change(changes)).map(|_| ())
    }

    fn ask(&self, order: Order) -> Result<String, Diagnostic> {
        self.0.ask(order).ok_or_else(|| Diagnostic::new("the bottleneck does not answer"))
    }

    fn rates(&self) -> Result<Rates, Diagnostic> {
        let in_force: Value = serde_json::from_str(&self.ask(Order::InForce)?).unwrap_or_default();
        Ok(Direction::BOTH
            .map(|direction| in_force[direction.name()]["rate_bps"].as_u64().map(Rate::from_bps)))
    }
}

/// Reads the changes of a file, each in a line.
pub(crate) fn read_changes(rates: &Rates, path: &Path) -> Result<Vec<Change>, Diagnostic> {
    let name = path.display().to_string();
    let text = input::text(path, MOST_BYTES)
        .map_err(|error| Diagnostic::new(format!("the changes cannot be read: {error}")).in_file(&name))?;
    let mut changes = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let change = read_change(rates, line);
        changes.extend(change.map_err(|error| Diagnostic::new(error.problem()).in_line(&name, number))?);
    }
    Ok(changes)
}

/// Reads `qdisc [down|up] TC` or `rate [down|up] RATE`.
pub(crate) fn read_change(rates: &Rates, line: &str) -> Result<Vec<Change>, Diagnostic> {
    let (order, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (directions, text) = directions(rest);
    let read = |direction: Direction| match order {
        "qdisc" => {
            let defaults = match rates[direction.index()] {
                Some(rate) => LinkDefaults { rate, ..LinkDefaults::default() },
                None => LinkDefaults::default(),
            };
            let config = tc::parse(text, &defaults)
                .and_then(|config| Extent::of(&config.to_settings()).check().map(|()| config))
                .map_err(|error| error.in_argument("qdisc", text))?;
            Ok(Change::Qdisc(direction, Box::new(config)))
        }
        "rate" if text == "unlimited" => Ok(Change::Capacity(direction, Capacity::Unlimited)),
        "rate" => {
            let rate = units::rate(text).map_err(|error| error.in_argument("rate", text))?;
            Ok(Change::Capacity(direction, Capacity::Constant(rate)))
        }
        _ => Err(unknown("the change", order, CHANGES)),
    };
    directions.iter().map(|&direction| read(direction)).collect()
}

/// What a tree of disciplines takes before the first packet comes. The loop makes it between two packets, so it must not be
/// much.
#[derive(Clone, Copy, Default)]
struct Extent {
    disciplines: u64,
    /// Queues of flows, and entries of the tables that lead to them.
    queues: u64,
}

impl Extent {
    fn of(settings: &Settings) -> Self {
        let number = |name| if let Some(Setting::Integer(number)) = settings.get(name) { number } else { 0 };
        let own = Self { disciplines: 1, queues: number("flows").saturating_add(number("divisor")) };
        let inner = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
        inner.map(|(_, settings)| Self::of(settings)).fold(own, |all, one| Self {
            disciplines: all.disciplines.saturating_add(one.disciplines),
            queues: all.queues.saturating_add(one.queues),
        })
    }

    fn check(self) -> Result<(), Diagnostic> {
        let too_many = |what: &str, number: u64, most: u64| {
            Err(Diagnostic::new(format!("the packets would wait while {number} {what} are made"))
                .allowed(format!("{most} at most, in all disciplines together"))
                .help("start a bottleneck with it, as in `goodqueue shell --qdisc TC`"))
        };
        match self {
            Self { disciplines, .. } if disciplines > MOST_DISCIPLINES => {
                too_many("disciplines", disciplines, MOST_DISCIPLINES)
            }
            Self { queues, .. } if queues > MOST_QUEUES => too_many("queues of flows", queues, MOST_QUEUES),
            _ => Ok(()),
        }
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

const REQUESTS: &[&str] = &["stats", "tc-json", "metrics", "qdisc", "rate", "confirm"];
const CHANGES: &[&str] = &["qdisc", "rate"];
/// Bytes of a file of changes.
const MOST_BYTES: u64 = 1 << 20;
/// More classes than a line of a request has room for with a discipline worth having in each.
const MOST_DISCIPLINES: u64 = 256;
/// Four times the flows of the largest `fq_codel`.
const MOST_QUEUES: u64 = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> Option<String> {
        read_change(&[None; 2], line).err().map(|error| error.to_string())
    }

    #[test]
    fn a_tree_that_takes_gigabytes_is_refused_and_a_large_one_is_not() {
        let tree = |classes: u32, qdisc: &str| {
            let classes: String =
                (1..=classes).map(|class| format!(" [{class:x} rate 1mbit: {qdisc}]")).collect();
            refusal(&format!("qdisc htb default 1{classes}"))
        };
        let many = tree(100, "fq_codel flows 65536").unwrap();
        assert!(many.contains("6553600 queues of flows") && many.contains("262144 at most"), "{many}");
        let wide = tree(1000, "pfifo").unwrap();
        assert!(wide.contains("1001 disciplines") && wide.contains("256 at most"), "{wide}");
        assert_eq!(tree(200, "fq_codel"), None);
        assert_eq!(refusal("qdisc fq_codel flows 65536"), None);
        assert_eq!(refusal("qdisc cake"), None);
    }
}
