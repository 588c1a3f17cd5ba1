//! The page as a whole: `assets/report.html` with its blanks filled in.

use goodqueue_scenario::results::Aggregate;
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::{elsewhere, shared};
use serde::Serialize;

use crate::charts::Charts;
use crate::escape::{clip, html as escape, js_in_script, json_in_script};
use crate::everyday::everyday;
use crate::group::Grouped;
use crate::headline::{headline, many};
use crate::options::Options;
use crate::policy::policy;
use crate::table::tables;
use crate::terms::terms;

/// Implements [`crate::html`].
pub(crate) fn html(results: &Results, options: &Options) -> String {
    let grouped = Grouped::new(&results.runs);
    let headline = headline(&grouped);
    let name = text_of(results, &["name", "title"]);
    let title = options.title.clone().or_else(|| name.clone()).unwrap_or_else(|| "Report".to_owned());
    let echarts = format!("\n/*\n{NOTICE}\n{LICENSE_D3}\n*/\n{}\n", js_in_script(ECHARTS));
    let js = format!("\n{}\n", js_in_script(JS));
    let css = format!("\n{CSS}\n");
    let policy = policy(&[&echarts, &js], &css);
    let data = data(results, &grouped, options);
    let several = grouped.points.iter().flat_map(|point| &point.runs).any(|runs| runs.len() > 1);
    fill(TEMPLATE, |blank| match blank {
        "title" => escape(&clip(&title, 120)),
        // A line must not break between a number and its unit.
        "answer" => escape(&headline.answer).replace(" ms", "\u{a0}ms"),
        "detail" => escape(&headline.detail),
        "question" => paragraph("question", text_of(results, &["question", "description"])),
        "made" => escape(&made(results, &grouped)),
        "scenario" => scenario(results, options),
        "everyday" => everyday(&grouped),
        "terms" => terms(&grouped),
        "tables" => tables(&grouped, &results.summary) + &remarks(&grouped),
        "sweep" => (if grouped.points.len() > 1 { "" } else { "hidden" }).to_owned(),
        "values" => (if several { VALUES_OF_SEEDS } else { VALUES_OF_A_SEED }).to_owned(),
        "dots" => (if several { DOTS_OF_SEEDS } else { "" }).to_owned(),
        "at-points" => (if several { AT_POINTS_OF_SEEDS } else { "" }).to_owned(),
        "book" => BOOK.to_owned(),
        "single" => (if grouped.points.len() > 1 { "hidden" } else { "" }).to_owned(),
        "mean" => (if has_means(&grouped) { MEAN } else { "" }).to_owned(),
        "link" => grouped.link.name().to_owned(),
        "policy" => policy.clone(),
        "css" => css.clone(),
        "echarts" => echarts.clone(),
        "js" => js.clone(),
        "data" => data.clone(),
        _ => String::new(),
    })
}

/// Replaces each `{{blank}}` of the template once. Inserted text is not searched for blanks.
fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    // The charting library is the largest part of most pages.
    let mut out = String::with_capacity(template.len() + ECHARTS.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        let Some((blank, after_blank)) = after.split_once("}}") else { break };
        out += &value(blank);
        rest = after_blank;
    }
    out + rest
}

/// Returns the data block: the results as `--json` writes them, without their series, and the data
/// of the charts.
fn data(results: &Results, grouped: &Grouped<'_>, options: &Options) -> String {
    #[derive(Serialize)]
    struct Data<'a> {
        results: &'a Results,
        charts: Charts,
        command: Option<String>,
        playground: Option<&'a str>,
    }
    // The charts have a thinned copy of the series, which would otherwise be most of the file.
    let without_series = |r: &Run| Run { series: None, ..r.clone() };
    let results = Results {
        goodqueue: results.goodqueue.clone(),
        scenario: results.scenario.clone(),
        runs: results.runs.iter().map(without_series).collect(),
        summary: results.summary.iter().map(|all| Aggregate { series: None, ..all.clone() }).collect(),
    };
    let data = Data {
        results: &results,
        charts: Charts::new(grouped),
        command: command(&results, options),
        playground: options.playground.as_deref(),
    };
    json_in_script(&serde_json::to_string(&data).unwrap_or_else(|_| "null".to_owned()))
}

/// Returns true if any discipline has series of several seeds.
fn has_means(grouped: &Grouped<'_>) -> bool {
    let with_series = |runs: &&Vec<&Run>| runs.iter().filter(|run| run.series.is_some()).count() > 1;
    grouped.points.iter().any(|point| point.runs.iter().any(|runs| with_series(&runs)))
}

const MEAN: &str = " For all seeds: the pointwise mean, with its 95 % confidence band from three seeds on.";

fn made(results: &Results, grouped: &Grouped<'_>) -> String {
    let mut parts = vec![many(results.runs.len(), "run")];
    if grouped.points.len() > 1 {
        parts.push(many(grouped.points.len(), "sweep point"));
    }
    parts.push(format!("goodqueue {}", clip(&results.goodqueue, 60)));
    parts.join(" · ")
}

/// Formats the command and the scenario, from which the results can be reproduced.
fn scenario(results: &Results, options: &Options) -> String {
    let command = command(results, options)
        .map_or(String::new(), |c| format!("<pre class=\"command\"><code>{}</code></pre>\n", escape(&c)));
    let json = serde_json::to_string_pretty(&results.scenario).unwrap_or_default();
    format!(
        "{command}<details><summary>Scenario, every default filled in</summary>\n<pre><code>{}</code></pre>\n</details>",
        escape(&json)
    )
}

fn command(results: &Results, options: &Options) -> Option<String> {
    options.command.clone().or_else(|| text_of(results, &["command"]))
}

/// Formats the notes about probes that shared a hashed queue with another flow, and about packets
/// that queues beside the bottleneck dropped.
fn remarks(grouped: &Grouped<'_>) -> String {
    let runs = || grouped.points.iter().flat_map(|point| &point.runs);
    let all: Vec<&Run> = runs().flatten().copied().collect();
    let remarks = runs().flat_map(|runs| shared::remarks(runs)).chain(elsewhere::remarks(&all));
    remarks.map(|remark| paragraph("note", Some(remark))).collect()
}

fn paragraph(class: &str, text: Option<String>) -> String {
    text.map_or(String::new(), |t| format!("<p class=\"{class}\">{}</p>", escape(&clip(&t, 600))))
}

/// Returns the first of these keys of the scenario that holds text.
fn text_of(results: &Results, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| results.scenario.text(key)).map(str::to_owned)
}

const VALUES_OF_SEEDS: &str = "Each value is a mean over seeds, ± half its 95 % confidence interval (Student's t). A median is shown if it differs from the mean by more than 20 %.";
const VALUES_OF_A_SEED: &str =
    "Each value is of one seed. With <code>--seeds 5</code> it has a confidence interval.";
const DOTS_OF_SEEDS: &str = " Each dot is a run, and a diamond is the median of all. The ellipse shows one standard deviation over the seeds.";
const AT_POINTS_OF_SEEDS: &str = " Each value is a mean over seeds, ± half its 95 % confidence interval.";
const BOOK: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs");

const TEMPLATE: &str = include_str!("../assets/report.html");
const CSS: &str = concat!(include_str!("../assets/look.css"), include_str!("../assets/report.css"));
const JS: &str = include_str!("../assets/report.js");
const ECHARTS: &str = include_str!("../vendor/echarts/echarts.common.min.js");
const NOTICE: &str = include_str!("../vendor/echarts/NOTICE");
const LICENSE_D3: &str = include_str!("../vendor/echarts/licenses/LICENSE-d3");

#[cfg(test)]
mod tests;
