//! Reports: results as one self-contained HTML file, or as text.
//!
//! [`html`] turns [`Results`] into a page that loads nothing: it contains its styles, its data and
//! the charting library (Apache ECharts, `vendor/echarts`). The headline, the parameters and the
//! tables are plain HTML and need no JavaScript. `assets/report.js` draws the charts from the data
//! block.
//!
//! [`terminal`] turns them into the tables that the commands print.
//!
//! Equal results give equal bytes.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod advice;
mod charts;
mod differences;
pub mod ellipse;
mod escape;
mod everyday;
#[cfg(test)]
mod fixtures;
mod glance;
mod grade;
mod group;
mod headline;
mod meaning;
mod metric;
mod number;
mod options;
mod page;
pub mod page_parts;
mod policy;
mod style;
mod swatch;
mod table;
pub mod terminal;
mod terms;
mod thin;
mod words;

pub use advice::advice_html;
pub use glance::glance;
use goodqueue_scenario::results::Results;
pub use options::Options;

/// Returns the report of `results` as one HTML document.
///
/// Charts over time need `Run::series`. A run without series still has its row in the tables and
/// its dot in the latency-goodput plot.
///
/// ```
/// use goodqueue_report::{Options, html};
/// use goodqueue_scenario::results::{Results, ScenarioRecord};
///
/// let results = Results {
///     goodqueue: "0.1.0".into(),
///     scenario: ScenarioRecord::from_json(serde_json::json!({"name": "empty"})),
///     ..Results::default()
/// };
/// assert!(html(&results, &Options::default()).starts_with("<!doctype html>"));
/// ```
#[must_use]
pub fn html(results: &Results, options: &Options) -> String {
    page::html(results, options)
}

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
