//! The tables that `compare` and `run` print: one of the main figures, others of what more there is to say.

mod more;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table};
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::shared;
use goodqueue_scenario::summary::Estimate;
use goodqueue_tc::brief;

/// All runs, one line for each discipline (and sweep point): means over seeds.
pub(crate) fn render(results: &Results) -> String {
    let mut text = String::new();
    let mut groups: Vec<(&BTreeMap<String, serde_json::Value>, Vec<&Run>)> = Vec::new();
    for run in &results.runs {
        match groups.iter_mut().find(|group| *group.0 == run.sweep) {
            Some(group) => group.1.push(run),
            None => groups.push((&run.sweep, vec![run])),
        }
    }
    for (sweep, runs) in groups {
        if !sweep.is_empty() {
            let point: Vec<String> =
                sweep.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}", point.join(", "));
        }
        let lines = lines(&runs);
        let _ = writeln!(text, "{}", one_table(&lines).trim_fmt());
        for more in more::tables(&lines) {
            let _ = writeln!(text, "\n{}", more.trim_fmt());
        }
        for remark in lines.iter().flat_map(|line| shared::remarks(&line.runs)) {
            let _ = writeln!(text, "{remark}");
        }
        if ends_blocked(&results.scenario) {
            for line in &lines {
                let left = line.mean(|run| Some(count(run.engine.in_flight_packets)));
                let _ = writeln!(
                    text,
                    "{}: the line was blocked when the run ended; {} packets were queued or on their way",
                    brief(&line.runs[0].qdisc),
                    number(left, 0)
                );
            }
        }
    }
    text
}

/// How far the live runs are from the simulated ones, discipline by discipline: means over seeds.
pub(crate) fn differences(simulated: &[Run], live: &[Run]) -> String {
    type Figure = fn(&Run) -> Option<f64>;
    // Those that some run has: not every mix has calls, pages or transfers.
    let all: [(&str, Figure); 8] = [
        ("goodput\nMbit/s\ndown", |run| Some(run.goodput.down / 1e6)),
        ("goodput\nMbit/s\nup", |run| Some(run.goodput.up / 1e6)),
        ("induced latency\nms\nmean", |run| run.induced_latency_s.mean.map(|s| s * 1e3)),
        ("sojourn down\nms\np50", |run| run.bottleneck.down.sojourn_s.p50.map(|s| s * 1e3)),
        ("sojourn up\nms\np50", |run| run.bottleneck.up.sojourn_s.p50.map(|s| s * 1e3)),
        ("voice\nms\none way", |run| {
            run.probes.voip.as_ref().and_then(|voip| voip.one_way_delay_s.mean).map(|s| s * 1e3)
        }),
        ("page fetch\nms\np50", |run| {
            run.probes.web.as_ref().and_then(|web| web.page_fetch_s.p50).map(|s| s * 1e3)
        }),
        ("completion\nms\np50", |run| {
            run.completion.as_ref().and_then(|completion| completion.time_s.p50).map(|s| s * 1e3)
        }),
    ];
    let figures: Vec<(&str, Figure)> = all
        .into_iter()
        .filter(|(_, figure)| simulated.iter().chain(live).any(|run| figure(run).is_some()))
        .collect();
    let mut table = plain_table();
    table.set_header(["\n\nlive less simulated"].into_iter().chain(figures.iter().map(|of| of.0)));
    let lines =
        simulated.iter().zip(live).fold(Vec::<(Line<'_>, Line<'_>)>::new(), |mut lines, (one, other)| {
            let same = |line: &&mut (Line<'_>, Line<'_>)| {
                line.0.runs[0].qdisc == one.qdisc && line.0.runs[0].sweep == one.sweep
            };
            match lines.iter_mut().find(same) {
                Some(line) => {
                    line.0.runs.push(one);
                    line.1.runs.push(other);
                }
                None => lines.push((Line { runs: vec![one] }, Line { runs: vec![other] })),
            }
            lines
        });
    for (simulated, live) in &lines {
        let mut cells = vec![simulated.name()];
        cells.extend(figures.iter().map(|(_, figure)| {
            Cell::new(match (simulated.mean(figure), live.mean(figure)) {
                (Some(one), Some(other)) if one > 0.0 => {
                    format!("{:+.2} ({:+.0} %)", other - one, (other - one) / one * 100.0)
                }
                (Some(one), Some(other)) => format!("{:+.2}", other - one),
                _ => "–".to_owned(),
            })
        }));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

/// True if a link has a rate of 0 from some instant on for ever.
fn ends_blocked(scenario: &serde_json::Value) -> bool {
    let links = std::iter::once(&scenario["link"]).chain(scenario["hops"].as_array().into_iter().flatten());
    links.flat_map(|link| [&link["down"], &link["up"]]).any(|end| {
        let last = end["schedule"].as_array().and_then(|steps| steps.last());
        last.is_some_and(|step| step[1].as_str() == Some("0bit"))
    })
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING.header_separator(LineStyle::none().fill('─').junction('─')))
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The line of one discipline: its runs, one for each seed.
struct Line<'r> {
    runs: Vec<&'r Run>,
}

/// A column of times that only some traffic has.
struct Timed {
    heading: &'static str,
    is_there: fn(&Run) -> bool,
    /// In seconds.
    times: &'static [fn(&Run) -> Option<f64>],
}

const TIMED: [Timed; 3] = [
    Timed {
        heading: "page fetch\nms\np50/p95",
        is_there: |run| run.probes.web.is_some(),
        times: &[
            |run| run.probes.web.as_ref()?.page_fetch_s.p50,
            |run| run.probes.web.as_ref()?.page_fetch_s.p95,
        ],
    },
    Timed {
        heading: "completion\nms\np50/p95/p99",
        is_there: |run| run.completion.is_some(),
        times: &[
            |run| run.completion.as_ref()?.time_s.p50,
            |run| run.completion.as_ref()?.time_s.p95,
            |run| run.completion.as_ref()?.time_s.p99,
        ],
    },
    Timed {
        heading: "groups\nms\nmean/max",
        is_there: |run| !run.groups.is_empty(),
        times: &[Run::mean_response_s, Run::max_response_s],
    },
];

/// Columns for the name of a discipline: the rest of the table has 100 at most.
const WIDEST_NAME: usize = 42;

fn lines<'r>(runs: &[&'r Run]) -> Vec<Line<'r>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for run in runs {
        match lines.iter_mut().find(|line| line.runs[0].qdisc == run.qdisc) {
            Some(line) => line.runs.push(run),
            None => lines.push(Line { runs: vec![run] }),
        }
    }
    lines
}

fn one_table(lines: &[Line<'_>]) -> Table {
    let runs = || lines.iter().flat_map(|line| &line.runs);
    let mut table = plain_table();
    let has_calls = runs().any(|run| run.probes.voip.is_some());
    let mut header = vec![
        "\n\nqdisc",
        "goodput\nMbit/s\ndown/up",
        "induced latency\nms\nmean/p95/p99",
        "sojourn down\nms\np50/p95/p99",
        "sojourn up\nms\np50/p95/p99",
        "drops\n\ndown/up",
        "marks\n\ndown/up",
        "Jain index\n\ndown/up",
        "\n\ngrade",
    ];
    if has_calls {
        header.insert(header.len() - 1, "voice\n%, ms, MOS\nlost/one way/score");
    }
    let has_videos = runs().any(|run| run.probes.video.is_some());
    if has_videos {
        header.insert(header.len() - 1, "video\nMbit/s, s, s\nrate/stalled/shown after");
    }
    let timed: Vec<&Timed> = TIMED.iter().filter(|timed| runs().any(|run| (timed.is_there)(run))).collect();
    for column in &timed {
        header.insert(header.len() - 1, column.heading);
    }
    table.set_header(header);
    for line in lines {
        let mut cells = line.cells();
        if has_calls {
            cells.insert(cells.len() - 1, line.calls());
        }
        if has_videos {
            cells.insert(cells.len() - 1, line.videos());
        }
        for column in &timed {
            cells.insert(cells.len() - 1, line.times(column));
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

impl Line<'_> {
    /// The discipline; a long line of tc's takes several of the table.
    fn name(&self) -> Cell {
        let mut lines = vec![String::new()];
        for word in brief(&self.runs[0].qdisc).split(' ') {
            match lines.last_mut().filter(|line| line.is_empty() || line.len() + word.len() < WIDEST_NAME) {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) => line.extend([" ", word]),
                None => lines.push(format!("  {word}")),
            }
        }
        Cell::new(lines.join("\n"))
    }

    fn times(&self, column: &Timed) -> Cell {
        let times = column.times.iter().map(|time| three_figures(self.mean(time).map(|s| s * 1e3)));
        Cell::new(times.collect::<Vec<_>>().join("/"))
    }

    fn cells(&self) -> Vec<Cell> {
        let milliseconds =
            |values: [Option<f64>; 3]| values.map(|s| three_figures(s.map(|s| s * 1e3))).join("/");
        let sojourn = |of: fn(&Run) -> &goodqueue_scenario::results::Summary| {
            milliseconds([self.mean(|r| of(r).p50), self.mean(|r| of(r).p95), self.mean(|r| of(r).p99)])
        };
        let induced_mean = self
            .estimated(|run| run.induced_latency_s.mean.map(|s| s * 1e3), |value| three_figures(Some(value)));
        let tail = [self.mean(|r| r.induced_latency_s.p95), self.mean(|r| r.induced_latency_s.p99)];
        let [p95, p99] = tail.map(|s| three_figures(s.map(|s| s * 1e3)));
        let induced = format!("{induced_mean}/{p95}/{p99}");

        let grade = self.mean(|run| run.induced_latency_s.mean).map(goodqueue_scenario::measure::grade);
        vec![
            self.name(),
            Cell::new(format!(
                "{}/{}",
                self.estimated(|run| Some(run.goodput.down / 1e6), |value| number(Some(value), 2)),
                self.estimated(|run| Some(run.goodput.up / 1e6), |value| number(Some(value), 2)),
            )),
            Cell::new(induced),
            Cell::new(sojourn(|run| &run.bottleneck.down.sojourn_s)),
            Cell::new(sojourn(|run| &run.bottleneck.up.sojourn_s)),
            Cell::new(down_up(
                self.mean(|run| Some(count(run.bottleneck.down.packets.dropped))),
                self.mean(|run| Some(count(run.bottleneck.up.packets.dropped))),
                0,
            )),
            Cell::new(down_up(
                self.mean(|run| Some(count(run.bottleneck.down.packets.marked))),
                self.mean(|run| Some(count(run.bottleneck.up.packets.marked))),
                0,
            )),
            Cell::new(down_up(
                self.mean(|run| run.fairness.jain_goodput),
                self.mean(|run| run.fairness.jain_goodput_up),
                2,
            )),
            Cell::new(grade.unwrap_or("–")),
        ]
    }

    /// What viewers of adaptive video saw.
    fn videos(&self) -> Cell {
        let rate = self.mean(|run| run.probes.video.as_ref()?.bitrate_bps.map(|bits| bits / 1e6));
        let stalled = self.mean(|run| Some(run.probes.video.as_ref()?.stalled_s));
        let after = self.mean(|run| run.probes.video.as_ref()?.shown_after_s);
        Cell::new(format!("{}/{}/{}", number(rate, 2), number(stalled, 1), number(after, 1)))
    }

    /// What voice calls sounded like.
    fn calls(&self) -> Cell {
        let loss = self.mean(|run| run.probes.voip.as_ref()?.loss.map(|share| 100.0 * share));
        let delay = self.mean(|run| run.probes.voip.as_ref()?.one_way_delay_s.mean.map(|s| 1e3 * s));
        let mos = self.mean(|run| run.probes.voip.as_ref()?.mos);
        Cell::new(format!("{}/{}/{}", number(loss, 2), three_figures(delay), number(mos, 2)))
    }

    /// Mean over the seeds, and with several seeds half the width of its 95 % confidence interval.
    fn estimated(&self, of: impl Fn(&Run) -> Option<f64>, show: impl Fn(f64) -> String) -> String {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| of(run)).collect();
        match values.and_then(|values| Estimate::of(&values)) {
            Some(Estimate { mean, ci95: Some(half), .. }) => format!("{}±{}", show(mean), show(half)),
            Some(Estimate { mean, ci95: None, .. }) => show(mean),
            None => "–".to_owned(),
        }
    }

    /// Mean over the seeds; `None` if any run has no such figure.
    fn mean(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| of(run)).collect();
        values.map(|values| values.iter().sum::<f64>() / count(values.len() as u64))
    }
}

fn down_up(down: Option<f64>, up: Option<f64>, digits: usize) -> String {
    format!("{}/{}", number(down, digits), number(up, digits))
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
const fn count(number: u64) -> f64 {
    number as f64
}

/// What a person can compare at a glance: 843, 84.3, 8.43, 0.84.
fn three_figures(value: Option<f64>) -> String {
    let digits = match value {
        Some(value) if value >= 99.95 => 0,
        Some(value) if value >= 9.995 => 1,
        _ => 2,
    };
    number(value, digits)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}
