//! Hosts with a discipline of their own: pacing by `fq`, TCP small queues, and flows that share
//! the queue of their server.

use std::sync::Arc;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::{PingSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::Catalogue;

const MBIT: u64 = 1_000_000;
const SECONDS: u64 = 20;

fn discipline(name: &str, settings: &Settings) -> AnyConfig {
    AnyConfig::from_settings(name, settings, &Link::default()).expect("listed").expect("valid")
}

fn host(name: &str) -> Option<Arc<AnyConfig>> {
    Some(discipline(name, &Settings::new()).into())
}

fn download(profile: &str, controller: &str) -> Traffic {
    let catalogue = Catalogue::new();
    let profile = catalogue.profile(profile).expect("listed");
    let known = catalogue.known(profile.variant(controller)).expect("listed");
    Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: profile.settings.suited_to(known.about().needs).into(),
        congestion_control: known.make(),
        local_congestion: false,
    })
}

/// A flow with a round-trip time of 20 ms, whose hosts have links of `mbit`.
fn flow(traffic: Traffic, mbit: u64, host_qdisc: Option<Arc<AnyConfig>>) -> FlowConfig {
    let access_rate = Some(Rate::from_bps(mbit * MBIT));
    FlowConfig { access_rate, host_qdisc, ..FlowConfig::new(traffic, Duration::from_millis(20)) }
}

/// Runs flows over a bottleneck of 40 Mbit/s.
fn simulate(bottleneck: &AnyConfig, flows: Vec<FlowConfig>) -> Outcome {
    let capacity = Capacity::Constant(Rate::from_bps(40 * MBIT));
    let link = LinkConfig::new(capacity, bottleneck.clone());
    let warmup = Duration::from_secs(5);
    let config = Config { warmup, ..Config::new([link.clone(), link], flows, Duration::from_secs(SECONDS)) };
    run(&config).expect("valid")
}

fn mbit_of(outcome: &Outcome, flow: usize) -> f64 {
    let seconds = outcome.measured.as_nanos() as f64 * 1e-9;
    outcome.flows[flow].tally.delivered as f64 * 8e-6 / seconds
}

fn queue_ms(outcome: &Outcome) -> f64 {
    outcome.links[0].sojourn_mean.expect("packets left") * 1e3
}

/// Returns the longest round-trip time of a ping in milliseconds.
fn longest_ms(outcome: &Outcome, flow: usize) -> f64 {
    let trips = outcome.flows[flow].round_trips.iter().filter_map(|trip| trip.time);
    trips.max().expect("answers arrived").as_nanos() as f64 * 1e-6
}

#[test]
fn fq_at_the_server_paces_like_the_sender_itself() {
    let dualpi2 = discipline("dualpi2", &Settings::new().with("variant", Value::Choice("linux")));
    for controller in ["prague", "bbr", "bbr3"] {
        let of_host = |qdisc| simulate(&dualpi2, vec![flow(download("linux", controller), 1000, qdisc)]);
        let [own, fq] = [None, host("fq")].map(of_host);
        let [own_rate, fq_rate] = [&own, &fq].map(|outcome| mbit_of(outcome, 0));
        let [own_queue, fq_queue] = [&own, &fq].map(queue_ms);
        println!("{controller}: {own_rate:.3} and {fq_rate:.3} Mbit/s, {own_queue:.3} and {fq_queue:.3} ms");
        assert!((fq_rate / own_rate - 1.0).abs() < 0.02, "{controller}: {own_rate} and {fq_rate} Mbit/s");
        assert!((fq_queue - own_queue).abs() < 0.5, "{controller}: {own_queue} and {fq_queue} ms");
    }
}

#[test]
fn fq_at_the_server_paces_a_controller_that_does_not_pace() {
    let pfifo = discipline("pfifo", &Settings::new().with("limit", Value::Packets(1000)));
    let of_host = |qdisc| {
        let first = vec![flow(download("linux", "cubic"), 1000, qdisc)];
        let capacity = Capacity::Constant(Rate::from_bps(400 * MBIT));
        let link = LinkConfig::new(capacity, pfifo.clone());
        // The window doubles for some round trips, and does not fill the path yet.
        run(&Config::new([link.clone(), link], first, Duration::from_millis(130))).expect("valid")
    };
    let [unpaced, paced] = [host("pfifo"), host("fq")].map(of_host);
    let [bursts, spread] = [&unpaced, &paced].map(queue_ms);
    println!("{bursts:.3} and {spread:.3} ms");
    assert!(spread < 0.25 * bursts, "{bursts} ms unpaced, {spread} ms paced");
}

#[test]
fn fq_lets_a_thin_flow_pass_a_bulk_flow_of_its_server() {
    let pfifo = discipline("pfifo", &Settings::new());
    let ping = Traffic::Ping(PingSettings { interval: Duration::from_millis(50), bytes: 84, l4s: false });
    // The link of the server is the bottleneck, and the stack of the RFCs fills its queue.
    let beside = |name| {
        let bulk = flow(download("rfc", "cubic"), 20, host(name));
        simulate(&pfifo, vec![bulk, flow(ping.clone(), 20, host(name))])
    };
    let [in_fifo, in_fq] = ["pfifo", "fq"].map(|name| longest_ms(&beside(name), 1));
    println!("{in_fifo:.3} and {in_fq:.3} ms");
    assert!(in_fifo > 100.0, "the thin flow waits behind the bulk flow: {in_fifo} ms");
    assert!(in_fq < 23.0, "the thin flow passes: {in_fq} ms");
}

#[test]
fn tcp_small_queues_keep_a_bulk_flow_of_linux_from_filling_its_hosts_queue() {
    let pfifo = discipline("pfifo", &Settings::new());
    let ping = Traffic::Ping(PingSettings { interval: Duration::from_millis(50), bytes: 84, l4s: false });
    let bulk = flow(download("linux", "cubic"), 20, host("pfifo"));
    let outcome = simulate(&pfifo, vec![bulk, flow(ping, 20, host("pfifo"))]);
    let longest = longest_ms(&outcome, 1);
    println!("{longest:.3} ms, {:.3} Mbit/s", mbit_of(&outcome, 0));
    assert!(longest < 40.0, "{longest} ms");
    assert!(mbit_of(&outcome, 0) > 18.0, "and the link is full: {}", mbit_of(&outcome, 0));
}
