//! A metric, a group of metrics, and their columns.

use goodqueue_sim::Direction;

use crate::results::{LinkResult, Run, Summary};

/// Metrics that appear next to each other under one heading.
pub struct Group {
    /// Heading in the report.
    pub title: String,
    /// Heading of the column in the terminal, in three lines: name, unit, metrics. `{}` stands for
    /// the direction.
    pub heading: String,
    /// Table that contains the group.
    pub table: Table,
    /// How the group shows the two directions.
    pub sides: DirectionColumns,
    /// Whether the report shows the group even if no run has a value.
    pub is_always_there: bool,
    /// Whether the terminal leaves the group out if all its values are 0.
    pub hides_zeros: bool,
    /// Whether the group applies to a run.
    pub applies: fn(&Run) -> bool,
    /// Metrics from left to right.
    pub metrics: Vec<Metric>,
}

/// One number of a run.
pub struct Metric {
    /// Name below the heading of its group.
    pub name: String,
    /// Unit in tables; empty for a plain number.
    pub unit: &'static str,
    /// Which values are better.
    pub better: Better,
    /// Digits in the report; `None`: the report does not show the metric.
    pub report: Option<Digits>,
    /// Digits in the terminal; `None`: the terminal does not show the metric.
    pub terminal: Option<Digits>,
    /// Whether the terminal shows the confidence interval over the seeds.
    pub interval: bool,
    /// Whether live runs are compared with simulated runs by this metric.
    pub compared: bool,
    /// Name of the value in SI units: its path in a run of the JSON, or a name of its own if it is
    /// computed from several paths. `{}` stands for the direction, `{_up}` for `_up` or nothing.
    /// `None` if the metric only abbreviates others for the terminal.
    pub key: Option<String>,
    /// Computes the value in `unit`. Groups with [`DirectionColumns::One`] ignore the direction.
    pub of: MetricFn,
    /// Meaning of the metric, for the documentation.
    pub doc: &'static str,
}

/// Computes a metric of a run.
pub type MetricFn = Box<dyn Fn(&Run, Direction) -> Option<f64>>;

/// The tables of the terminal and the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// The first table: latency, goodput, and what users of the traffic see.
    Main,
    /// How packets were lost, and shares.
    Losses,
    /// How long queues were longer than a threshold.
    Spikes,
    /// Queues outside the bottleneck.
    Queues,
    /// Airtime of the stations.
    Air,
}

impl Table {
    /// All tables in the order of the page.
    pub const ALL: [Self; 5] = [Self::Main, Self::Losses, Self::Spikes, Self::Queues, Self::Air];
}

/// How a group shows the two directions. The terminal shows both: in one column if the group has
/// one metric, otherwise in a column each. The report shows one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectionColumns {
    /// Both directions share one value.
    One,
    /// The report shows the direction that carries the load.
    Loaded,
    /// The report shows the direction that carries the load, or the downlink if that has no value.
    LoadedOrDown,
    /// The report shows the sum.
    Sum,
}

/// Digits of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Digits {
    /// Three significant digits.
    Three,
    /// This number of digits after the decimal point.
    AfterPoint(usize),
}

/// Which values of a metric are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Large values.
    High,
    /// Small values.
    Low,
    /// Neither: more drops, for example, are not a fault by themselves.
    Neither,
}

impl Better {
    /// Returns the word for the documentation; empty for [`Better::Neither`].
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::High => "higher",
            Self::Low => "lower",
            Self::Neither => "",
        }
    }
}

impl Group {
    /// Returns a group of the main table that is always shown.
    pub(super) fn new(title: &str, heading: &str, sides: DirectionColumns, metrics: Vec<Metric>) -> Self {
        let title = title.to_owned();
        let heading = heading.to_owned();
        Self {
            title,
            heading,
            table: Table::Main,
            sides,
            is_always_there: true,
            hides_zeros: false,
            applies: |_| true,
            metrics,
        }
    }

    /// Returns the number in the report if `loaded` is the direction that carries the load.
    #[must_use]
    pub fn in_report(&self, metric: &Metric, run: &Run, loaded: Direction) -> Option<f64> {
        let value = |direction| (metric.of)(run, direction);
        match self.sides {
            _ if !(self.applies)(run) => None,
            DirectionColumns::One | DirectionColumns::Loaded => value(loaded),
            DirectionColumns::LoadedOrDown => value(loaded).or_else(|| value(Direction::Down)),
            DirectionColumns::Sum => Some(value(Direction::Down)? + value(Direction::Up)?),
        }
    }

    /// Returns the group's columns in the terminal.
    #[must_use]
    pub fn columns(&self) -> Vec<Column<'_>> {
        let shown: Vec<&Metric> = self.metrics.iter().filter(|metric| metric.terminal.is_some()).collect();
        let column = |heading: String, parts| Column { heading, parts };
        let of_side = |side: Direction| {
            let parts = shown.iter().map(|metric| (*metric, side)).collect();
            column(self.heading.replace("{}", side.name()), parts)
        };
        match (self.sides, shown.as_slice()) {
            (_, []) => Vec::new(),
            (DirectionColumns::One, _) => vec![of_side(Direction::Down)],
            (_, [metric]) => {
                vec![column(self.heading.clone(), Direction::BOTH.map(|side| (*metric, side)).into())]
            }
            _ => Direction::BOTH.map(of_side).into(),
        }
    }
}

/// A column of the terminal.
pub struct Column<'g> {
    /// Name, unit and metrics, one line each.
    pub heading: String,
    /// Numbers in a cell from left to right, each of one direction.
    pub parts: Vec<(&'g Metric, Direction)>,
}

impl<'g> Column<'g> {
    /// Returns the metrics by which live runs are compared with simulated runs, as columns of their
    /// own.
    pub fn compared(&self) -> impl Iterator<Item = Column<'g>> {
        let mut lines = self.heading.split('\n');
        let name = lines.next().unwrap_or_default().to_owned();
        let names: Vec<String> =
            // The last line of a heading names its metrics, one for each part.
            self.heading.rsplit('\n').next().unwrap_or_default().split('/').map(str::to_owned).collect();
        self.parts.iter().zip(names).filter(|((metric, _), _)| metric.compared).map(move |(part, which)| {
            Column { heading: format!("{name}\n{}\n{which}", part.0.unit), parts: vec![*part] }
        })
    }
}

impl Metric {
    /// Returns a metric with three digits everywhere.
    pub(super) fn new(
        name: &str,
        unit: &'static str,
        better: Better,
        of: impl Fn(&Run, Direction) -> Option<f64> + 'static,
        doc: &'static str,
    ) -> Self {
        let digits = Some(Digits::Three);
        Self {
            name: name.to_owned(),
            unit,
            better,
            report: digits,
            terminal: digits,
            interval: false,
            compared: false,
            key: None,
            of: Box::new(of),
            doc,
        }
    }

    pub(super) fn at(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    pub(super) const fn digits(mut self, report: Digits, terminal: Digits) -> Self {
        (self.report, self.terminal) = (Some(report), Some(terminal));
        self
    }

    pub(super) const fn with_interval(mut self) -> Self {
        self.interval = true;
        self
    }

    pub(super) const fn compared(mut self) -> Self {
        self.compared = true;
        self
    }

    pub(super) const fn only_in_report(mut self) -> Self {
        self.terminal = None;
        self
    }

    pub(super) const fn only_in_terminal(mut self) -> Self {
        self.report = None;
        self
    }

    /// Returns the key of the metric in this direction.
    #[must_use]
    pub fn key_of(&self, direction: Direction) -> Option<String> {
        let up = if direction == Direction::Up { "_up" } else { "" };
        self.key.as_ref().map(|key| key.replace("{}", direction.name()).replace("{_up}", up))
    }

    /// Returns the value in one unit of the JSON (second, bit per second, share) in this metric's
    /// unit.
    #[must_use]
    pub fn scale(&self) -> f64 {
        match self.unit {
            "ms" => 1e3,
            "Mbit/s" => 1e-6,
            "%" => 1e2,
            _ => 1.0,
        }
    }
}

pub(super) const P50: fn(&Summary) -> Option<f64> = |times| times.p50;
pub(super) const P95: fn(&Summary) -> Option<f64> = |times| times.p95;
pub(super) const P99: fn(&Summary) -> Option<f64> = |times| times.p99;

pub(super) fn link(run: &Run, direction: Direction) -> &LinkResult {
    run.bottleneck.link(direction)
}

pub(super) fn ms(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|s| s * 1e3)
}

pub(super) fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| share * 1e2)
}
