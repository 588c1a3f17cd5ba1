//! What becomes of the packets of a flow: each that was sent has arrived, was dropped, or is on its
//! way.

use std::path::Path;

use goodqueue_scenario::library::{SCENARIOS, load_builtin};
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_scenario::sweep::{self, Point};

fn run(points: &[Point]) -> Vec<Run> {
    // The ends of a sweep are enough.
    let ends = [&points[..1], if points.len() > 1 { &points[points.len() - 1..] } else { &[] }].concat();
    let session = Session::from_runs(runs_of(&ends, None).expect("valid")).threads(2);
    session.run(&NoWatch).expect("runs").runs()
}

fn parsed(text: &str) -> Vec<Run> {
    let document = Document::parse("load.toml", text, Path::new("")).expect("a table");
    run(&sweep::expand(&document, &Names::default()).expect("valid"))
}

/// Every packet of every flow has one fate, and what flows lost is what queues and the air dropped.
fn assert_adds_up(name: &str, run: &Run) {
    let mut rest = 0;
    let mut dropped = 0;
    for flow in &run.flows {
        let here = format!("{name}, {}, flow {} ({})", run.qdisc, flow.id, flow.kind);
        let ended = flow.packets_arrived + flow.packets_dropped;
        assert!(ended <= flow.packets_sent, "{here}: {flow:?}");
        assert!(flow.reverse.arrived + flow.reverse.dropped <= flow.reverse.sent, "{here}: {flow:?}");
        rest += flow.packets_sent - ended;
        rest += flow.reverse.sent - flow.reverse.arrived - flow.reverse.dropped;
        dropped += flow.packets_dropped + flow.reverse.dropped;
        if let Some(share) = flow.losses.and_then(|losses| losses.share) {
            #[expect(clippy::cast_precision_loss, reason = "some thousands")]
            let expected = flow.packets_dropped as f64 / flow.packets_sent as f64;
            assert_eq!(share, expected, "{here}");
        }
    }
    assert_eq!(rest, run.engine.in_flight_packets, "{name}, {}: on their way", run.qdisc);
    let hops = run.hops.iter().flat_map(|hop| [&hop.down, &hop.up]);
    let links = [&run.bottleneck.down, &run.bottleneck.up].into_iter().chain(hops);
    let on_wires: u64 = links.flat_map(|link| link.drops.values()).sum();
    let air = run.wifi.iter().flat_map(|wifi| [&wifi.down, &wifi.up]);
    let in_the_air: u64 = air.flat_map(|queue| queue.drops.values()).sum();
    assert_eq!(dropped, on_wires + in_the_air, "{name}, {}: dropped", run.qdisc);
}

#[test]
fn in_every_scenario_each_packet_that_a_flow_sent_has_one_fate() {
    for scenario in SCENARIOS {
        let shortened = |time: &str| {
            let mut document = load_builtin(scenario.name).expect("it comes along");
            let overrides = Overrides {
                time: Some(time.to_owned()),
                qdiscs: vec!["pfifo limit 20".to_owned(), "fq_codel".to_owned()],
                set: vec!["warmup=0s".to_owned(), "seeds=1".to_owned()],
                ..Overrides::default()
            };
            document.apply(&overrides).expect("known keys");
            sweep::expand(&document, &Names::default())
        };
        // As short as its flows allow, which must all start.
        let points = shortened("5s").or_else(|_| shortened("26s")).or_else(|_| shortened("46s"));
        let runs = run(&points.expect("valid"));
        assert!(runs.iter().any(|run| run.flows.iter().any(|flow| flow.packets_arrived > 0)), "{runs:?}");
        for run in &runs {
            assert_adds_up(scenario.name, run);
        }
    }
}

/// Every kind of flow both ways through a queue that drops some of each.
const ALL_KINDS: &str = r#"
    [[flows]]
    kind = "tcp"
    [[flows]]
    kind = "tcp"
    direction = "up"
    [[flows]]
    kind = "ping"
    interval = "20ms"
    [[flows]]
    kind = "cbr"
    rate = "300kbit"
    [[flows]]
    kind = "voip"
    direction = "up"
    [[flows]]
    kind = "poisson"
    rate = "200kbit"
    packet = 400
    [[flows]]
    kind = "onoff"
    rate = "500kbit"
    packet = 700
    on = "200ms"
    off = "300ms"
    [[flows]]
    kind = "transfers"
    size = "50kb"
    think = "100ms"
    [[flows]]
    kind = "tcp_onoff"
    on = "500ms"
    off = "200ms"
    [[flows]]
    kind = "packmime"
    connections = 5
    [[flows]]
    kind = "web"
    page = "google"
    [[flows]]
    kind = "video"
"#;

#[test]
fn the_packets_of_every_kind_of_flow_add_up_under_loss_and_copies() {
    for qdisc in ["pfifo limit 15", "fq_codel", "netem loss 5% limit 40", "netem duplicate 20% limit 40"] {
        let runs = parsed(&format!(
            "duration = \"8s\"\nqdiscs = [\"{qdisc}\"]\n[link]\ndown = \"3mbit\"\nup = \"1mbit\"\n{ALL_KINDS}"
        ));
        let [run] = runs.as_slice() else { panic!("one run") };
        for flow in &run.flows {
            assert!(flow.packets_sent > 0 && flow.packets_arrived > 0, "{qdisc}: {flow:?}");
            assert!(flow.packets_arrived + flow.packets_dropped <= flow.packets_sent, "{qdisc}: {flow:?}");
            assert!(flow.reverse.arrived + flow.reverse.dropped <= flow.reverse.sent, "{qdisc}: {flow:?}");
        }
        if !qdisc.contains("duplicate") {
            assert_adds_up("all kinds", run);
        }
    }
}

#[test]
fn a_path_that_duplicates_everything_adds_nothing_to_what_an_application_gets() {
    let load = |qdisc: &str| {
        let mut runs = parsed(&format!(
            r#"
            duration = "5s"
            qdiscs = ["{qdisc}"]
            [link]
            down = "20mbit"
            up = "20mbit"
            [[flows]]
            kind = "cbr"
            rate = "1mbit"
            [[flows]]
            kind = "cbr"
            direction = "up"
            rate = "1mbit"
            [[flows]]
            kind = "poisson"
            rate = "1mbit"
            packet = 600
            [[flows]]
            kind = "onoff"
            rate = "2mbit"
            packet = 600
            on = "50ms"
            off = "50ms"
            [[flows]]
            kind = "voip"
            [[flows]]
            kind = "ping"
            [[flows]]
            kind = "tcp"
            size = "300kb"
            "#
        ));
        runs.remove(0)
    };
    let once = load("pfifo");
    let twice = load("netem duplicate 100%");
    for (once, twice) in once.flows.iter().zip(&twice.flows) {
        let bytes = once.bytes_delivered;
        let doubled = twice.bytes_delivered;
        // A packet more or less is on its way at the end.
        assert!(bytes > 0 && doubled.abs_diff(bytes) <= 3000, "{}: {bytes}, twice {doubled}", once.kind);
        if once.cc.is_none() {
            assert_eq!(twice.packets_sent, once.packets_sent, "{}", once.kind);
        }
        assert!(twice.packets_arrived <= twice.packets_sent, "{}", once.kind);
    }
    // The wire carries both.
    let sent = |run: &Run| run.bottleneck.down.throughput_bps;
    assert!(sent(&twice) > 1.9 * sent(&once), "{} {}", sent(&once), sent(&twice));
}
