//! The fallback of Prague at classic AQMs, beside what the real one did. L. Hagen counted in Linux
//! 5.15 how often Prague cut its window in each state of its detector
//! (github.com/Greenscreen23/prague-fallback-experiments, commit 5462b1f, data/extend.csv, kernel
//! `with-patch`): one run of 70 s beside CUBIC for each set-up.

use std::cell::Cell;

use goodqueue::config::{Child, Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Traffic, run};
use goodqueue_tcp::congestion::parameter::Value as Parameter;
use goodqueue_tcp::congestion::{
    About, Ack, Congestion, CongestionControl, Controller, Feedback, Pacing, Window,
};
use goodqueue_tcp::{Catalogue, Config as TcpConfig};
use goodqueue_tcp_historic::congestion::prague_515::Prague515;

const MBIT: u64 = 1_000_000;

thread_local! {
    /// Cuts of the window, at a queue that counts as L4S and at another.
    static CUTS: Cell<[u32; 2]> = const { Cell::new([0, 0]) };
}

/// Prague that counts its cuts.
#[derive(Clone, Debug)]
struct Counting(Prague515);

impl Default for Counting {
    fn default() -> Self {
        let mut prague = Prague515::default();
        prague.set("ecn_fallback", Parameter::Count(1));
        Self(prague)
    }
}

impl CongestionControl for Counting {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        self.0.on_ack(ack, cwnd)
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        self.0.on_congestion(event)
    }

    fn on_idle(&mut self, now: Instant, idle: Duration) {
        self.0.on_idle(now, idle);
    }

    fn on_undo(&mut self) {
        self.0.on_undo();
    }

    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let before = self.0.last_cut();
        let is_classic = self.0.least_alpha() > 0.0;
        self.0.on_feedback(feedback, window);
        if self.0.last_cut() != before {
            let mut cuts = CUTS.get();
            cuts[usize::from(is_classic)] += 1;
            CUTS.set(cuts);
        }
    }

    fn pacing(&self) -> Pacing {
        self.0.pacing()
    }
}

impl Controller for Counting {
    const ABOUT: About = About { name: "counting", ..Prague515::ABOUT };
}

/// Returns the cuts at a queue that counts as L4S and at another, beside CUBIC.
fn cuts(discipline: &'static str, mbit: u64, rtt_ms: u64) -> [u32; 2] {
    let catalogue = Catalogue::new().with_controller::<Counting>();
    let profile = catalogue.profile("linux").expect("listed");
    let download = |controller: &str| {
        let known = catalogue.known(profile.variant(controller)).expect("listed");
        let ecn = TcpConfig { ecn: true, accecn: true, ..profile.settings };
        Traffic::Tcp(TcpSettings {
            direction: Direction::Down,
            size: None,
            config: ecn.suited_to(known.about().needs).into(),
            congestion_control: known.make(),
            local_congestion: false,
        })
    };
    let flows = ["counting", "cubic"]
        .map(|name| FlowConfig::new(download(name), Duration::from_millis(rtt_ms)))
        .to_vec();
    // Eight times what is on the way.
    let settings = Settings::new().with("limit", Value::Packets(mbit * rtt_ms * 1000 / 1500 + 1));
    let target = Value::Time(Duration::from_millis(5));
    let settings = match discipline {
        "codel" => settings.with("ecn", Value::Flag(true)),
        _ => settings
            .with("variant", Value::Choice("linux"))
            .with("target", target)
            .with("min_qlen_step", Value::Packets(2)),
    };
    let class = Child {
        class: 1,
        parent: 0,
        settings: Settings::new().with("rate", Value::Rate(Rate::from_bps(mbit * MBIT))),
        qdisc: Some((discipline, settings)),
    };
    let shaped = Settings::new().with("default", Value::Class(1)).with_child(class);
    let fast = |name: &'static str, settings: &Settings| {
        let queue = AnyConfig::from_settings(name, settings, &Link::default()).expect("listed");
        LinkConfig::new(Capacity::Constant(Rate::from_bps(10_000 * MBIT)), queue.expect("valid"))
    };
    let links = [fast("htb", &shaped), fast("pfifo", &Settings::new())];
    CUTS.set([0, 0]);
    run(&Config::new(links, flows, Duration::from_secs(70))).expect("valid");
    CUTS.get()
}

#[test]
fn the_detector_is_in_the_state_of_the_real_one_and_the_window_is_cut_as_often() {
    // Rate, round-trip time, and the cuts of Linux at L4S and classic.
    let published = [
        ("codel", 4, 16, [2, 719]),
        ("codel", 16, 16, [2, 348]),
        ("codel", 32, 32, [3, 93]),
        ("dualpi2", 4, 16, [27, 1057]),
        ("dualpi2", 8, 16, [1435, 0]),
        ("dualpi2", 16, 32, [1290, 0]),
        ("dualpi2", 32, 16, [1563, 0]),
    ];
    for (discipline, mbit, rtt_ms, real) in published {
        let here = cuts(discipline, mbit, rtt_ms);
        println!("{discipline} {mbit} Mbit/s {rtt_ms} ms: {here:?}, Linux {real:?}");
        let near = |here: u32, real: u32| here.abs_diff(real) <= (real / 8).max(12);
        assert!(
            near(here[0], real[0]) && near(here[1], real[1]),
            "{discipline} {mbit} {rtt_ms}: {here:?}, {real:?}"
        );
    }
}
