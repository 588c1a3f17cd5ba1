//! The lines with varying rates that the playground offers are those of the advice.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue_advise::{LinkKind, kind};

/// `playground/src/lines.ts` has the rates of these kinds. `UPDATE=1` writes them.
#[test]
fn the_playground_offers_the_lines_of_the_advice() {
    let mut text = "// Lines whose rate varies, as `goodqueue advise` models them. Written by\n\
                    // `UPDATE=1 cargo test -p goodqueue-advise --test playground`.\n"
        .to_owned();
    for (name, rates, seconds, every) in
        [("lte", [12_000_000, 4_000_000], 12.0, 5), ("leo", [100_000_000, 12_000_000], 60.0, 1)]
    {
        let kind = kind(name, goodqueue::Rate::from_bps(rates[0])).unwrap();
        let [down, up] = [0, 1].map(|side| steps(kind, rates[side], seconds, side as u64 + 1, every));
        let buffer = kind.line.buffer.bytes(goodqueue::Rate::from_bps(rates[1]));
        writeln!(
            text,
            "\nexport const {} = {{\n  rtt: \"{}ms\",\n  // Packets in the buffer to the Internet.\n  buffer: {},\n  \
             down: \"{down}\",\n  up: \"{up}\",\n}};",
            name.to_uppercase(),
            kind.line.rtt.as_nanos() / 1_000_000,
            // 1514 bytes are a full Ethernet frame.
            buffer / 1514,
        )
        .unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../playground/src/lines.ts");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap();
    assert!(committed == text, "playground/src/lines.ts is stale: run with UPDATE=1");
}

/// Returns the rates of a run as the playground writes them, such as `10mbit,5mbit@0.5s`. Of each
/// `every` rates it takes the first.
fn steps(kind: &LinkKind, mean_bps: u64, seconds: f64, seed: u64, every: usize) -> String {
    let rates = kind.line.variation.rates(mean_bps, seconds, seed);
    let words = rates.iter().step_by(every).map(|(at, bps)| {
        let rate = format!("{}kbit", bps / 100_000 * 100);
        if *at == 0.0 { rate } else { format!("{rate}@{at:.1}s") }
    });
    words.collect::<Vec<_>>().join(",")
}
