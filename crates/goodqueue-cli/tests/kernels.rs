//! `goodqueue explain --between`, and the page of the book that says what a newer kernel changed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn explain(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).arg("explain").args(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// `UPDATE=1 cargo test -p goodqueue-cli --test kernels` writes the page anew.
#[test]
fn the_page_about_newer_kernels_shows_what_the_command_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/linux-7.3.md");
    let fresh = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect("the page");
    assert!(kept == fresh, "docs/linux-7.3.md is stale: UPDATE=1 cargo test -p goodqueue-cli --test kernels");
}

const NETEM: &str = "netem delay 9842us";
const HTB: &str = "htb default 1 [1 rate 7mbit: pfifo limit 100]";

/// The disciplines whose rules Linux or tc changed, as they are set on most lines and as the change
/// shows.
const CHANGED: &[&str] =
    &["codel", "codel target 1us interval 10us", "fq_codel", "cake", "cobalt", NETEM, HTB];

fn page() -> String {
    let mut page = String::from(
        "# What changed in Linux's queues from 6.1 to 7.3\n\n\
         Linux 6.1 and Linux 7.3 were recorded packet by packet with the same arrivals. goodqueue agrees with every \
         departure, drop and mark of both: `variant linux` is Linux 7.3, and `variant linux61` is Linux 6.1 where \
         the two differ. `goodqueue explain NAME --between linux61 linux73` prints the comparisons below, also for \
         your settings.\n\n\
         | discipline | recordings of 6.1 | of 7.3 | change |\n|---|--:|--:|---|\n",
    );
    // Writing to a string cannot fail.
    for (name, [old, new]) in recordings() {
        let _ = writeln!(page, "| `{name}` | {old} | {new} | {} |", change(&name, old, new));
    }
    page.push_str(
        "\nA recording of 6.1 that has no counterpart of 7.3 was not repeated. PIE, RED and CHOKe draw from another \
         stream of random numbers in 7.3, so the same seed gives other drops; with the recorded draws they decide \
         alike.\n",
    );
    page.push_str(&random_set_ups());
    for line in CHANGED {
        let out = explain(&[line, "--between", "linux61", "linux73"]);
        assert!(out.status.success(), "{line}: {}", text(&out.stderr));
        let said = text(&out.stdout).replace("\n## ", "\n### ").replacen("# ", "## ", 1);
        let _ = write!(page, "\n{said}");
    }
    page
}

/// What random set-ups on Linux 7.3 showed.
fn random_set_ups() -> String {
    let measured = measured("random-7.3.json");
    let disciplines = measured["disciplines"].as_array().expect("a list");
    let sum = |field: &str| disciplines.iter().filter_map(|one| one[field].as_u64()).sum::<u64>();
    let mut text = format!(
        "\n## Random set-ups\n\n{} set-ups with random parameters, {} packets, were recorded on Linux 7.3 and \
         replayed here with the random numbers that the kernel drew. In {} of them every packet has the fate that \
         the kernel gave it, to the nanosecond. [The file](measured/random-7.3.json) says how they were drawn. \
         Earlier ones showed errors, which are mended.\n\n\
         | discipline | set-ups | packets | decided otherwise | reason |\n|---|--:|--:|--:|---|\n",
        grouped(sum("set_ups")),
        grouped(sum("packets")),
        grouped(sum("set_ups") - sum("differ")),
    );
    for one in disciplines {
        let name = one["name"].as_str().expect("a name");
        let reason = one["reason"].as_str().unwrap_or("");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{name}` | {} | {} | {} | {reason} |",
            one["set_ups"],
            grouped(one["packets"].as_u64().expect("a number")),
            one["differ"]
        );
    }
    text
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |place: usize| if place > 0 && (digits.len() - place).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().flat_map(|(place, digit)| comma(place).chars().chain([digit])).collect()
}

fn measured(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured").join(file);
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

/// The numbers of recordings by discipline: of Linux 6.1, and of 7.3.
fn recordings() -> BTreeMap<String, [u64; 2]> {
    let rows = measured("replay.json");
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for row in rows.as_array().expect("a list") {
        let file = row["file"].as_str().expect("a file");
        let qdisc = row["qdisc"].as_str().expect("a line");
        assert_eq!(row["equal"], true, "{file} is not equal, and the page says that all are");
        let name = qdisc.split_whitespace().next().expect("a name").to_owned();
        let kernel = match () {
            () if file.contains("/recordings-7.3/") => 1,
            () if file.contains("/recordings-ns2/") => continue,
            () => 0,
        };
        counts.entry(name).or_default()[kernel] += 1;
    }
    counts
}

fn change(name: &str, old: u64, new: u64) -> &'static str {
    match (name, old, new) {
        ("fq", ..) => {
            "three bands with a weighted round robin, limits per band, a fast path past the flows, a horizon"
        }
        ("dualpi2", ..) => "new",
        ("codel" | "fq_codel" | "cake", ..) => "decides otherwise in the cases below",
        (_, _, 0) => "not recorded on 7.3",
        (_, 0, _) => "not recorded on 6.1",
        ("htb" | "netem", ..) => "tc hardly rounds times",
        _ => "none",
    }
}

#[test]
fn two_kernels_decide_alike_at_the_usual_settings_of_codel_and_differ_at_tiny_ones() {
    let differing = |line: &str| {
        let out = explain(&[line, "--between", "linux61", "linux73", "--json", "-"]);
        let compared: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let loads = compared["loads"].as_array().expect("loads");
        loads.iter().map(|load| load["other_fate"].as_u64().expect("a number")).sum::<u64>()
    };
    assert_eq!(differing("codel"), 0);
    assert!(differing("codel target 1us interval 10us") > 0);
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_remedy() {
    for (arguments, said) in [
        (&["codel", "--between", "linux61", "linux62"][..], "`codel` has no variant `linux62`"),
        (&["codel", "--between", "linux", "linux73"], "both are the variant `linux`"),
        (&["pfifo", "--between", "linux61", "linux73"], "`pfifo` has no variants"),
        (&["coddel", "--between", "linux61", "linux73"], "did you mean `codel`?"),
        (&["codel tarxget 1ms", "--between", "linux61", "linux73"], "NAME: codel has no parameter `tarxget`"),
        (&["fq_codel variant linux", "--between", "linux61", "linux73"], "leave `variant` out of NAME"),
        (&["codel target 1xs", "--between", "linux61", "linux73"], "1xs"),
    ] {
        let out = explain(arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        let error = text(&out.stderr);
        assert!(error.contains(said), "{arguments:?}:\n{error}");
    }
}
