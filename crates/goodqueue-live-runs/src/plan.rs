//! From a run of a scenario to a live session of the kernel.

use goodqueue::Instant;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue_live::bottleneck::{BottleneckConfig, DEFAULT_MEMORY};
use goodqueue_live::link::{Delay, LinkConfig};
use goodqueue_live::namespace::{End, default_ends};
use goodqueue_live::netlink::RouteTcp;
use goodqueue_live::session::Session;
use goodqueue_live::traffic::{FlowKind, FlowSpec, Page, TcpOptions};
use goodqueue_scenario::run::RunSpec;
use goodqueue_sim as sim;
use goodqueue_sim::traffic::Habits;
use goodqueue_tc::diagnostic::Diagnostic;

/// Returns the run as a live session, and remarks on differences caused by the kernel.
pub(crate) fn session(run: &RunSpec, mtu: u32) -> Result<(Session, Vec<String>), Diagnostic> {
    let config = &run.config;
    if !config.before.is_empty() || !config.after.is_empty() {
        return Err(Diagnostic::new(
            "a live run has a single bottleneck, but this scenario has further links",
        )
        .help("omit `hops`, or simulate the scenario"));
    }
    if config.wifi.is_some() {
        return Err(Diagnostic::new(
            "a live run has a single bottleneck, but this scenario also has a WiFi channel",
        )
        .help("omit `wifi`, or simulate the scenario"));
    }
    if config.links.iter().any(|link| link.driver.is_some()) {
        return Err(Diagnostic::new("a live bottleneck has no device queue below the discipline")
            .help("omit `driver`, or simulate the scenario"));
    }
    if config.links.iter().any(|link| link.grants.is_some()) {
        return Err(Diagnostic::new("a live bottleneck sends whenever it is free, without `grants`")
            .help("omit `grants`, or simulate the scenario"));
    }
    let mut settings = TcpSettings::default();
    let end = Instant::ZERO + config.duration;
    let mut flows = Vec::new();
    for (number, flow) in (0_u64..).zip(&config.flows) {
        flows.push(FlowSpec {
            kind: kind(&flow.traffic, config, number, &mut settings)?,
            start: flow.start.min(end),
            stop: flow.stop.unwrap_or(end).min(end),
            rtt: flow.rtt,
        });
    }
    let links = [0, 1].map(|index: usize| LinkConfig {
        capacity: config.links[index].capacity.clone(),
        qdisc: config.links[index].qdisc.clone(),
        path: None,
        delay: Delay::default(),
        framing: config.framing,
        salt: 0,
        // Runs with different seeds share no seed of a direction.
        seed: config.seed.wrapping_mul(2).wrapping_add(index as u64),
    });
    let (sysctls, tcp, remarks) = settings.granted();
    // Follows the advice for measurements of AQMs (bufferbloat.net, "Best practices for
    // benchmarking CoDel and FQ CoDel"): bursts that the sender's kernel makes are not part of the
    // comparison.
    let ends =
        default_ends(mtu).map(|end| End { tcp, segment_at_sender: true, sysctls: sysctls.clone(), ..end });
    // Receivers get each packet by itself, as senders send it.
    let bottleneck = BottleneckConfig { links, memory: DEFAULT_MEMORY, batch: None, couple: false };
    let session = Session {
        bottleneck,
        ends,
        flows,
        duration: config.duration,
        warmup: config.warmup,
        step: config.series_step,
    };
    Ok((session, remarks))
}

/// TCP settings of a scenario. The kernel has some of them per namespace only.
#[derive(Default)]
struct TcpSettings {
    configs: Vec<goodqueue_tcp::Config>,
}

impl TcpSettings {
    fn granted(&self) -> (Vec<(String, String)>, RouteTcp, Vec<String>) {
        let mut remarks = Vec::new();
        let mut sysctls = Vec::new();
        let mut tcp = RouteTcp::default();
        let Some(first) = self.configs.first() else { return (sysctls, tcp, remarks) };
        let all = |same: &dyn Fn(&goodqueue_tcp::Config) -> bool| self.configs.iter().all(same);
        if !all(&|config| {
            (config.ecn, config.accecn, config.sack, config.iw, config.min_rto)
                == (first.ecn, first.accecn, first.sack, first.iw, first.min_rto)
        }) {
            remarks.push(
                "all live flows share ecn, sack, iw and min_rto: those of the first flow are used".to_owned(),
            );
        }
        // Values of `tcp_ecn` (ip-sysctl in the kernel's documentation): 1 requests ECN, 3 AccECN.
        let ecn = match (first.ecn, first.accecn) {
            (false, _) => "0",
            (true, false) => "1",
            (true, true) => "3",
        };
        sysctls.push(("ipv4/tcp_ecn".to_owned(), ecn.to_owned()));
        sysctls.push(("ipv4/tcp_sack".to_owned(), if first.sack { "1" } else { "0" }.to_owned()));
        // The kernel's own defaults are not set (`TCP_INIT_CWND`, `TCP_RTO_MIN`).
        tcp.initial_window = Some(first.iw).filter(|iw| *iw != 10);
        tcp.min_rto_ms = u32::try_from(first.min_rto.as_nanos() / 1_000_000).ok().filter(|ms| *ms != 200);
        (sysctls, tcp, remarks)
    }
}

fn kind(
    traffic: &sim::Traffic,
    config: &sim::Config,
    number: u64,
    settings: &mut TcpSettings,
) -> Result<FlowKind, Diagnostic> {
    if is_l4s(traffic) {
        return Err(Diagnostic::new("L4S packets can only be simulated").allowed("l4s = false in a live run"));
    }
    let mut options = |tcp: &goodqueue_tcp::Config, cc: &str| {
        settings.configs.push(*tcp);
        TcpOptions {
            congestion_control: kernel_name(cc).to_owned(),
            // The path decides about larger segments.
            mss: Some(tcp.mss).filter(|mss| *mss < DEFAULT_MSS),
        }
    };
    Ok(match traffic {
        sim::Traffic::Tcp(tcp) => FlowKind::Bulk {
            direction: tcp.direction,
            size: tcp.size,
            tcp: options(&tcp.config, tcp.congestion_control.about().name),
        },
        sim::Traffic::Ping(ping) => FlowKind::Ping { interval: ping.interval, bytes: ping.bytes },
        sim::Traffic::Cbr(cbr) => FlowKind::Datagrams {
            direction: cbr.direction,
            interval: cbr.rate.serialization(cbr.bytes),
            bytes: cbr.bytes,
            ecn: cbr.ecn,
        },
        sim::Traffic::Voip(voip) => FlowKind::Datagrams {
            direction: voip.direction,
            interval: voip.interval,
            bytes: voip.bytes,
            ecn: voip.ecn,
        },
        sim::Traffic::Transfers(transfers) => {
            // A flow's transfers depend on the seed and its number, and not on the flows in front
            // of it.
            let mut random = Xoshiro256PlusPlus::stream(config.seed, PIECES ^ number);
            let Habits { size, think, persistent, count } = transfers.habits;
            // All sizes and pauses are drawn before the run begins, so a user without end needs a
            // bound.
            let count = count.unwrap_or(MOST_PIECES).min(MOST_PIECES);
            let pieces =
                (0..count).map(|_| (size.draw_bytes(&mut random), think.draw_time(&mut random))).collect();
            FlowKind::Transfers {
                direction: transfers.direction,
                pieces,
                request: transfers.request,
                persistent,
                tcp: options(&transfers.config, transfers.congestion_control.about().name),
            }
        }
        sim::Traffic::Web(web) => FlowKind::Web {
            direction: web.direction,
            page: Page {
                objects: web.page.objects().to_vec(),
                connections: web.connections,
                request: web.request,
                interval: web.interval,
            },
            tcp: options(&web.config, web.congestion_control.about().name),
        },
        other => {
            return Err(Diagnostic::new(format!("`{}` traffic can only be simulated", other.kind()))
                .allowed("tcp, ping, cbr, voip, transfers, web in a live run"));
        }
    })
}

/// Returns true if packets of a flow are to carry ECT(1). The kernels that this runs on cannot send
/// such packets.
fn is_l4s(traffic: &sim::Traffic) -> bool {
    match traffic {
        sim::Traffic::Tcp(tcp) => tcp.config.l4s,
        sim::Traffic::Transfers(transfers) => transfers.config.l4s,
        sim::Traffic::Web(web) => web.config.l4s,
        sim::Traffic::Ping(ping) => ping.l4s,
        _ => false,
    }
}

/// Returns the kernel's name of a congestion control.
fn kernel_name(name: &str) -> &str {
    match name {
        // The kernel's `reno` has NewReno's recovery (RFC 6582).
        "newreno" => "reno",
        "tcp_lp" => "lp",
        "cubic_linux" | "cubic_ns2" => "cubic",
        other => other,
    }
}

/// The maximum segment size on Ethernet: 1500 bytes less 40 of headers.
const DEFAULT_MSS: u32 = 1460;
/// Largest number of transfers.
const MOST_PIECES: u64 = 100_000;
// "pieces" in ASCII.
/// Keeps these random numbers apart from all others of the seed.
const PIECES: u64 = 0x7069_6563_6573;

#[cfg(test)]
mod tests {
    use goodqueue::Direction;
    use goodqueue_scenario::run::Runs as _;
    use goodqueue_scenario::scenario::Document;
    use goodqueue_scenario::session::Session as Runs;

    use super::*;

    #[test]
    fn pages_come_from_a_server_at_either_side() {
        for (word, expected) in [("down", Direction::Down), ("up", Direction::Up)] {
            let mut document = Document::default();
            let flows = format!("[{{ kind = \"web\", direction = \"{word}\" }}]");
            document.set("here", "flows", &flows).unwrap();
            let runs = Runs::new(&document).unwrap();
            let planned = session(&runs.spec(0).unwrap(), 1500).unwrap().0;
            let FlowKind::Web { direction, .. } = &planned.flows[0].kind else { panic!("{planned:?}") };
            assert_eq!(*direction, expected);
        }
    }
}
