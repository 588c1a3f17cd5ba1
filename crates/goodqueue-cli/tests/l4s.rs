//! The page of the book about CUBIC and Prague in a bursty environment, and its measurements.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The part of a run's results that the page shows.
#[derive(Serialize, Deserialize)]
struct Measured {
    qdisc: String,
    aggregate: u64,
    seed: u64,
    prague_bps: f64,
    cubic_bps: f64,
    classic_ping_ms: f64,
    l4s_ping_ms: f64,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the scenario and keeps what the page shows. `arguments` choose a part of its runs.
fn measure(arguments: &[&str]) -> Vec<Measured> {
    let folder = tempfile::tempdir().expect("a folder");
    let out = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .current_dir(&folder)
        .args(["run", "l4s-bursty", "--quiet", "--json", "-"])
        .args(arguments)
        .output()
        .expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let results: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    results["runs"].as_array().expect("runs").iter().map(measured).collect()
}

fn measured(run: &Value) -> Measured {
    let goodput = |flow: usize| run["flows"][flow]["goodput_bps"].as_f64().expect("a rate");
    let ping = |flow: usize| run["flows"][flow]["ping_s"]["mean"].as_f64().expect("pings") * 1e3;
    Measured {
        qdisc: run["qdisc"].as_str().expect("a label").to_owned(),
        aggregate: run["sweep"]["wifi.aggregate"].as_u64().expect("a number"),
        seed: run["seed"].as_u64().expect("a seed"),
        prague_bps: goodput(0),
        cubic_bps: goodput(1),
        classic_ping_ms: ping(2),
        l4s_ping_ms: ping(3),
    }
}

/// `UPDATE=1 cargo test -p goodqueue-cli --test l4s` writes the page; `UPDATE=measure` makes all
/// runs again before, which takes some minutes.
#[test]
fn the_page_about_bursts_shows_what_the_scenario_measures() {
    let kept = root().join("docs/measured/l4s-bursty.json");
    let page = root().join("docs/l4s.md");
    let update = std::env::var("UPDATE").unwrap_or_default();
    if update == "measure" {
        let lines =
            measure(&[]).iter().map(|run| serde_json::to_string(run).expect("JSON")).collect::<Vec<_>>();
        std::fs::write(&kept, format!("[\n{}\n]\n", lines.join(",\n"))).expect("written");
    }
    let runs: Vec<Measured> =
        serde_json::from_slice(&std::fs::read(&kept).expect("the measurements")).expect("JSON");
    let fresh = text(&runs);
    if !update.is_empty() {
        std::fs::write(&page, &fresh).expect("written");
    }
    let written = std::fs::read_to_string(&page).expect("the page");
    assert!(written == fresh, "docs/l4s.md is stale: UPDATE=1 cargo test -p goodqueue-cli --test l4s");
    // One run stands for all: the file is that of the present code.
    let again = measure(&[
        "--seeds",
        "1",
        "--set",
        "qdiscs=[\"dualpi2 variant linux\"]",
        "--set",
        "sweep={\"wifi.aggregate\" = [32]}",
    ]);
    let same =
        runs.iter().find(|run| run.qdisc == "dualpi2 variant linux" && run.aggregate == 32 && run.seed == 1);
    // The last digit of a number can change when JSON is written and read.
    let rounded = |run: &Measured| {
        [run.prague_bps, run.cubic_bps, run.classic_ping_ms, run.l4s_ping_ms]
            .map(|value| format!("{value:.6}"))
    };
    assert_eq!(
        again.first().map(rounded),
        same.map(rounded),
        "not measured with this code: UPDATE=measure cargo test -p goodqueue-cli --test l4s"
    );
}

fn mean(runs: &[Measured], qdisc: &str, aggregate: u64, value: impl Fn(&Measured) -> f64) -> f64 {
    let of: Vec<f64> =
        runs.iter().filter(|run| run.qdisc == qdisc && run.aggregate == aggregate).map(value).collect();
    of.iter().sum::<f64>() / of.len() as f64
}

fn text(runs: &[Measured]) -> String {
    let mut qdiscs: Vec<&str> = Vec::new();
    let mut aggregates: Vec<u64> = Vec::new();
    for run in runs {
        if !qdiscs.contains(&&*run.qdisc) {
            qdiscs.push(&run.qdisc);
        }
        if !aggregates.contains(&run.aggregate) {
            aggregates.push(run.aggregate);
        }
    }
    let mut page = String::from(
        "# CUBIC beside Prague in a bursty environment\n\n\
         L4S promises low delay to senders that react to each mark by little, such as TCP Prague, while CUBIC keeps its \
         share. The tests of [heistp/l4s-tests](https://github.com/heistp/l4s-tests) left a question open: what \
         happens between one CUBIC flow and one Prague flow where the link sends packets in bursts, as WiFi does? \
         `goodqueue run l4s-bursty` answers it for a channel of 802.11n (one stream, MCS 7, 72 Mbit/s) behind each \
         discipline, with aggregates of 1 to 32 packets, a round-trip time of 20 ms and three seeds.\n\n\
         ## Goodput: Prague/CUBIC, Mbit/s\n\n",
    );
    table(&mut page, &qdiscs, &aggregates, |qdisc, aggregate| {
        let [prague, cubic] = [
            mean(runs, qdisc, aggregate, |run| run.prague_bps),
            mean(runs, qdisc, aggregate, |run| run.cubic_bps),
        ];
        format!("{:.1}/{:.1}", prague / 1e6, cubic / 1e6)
    });
    page.push_str("\n## Mean ping: L4S/classic, ms\n\n");
    table(&mut page, &qdiscs, &aggregates, |qdisc, aggregate| {
        let [l4s, classic] = [
            mean(runs, qdisc, aggregate, |run| run.l4s_ping_ms),
            mean(runs, qdisc, aggregate, |run| run.classic_ping_ms),
        ];
        format!("{l4s:.0}/{classic:.0}")
    });
    page.push_str(
        "\n## What it means\n\n\
         * **Through `dualpi2`, Prague starves as soon as the channel aggregates.** A likely reason: an aggregate leaves the \
         queue at once. While it is in the air, more than a millisecond of packets gathers behind it, so packets of L4S are \
         marked although no queue stands. CUBIC, whose queue may hold 15 ms, takes the channel.\n\
         * **A threshold above the time of an aggregate turns that around.** With `step_thresh 10ms` Prague gets the \
         larger part, and its pings take a few milliseconds longer.\n\
         * **A queue per flow shares in every case**, because its scheduler decides the shares and not the marks.\n\
         * **One queue that marks both (`pie ecn`) starves CUBIC**, with bursts or without.\n\
         * Without aggregation the channel itself is slow: each packet contends for the air, and its queue in the \
         driver delays every ping.\n\n\
         ## What limits the answer\n\n\
         * The channel is a model: one client near the access point, no other network, no losses, and a driver that \
         takes up to 64 packets from the discipline. A driver that takes more hides more from it.\n\
         * Prague is ours, written from the draft and compared with theory, not packet by packet with TCP Prague for \
         Linux. The `dualpi2` decides as Linux 7.3 in every recording.\n\
         * Marks are made above the driver. Marking in the queue of the MAC is not modelled.\n\n\
         The values are those of `docs/measured/l4s-bursty.json`, with their seeds.\n",
    );
    page
}

/// A row for each size of aggregate: the names of disciplines are long, and headings can wrap.
fn table(page: &mut String, qdiscs: &[&str], aggregates: &[u64], cell: impl Fn(&str, u64) -> String) {
    // Writing to a string cannot fail.
    let names: String = qdiscs.iter().map(|qdisc| format!(" {qdisc} |")).collect();
    let _ = writeln!(page, "| packets per aggregate |{names}");
    let _ = writeln!(page, "|--:|{}", "--:|".repeat(qdiscs.len()));
    for &count in aggregates {
        let cells: String = qdiscs.iter().map(|qdisc| format!(" {} |", cell(qdisc, count))).collect();
        let _ = writeln!(page, "| {count} |{cells}");
    }
}
