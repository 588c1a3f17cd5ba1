//! `goodqueue top`: a live view of a running bottleneck.

mod fetch;
mod numbers;
mod screen;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use goodqueue_tc::units;
use serde_json::Value;

use fetch::fetch;
use numbers::{milliseconds, numbers, sparkline, whole};

use super::{Ending, Outcome};
use crate::output;

/// Watch a running bottleneck: queues, flows, sojourn times, drops by reason.
///
/// The bottleneck is a `goodqueue shell` or `goodqueue shape` that was started with --control. The
/// key q leaves the view; the bottleneck keeps running. If standard output is not a terminal, the
/// statistics are printed once as plain text.
#[derive(Args, Debug)]
#[command(after_help = "Example, in two terminals:
  goodqueue shell --rate 10mbit --qdisc pfifo --control q.sock -- curl -o /dev/null server/1G
  goodqueue top --control q.sock
In a third terminal, change the discipline and watch the latency fall:
  goodqueue stats --control q.sock qdisc fq_codel")]
pub(crate) struct TopArgs {
    /// Socket of the bottleneck: the value of its --control.
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// Print the statistics once as plain text; the default if standard output is not a terminal.
    #[arg(long)]
    once: bool,
}

pub(crate) fn main(args: &TopArgs) -> Outcome {
    let stats = fetch(&args.control)?;
    if args.once || !output::is_terminal() {
        output::print(&page(&stats))?;
        return Ok(Ending::Done);
    }
    screen::watch(&args.control, stats)
}

/// Formats the statistics as plain text.
fn page(stats: &Value) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    // Whoever owns the socket may answer anything, so every absent value has a substitute.
    let _ = writeln!(text, "goodqueue {} s", stats["duration_s"].as_f64().unwrap_or(0.0).round());
    for side in ["down", "up"] {
        let _ =
            writeln!(text, "{}", direction(side, &stats[side], &stats["history"], &stats["recent"][side]));
        for flow in stats["flows"][side].as_array().into_iter().flatten().take(FLOWS) {
            let _ = writeln!(
                text,
                "  {:5} {} -> {}  {}, {} queued, {} ms, {} dropped, {} marked",
                flow["protocol"].as_str().unwrap_or("?"),
                flow["source"].as_str().unwrap_or("?"),
                flow["destination"].as_str().unwrap_or("?"),
                units::show_rate(goodqueue::Rate::from_bps(flow["throughput_bps"].as_u64().unwrap_or(0))),
                flow["queued_packets"],
                milliseconds(&flow["sojourn_mean_s"]),
                flow["dropped"],
                flow["marked"],
            );
        }
    }
    let process = &stats["process"];
    let _ = writeln!(
        text,
        "late wake-ups (over 1 ms) {}, worst {} ms; memory for packets {}, discarded for lack of it {}; dropped by the kernel before the bottleneck {}",
        process["late_wakeups"],
        milliseconds(&process["latest_s"]),
        units::show_size(process["memory_bytes"].as_u64().unwrap_or(0)),
        process["out_of_memory_packets"],
        stats["client"]["interface_dropped"].as_u64().unwrap_or(0)
            + stats["server"]["interface_dropped"].as_u64().unwrap_or(0),
    );
    text
}

fn direction(name: &str, link: &Value, history: &Value, recent: &Value) -> String {
    let past = &history[name];
    let step = history["step_s"].as_f64().unwrap_or(0.25);
    let bytes: Vec<f64> = numbers(&past["bytes"]);
    // Four steps of 250 ms are the last second; just after the start there are fewer.
    let last_second = bytes.iter().rev().take(4).sum::<f64>() * 8.0 / (step * bytes.len().clamp(1, 4) as f64);
    let sojourn: Vec<f64> = numbers(&past["sojourn_mean_s"]);
    let most = sojourn.iter().copied().fold(0.0, f64::max);
    let drops: Vec<String> = link["drops"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    format!(
        "\n{name}: {}\n  rate     {} now, {} the link\n  queued   {} packets, {}\n  sojourn  p50 {}  p95 {}  p99 {} ms\n  recent   p50 {}  p95 {}  p99 {} ms\n  \
         {}  last minute, up to {:.1} ms\n  sent     {}   marked {}   dropped {} ({})",
        link["qdisc"].as_str().unwrap_or("?"),
        units::show_rate(goodqueue::Rate::from_bps(whole(last_second))),
        match whole(link["rate_bps"].as_f64().unwrap_or(0.0)) {
            0 => "no limit".to_owned(),
            rate => units::show_rate(goodqueue::Rate::from_bps(rate)),
        },
        link["queued"]["packets"],
        units::show_size(link["queued"]["bytes"].as_u64().unwrap_or(0)),
        milliseconds(&link["sojourn_s"]["p50"]),
        milliseconds(&link["sojourn_s"]["p95"]),
        milliseconds(&link["sojourn_s"]["p99"]),
        milliseconds(&recent["p50"]),
        milliseconds(&recent["p95"]),
        milliseconds(&recent["p99"]),
        sparkline(&sojourn, most),
        most * 1e3,
        link["packets"]["dequeued"],
        link["packets"]["marked"],
        link["packets"]["dropped"],
        if drops.is_empty() { "none".to_owned() } else { drops.join(", ") },
    )
}

/// Flows shown in each direction, those with the longest queues first.
const FLOWS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_can_be_made_of_any_value() {
        assert!(page(&Value::Null).contains("down"));
    }
}
