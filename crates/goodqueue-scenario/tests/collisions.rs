//! Flows that a hash puts into one queue: how often, under which disciplines, and what is said of
//! it.

use std::collections::BTreeSet;
use std::path::Path;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::Direction;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_scenario::sweep;

fn run(text: &str) -> Vec<Run> {
    let document = Document::parse("load.toml", text, Path::new("")).expect("a table");
    let points = sweep::expand(&document, &Names::default()).expect("valid");
    let session = Session::from_runs(runs_of(&points, None).expect("valid")).threads(2);
    session.run(&NoWatch).expect("runs").runs()
}

/// A greedy flow of datagrams and a ping, each way through a queue of its own if the hash allows.
const LOAD: &str = r#"
    [link]
    down = "2mbit"
    up = "2mbit"
    rtt = "20ms"
    [[flows]]
    kind = "cbr"
    rate = "4mbit"
    [[flows]]
    kind = "cbr"
    direction = "up"
    rate = "4mbit"
    [[flows]]
    kind = "ping"
    interval = "100ms"
"#;

fn collides(run: &Run) -> bool {
    run.shared_queues.iter().any(|shared| shared.met * 2 > shared.packets)
}

#[test]
fn a_probe_beside_a_greedy_flow_is_told_of_with_every_discipline_that_hashes() {
    for qdisc in [
        "fq_codel flows 1",
        "fq_pie flows 1",
        "sfq divisor 1",
        "sfq_codel flows 1",
        "sfq_pie flows 1",
        "cake flowblind",
        "tbf rate 1900kbit burst 3028 limit 100kb [fq_codel flows 1]",
    ] {
        let runs = run(&format!("duration = \"3s\"\nqdiscs = [\"{qdisc}\"]\n{LOAD}"));
        let shared = &runs[0].shared_queues;
        let directions: BTreeSet<&str> = shared.iter().map(|shared| shared.direction.name()).collect();
        assert_eq!(directions, BTreeSet::from(["down", "up"]), "{qdisc}: {shared:?}");
        for shared in shared {
            let other = u32::from(shared.direction == Direction::Up);
            assert_eq!(
                (shared.flow, shared.with.as_slice(), shared.queue.as_str()),
                (2, &[other][..], "bottleneck")
            );
            assert!(collides(&runs[0]), "{qdisc}: {shared:?}");
        }
    }
}

#[test]
fn a_probe_in_a_queue_of_its_own_is_not_told_of() {
    for qdisc in ["fq_codel", "sfq", "cake", "pfifo", "prio"] {
        let runs = run(&format!("duration = \"3s\"\nseed = 3\nqdiscs = [\"{qdisc}\"]\n{LOAD}"));
        assert_eq!(runs[0].shared_queues, [], "{qdisc}");
    }
}

#[test]
fn flows_collide_as_often_as_chance_has_it_and_not_under_all_disciplines_at_once() {
    // With 16 queues a ping meets the greedy flow in 1 of 16 cases, in each direction by itself.
    let runs = run(&format!(
        r#"
        duration = "1500ms"
        seeds = 150
        qdiscs = ["fq_codel flows 16", "fq_codel flows 16 target 6ms", "fq_pie flows 16"]
        {LOAD}
        [sweep]
        "flows.0.packet" = [1500, 1400]
        "#
    ));
    let met: BTreeSet<(String, String, u64, Direction)> = runs
        .iter()
        .flat_map(|run| {
            let notable = run.shared_queues.iter().filter(|shared| shared.met * 2 > shared.packets);
            notable.map(move |shared| {
                (format!("{:?}", run.sweep), run.qdisc.clone(), run.seed, shared.direction)
            })
        })
        .collect();
    let cases = 2 * runs.len();
    assert_eq!(cases, 2 * 150 * 3 * 2);
    // 1,800 cases, 112.5 expected with a standard deviation of 10.3.
    assert!((75..=150).contains(&met.len()), "{} of {cases}", met.len());
    // Of six disciplines and points each, chance lets two or more meet for one seed and direction
    // about as often as this.
    let mut together = std::collections::BTreeMap::<(u64, Direction), u32>::new();
    for (_, _, seed, direction) in &met {
        *together.entry((*seed, *direction)).or_default() += 1;
    }
    // The chance of none of six is 68 %, of one 27 %: of 300 cases some 95 have any, and 14 more
    // than one.
    assert!((75..=120).contains(&together.len()), "{} of 300", together.len());
    assert!(together.values().all(|times| *times <= 4), "{together:?}");
}

#[test]
fn a_point_of_a_sweep_has_the_same_numbers_whatever_other_points_there_are() {
    let swept = |values: &str| {
        run(&format!(
            "duration = \"2s\"\nqdiscs = [\"fq_codel flows 4\"]\n{LOAD}\n[sweep]\n\"link.down\" = [{values}]"
        ))
    };
    let few = swept(r#""3mbit""#);
    let many = swept(r#""1mbit", "2mbit", "3mbit", "4mbit""#);
    assert_eq!(few[0], many[2]);
}
