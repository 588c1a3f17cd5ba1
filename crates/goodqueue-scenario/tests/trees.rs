//! Every recording of the Linux kernel's disciplines that hold others: the tree that tc's commands built there has the
//! same fate for each packet here, at the same nanosecond.

use std::path::{Path, PathBuf};

use goodqueue::config::{Children, Link};
use goodqueue::random::{Recorded, Source};
use goodqueue::{AnyConfig, AnyQdisc, Duration, Qdisc, Rate, registry};
use goodqueue_scenario::recording::{Recording, Row};
use goodqueue_scenario::tc;
use goodqueue_sim::replay::{Arrival, Fate, Priority, replay};

#[test]
fn every_recorded_packet_of_a_tree_has_the_fate_that_the_kernel_gave_it() {
    let mut failures = Vec::new();
    let mut packets = 0;
    for path in recordings() {
        let recording = Recording::open(&path).expect("readable");
        let header = recording.header().clone();
        let qdisc = header.qdisc.clone().expect("named");
        let kind = qdisc.split_whitespace().next().and_then(registry::find);
        if kind.is_none_or(|kind| kind.children == Children::None) {
            continue;
        }
        let text = std::iter::once(qdisc).chain(header.extra.clone()).collect::<Vec<_>>().join("\n");
        let rate = header.rate().expect("a rate");
        let link = Link { rate, ..Link::default() };
        let config =
            tc::parse_as(&text, &link, Some("linux")).unwrap_or_else(|error| panic!("{text}: {error}"));
        let rows: Vec<Row> = recording.collect::<Result<_, _>>().expect("readable");
        packets += rows.len();
        let priority = Priority::of_recording(header.other.get("priority").and_then(|said| said.as_str()));
        match difference(&config, &rows, rate, Duration::from_nanos(header.t_start_ns), priority) {
            Some(difference) => failures.push(format!("{}: {difference}", path.display())),
            None => println!("{}: {} rows equal", path.display(), rows.len()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(packets > 0, "there are recordings of trees");
}

fn recordings() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-testkit/recordings");
    let entries = std::fs::read_dir(folder).expect("the folder of recordings");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    paths.sort();
    paths
}

/// The first packet whose fate differs.
fn difference(
    config: &AnyConfig,
    rows: &[Row],
    rate: Rate,
    origin: Duration,
    priority: Priority,
) -> Option<String> {
    let mut draws = Recorded::default();
    for row in rows {
        if let Row::Random { value, .. } = row {
            draws.push(*value);
        }
    }
    let mut qdisc = AnyQdisc::new(config.clone(), 0, Source::Recorded(draws));
    let arrivals = rows.iter().filter_map(|row| match *row {
        Row::Arrival { t, seq, flow, bytes, tos, .. } => {
            Some(Arrival { at: t, seq, flow, bytes, tos, priority, hosts: None, ack: None })
        }
        _ => None,
    });
    let mut fates = Vec::new();
    replay(&mut qdisc, rate, origin, arrivals, |fate| fates.push(fate));
    assert!(qdisc.is_empty(), "all have left");
    let theirs = rows.iter().filter_map(|row| match *row {
        Row::Exit { t, seq, tos, .. } => Some((t, seq, Some(tos))),
        Row::Drop { t, seq, .. } => Some((t, seq, None)),
        _ => None,
    });
    let ours = fates.iter().map(|fate| match *fate {
        Fate::Sent { at, seq, tos, .. } => (at, seq, Some(tos)),
        Fate::Dropped { at, seq, .. } => (at, seq, None),
    });
    let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.collect(), ours.collect());
    (0..theirs.len().max(ours.len())).find_map(|index| {
        let (recorded, here) = (theirs.get(index), ours.get(index));
        (recorded != here).then(|| format!("fate {index}: the kernel has {recorded:?}, we have {here:?}"))
    })
}
