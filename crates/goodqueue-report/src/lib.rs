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
mod page;
mod papers;
mod policy;
mod table;
mod thin;
mod words;

use goodqueue_scenario::results::Results;
pub use papers::{PaperResults, papers_html};

/// What the results do not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Title of the page; without it the scenario's name.
    pub title: Option<String>,
    /// Command that makes the same results again; without it the scenario's `command`, if it has one.
    pub command: Option<String>,
}

impl Options {
    /// Sets the title of the page.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the command that makes the same results again.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

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
