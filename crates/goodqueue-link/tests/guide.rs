//! The guide of the book lists the presets.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue_link::access::presets::{ALIASES, PRESETS};
use goodqueue_link::access::{Buffer, Drops, Preset, Variation};

/// `UPDATE=1 cargo test -p goodqueue-link --test guide` writes the table anew.
#[test]
fn the_guide_lists_every_preset_with_its_sources() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transports.md");
    let kept = std::fs::read_to_string(&path).expect("the guide");
    let begin = "<!-- presets -->\n";
    let (before, rest) = kept.split_once(begin).expect("a place for the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("an end");
    let fresh = format!("{before}{begin}{}<!-- end -->{after}", table());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("written");
    } else {
        let hint = "docs/transports.md is stale: UPDATE=1 cargo test -p goodqueue-link --test guide";
        assert!(kept == fresh, "{hint}");
    }
}

fn table() -> String {
    let mut table = String::from(
        "| name | line | also called | round trip | buffer | rate | sources |\n|---|---|---|--:|---|---|---|\n",
    );
    for preset in PRESETS {
        let Preset { name, title, source, rtt, .. } = preset;
        let also: Vec<&str> =
            ALIASES.iter().filter(|(_, own)| own == name).map(|(alias, _)| *alias).collect();
        let rtt = rtt.as_nanos() / 1_000_000;
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{name}` | {title} | {} | {rtt} ms | {} | {} | {source} |",
            also.join(", "),
            buffer(&preset.buffer),
            rate(preset)
        );
    }
    table
}

fn buffer(buffer: &Buffer) -> String {
    let Buffer { milliseconds, least, most, drops } = buffer;
    let kib = |bytes: u64| {
        if bytes % 1024 == 0 { format!("{} KiB", bytes / 1024) } else { format!("{bytes} bytes") }
    };
    let drops = match drops {
        Drops::Tail => "tail drop",
        Drops::Head => "head drop",
    };
    if least == most {
        format!("{}, {drops}", kib(*least))
    } else {
        format!("{milliseconds} ms, {} to {}, {drops}", kib(*least), kib(*most))
    }
}

fn rate(preset: &Preset) -> String {
    match preset.variation {
        Variation::Steady => {
            format!("{}.{} % of yours", preset.real / 10, preset.real % 10).replace(".0 ", " ")
        }
        Variation::Walk { bounds, .. } => {
            format!("walks between {} and {} times yours", bounds[0], bounds[1])
        }
        Variation::Steps { every_s, bounds } => {
            format!("{} to {} times yours, another every {every_s} s", bounds[0], bounds[1])
        }
    }
}
