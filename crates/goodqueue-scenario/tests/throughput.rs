//! What a link has sent, and how busy it was: bit by bit, whatever packets the bounds of a
//! measurement cut in two.

use std::path::Path;

use goodqueue_scenario::results::{LinkResult, Run};
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_scenario::sweep;

/// All runs of a scenario, with a time series.
fn run(text: &str) -> Vec<Run> {
    let document = Document::parse("load.toml", text, Path::new("")).expect("a table");
    let points = sweep::expand(&document, &Names::default()).expect("valid");
    let step = goodqueue::Duration::from_micros(1300);
    let session = Session::from_runs(runs_of(&points, Some(step)).expect("valid")).threads(1);
    session.run(&NoWatch).expect("runs").runs()
}

/// Bits sent in the time measured.
fn bits(run: &Run, link: &LinkResult) -> f64 {
    link.throughput_bps * run.duration_s
}

fn assert_is_possible(run: &Run) {
    for link in [&run.bottleneck.down, &run.bottleneck.up] {
        if let Some(utilization) = link.utilization {
            assert!((0.0..=1.0).contains(&utilization), "{}: {utilization} of {}", run.qdisc, link.rate_bps);
            assert!((link.throughput_bps - utilization * link.rate_bps).abs() <= 1e-9 * link.rate_bps);
        }
    }
}

#[test]
fn a_link_of_one_bit_per_second_sends_one_bit_per_second() {
    let runs = run(r#"
        duration = "10s"
        qdiscs = ["pfifo"]
        link.down = "1bit"
        link.up = "3bit"
        [[flows]]
        kind = "cbr"
        rate = "1mbit"
        [[flows]]
        kind = "cbr"
        direction = "up"
        start = "5s"
        rate = "1mbit"
    "#);
    let bottleneck = &runs[0].bottleneck;
    assert_eq!((bottleneck.down.throughput_bps, bottleneck.down.utilization), (1.0, Some(1.0)));
    // The link is idle for half of the time, and begins when the packet has come from its host.
    assert!((bottleneck.up.throughput_bps - 1.5).abs() < 1e-9, "{}", bottleneck.up.throughput_bps);
}

#[test]
fn windows_side_by_side_add_up_to_the_whole_on_every_sort_of_link() {
    for link in [
        r#""1mbit""#,
        // The rate changes while packets are on the wire.
        r#"{ schedule = [["0s", "1mbit"], ["3ms", "100kbit"], ["5ms", "0bit"], ["60ms", "7mbit"], ["62ms", "33kbit"],
           ["63ms", "2mbit"], ["90ms", "0bit"]] }"#,
        r#"{ trace = "TRACE" }"#,
        r#"{ rate = "1mbit", driver = "3p" }"#,
    ] {
        let trace = std::env::temp_dir().join(format!("goodqueue-throughput-{}", std::process::id()));
        std::fs::write(&trace, "3\n3\n9\n20\n41\n").expect("a directory for it");
        let link = link.replace("TRACE", &trace.display().to_string());
        let measured = |warmup: u32, duration: u32| {
            let mut runs = run(&format!(
                r#"
                duration = "{duration}ms"
                warmup = "{warmup}ms"
                qdiscs = ["pfifo"]
                link.down = {link}
                [[flows]]
                kind = "poisson"
                rate = "3mbit"
                packet = 700
                "#
            ));
            assert_is_possible(&runs[0]);
            runs.remove(0)
        };
        let whole = measured(0, 120);
        let sum: f64 = (0..8)
            .map(|part| measured(15 * part, 15 * (part + 1)))
            .map(|run| bits(&run, &run.bottleneck.down))
            .sum();
        std::fs::remove_file(&trace).expect("written above");
        let all = bits(&whole, &whole.bottleneck.down);
        assert!(all > 1000.0 && (all - sum).abs() < 1e-6, "{link}: {all} {sum}");
        let series = whole.series.as_ref().expect("asked for");
        let steps: f64 = series.queues.down.throughput_bps.iter().map(|bps| bps * series.step_s).sum();
        // The last step is not complete.
        assert!(all - steps < 7e6 * 700e-6 && all >= steps - 1e-6, "{link}: {all} {steps}");
    }
}

#[test]
fn poisson_datagrams_of_limited_length_have_their_rate() {
    for packet in ["1400", "{ exponential = 1400 }", "{ exponential = 100 }", "{ pareto = 900, shape = 1.2 }"]
    {
        let runs = run(&format!(
            r#"
            duration = "20s"
            qdiscs = ["pfifo"]
            link.down = "100mbit"
            link.framing = 0
            [[flows]]
            kind = "poisson"
            rate = "10mbit"
            packet = {packet}
            "#
        ));
        // At least 17,857 packets, so the standard deviation of the rate is below 0.8 %.
        let rate = runs[0].bottleneck.down.throughput_bps;
        assert!((rate / 10e6 - 1.0).abs() < 0.03, "{packet}: {rate}");
    }
}

#[test]
fn a_rate_that_falls_to_nearly_nothing_is_not_exceeded_by_the_packet_on_the_wire() {
    let runs = run(r#"
        duration = "4s"
        warmup = "2s"
        qdiscs = ["pfifo", "codel"]
        link.down = { schedule = [["0s", "10mbit"], ["1999999us", "1bit"]] }
        [[flows]]
        kind = "cbr"
        rate = "20mbit"
    "#);
    for run in &runs {
        assert_is_possible(run);
        assert!(run.bottleneck.down.utilization > Some(0.99), "{:?}", run.bottleneck.down.utilization);
    }
}

#[test]
fn airtime_is_the_time_that_passes_in_the_air() {
    let measured = |warmup: u32, duration: u32| {
        let runs = run(&format!(
            r#"
            duration = "{duration}ms"
            warmup = "{warmup}ms"
            qdiscs = ["pfifo"]
            [wifi]
            mcs = 0
            [[flows]]
            kind = "cbr"
            rate = "20mbit"
            "#
        ));
        let station = &runs[0].wifi.as_ref().expect("a channel").stations[0];
        (station.down.airtime_s + station.up.airtime_s, runs[0].duration_s)
    };
    let (whole, _) = measured(0, 60);
    let parts: Vec<(f64, f64)> = (0..60).map(|ms| measured(ms, ms + 1)).collect();
    assert!(parts.iter().all(|(airtime, span)| airtime <= span), "{parts:?}");
    let sum: f64 = parts.iter().map(|(airtime, _)| airtime).sum();
    assert!(whole > 0.03 && (whole - sum).abs() < 1e-9, "{whole} {sum}");
}
