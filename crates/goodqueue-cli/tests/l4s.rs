//! The page of the book about CUBIC and Prague in a bursty environment, and its measurements.
//!
//! The recording of an LTE line is not part of this project: it is the file of that name in the
//! folder `traces` of Mahimahi. Without it the values measured before stay.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The part of a run's results that the page shows.
#[derive(Serialize, Deserialize)]
struct Measured {
    /// The discipline, or the marks in the queue of the MAC ([`MAC_MARKS`]).
    qdisc: String,
    /// Packets per aggregate of the WiFi channel; 0 on the LTE line.
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

/// The recording of the LTE line, without the ending for its direction.
const LTE: &str = "Verizon-LTE-short";

/// Runs a scenario and keeps what the page shows. `arguments` choose a part of its runs.
fn measure(scenario: &str, arguments: &[&str]) -> Vec<Measured> {
    let folder = tempfile::tempdir().expect("a folder");
    let out = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .current_dir(&folder)
        .args(["run", scenario, "--quiet", "--json", "-"])
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
        aggregate: run["sweep"]["wifi.aggregate"].as_u64().unwrap_or(0),
        seed: run["seed"].as_u64().expect("a seed"),
        prague_bps: goodput(0),
        cubic_bps: goodput(1),
        classic_ping_ms: ping(2),
        l4s_ping_ms: ping(3),
    }
}

/// The scenario `l4s` over the recording in `folder`, with the disciplines of `l4s-bursty`.
fn measure_lte(folder: &str) -> Vec<Measured> {
    let trace = |direction: &str| format!("{folder}/{LTE}.{direction}");
    let qdiscs = "qdiscs=[\"dualpi2 variant linux\", \"dualpi2 variant linux step_thresh 10ms\", \"fq_codel\", \
                  \"pie ecn\", \"pfifo limit 1000\"]";
    let traces = ["--trace-down", &trace("down"), "--trace-up", &trace("up")];
    measure("l4s", &[&traces[..], &["--time", "140s", "--set", qdiscs]].concat())
}

/// Marks in the queue of the MAC, as keys of `[wifi]` and their values.
const MAC_MARKS: &[&str] = &[
    NO_MARKS,
    "ce_threshold 1ms",
    "ce_threshold 10ms",
    "ce_threshold 1ms ce_threshold_selector 1/1",
    "ce_threshold 10ms ce_threshold_selector 1/1",
    "ce_threshold 20ms ce_threshold_selector 1/1",
];

/// The MAC as it is by default.
const NO_MARKS: &str = "no ce_threshold";

/// The scenario `l4s-bursty` with these marks in the queue of the MAC. `arguments` choose a part of
/// its runs.
fn measure_mac(marks: &str, arguments: &[&str]) -> Vec<Measured> {
    let words: Vec<&str> = if marks == NO_MARKS { Vec::new() } else { marks.split(' ').collect() };
    let mut sets = vec!["wifi.mac=\"fq\"".to_owned(), "qdiscs=[\"fq_codel\"]".to_owned()];
    sets.extend(words.chunks(2).map(|pair| format!("wifi.{}=\"{}\"", pair[0], pair[1])));
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let runs = measure("l4s-bursty", &[&sets[..], arguments].concat()).into_iter();
    runs.map(|run| Measured { qdisc: marks.to_owned(), ..run }).collect()
}

fn read(path: &Path) -> Vec<Measured> {
    serde_json::from_slice(&std::fs::read(path).expect("the measurements")).expect("JSON")
}

fn keep(path: &Path, runs: &[Measured]) {
    let lines: Vec<String> = runs.iter().map(|run| serde_json::to_string(run).expect("JSON")).collect();
    std::fs::write(path, format!("[\n{}\n]\n", lines.join(",\n"))).expect("written");
}

/// `UPDATE=1 cargo test -p goodqueue-cli --test l4s` writes the page; `UPDATE=measure` makes all
/// runs again before, which takes some minutes, those over LTE if `TRACES` is the folder of the
/// recording.
#[test]
fn the_page_about_bursts_shows_what_the_scenario_measures() {
    let kept = root().join("docs/measured/l4s-bursty.json");
    let page = root().join("docs/l4s.md");
    let update = std::env::var("UPDATE").unwrap_or_default();
    let kept_lte = root().join("docs/measured/l4s-lte.json");
    let kept_mac = root().join("docs/measured/l4s-mac.json");
    if update == "measure" {
        keep(&kept, &measure("l4s-bursty", &[]));
        let mac: Vec<Measured> = MAC_MARKS.iter().flat_map(|marks| measure_mac(marks, &[])).collect();
        keep(&kept_mac, &mac);
        if let Ok(folder) = std::env::var("TRACES") {
            keep(&kept_lte, &measure_lte(&folder));
        }
    }
    let runs = read(&kept);
    let mac = read(&kept_mac);
    let fresh = text(&runs, &mac, &read(&kept_lte));
    if !update.is_empty() {
        std::fs::write(&page, &fresh).expect("written");
    }
    let written = std::fs::read_to_string(&page).expect("the page");
    assert!(written == fresh, "docs/l4s.md is stale: UPDATE=1 cargo test -p goodqueue-cli --test l4s");
    // One run of each file stands for all: the file is that of the present code.
    let one = ["--seeds", "1", "--set", "sweep={\"wifi.aggregate\" = [32]}"];
    let qdisc = "dualpi2 variant linux";
    let again = measure("l4s-bursty", &[&one[..], &["--set", &format!("qdiscs=[\"{qdisc}\"]")]].concat());
    assert_eq!(numbers(&again, qdisc), numbers(&runs, qdisc), "{REMEDY}");
    let marks = MAC_MARKS[MAC_MARKS.len() - 1];
    assert_eq!(numbers(&measure_mac(marks, &one), marks), numbers(&mac, marks), "{REMEDY}");
}

const REMEDY: &str = "not measured with this code: UPDATE=measure cargo test -p goodqueue-cli --test l4s";

/// The values of the first seed with aggregates of 32 packets. The last digit of a number can
/// change when JSON is written and read.
fn numbers(runs: &[Measured], qdisc: &str) -> [String; 4] {
    let mut runs = runs.iter();
    let run = runs.find(|run| run.qdisc == qdisc && run.aggregate == 32 && run.seed == 1).expect("measured");
    [run.prague_bps, run.cubic_bps, run.classic_ping_ms, run.l4s_ping_ms].map(|value| format!("{value:.6}"))
}

fn mean(runs: &[Measured], qdisc: &str, aggregate: u64, value: impl Fn(&Measured) -> f64) -> f64 {
    let of: Vec<f64> =
        runs.iter().filter(|run| run.qdisc == qdisc && run.aggregate == aggregate).map(value).collect();
    of.iter().sum::<f64>() / of.len() as f64
}

/// Goodput of Prague and of CUBIC, in Mbit/s.
fn shares(runs: &[Measured], qdisc: &str, aggregate: u64) -> String {
    let prague = mean(runs, qdisc, aggregate, |run| run.prague_bps);
    let cubic = mean(runs, qdisc, aggregate, |run| run.cubic_bps);
    format!("{:.1}/{:.1}", prague / 1e6, cubic / 1e6)
}

/// Mean pings of L4S and of classic packets, in ms.
fn pings(runs: &[Measured], qdisc: &str, aggregate: u64) -> String {
    let l4s = mean(runs, qdisc, aggregate, |run| run.l4s_ping_ms);
    let classic = mean(runs, qdisc, aggregate, |run| run.classic_ping_ms);
    format!("{l4s:.0}/{classic:.0}")
}

fn text(runs: &[Measured], mac: &[Measured], lte: &[Measured]) -> String {
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
         discipline, with aggregates of 1 to 32 packets, a round-trip time of 20 ms and three seeds. Further tables \
         show the same flows with marks in the queue of the MAC, and over a recorded LTE line.\n\n\
         ## WiFi: goodput of Prague/CUBIC, Mbit/s\n\n",
    );
    table(&mut page, &qdiscs, &aggregates, |qdisc, aggregate| shares(runs, qdisc, aggregate));
    page.push_str("\n## WiFi: mean ping of L4S/classic, ms\n\n");
    table(&mut page, &qdiscs, &aggregates, |qdisc, aggregate| pings(runs, qdisc, aggregate));
    page.push_str(
        "\n## WiFi: marks in the queue of the MAC\n\n\
         With `mac = \"fq\"` the access point has no discipline: its MAC has a queue with CoDel for each flow, as \
         mac80211 has since Linux 4.9. mac80211 leaves the `ce_threshold` of this CoDel off. With it the MAC marks each \
         ECN-capable packet that waited for longer, and with `ce_threshold_selector` 1/1 only packets of L4S. The CUBIC \
         flow of this scenario has ECN. `goodqueue run l4s-bursty --set wifi.mac=fq --set wifi.ce_threshold=10ms --set \
         wifi.ce_threshold_selector=1/1 --qdisc fq_codel` makes the runs of one column.\n\n\
         Goodput of Prague/CUBIC, Mbit/s:\n\n",
    );
    table(&mut page, MAC_MARKS, &aggregates, |marks, aggregate| shares(mac, marks, aggregate));
    page.push_str("\nMean ping of L4S/classic, ms:\n\n");
    table(&mut page, MAC_MARKS, &aggregates, |marks, aggregate| pings(mac, marks, aggregate));
    lte_table(&mut page, &qdiscs, lte);
    page.push_str(
        "\n## What it means\n\n\
         * **Through `dualpi2`, Prague starves as soon as the channel aggregates.** A likely reason: an aggregate leaves the \
         queue at once. While it is in the air, more than a millisecond of packets gathers behind it, so packets of L4S are \
         marked although no queue stands. CUBIC, whose queue may hold 15 ms, takes the channel.\n\
         * **A threshold above the time of an aggregate turns that around.** With `step_thresh 10ms` Prague gets the \
         larger part, and its pings take a few milliseconds longer.\n\
         * **Over LTE Prague gets a small part, too, and a threshold of 10 ms gives both about the same.** A likely reason: at 5 Mbit/s a \
         packet takes 2.4 ms, so a packet behind another waits longer than the threshold of 1 ms.\n\
         * **`fq_codel`, a queue per flow, shares in every case**, because its scheduler decides the shares and not the \
         marks.\n\
         * **In the queue of the MAC, a threshold for L4S must be above the time of an aggregate, too.** With 1 ms \
         Prague gets little of a channel that aggregates, although each flow has a queue of its own. A likely \
         reason: packets wait longer than that for the aggregates before them, so that all are marked, and the \
         window falls to its minimum. With 20 ms Prague keeps its share with every size of aggregate.\n\
         * **Without the selector, CUBIC with ECN is marked too and gets less**, because it reduces its window at a \
         mark as at a loss. With 1 ms it starves. Only marks on both flows shorten the pings.\n\
         * **One queue that marks both (`pie ecn`) starves CUBIC**, with bursts or without.\n\
         * Without aggregation the channel itself is slow: each packet contends for the air, and its queue in the \
         driver delays every ping.\n\n\
         ## What limits the answer\n\n\
         * The channel is a model: one client near the access point, no other network, no losses, and a driver that \
         takes up to 64 packets from the discipline. A driver that takes more hides more from it.\n\
         * Prague is that of Linux: `goodqueue validate --set-up prague-7.3` compares its rates with Linux 7.3 that has the \
         rules of TCP Prague, and [the tests row by row](l4s-tests.md) its release for Linux 5.15 with 5,040 published runs. None of \
         them is over a bursty link. The `dualpi2` decides as Linux 7.3 in every recording.\n\
         * In the first two tables, marks are made above the driver. No recording of an access point covers the marks of \
         the MAC.\n\
         * The LTE line is one recording, of one phone in 2013. Its queue is the discipline alone: what a base station \
         holds below it is not modelled.\n\n\
         The values are those of `docs/measured/l4s-bursty.json`, `docs/measured/l4s-mac.json` and `docs/measured/l4s-lte.json`, with \
         their seeds.\n",
    );
    page
}

fn lte_table(page: &mut String, qdiscs: &[&str], runs: &[Measured]) {
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n## A recorded LTE line\n\n\
         The recording `{LTE}` of Mahimahi has a mean of 5 Mbit/s down and 6 up. Each run lasts as long as the recording, \
         140 s. With the recording at hand, `goodqueue run l4s --trace-down {LTE}.down --trace-up {LTE}.up --time 140s` \
         does the same for the disciplines of the scenario `l4s`.\n\n\
         | discipline | Prague, Mbit/s | CUBIC, Mbit/s | L4S ping, ms | classic ping, ms |\n|---|--:|--:|--:|--:|\n"
    );
    for qdisc in qdiscs {
        let rates = [mean(runs, qdisc, 0, |run| run.prague_bps), mean(runs, qdisc, 0, |run| run.cubic_bps)]
            .map(|rate| format!("{:.2}", rate / 1e6));
        let pings =
            [mean(runs, qdisc, 0, |run| run.l4s_ping_ms), mean(runs, qdisc, 0, |run| run.classic_ping_ms)]
                .map(|ping| format!("{ping:.0}"));
        let _ = writeln!(page, "| `{qdisc}` | {} | {} |", rates.join(" | "), pings.join(" | "));
    }
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
