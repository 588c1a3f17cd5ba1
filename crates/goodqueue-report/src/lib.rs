//! Result tables as one HTML file to look at.
//!
//! [`html`] turns [`Results`] into a page that needs nothing else: styles, data and the charting library
//! (Apache ECharts, `vendor/echarts`) are inside, nothing is loaded. The headline, the parameters and the table are
//! plain HTML and read without JavaScript; the charts are drawn from the data block by `assets/report.js`.
//!
//! The same results give the same bytes.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod charts;
mod ellipse;
mod escape;
mod grade;
mod group;
mod headline;
mod metric;
mod number;
mod options;
mod page;
mod papers;
mod policy;
mod table;
mod thin;
mod words;

use goodqueue_scenario::results::Results;
pub use options::Options;
pub use papers::{PaperResults, papers_html};

/// The report of `results` as one HTML document.
///
/// Charts over time need `Run::series`; a run without it still has its row in the table and its dot in the
/// latency-goodput plot.
///
/// ```
/// use goodqueue_report::{Options, html};
/// use goodqueue_scenario::results::Results;
///
/// let results = Results { goodqueue: "0.1.0".into(), scenario: serde_json::json!({"name": "empty"}), ..Results::default() };
/// assert!(html(&results, &Options::default()).starts_with("<!doctype html>"));
/// ```
#[must_use]
pub fn html(results: &Results, options: &Options) -> String {
    page::html(results, options)
}
