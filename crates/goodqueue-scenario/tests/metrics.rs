//! The figures of a run, from a scenario to its result.

use std::path::Path;

use goodqueue_scenario::library::{SCENARIOS, load_builtin};
use goodqueue_scenario::results::{Grade, Run};
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_scenario::summary::over_seeds;
use goodqueue_scenario::sweep;

fn run(text: &str) -> Vec<Run> {
    let document = Document::parse("load.toml", text, Path::new("")).expect("a table");
    let points = sweep::expand(&document, &Names::default()).expect("valid");
    let session = Session::from_runs(runs_of(&points, None).expect("valid")).threads(1);
    session.run(&NoWatch).expect("runs").runs()
}

#[test]
fn a_full_queue_is_a_spike_of_its_whole_time_and_its_whole_limit() {
    let runs = run(r#"
        duration = "10s"
        warmup = "2s"
        qdiscs = ["bfifo limit 15140", "pfifo limit 20"]
        link.down = "10mbit"
        [[flows]]
        kind = "cbr"
        rate = "20mbit"
        [output]
        spikes = [10000, "20kb", 40000]
    "#);
    for (run, packets) in runs.iter().zip([10.0, 20.0]) {
        let down = &run.bottleneck.down;
        let share = down.queue_share.expect("both have a limit");
        assert!(share > 0.9 && share <= 1.0, "{share}");
        // The queues hold 15,140 and 30,280 bytes, and 20kb are 20,480 bytes.
        let expected = [8.0, if packets > 10.0 { 8.0 } else { 0.0 }, 0.0];
        for (spike, seconds) in down.spikes.iter().zip(expected) {
            assert!((spike.longest_s - seconds).abs() < 1e-9, "{spike:?}");
            assert!((spike.total_s - seconds).abs() < 1e-9, "{spike:?}");
        }
        let losses = run.flows[0].losses.expect("watched");
        assert!((losses.share.expect("sent") - 0.5).abs() < 0.02, "{losses:?}");
        // Every round-trip time a new loss event, with half of the packets of 50 ms.
        assert!((losses.interval_s.expect("events") - 0.05).abs() < 0.003, "{losses:?}");
        assert!((losses.packets_per_event.expect("events") - 42.0).abs() < 3.0, "{losses:?}");
        assert!(run.bottleneck.up.spikes.iter().all(|spike| spike.longest_s == 0.0));
    }
}

#[test]
fn flows_start_up_in_a_round_trip_and_a_half_and_lose_together_when_a_fifo_is_full() {
    let runs = run(r#"
        duration = "60s"
        qdiscs = ["pfifo limit 60"]
        link.down = "10mbit"
        [[flows]]
        label = "many"
        count = 4
        start_jitter = "3s"
        [[flows]]
        direction = "up"
        count = 2
        start_jitter = "3s"
        [[flows]]
    "#);
    let [run] = runs.as_slice() else { panic!("one run") };
    for flow in &run.flows {
        let startup = flow.startup_s.expect("data arrived");
        // A SYN that the queue drops costs a second.
        assert!((0.075..2.5).contains(&startup), "{startup}");
    }
    let groups = &run.fairness.groups;
    assert_eq!((groups.len(), groups[0].group.as_str(), groups[0].flows), (2, "many", 4));
    assert_eq!((groups[1].group.as_str(), groups[1].flows), ("1", 2));
    assert!(groups.iter().all(|group| group.jain_goodput.is_some_and(|jain| jain > 0.5 && jain <= 1.0)));
    let together = run.loss_synchronization.down.expect("five flows and drops");
    assert!((0.2..=1.0).contains(&together), "{together}");
}

#[test]
fn a_call_over_a_path_with_known_loss_and_delay_is_heard_as_the_model_says() {
    let runs = run(r#"
        duration = "200s"
        qdiscs = ["pfifo"]
        [link]
        down = "10mbit"
        rtt = "200ms"
        [[hops]]
        name = "lossy"
        qdisc = "netem loss 1%"
        [[flows]]
        kind = "voip"
        label = "call"
        dscp = "EF"
    "#);
    let call = runs[0].probes.voip.as_deref().expect("a call");
    assert_eq!(runs[0].flows[0].voip.as_deref(), Some(call));
    assert_eq!(runs[0].flows[0].label.as_deref(), Some("call"));
    let loss = call.loss.expect("sent");
    // 10,000 packets: three standard deviations are 0.3 %.
    assert!((loss - 0.01).abs() < 0.003, "{loss}");
    let delay = call.one_way_delay_s.mean.expect("arrived");
    assert!((delay - 0.1).abs() < 0.001, "{delay}");
    // 25.1 is `CONCEALED`: calls conceal lost packets by default.
    let model = goodqueue_scenario::emodel::mos(goodqueue_scenario::emodel::rating(delay, loss, 25.1));
    assert!((call.mos.expect("heard") - model).abs() < 1e-12);
    assert!(call.jitter_s.expect("arrived") < 1e-6 && call.delay_variation_s.max.expect("arrived") < 1e-6);
    assert!((call.loss_pattern.mean_run.expect("lost") - 1.0 / 0.99).abs() < 0.05);
}

#[test]
fn several_seeds_have_a_mean_and_an_interval_of_every_figure() {
    let load = "duration = \"5s\"\nqdiscs = [\"codel\", \"pie\"]\nflows = 1\n";
    assert!(over_seeds(&run(load)).is_empty(), "one seed has none");
    let runs = run(&format!("{load}seeds = 3\n"));
    let summary = over_seeds(&runs);
    assert_eq!((summary.len(), summary[0].seeds, summary[1].qdisc.as_str()), (2, 3, "pie"));
    let goodput = summary[0].figures["goodput.down"];
    let mean = runs[..3].iter().map(|run| run.goodput.down).sum::<f64>() / 3.0;
    assert!((goodput.mean - mean).abs() < 1e-6 && goodput.count == 3);
    assert!(goodput.ci95.expect("three seeds") > 0.0);
    assert!(summary[0].figures.contains_key("bottleneck.down.sojourn_s.p95"));
    assert!(!summary[0].figures.contains_key("seed"));
}

#[test]
fn a_slow_modem_stops_the_router_before_it_for_the_rest_of_the_time() {
    let text = |pause: &str| {
        format!(
            "duration = \"20s\"\nqdiscs = [\"pfifo\"]\n[link]\ndown = \"100mbit\"\nup = \"100mbit\"\nrtt = \"50ms\"\n\
             [[hops]]\nside = \"server\"\ndown = \"100mbit\"\nup = {{ rate = \"2mbit\"{pause} }}\n\
             [[flows]]\ndirection = \"up\"\n"
        )
    };
    let stopped = &run(&text(", pause = { high = \"3028b\" }"))[0].bottleneck;
    let pauses = stopped.up.pauses.expect("the modem pauses it");
    // The router sends 2 of 100 Mbit/s. While it has a queue it is paused for the rest.
    assert!((0.97..0.99).contains(&pauses.share), "{}", pauses.share);
    assert!((pauses.time_s / 20.0 - pauses.share).abs() < 1e-9);
    assert!(pauses.frames > 1000, "each packet that leaves the modem allows another one: {}", pauses.frames);
    assert_eq!(stopped.down.pauses, None, "nothing pauses this direction");
    assert_eq!(run(&text(""))[0].bottleneck.up.pauses, None);
}

#[test]
fn an_upload_that_ends_early_does_not_starve_the_rest_of_the_run() {
    let grades = |stop: &str, qdisc: &str| -> Vec<Option<Grade>> {
        let runs = run(&format!(
            "duration = '30s'\nqdiscs = ['{qdisc}']\nlink = {{ down = '50mbit', up = '10mbit', rtt = '25ms' }}\n\
             [[flows]]\ndirection = 'up'\nstart = '5s'\nstop = '{stop}'\n[[flows]]\nkind = 'ping'\n"
        ));
        assert!(runs[0].bottleneck.up.drops.values().sum::<u64>() > 0, "{qdisc} drops");
        runs.iter().map(|run| run.grade).collect()
    };
    // The upload uses its link well for 5 of 30 s, and nobody wants the link afterwards.
    assert_eq!(grades("10s", "fq_codel"), [Some(Grade::APlus)]);
    // A fifth of the link is starvation, however long the upload lasts. The bucket's queue of five
    // packets hardly delays the ping.
    let policed = "tbf rate 2mbit burst 3000 limit 6000";
    assert_eq!(grades("10s", policed), [Some(Grade::C)]);
    assert_eq!(grades("30s", policed), [Some(Grade::C)]);
}

#[test]
fn the_ping_of_rrul_10_1_waits_as_long_as_is_expected() {
    let mut document = load_builtin("rrul-10-1").expect("it comes along");
    let text = SCENARIOS.iter().find(|entry| entry.name == "rrul-10-1").expect("it comes along").text;
    assert!(text.contains("expect = \"Hundreds of milliseconds under pfifo, tens under AQM"), "{text}");
    let qdiscs = ["pfifo limit 127", "pie"].map(str::to_owned).to_vec();
    document.apply(&Overrides { qdiscs, ..Overrides::default() }).expect("known keys");
    let points = sweep::expand(&document, &Names::default()).expect("valid");
    let runs = Session::from_runs(runs_of(&points, None).expect("valid")).threads(1).run(&NoWatch);
    let waits = runs.expect("runs").runs().into_iter().map(|run| run.induced_latency_s.mean.expect("pings"));
    let [pfifo, pie] = waits.collect::<Vec<_>>()[..] else { panic!("two disciplines") };
    assert!((0.1..1.0).contains(&pfifo), "{pfifo}");
    assert!((0.01..0.1).contains(&pie), "{pie}");
}
