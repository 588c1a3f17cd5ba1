//! The guide of the book shows the code of this test, and what it measured.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue::Duration;

use super::{Outcome, download};

/// `UPDATE=1 cargo test -p goodqueue-quic --test quinn` writes both anew.
#[test]
fn the_guide_shows_this_code_and_what_it_measured() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transports.md");
    let kept = std::fs::read_to_string(&path).expect("the guide");
    let mut fresh = kept.clone();
    for part in ["imports", "adaptor", "calls", "programs", "download", "test"] {
        fresh = with_block(&fresh, part, &format!("```rust\n{}```\n", code(part)));
    }
    fresh = with_block(&fresh, "measured", &measured());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("written");
    }
    let hint = "docs/transports.md is stale: UPDATE=1 cargo test -p goodqueue-quic --test quinn";
    assert!(kept == fresh || std::env::var_os("UPDATE").is_some(), "{hint}");
}

/// The guide promises it. Imports, comments and blank lines do not count.
#[test]
fn each_adaptor_has_at_most_40_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, begin, end) in [
        ("crates/goodqueue-quic/tests/adaptor/mod.rs", "// ANCHOR: adaptor\n", "// ANCHOR_END: adaptor\n"),
        ("crates/goodqueue-c/include/goodqueue_network_queue.h", "#include \"goodqueue.h\"\n", "#endif"),
        (
            "examples/transports/tests/smoltcp.rs",
            "// The adaptor begins here.\n",
            "// The adaptor ends here.\n",
        ),
        ("examples/transports/tests/gcc.rs", "// The adaptor begins here.\n", "// The adaptor ends here.\n"),
        ("examples/transports/tests/bach.rs", "// The adaptor begins here.\n", "// The adaptor ends here.\n"),
        ("examples/transports/src/udp.rs", "use tokio::time::Instant as Now;\n", "\n}\n"),
    ] {
        let file = std::fs::read_to_string(folder.join(path)).expect("an adaptor");
        let (_, rest) = file.split_once(begin).expect("a begin");
        let (code, _) = rest.split_once(end).expect("an end");
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let lines = code.lines().filter(is_code).count();
        // Fewer lines mean that an anchor is in the wrong place.
        assert!((20..=40).contains(&lines), "{path} has {lines} lines");
    }
}

/// Returns the page with another block between the comments `name` and `end`.
fn with_block(page: &str, name: &str, block: &str) -> String {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("the guide has no {begin}"));
    let (_, after) = rest.split_once("<!-- end -->").expect("an end");
    format!("{before}{begin}{block}<!-- end -->{after}")
}

/// Returns the code between two anchors of this test.
fn code(part: &str) -> String {
    let all = concat!(include_str!("../adaptor/mod.rs"), include_str!("main.rs"));
    let (_, rest) = all.split_once(&format!("// ANCHOR: {part}\n")).expect("a begin");
    let (code, _) = rest.split_once(&format!("// ANCHOR_END: {part}\n")).expect("an end");
    code.to_owned()
}

fn measured() -> String {
    let mut table = String::from(
        "| queue | 10 MB took | median RTT | highest RTT | marked | dropped |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for queue in ["bfifo limit 1mb", "pfifo limit 1000", "codel ecn", "fq_codel ecn", "fq_codel noecn", "pie"]
    {
        let Outcome { took, rtt, marked, dropped, .. } = download(&format!("20mbit delay 25ms [{queue}]"));
        let [took, median, highest] = [took, rtt.p50(), rtt.max()].map(milliseconds);
        // Writing to a string cannot fail.
        let _ =
            writeln!(table, "| `{queue}` | {took} ms | {median} ms | {highest} ms | {marked} | {dropped} |");
    }
    table
}

fn milliseconds(span: Duration) -> u64 {
    (span.as_nanos() + 500_000) / 1_000_000
}
