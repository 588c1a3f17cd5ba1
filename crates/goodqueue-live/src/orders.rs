//! Orders to a running bottleneck: the lines of the control socket and of configuration files.
//!
//! Lines are read in the threads of those who ask. They may name files (`netem distribution`),
//! which the loop that carries packets must not open.

use std::path::Path;

use goodqueue::config::{Link as LinkDefaults, Settings, Value as Setting};
use goodqueue::{AnyConfig, Disciplines, Rate};
use goodqueue_link::capacity::Capacity;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::{Diagnostic, unknown};
use goodqueue_tc::{input, units};

use crate::bottleneck::Bottleneck;
use crate::observer::Direction;

/// A valid order.
#[derive(Debug)]
pub enum Order {
    /// Returns all statistics as JSON.
    Stats,
    /// Returns the statistics of both disciplines, as `tc -s -j qdisc show` prints them.
    TcJson,
    /// Returns the metrics in the text format of Prometheus.
    Metrics,
    /// Returns the text of [`Order::Metrics`] as a string in JSON.
    MetricsJson,
    /// Returns disciplines and rates as JSON.
    InForce,
    /// Confirms that the bottleneck should continue.
    Confirm,
    /// Makes all of these changes, then returns disciplines and rates as JSON.
    Change(Vec<Change>),
}

impl Order {
    /// Reads a line of the control socket, which may name any of `disciplines`. `rates` returns the
    /// current rates, if they are needed.
    ///
    /// # Errors
    /// The line is not an order, or `rates` fails.
    pub fn read(
        line: &str,
        disciplines: &Disciplines,
        rates: impl FnOnce() -> Result<Rates, Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        Ok(match line.split_whitespace().next().unwrap_or_default() {
            "stats" => Self::Stats,
            "tc-json" => Self::TcJson,
            "metrics" => Self::Metrics,
            "metrics-json" => Self::MetricsJson,
            "confirm" => Self::Confirm,
            "qdisc" | "rate" => Self::Change(read_change(&rates()?, disciplines, line)?),
            other => return Err(unknown("the request", other, REQUESTS)),
        })
    }
}

/// A valid change.
#[derive(Debug)]
pub enum Change {
    /// Another discipline or configuration.
    Qdisc(Direction, Box<AnyConfig>),
    /// Another rate.
    Capacity(Direction, Capacity),
}

impl Change {
    /// Changes a bottleneck.
    pub fn make(self, bottleneck: &mut Bottleneck) {
        let now = bottleneck.now();
        let direction = match &self {
            Self::Qdisc(direction, _) | Self::Capacity(direction, _) => *direction,
        };
        let (link, observers) = bottleneck.link_mut(direction);
        match self {
            Self::Qdisc(_, config) => link.reconfigure(now, *config, observers),
            Self::Capacity(_, capacity) => {
                // The memory follows from the new rate, so the rate is set first.
                link.set_capacity(now, capacity, observers);
                bottleneck.fit_memory();
            }
        }
    }
}

/// Rates of both directions, on which some disciplines' defaults depend; `None` without a limit.
pub type Rates = [Option<Rate>; 2];

/// Returns the current rates of a bottleneck.
#[must_use]
pub fn rates_of(bottleneck: &Bottleneck) -> Rates {
    let now = bottleneck.now();
    Direction::BOTH.map(|direction| bottleneck.link(direction).capacity().rate_at(now).map(|(rate, _)| rate))
}

/// Reads the changes of a configuration file, one in each line, which may name any of
/// `disciplines`. Empty lines and lines that begin with `#` are skipped. Also returns the remarks
/// of [`tc::remarks`], each with its line.
///
/// # Errors
/// The file cannot be read, or a line is not a change.
pub fn read_changes(
    rates: &Rates,
    disciplines: &Disciplines,
    path: &Path,
) -> Result<(Vec<Change>, Vec<Diagnostic>), Diagnostic> {
    let name = path.display().to_string();
    let text = input::text(path, MOST_BYTES)
        .map_err(|error| Diagnostic::new(format!("the changes cannot be read: {error}")).in_file(&name))?;
    let mut changes = Vec::new();
    let mut remarks = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let change = read_change(rates, disciplines, line);
        changes.extend(change.map_err(|error| Diagnostic::new(error.problem()).in_line(&name, number))?);
        if let Some(("qdisc", rest)) = line.split_once(char::is_whitespace) {
            let about = tc::remarks(disciplines, directions(rest).1).into_iter();
            remarks.extend(about.map(|remark| remark.in_line(&name, number)));
        }
    }
    Ok((changes, remarks))
}

/// Reads `qdisc [down|up] TC` or `rate [down|up] RATE`.
fn read_change(rates: &Rates, disciplines: &Disciplines, line: &str) -> Result<Vec<Change>, Diagnostic> {
    let (order, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (directions, text) = directions(rest);
    let read = |direction: Direction| match order {
        "qdisc" => {
            let defaults = match rates[direction.index()] {
                Some(rate) => LinkDefaults { rate, ..LinkDefaults::default() },
                None => LinkDefaults::default(),
            };
            let config = tc::parse_among(disciplines, text, &defaults, None)
                // The settings of the finished configuration contain the defaults, which count as
                // well.
                .and_then(|config| TreeSize::from_settings(&config.to_settings()).check().map(|()| config))
                .map_err(|error| error.in_argument("qdisc", text))?;
            Ok(Change::Qdisc(direction, Box::new(config)))
        }
        "rate" if text == "unlimited" => Ok(Change::Capacity(direction, Capacity::UNLIMITED)),
        "rate" => {
            let rate = units::rate(text).map_err(|error| error.in_argument("rate", text))?;
            Ok(Change::Capacity(direction, Capacity::Constant(rate)))
        }
        _ => Err(unknown("the change", order, CHANGES)),
    };
    directions.iter().map(|&direction| read(direction)).collect()
}

/// Splits off a leading `down` or `up`. Without one, both directions are meant.
fn directions(rest: &str) -> (&[Direction], &str) {
    let rest = rest.trim();
    match rest.split_once(char::is_whitespace) {
        Some(("down", rest)) => (&[Direction::Down], rest.trim()),
        Some(("up", rest)) => (&[Direction::Up], rest.trim()),
        _ => (&Direction::BOTH, rest),
    }
}

/// Size of a tree of disciplines before the first packet. The loop builds the tree between two
/// packets, so it must be small.
#[derive(Clone, Copy, Default)]
struct TreeSize {
    disciplines: u64,
    /// Flow queues, and entries of the tables that lead to them.
    queues: u64,
}

impl TreeSize {
    fn from_settings(settings: &Settings) -> Self {
        let number = |name| if let Some(Setting::Integer(number)) = settings.get(name) { number } else { 0 };
        let own = Self { disciplines: 1, queues: number("flows").saturating_add(number("divisor")) };
        let inner = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
        inner.map(|(_, settings)| Self::from_settings(settings)).fold(own, |all, one| Self {
            disciplines: all.disciplines.saturating_add(one.disciplines),
            queues: all.queues.saturating_add(one.queues),
        })
    }

    fn check(self) -> Result<(), Diagnostic> {
        let too_many = |what: &str, number: u64, most: u64| {
            Err(Diagnostic::new(format!("building {number} {what} would delay the packets"))
                .allowed(format!("at most {most}, in all disciplines together"))
                .help("start a bottleneck with this discipline, as in `goodqueue shell --qdisc TC`"))
        };
        match self {
            Self { disciplines, .. } if disciplines > MOST_DISCIPLINES => {
                too_many("disciplines", disciplines, MOST_DISCIPLINES)
            }
            Self { queues, .. } if queues > MOST_QUEUES => too_many("flow queues", queues, MOST_QUEUES),
            _ => Ok(()),
        }
    }
}

const REQUESTS: &[&str] = &["stats", "tc-json", "metrics", "qdisc", "rate", "confirm"];
const CHANGES: &[&str] = &["qdisc", "rate"];
/// Bytes of a configuration file.
const MOST_BYTES: u64 = 1 << 20;
/// Disciplines of a tree: more than a control line has room for, with useful classes.
const MOST_DISCIPLINES: u64 = 256;
/// Flow queues of a tree: four times those of the largest `fq_codel`.
const MOST_QUEUES: u64 = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> Option<String> {
        Order::read(line, &Disciplines::new(), || Ok([None; 2])).err().map(|error| error.to_string())
    }

    #[test]
    fn a_tree_that_takes_gigabytes_is_refused_and_a_large_one_is_not() {
        let tree = |classes: u32, qdisc: &str| {
            let classes: String =
                (1..=classes).map(|class| format!(" [{class:x} rate 1mbit: {qdisc}]")).collect();
            refusal(&format!("qdisc htb default 1{classes}"))
        };
        let many = tree(100, "fq_codel flows 65536").unwrap();
        // 100 classes with 65,536 flows each.
        assert!(many.contains("6553600 flow queues") && many.contains("at most 262144"), "{many}");
        let wide = tree(1000, "pfifo").unwrap();
        // `htb` itself is one of them.
        assert!(wide.contains("1001 disciplines") && wide.contains("at most 256"), "{wide}");
        // 200 times the default of 1024 flows are 204,800 flow queues.
        assert_eq!(tree(200, "fq_codel"), None);
        assert_eq!(refusal("qdisc fq_codel flows 65536"), None);
        assert_eq!(refusal("qdisc cake"), None);
    }

    #[test]
    fn a_file_of_changes_is_read_up_to_its_limit_and_only_if_it_is_one() {
        let read = |path: &str| {
            let path = Path::new(path);
            read_changes(&[None; 2], &Disciplines::new(), path).unwrap_err().to_string()
        };
        assert!(read("/dev/zero").contains("the changes cannot be read: it is larger than"));
        assert!(read("/dev").contains("it is a directory"));
        assert!(read("/dev/null/none").contains("cannot be read"));
    }

    #[test]
    fn a_time_without_a_unit_in_a_file_of_changes_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes");
        std::fs::write(&path, "# a comment\nqdisc up codel target 5ms\nqdisc down fq_codel target 5\n")
            .unwrap();
        let (changes, remarks) = read_changes(&[None; 2], &Disciplines::new(), &path).unwrap();
        let told: Vec<String> = remarks.iter().map(ToString::to_string).collect();
        assert_eq!((changes.len(), told.len()), (2, 1), "{told:?}");
        assert!(told[0].contains("changes:3:1: `target 5` of fq_codel means 5us, as in tc"), "{}", told[0]);
    }

    #[test]
    fn only_a_change_needs_the_current_rates() {
        let no_rates = || Err(Diagnostic::new("no rates"));
        let read = |line| Order::read(line, &Disciplines::new(), no_rates);
        assert!(matches!(read("stats"), Ok(Order::Stats)));
        assert!(read("rate up 5mbit").is_err());
    }
}
