//! TCP over a path with random loss, compared with the formulas of the literature.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Traffic, run};
use goodqueue_tcp::{AnyCongestionControl, DelayedAck};

/// Returns the segments per second of one flow with this congestion control and an ACK for each
/// segment. The path has a round-trip time of 100 ms, no queue, and drops each packet on the way
/// down with probability `loss`.
fn rate(congestion_control: &str, loss: f64) -> f64 {
    let path = Settings::new().with("limit", Value::Packets(100_000)).with("loss", Value::Probability(loss));
    let made = |kind: &str, settings: &Settings| {
        AnyConfig::from_settings(kind, settings, &Link::default()).expect("listed").expect("valid")
    };
    let line = |config| LinkConfig::new(Capacity::Constant(Rate::from_bps(1_000_000_000)), config);
    let config = goodqueue_tcp::Config { delayed_ack: DelayedAck::OFF, ..goodqueue_tcp::Config::default() };
    let traffic = Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: config.into(),
        congestion_control: AnyCongestionControl::by_name(congestion_control).expect("listed"),
        local_congestion: false,
    });
    let links = [line(made("netem", &path)), line(made("pfifo", &Settings::new()))];
    let flows = vec![FlowConfig::new(traffic, RTT)];
    let outcome = run(&Config {
        warmup: Duration::from_secs(50),
        ..Config::new(links, flows, Duration::from_secs(2_050))
    })
    .expect("valid");
    #[expect(clippy::cast_precision_loss, reason = "bytes of a test")]
    let segments = outcome.flows[0].tally.delivered as f64 / f64::from(config.payload());
    // 2000 s are measured.
    segments / 2000.0
}

const RTT: Duration = Duration::from_millis(100);

#[test]
fn newreno_with_sack_lies_between_pftk_and_mathis_under_random_loss() {
    for loss in [0.001_f64, 0.003, 0.01] {
        let measured = rate("newreno", loss);
        // Mathis et al. 1997, for random loss: C = 1.31 with an ACK for each segment.
        let mathis = 1.31 / 0.1 / loss.sqrt();
        // Padhye et al. 1998 with b = 1 and T0 = 1 s, the smallest RTO of RFC 6298. The formula
        // counts every packet after a loss in the same round as lost, which SACK avoids.
        let timeouts = (3.0 * (3.0 * loss / 8.0).sqrt()).min(1.0) * loss * (1.0 + 32.0 * loss * loss);
        let pftk = 1.0 / (0.1 * (2.0 * loss / 3.0).sqrt() + timeouts);
        assert!(
            measured > pftk && measured < mathis,
            "loss {loss}: {measured}, PFTK {pftk}, Mathis {mathis}"
        );
    }
}
