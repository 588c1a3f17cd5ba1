//! The tables below the first: how packets were lost, how long queues held more than they should, who was in the air.

use comfy_table::{Cell, CellAlignment, Table};
use goodqueue_scenario::results::{FlowResult, LinkResult, Run, SpikeResult, Summary};

use super::{Line, number, plain_table, three_figures};

/// What the runs of these lines have beside the main figures, in tables of a width that fits a screen.
pub(super) fn tables(lines: &[Line<'_>]) -> Vec<Table> {
    let says = |column: &Column| {
        lines.iter().any(|line| column.figures.iter().any(|figure| line.mean(figure).is_some()))
    };
    let runs: Vec<&Run> = lines.iter().flat_map(|line| &line.runs).copied().collect();
    let themes = [losses(&runs), spikes(&runs), queues(&runs), air(&runs)];
    themes
        .into_iter()
        .flat_map(|columns| {
            let columns: Vec<Column> = columns.into_iter().filter(says).collect();
            columns.chunks(MOST_COLUMNS).map(|columns| table(lines, columns)).collect::<Vec<_>>()
        })
        .collect()
}

fn table(lines: &[Line<'_>], columns: &[Column]) -> Table {
    let mut table = plain_table();
    let headings = columns.iter().map(|column| column.heading.clone());
    table.set_header(std::iter::once("\n\nqdisc".to_owned()).chain(headings));
    for line in lines {
        let cells = columns.iter().map(|column| {
            let figures = column.figures.iter().map(|of| (column.show)(line.mean(of)));
            Cell::new(figures.collect::<Vec<_>>().join("/"))
        });
        table.add_row(std::iter::once(line.name()).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Figures that stand beside each other.
struct Column {
    /// What, in which unit, which.
    heading: String,
    figures: Vec<Figure>,
    show: fn(Option<f64>) -> String,
}

type Figure = Box<dyn Fn(&Run) -> Option<f64>>;

/// How packets were lost, and what share of things was whose.
fn losses(runs: &[&Run]) -> Vec<Column> {
    let column = |heading: &str, show, figures| Column { heading: heading.to_owned(), figures, show };
    let mut columns = vec![
        column("loss events\nper TCP flow\ndown/up", three_figures, both(Run::loss_events)),
        column("packets lost\nper event\ndown/up", three_figures, both(Run::packets_per_loss_event)),
        column(
            "synchronized\n% of flows\ndown/up",
            percent,
            vec![Box::new(|run| run.loss_synchronization.down), Box::new(|run| run.loss_synchronization.up)],
        ),
        column("Jain index\nof drops\n", two_digits, vec![Box::new(|run| run.fairness.jain_drop_share)]),
        column(
            "mean queue\n% of limit\ndown/up",
            three_figures_of_percent,
            both(|run, direction| link(run, direction).queue_share),
        ),
    ];
    let is_rival = |flow: &FlowResult| flow.cc.is_none() && flow.kind != "ping" && flow.bytes_delivered > 0;
    if runs.iter().any(|run| run.flows.iter().any(is_rival)) {
        columns.push(column("TCP's share\n% of bytes\n", percent, vec![Box::new(|run| run.tcp_share)]));
    }
    columns
}

/// How long queues held more than so many bytes.
fn spikes(runs: &[&Run]) -> Vec<Column> {
    let mut columns = Vec::new();
    let watched = runs.iter().map(|run| &run.bottleneck.down.spikes).max_by_key(|spikes| spikes.len());
    for (number, spike) in watched.into_iter().flatten().enumerate() {
        for direction in ["down", "up"] {
            let figure = |seconds: fn(&SpikeResult) -> f64| -> Figure {
                Box::new(move |run| Some(seconds(link(run, direction).spikes.get(number)?) * 1e3))
            };
            columns.push(Column {
                heading: format!("{direction} above {} B\nms\nlongest/in all", spike.above_bytes),
                figures: vec![figure(|spike| spike.longest_s), figure(|spike| spike.total_s)],
                show: three_figures,
            });
        }
    }
    columns
}

/// The queues that are not at the bottleneck.
fn queues(runs: &[&Run]) -> Vec<Column> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flat_map(|run| run.other_queues()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let column = |name: &str, direction: &'static str| {
        let figure = |of: fn(&Summary) -> Option<f64>| -> Figure {
            let name = name.to_owned();
            Box::new(move |run| {
                let queues = run.other_queues();
                let sojourn = queues.iter().find(|queue| queue.0 == name)?.1;
                Some(of(if direction == "up" { sojourn.up } else { sojourn.down })? * 1e3)
            })
        };
        Column {
            heading: format!("{name} {direction}\nms\np50/p95/p99"),
            figures: vec![figure(|of| of.p50), figure(|of| of.p95), figure(|of| of.p99)],
            show: three_figures,
        }
    };
    names.iter().flat_map(|name| ["down", "up"].map(|direction| column(name, direction))).collect()
}

/// Which of several stations had the air: every one, or if they are many the least, the median and the most.
fn air(runs: &[&Run]) -> Vec<Column> {
    let channels = runs.iter().filter_map(|run| run.wifi.as_ref()).filter(|wifi| wifi.stations.len() > 1);
    let Some(channel) = channels.max_by_key(|wifi| wifi.stations.len()) else { return Vec::new() };
    let count = channel.stations.len();
    let (which, figures): (String, Vec<Figure>) = if count <= MOST_STATIONS {
        let of = |station: usize| -> Figure {
            Box::new(move |run| run.wifi.as_ref()?.stations.get(station)?.airtime_share)
        };
        let numbers: Vec<String> =
            channel.stations.iter().map(|station| station.client.to_string()).collect();
        (numbers.join("/"), (0..count).map(of).collect())
    } else {
        let ranked = |rank: usize| -> Figure {
            Box::new(move |run| {
                let stations = &run.wifi.as_ref()?.stations;
                let mut shares: Vec<f64> =
                    stations.iter().filter_map(|station| station.airtime_share).collect();
                shares.sort_by(f64::total_cmp);
                shares.get(rank).copied()
            })
        };
        (format!("least/median/most of {count}"), [0, count / 2, count - 1].map(ranked).into())
    };
    vec![
        Column { heading: format!("airtime of station\n%\n{which}"), figures, show: percent },
        Column {
            heading: "Jain index\nof airtime\n".to_owned(),
            figures: vec![Box::new(|run| run.wifi.as_ref()?.jain_airtime())],
            show: two_digits,
        },
    ]
}

fn both(of: fn(&Run, &str) -> Option<f64>) -> Vec<Figure> {
    vec![Box::new(move |run| of(run, "down")), Box::new(move |run| of(run, "up"))]
}

fn link<'r>(run: &'r Run, direction: &str) -> &'r LinkResult {
    if direction == "up" { &run.bottleneck.up } else { &run.bottleneck.down }
}

fn two_digits(value: Option<f64>) -> String {
    number(value, 2)
}

fn percent(share: Option<f64>) -> String {
    number(share.map(|share| share * 100.0), 0)
}

fn three_figures_of_percent(share: Option<f64>) -> String {
    three_figures(share.map(|share| share * 100.0))
}

/// Columns of a table.
const MOST_COLUMNS: usize = 6;
/// More than these do not fit beside each other.
const MOST_STATIONS: usize = 6;
