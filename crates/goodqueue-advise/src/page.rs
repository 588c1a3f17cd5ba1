//! The answer as a piece of HTML: the body of a report, and of the page that asks for the line.

use goodqueue_scenario::results::{Results, Run};
use maud::{Markup, html};

use crate::advice::{Advice, Spread};
use crate::model::TODAY;
use crate::setting::Setting;
use crate::verification::ADVICE;
use crate::words::{NO_PING, added, change, milliseconds, seeds, size, worst};

/// Returns the answer as HTML. Its style sheet is [`CSS`], and its script is [`JS`]: a module whose
/// `wire` takes the element with the answer.
#[must_use]
pub fn html(advice: &Advice) -> String {
    let page = html! {
        section.advice {
            h2 { @if advice.keep { "What happens today" } @else { "What happens today, and with the setting" } }
            div.numbers {
                p {
                    @let state = if advice.keep { "good" } else { "bad" };
                    @if let Some(added_s) = added(advice, &advice.today) {
                        b.ms data-grade=(state) { (milliseconds(added_s)) }
                        " added today to each click, word and move while the line is busy"
                    } @else {
                        b.ms data-grade=(state) { "–" }
                        " today: " (NO_PING)
                    }
                    " (grade " (advice.today.grade) ")"
                }
                @if !advice.keep {
                    p {
                        @if let Some(added_s) = added(advice, &advice.advised) {
                            b.ms data-grade="good" { (milliseconds(added_s)) }
                            " added with the setting"
                        } @else {
                            b.ms data-grade="bad" { "–" }
                            " with the setting: " (NO_PING)
                        }
                        " (grade " (advice.advised.grade) ")"
                    }
                }
            }
            @if let Some(reason) = worst(advice).filter(|_| !advice.keep) {
                p { (reason) }
            }
            (pings(&advice.results, advice.keep))
            @if advice.keep {
                p { b { "Leave your router as it is:" } " no setting makes pings clearly shorter." }
            } @else {
                (settings(advice))
            }
            (changes(advice))
            @if !advice.keep { (cost(advice)) }
            (confidence(advice))
        }
    };
    page.into_string()
}

/// The steps, and the configuration of each router.
fn settings(advice: &Advice) -> Markup {
    html! {
        h2 { "What to set" }
        details {
            summary { "Before you start" }
            ol {
                @for step in &advice.steps {
                    @let (first, commands) = step.split_once('\n').unwrap_or((step, ""));
                    li {
                        (words(first))
                        @if !commands.is_empty() { pre { (commands) } }
                    }
                }
            }
        }
        label hidden {
            "Your router "
            select data-routers {
                @for setting in &advice.settings {
                    option value=(setting.name) { (setting.place.split(':').next().unwrap_or_default().replace('`', "")) }
                }
            }
        }
        @for setting in &advice.settings { (router(setting)) }
    }
}

fn router(setting: &Setting) -> Markup {
    html! {
        section data-router=(setting.name) {
            h3 { (words(&setting.place)) }
            @if !setting.before.is_empty() {
                ul { @for step in &setting.before { li { (words(step)) } } }
            }
            div.setting {
                pre { (setting.text) }
                button type="button" hidden { "Copy" }
            }
            @for remark in &setting.remarks { p { (words(remark)) } }
            @if !setting.undo.is_empty() {
                details {
                    summary { "Take it back" }
                    pre { (setting.undo.join("\n")) }
                }
            }
        }
    }
}

fn changes(advice: &Advice) -> Markup {
    html! {
        h2 { @if advice.keep { "What was tried" } @else { "What changes" } }
        div.wide {
            table {
                thead {
                    tr {
                        th scope="col" { "While this goes on" }
                        th scope="col" { "today" }
                        th scope="col" { @if advice.keep { "with the best setting" } @else { "with the setting" } }
                        @if let Some(other) = &advice.instead { th scope="col" { (other.equipment) } }
                    }
                }
                tbody {
                    @for mix in &advice.mixes {
                        tr {
                            th scope="row" { (mix.name) }
                            @for spread in [Some(&mix.today_s), Some(&mix.advised_s), mix.instead_s.as_ref()].into_iter().flatten() {
                                td { (range(spread)) }
                            }
                        }
                    }
                }
            }
        }
        p {
            "Each value is how much longer a ping takes than on the idle line."
            @if let (Some(today_s), Some(advised_s)) = (advice.today.first_s, advice.advised.first_s) {
                " In the first ten seconds of a load it is " (milliseconds(advised_s)) ", and "
                (milliseconds(today_s)) " today."
            }
        }
    }
}

fn cost(advice: &Advice) -> Markup {
    let goodput = |side: usize| change(advice.today.goodput_bps[side], advice.advised.goodput_bps[side]);
    html! {
        h2 { "What it costs" }
        p {
            "With downloads and uploads at the same time, downloads get " (goodput(0)) " and uploads "
            (goodput(1)) ". " (words(&advice.reason))
        }
    }
}

fn confidence(advice: &Advice) -> Markup {
    let [down, up] = advice.buffer_bytes.map(size);
    let from = if advice.is_measured { "from your pings" } else { "usual for such lines" };
    html! {
        h2 { "How sure is this?" }
        p {
            (advice.line) ". The buffers hold " (down) " down and " (up) " up (" (from) "). Each load was simulated with "
            (seeds(advice)) " that the search had not seen. Your line is not a model: measure "
            @if advice.keep { "it" } @else { "before and after" }
            ", for example with the Waveform bufferbloat test"
            @if !advice.keep { ", and lower the rates by 5 % if the ping still grows" }
            "."
        }
        p { (words(&advice.sources)) }
        details {
            summary { @if advice.keep { "All settings that were tried" } @else { "What else was tried" } }
            div.wide {
                table {
                    thead {
                        tr {
                            th scope="col" { "download" }
                            th scope="col" { "upload" }
                            th scope="col" { "added" }
                            th scope="col" { "Mbit/s down" }
                            th scope="col" { "Mbit/s up" }
                        }
                    }
                    tbody {
                        @for tried in &advice.tried {
                            tr {
                                td.text { (tried.lines[0]) }
                                td.text { (tried.lines[1]) }
                                td { (milliseconds(tried.latency_s)) }
                                @for bps in tried.goodput_bps { td { (format!("{:.1}", bps / 1e6)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the mean, with the range of several runs if they differ.
fn range(spread: &Spread) -> String {
    let mean = milliseconds(spread.mean);
    let least = milliseconds(spread.min);
    let most = milliseconds(spread.max);
    if least == most { mean } else { format!("{mean} ({least} to {most})") }
}

/// Returns text whose code is between backticks.
fn words(text: &str) -> Markup {
    html! {
        @for (number, part) in text.split('`').enumerate() {
            // Every second part stands between two backticks.
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Style sheet of the answer. It uses the colours of `look.css` of the reports.
pub const CSS: &str = include_str!("../assets/advice.css");
/// Script of the answer: a module that exports `wire`.
pub const JS: &str = include_str!("../assets/advice.js");

/// Draws each ping of one run today, and of one with the advice unless there is nothing to set.
/// Empty without series.
fn pings(results: &Results, keep: bool) -> Markup {
    let pings_of =
        |router: &str| results.runs.iter().find(|run| run.qdisc == router).map(points).unwrap_or_default();
    let mut today = pings_of(TODAY);
    let mut advised = if keep { Vec::new() } else { pings_of(ADVICE) };
    // A run ends when its values are known, so one may be shorter than the other.
    let ends = [&today, &advised].map(|points| points.iter().map(|(at, _)| *at).reduce(f64::max));
    let end = ends.into_iter().flatten().reduce(f64::min);
    for points in [&mut today, &mut advised] {
        points.retain(|(at, _)| end.is_some_and(|end| *at <= end));
    }
    let all = || today.iter().chain(&advised);
    let start = all().map(|(at, _)| *at).reduce(f64::min);
    let longest = all().map(|(_, ms)| *ms).reduce(f64::max);
    let (Some(start_s), Some(end_s), Some(longest_ms)) = (start, end, longest) else { return html! {} };
    let label = if keep {
        "Round-trip time of each ping over time, today"
    } else {
        "Round-trip time of each ping over time, today and with the setting"
    };
    // A single ping would give an axis without a length.
    let axis = Axis { start_s, length_s: (end_s - start_s).max(1.0), longest_ms };
    html! {
        // Without a view box, letters keep their size on a phone. The style sheet leaves room for
        // the labels to the left of the picture.
        svg.pings height=(HEIGHT) role="img" aria-label=(label) {
            @for ms in axis.ticks() {
                line.grid x1="0" x2="100%" y1=(axis.y(ms)) y2=(axis.y(ms)) {}
                // SVG places text by its baseline: 4 units lower, the digits are beside their line.
                text x="-6" y=(axis.y(ms) + 4.0) text-anchor="end" { (milliseconds(ms / 1e3)) }
            }
            text x="100%" y=(HEIGHT - 4.0) text-anchor="end" { (format!("{:.0} s of load", axis.length_s)) }
            @for (class, points) in [("today", &today), ("with", &advised)] {
                @for (at, ms) in points {
                    circle class=(class) cx=(format!("{:.2}%", axis.percent(*at))) cy=(format!("{:.1}", axis.y(*ms))) r="1.6" {}
                }
            }
            text.today x="6" y="14" { "today" }
            @if !keep { text.with x="56" y="14" { "with the setting" } }
        }
        p { "Each dot is a ping: how long an answer takes while downloads and uploads fill the line." }
    }
}

/// Returns times in seconds and pings in milliseconds, few enough for a small file.
fn points(run: &Run) -> Vec<(f64, f64)> {
    let Some(series) = &run.series else { return Vec::new() };
    let answered: Vec<(f64, f64)> =
        series.pings.iter().filter_map(|(at, ping)| Some((*at, (*ping)? * 1e3))).collect();
    // `step_by` panics at zero.
    let step = answered.len().div_ceil(MOST_POINTS).max(1);
    answered.into_iter().step_by(step).collect()
}

/// A logarithmic axis from 1 ms up: both pings stay visible.
struct Axis {
    start_s: f64,
    length_s: f64,
    longest_ms: f64,
}

impl Axis {
    /// Returns the place of this time in percent of the width.
    fn percent(&self, at_s: f64) -> f64 {
        100.0 * (at_s - self.start_s) / self.length_s
    }

    fn y(&self, ms: f64) -> f64 {
        // The axis begins at 1 ms, so it needs an end above that.
        let top = libm::log10(self.longest_ms.max(2.0));
        // The axis begins at 1 ms, whose logarithm is 0.
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * libm::log10(ms.max(1.0)) / top
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let longest = self.longest_ms.max(2.0);
        [1.0, 10.0, 100.0, 1000.0, 10_000.0].into_iter().filter(move |tick| *tick <= longest)
    }
}

/// Height of the picture in pixels.
const HEIGHT: f64 = 220.0;
/// Margins for the legend and for the length of the load.
const TOP: f64 = 24.0;
const BOTTOM: f64 = 22.0;
/// Most dots of each colour. More overlap, and would make the report larger than an e-mail allows.
const MOST_POINTS: usize = 400;

#[cfg(test)]
mod tests {
    use goodqueue_scenario::results::Series;

    use super::*;

    #[test]
    fn letters_of_the_picture_do_not_shrink_with_it() {
        let mut run = Run { qdisc: TODAY.to_owned(), ..Run::default() };
        let pings = (0..5).map(|second| (f64::from(second), Some(0.1))).collect();
        run.series = Some(Series { pings, ..Series::default() });
        let results = Results { runs: vec![run], ..Results::default() };
        let picture = super::pings(&results, true).into_string();
        assert!(picture.contains("<svg class=\"pings\" height=\"220\""), "{picture}");
        assert!(!picture.contains("viewBox"), "a phone would scale the letters: {picture}");
        // The third of five pings is in the middle.
        assert!(picture.contains("cx=\"50.00%\""), "{picture}");
    }

    #[test]
    fn code_is_between_backticks_and_markup_is_text() {
        assert_eq!(words("set `a<b` & go").into_string(), "set <code>a&lt;b</code> &amp; go");
    }
}
