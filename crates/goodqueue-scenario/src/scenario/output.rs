//! `[output]`: the files that a run writes in addition to the table.

use std::path::{Component, Path};

use goodqueue::Duration;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;
use serde_json::json;

use super::document::{Node, Raw};
use super::form::{Form, Maybe, Own, Unless};
use super::keys::keys;
use super::plain::{TEXT, TIME};
use super::reader::{Reader, measured};
use crate::series_step;

keys! {
    /// Files to write in addition to the table.
    #[derive(Eq, Default)]
    pub struct Output(table, duration: Duration) {
        /// Results as JSON. Default: none.
        json: Option<String> = "results.json", Maybe(JSON) => none;
        /// Report as HTML. Default: none.
        report: Option<String> = "report.html", Maybe(REPORT) => none;
        /// Step of the time series. Default: no series.
        series: Option<Duration> = "100ms", Maybe(TIME) => none;
        /// Measure how long the queues hold more than each of these numbers of bytes. Default:
        /// none.
        spikes: Vec<u64> = [15000, "25kb"], Unless(Vec::new(), SPIKES) => or(Vec::new());
    }
    then {
        if let Some(step) = series {
            series_step::check(step, duration).map_err(|error| table.error("series", error))?;
            if step > duration {
                let message = Diagnostic::new(format!("a step of {step} is longer than the run"));
                return Err(table.error("series", message.allowed(format!("at most {duration}"))));
            }
        }
    }
}

const JSON: Own<String> = file_name(|table, key, node| read_file_name(table, key, node, &[".json"]));
const REPORT: Own<String> =
    file_name(|table, key, node| read_file_name(table, key, node, &[".html", ".htm"]));

const fn file_name(read: fn(&Reader<'_>, &str, &Node) -> Result<String, Diagnostic>) -> Own<String> {
    Own { read, write: |name| json!(name), schema: || json!({ "type": "string" }), quantity: None }
}

const SPIKES: Own<Vec<u64>> = Own {
    read: read_spikes,
    write: |spikes| json!(spikes),
    schema: || json!({ "type": "array", "items": { "type": ["integer", "string"] }, "maxItems": MAX_SPIKES }),
    quantity: None,
};

/// A name below the working directory. Scenarios come from others, and must not choose any file of
/// who runs them.
fn read_file_name(table: &Reader<'_>, key: &str, node: &Node, ends: &[&str]) -> Result<String, Diagnostic> {
    let name = TEXT.read(table, key, node)?;
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(part) => !part.as_encoded_bytes().starts_with(b"."),
        Component::CurDir => true,
        _ => false,
    };
    let is_below = Path::new(&name).components().all(is_plain) && !name.contains(char::is_control);
    if is_below && ends.iter().any(|end| name.to_lowercase().ends_with(end)) {
        return Ok(name);
    }
    let message = Diagnostic::new(format!("a scenario cannot write to `{}`", shortened(&name)));
    let ends = ends.join(" or ");
    Err(table.error(
        key,
        message
            .allowed(format!(
                "a name below the working directory that ends with {ends}, without `..` and hidden folders or files"
            ))
            .help(format!("`--{key} FILE` writes to any place")),
    ))
}

fn read_spikes(table: &Reader<'_>, key: &str, node: &Node) -> Result<Vec<u64>, Diagnostic> {
    let form = "a list of sizes, such as [15000, \"25kb\"]";
    let Raw::List(items) = &node.raw else {
        return Err(table.error(key, Diagnostic::new("this is not a list").allowed(form)));
    };
    // Each of them is compared with the backlog whenever a packet enters or leaves the queue, so
    // there are few. The number is our choice.
    if items.len() > MAX_SPIKES {
        let message = Diagnostic::new(format!("{} thresholds are too many", items.len()));
        return Err(table.error(key, message.allowed(format!("at most {MAX_SPIKES}"))));
    }
    let document = table.document();
    let size = |item: &Node| match measured(item) {
        Some(text) => units::size(&text).map_err(|error| document.at(error, item)),
        None => Err(document.at(Diagnostic::new("this is not a size").allowed(form), item)),
    };
    items.iter().map(size).collect()
}

const MAX_SPIKES: usize = 16;
