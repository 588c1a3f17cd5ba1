//! L4S from end to end: Prague, alone and beside CUBIC, through a coupled discipline.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::{CbrSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::{Catalogue, Config as TcpConfig};

const MBIT: u64 = 40;
/// Step threshold of the low-latency queue (Linux sch_dualpi2).
const STEP_MS: f64 = 1.0;

fn dualpi2(mbit: u64) -> LinkConfig {
    let settings = Settings::new().with("variant", Value::Choice("linux"));
    let config = AnyConfig::from_settings("dualpi2", &settings, &Link::default()).expect("listed");
    LinkConfig::new(Capacity::Constant(Rate::from_bps(mbit * 1_000_000)), config.expect("valid"))
}

fn download(profile: &str, controller: &str) -> Traffic {
    let catalogue = Catalogue::new();
    let profile = catalogue.profile(profile).expect("listed");
    let known = catalogue.known(profile.variant(controller)).expect("listed");
    // `TCP_RTO_MIN` of Linux, also for the stack of the RFCs.
    let config = TcpConfig { min_rto: Duration::from_millis(200), ..profile.settings };
    Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: config.suited_to(known.about().needs).into(),
        congestion_control: known.make(),
        local_congestion: false,
    })
}

/// Runs until the windows have grown, and measures 30 s. The first window leaves as one burst,
/// whose mark ends slow start; a segment per round trip then needs up to 40 s for a window of 333.
fn simulate_at(mbit: u64, profile: &str, controllers: &[&str], rtt_ms: u64) -> Outcome {
    let warmup = if rtt_ms < 100 { 10 } else { 50 };
    let flow = |name: &&str| FlowConfig::new(download(profile, name), Duration::from_millis(rtt_ms));
    let flows = controllers.iter().map(flow).collect();
    let config = Config {
        warmup: Duration::from_secs(warmup),
        ..Config::new([dualpi2(mbit), dualpi2(mbit)], flows, Duration::from_secs(warmup + 30))
    };
    run(&config).expect("valid")
}

#[test]
fn datagrams_of_l4s_that_exceed_the_link_are_marked_and_others_are_dropped() {
    for l4s in [true, false] {
        // A tenth more than the link carries.
        let rate = Rate::from_bps(MBIT * 1_100_000);
        let load =
            Traffic::Cbr(CbrSettings { direction: Direction::Down, rate, bytes: 1500, ecn: false, l4s });
        let flows = vec![FlowConfig::new(load, Duration::from_millis(10))];
        let config = Config::new([dualpi2(MBIT), dualpi2(MBIT)], flows, Duration::from_secs(2));
        let marked = run(&config).expect("valid").links[0].stats.marked.packets;
        assert!((marked > 1_000) == l4s, "{marked}");
    }
}

#[test]
fn prague_alone_fills_the_link_with_a_queue_of_about_the_step() {
    for profile in ["rfc", "linux"] {
        for rtt in [10, 40, 100] {
            let outcome = simulate_at(MBIT, profile, &["prague"], rtt);
            let link = &outcome.links[0];
            let share = link.sent.bits() / link.capacity.bits();
            let queue = link.sojourn_mean.expect("packets left") * 1e3;
            println!("{profile} {rtt} ms: {share:.4} of the link, {queue:.3} ms");
            assert!(share >= 0.95, "{profile}, {rtt} ms: {share} of the link");
            assert!(queue <= 1.5 * STEP_MS, "{profile}, {rtt} ms: {queue} ms");
            assert_eq!(outcome.flows[0].tally.retransmits, 0);
            assert!(link.stats.marked.packets > 0);
        }
    }
}

#[test]
fn prague_gets_two_thirds_of_a_link_beside_cubic_as_measured() {
    // Linux 7.3 with the rules of TCP Prague gives 61.3 and 32.9 Mbit/s at 100 Mbit/s with 30 ms
    // (`goodqueue validate --set-up prague-7.3/dualpi2-100-30`). The classic queue of 15 ms makes
    // the path of CUBIC longer.
    let measured = 61.3 / (61.3 + 32.9);
    for profile in ["rfc", "linux"] {
        let outcome = simulate_at(100, profile, &["prague", "cubic"], 30);
        let [prague, cubic] = [0, 1].map(|flow| outcome.flows[flow].tally.delivered as f64);
        let share = prague / (prague + cubic);
        println!("{profile}: {share:.3}, measured {measured:.3}");
        assert!((share - measured).abs() < 0.05, "{profile}: {share}");
    }
}
