//! The catalogue of metrics.
//!
//! A metric is a number of a run with its name, unit, better end, digits and key. The tables of the
//! terminal, the report, the means over seeds, exports of runs and the documentation iterate over
//! the catalogue. A new metric is one entry in a file of this folder. If the runs do not hold its
//! data yet, [`measure`](crate::measure) measures it first. Exports of time series iterate over
//! those in [`time_series`](crate::results::time_series).

mod catalogue;
mod columns;
mod condition;
mod everywhere;
mod losses;
mod metric;
mod page;
mod traffic;
mod varying;

pub use catalogue::{catalogue, values};
pub use columns::{KeyedMetric, by_key, check_key, check_queue, keys};
pub use condition::{Condition, ConditionResult};
pub use everywhere::{PACKETS, SOJOURN};
pub use losses::{LOSS, LOSSES};
pub use metric::{Better, Column, Digits, DirectionColumns, Group, Metric, MetricFn, Table};
pub use page::documentation;
pub use varying::SOJOURN_IN;
