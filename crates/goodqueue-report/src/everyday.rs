//! The result in everyday terms: which uses of a line work beside this load.

use std::fmt::Write as _;

use goodqueue_scenario::measure::CONVERSATION_RTT_S;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::scenario::Direction;

use crate::escape::{clip, html};
use crate::group::{Grouped, Point};
use crate::metric::Spread;
use crate::style::Style;
use crate::swatch::swatch;

/// A use of a line, and the bound of a metric up to which it works.
struct LineUse {
    name: &'static str,
    /// What it needs, with the source of the bound.
    needs: &'static str,
    /// Whether the metric of a run is within the bound; `None` if the run does not have it.
    works: fn(&[&Run]) -> Option<bool>,
}

/// The uses, from the least to the most demanding kind of delay.
const USES: &[LineUse] = &[
    LineUse {
        name: "Web",
        needs: "a page of ten round trips within 2 s (ITU-T G.1010): a mean ping of at most 200 ms",
        works: |runs| at_most(runs, |run| run.probes.ping_s.mean, 0.200),
    },
    LineUse {
        name: "Voice call",
        needs: "at most 150 ms one way (ITU-T G.114) for 95 of 100 packets, and at most 3 % loss (ITU-T G.1010)",
        works: |runs| conversation(runs, 0.03),
    },
    LineUse {
        name: "Video meeting",
        needs: "at most 150 ms one way for 95 of 100 packets, and at most 1 % loss (ITU-T G.1010)",
        works: |runs| conversation(runs, 0.01),
    },
    LineUse {
        name: "Game",
        needs: "at most 100 ms to the server and back for 95 of 100 packets (first-person games; Claypool & Claypool, CACM 2006)",
        works: |runs| at_most(runs, |run| run.probes.ping_s.p95, 0.100),
    },
    LineUse {
        name: "HD video",
        needs: "5 Mbit/s for one download; measured by the mean goodput of a TCP flow of this load",
        // At least 5 Mbit/s is at most -5 Mbit/s of the negative.
        works: |runs| at_most(runs, |run| goodput_of_a_flow(run).map(|bps| -bps), -5e6),
    },
];

/// Returns a table of the uses for each point of the sweep; empty without pings.
pub(crate) fn everyday(grouped: &Grouped<'_>) -> String {
    let has_pings = |run: &&Run| run.probes.ping_s.mean.is_some();
    if !grouped
        .points
        .iter()
        .flat_map(|point| point.runs.iter().flatten())
        .copied()
        .any(|run| has_pings(&run))
    {
        return String::new();
    }
    let mut out = String::from("<h2 id=\"everyday\">What works beside this load</h2>\n");
    for (number, point) in grouped.points.iter().enumerate() {
        out += &format!("<section class=\"point\" data-point=\"{number}\">\n");
        if !point.label.is_empty() {
            out += &format!("<h3>{}</h3>\n", html(&point.label));
        }
        out += &table(grouped, point);
        out += "</section>\n";
    }
    let needs: Vec<String> =
        USES.iter().map(|one| format!("<li><b>{}</b>: {}.</li>", html(one.name), html(one.needs))).collect();
    out + &format!(
        "<details><summary>What each of them needs</summary>\n<ul>\n{}\n</ul>\n</details>\n",
        needs.join("\n")
    )
}

fn table(grouped: &Grouped<'_>, point: &Point<'_>) -> String {
    let styles = Style::all(grouped);
    let mut out = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What works\">\n<table class=\"more\"><thead><tr><th scope=\"col\">Discipline</th>",
    );
    for one in USES {
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "<th scope=\"col\"><abbr title=\"{}\">{}</abbr></th>",
            html(one.needs),
            html(one.name)
        );
    }
    out += "</tr></thead>\n<tbody>\n";
    for ((runs, label), style) in point.runs.iter().zip(&grouped.labels).zip(styles) {
        let _ = write!(out, "<tr><th scope=\"row\">{}{}</th>", swatch(style), html(&clip(label, 60)));
        for one in USES {
            out += match (one.works)(runs) {
                Some(true) => "<td class=\"grade\"><span class=\"g-a\">works</span></td>",
                Some(false) => "<td class=\"grade\"><span class=\"g-f\">poor</span></td>",
                None => "<td class=\"grade none\">–</td>",
            };
        }
        out += "</tr>\n";
    }
    out + "</tbody></table>\n</div>\n"
}

/// Pings stand for both directions of a conversation: a round trip has twice the one-way bound.
fn conversation(runs: &[&Run], loss: f64) -> Option<bool> {
    let in_time = at_most(runs, |run| run.probes.ping_s.p95, CONVERSATION_RTT_S)?;
    let lost = at_most(runs, lost_pings, loss)?;
    Some(in_time && lost)
}

#[expect(clippy::cast_precision_loss, reason = "a share of pings")]
fn lost_pings(run: &Run) -> Option<f64> {
    (run.probes.ping_sent > 0).then(|| run.probes.ping_lost as f64 / run.probes.ping_sent as f64)
}

/// Returns the mean goodput of the TCP flows towards the home.
fn goodput_of_a_flow(run: &Run) -> Option<f64> {
    let flows = run
        .flows
        .iter()
        .filter(|flow| flow.transport().controls_congestion() && flow.direction == Direction::Down)
        .count();
    let flows = f64::from(u32::try_from(flows).ok()?);
    (flows > 0.0).then(|| run.goodput.down / flows)
}

fn at_most(runs: &[&Run], of: impl Fn(&Run) -> Option<f64>, bound: f64) -> Option<bool> {
    Spread::from_values(runs.iter().map(|run| of(run))).map(|spread| spread.mean <= bound)
}

#[cfg(test)]
mod tests {
    use goodqueue_scenario::results::{FlowResult, Run};

    use super::*;

    fn run(ping_ms: f64, lost: u64, mbit: f64) -> Run {
        let mut run = Run { qdisc: format!("ping {ping_ms}"), ..Run::default() };
        run.probes.ping_s.mean = Some(ping_ms / 1e3);
        run.probes.ping_s.p95 = Some(ping_ms / 1e3);
        (run.probes.ping_sent, run.probes.ping_lost) = (100, lost);
        run.goodput.down = mbit * 1e6;
        run.flows = vec![FlowResult {
            cc: Some("cubic".into()),
            direction: Direction::Down,
            ..FlowResult::default()
        }];
        run
    }

    fn words(run: Run) -> Vec<&'static str> {
        let runs = [run];
        let page = everyday(&Grouped::new(&runs));
        page.split("<td").skip(1).map(|cell| if cell.contains("works") { "works" } else { "poor" }).collect()
    }

    #[test]
    fn a_short_ping_serves_all_uses_and_a_full_queue_none() {
        assert_eq!(words(run(60.0, 0, 9.0)), ["works"; 5]);
        assert_eq!(words(run(1900.0, 0, 1.8)), ["poor"; 5]);
    }

    #[test]
    fn each_use_has_its_own_bound() {
        // A loss of 2 % is too much for a meeting, and 150 ms for a game.
        assert_eq!(words(run(150.0, 2, 9.0)), ["works", "works", "poor", "poor", "works"]);
        // A conversation may have 300 ms there and back, pages have 200 ms.
        assert_eq!(words(run(250.0, 0, 9.0)), ["poor", "works", "works", "poor", "works"]);
    }

    #[test]
    fn each_point_of_a_sweep_has_its_table() {
        let at = |rate: &str, ping_ms| Run {
            sweep: [("link.down".to_owned(), serde_json::json!(rate))].into(),
            qdisc: "pie".to_owned(),
            ..run(ping_ms, 0, 9.0)
        };
        let runs = [at("5mbit", 60.0), at("1mbit", 1900.0)];
        let page = everyday(&Grouped::new(&runs));
        let (first, second) = page.split_once("<h3>link.down = 1 Mbit/s</h3>").unwrap();
        assert_eq!(first.matches(">works<").count(), 5);
        assert_eq!(second.matches(">poor<").count(), 4, "HD video does not depend on the ping");
    }

    #[test]
    fn without_pings_nothing_is_said() {
        let runs = [Run::default()];
        assert_eq!(everyday(&Grouped::new(&runs)), "");
    }
}
