//! `compare --live`: makes the runs of a simulation with the kernel's TCP over a live bottleneck.
//!
//! A run becomes a live session, and the session's measurements take the form of a simulation's
//! outcome. From there on the same code computes the results.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use goodqueue::gauge::Observation;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{Count, Duration, Instant};
use goodqueue_live::bottleneck::{BottleneckConfig, DEFAULT_MEMORY};
use goodqueue_live::capacity::Capacity;
use goodqueue_live::link::{Delay, LinkConfig};
use goodqueue_live::meter::Step;
use goodqueue_live::namespace::{End, default_ends};
use goodqueue_live::netlink::RouteTcp;
use goodqueue_live::observer::Direction;
use goodqueue_live::process::{self, Forked};
use goodqueue_live::session::{FlowOutcome, Session, SessionOutcome};
use goodqueue_live::traffic::{FlowKind, FlowSpec, FlowTally, Page, Sample, TcpOptions};
use goodqueue_scenario::measure;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::RunSpec;
use goodqueue_sim as sim;
use goodqueue_sim::traffic::WebSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::{discarded, seconds, too_busy};

/// The results of one live run.
#[derive(Debug)]
pub(crate) struct LiveRun {
    /// The results.
    pub(crate) run: Run,
    /// Remarks for the user.
    pub(crate) remarks: Vec<String>,
    /// Why the machine was too busy for the results to be judged, if it was.
    pub(crate) disturbed: Option<String>,
}

/// Makes one run in its own process, which ends all its programs with itself. `mtu` is the link's.
pub(crate) fn execute(run: &RunSpec, mtu: u32) -> Result<LiveRun, Diagnostic> {
    // Unsupported runs are refused before any work.
    let (session, remarks) = session(run, mtu)?;
    let failed = |error: std::io::Error| Diagnostic::new(format!("a live run cannot be started: {error}"));
    let (read, write) = std::io::pipe().map_err(failed)?;
    match process::fork_together().map_err(|errno| failed(errno.into()))? {
        Forked::Child => {
            drop(read);
            let answer = match session.run() {
                Ok(outcome) => json!({
                    "remarks": told(&outcome),
                    "disturbed": too_busy(outcome.counters.latest, outcome.kernel_drops),
                    "run": figures(run, &outcome),
                }),
                Err(error) => json!({"error": error.problem(), "help": error.advice()}),
            };
            let _ = File::from(OwnedFd::from(write)).write_all(answer.to_string().as_bytes());
            process::leave(0)
        }
        Forked::Parent(_) => {
            drop(write);
            let mut answer = Vec::new();
            File::from(OwnedFd::from(read)).read_to_end(&mut answer).map_err(failed)?;
            understand(&answer, remarks)
        }
    }
}

fn understand(answer: &[u8], mut remarks: Vec<String>) -> Result<LiveRun, Diagnostic> {
    let mut answer: Value = serde_json::from_slice(answer)
        .map_err(|_| Diagnostic::new("the process of a live run ended too early"))?;
    if let Some(problem) = answer["error"].as_str() {
        let message = Diagnostic::new(problem);
        return Err(match answer["help"].as_str() {
            Some(help) => message.help(help),
            None => message,
        });
    }
    let told = answer["remarks"].as_array().into_iter().flatten();
    remarks.extend(told.filter_map(|remark| remark.as_str().map(str::to_owned)));
    let run = serde_json::from_value(answer["run"].take())
        .map_err(|error| Diagnostic::new(format!("the results of a live run cannot be read: {error}")))?;
    let disturbed = answer["disturbed"].as_str().map(str::to_owned);
    Ok(LiveRun { run, remarks, disturbed })
}

/// Returns the run as a live session, and remarks on differences caused by the kernel.
fn session(run: &RunSpec, mtu: u32) -> Result<(Session, Vec<String>), Diagnostic> {
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
        capacity: capacity(&config.links[index].capacity),
        qdisc: config.links[index].qdisc.clone(),
        path: None,
        delay: Delay::default(),
        framing: config.framing,
        seed: config.seed.wrapping_mul(2).wrapping_add(index as u64),
    });
    let (sysctls, tcp, remarks) = settings.granted();
    // Follows the advice for measurements of AQMs (bufferbloat.net, "Best practices for
    // benchmarking CoDel and FQ CoDel"): bursts that the sender's kernel makes are not part of the
    // comparison.
    let ends =
        default_ends(mtu).map(|end| End { tcp, segment_at_sender: true, sysctls: sysctls.clone(), ..end });
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
            let mut random = Xoshiro256PlusPlus::stream(config.seed, PIECES ^ number);
            let count = transfers.count.unwrap_or(MOST_PIECES).min(MOST_PIECES);
            let pieces = (0..count)
                .map(|_| (transfers.size.draw_bytes(&mut random), transfers.think.draw_time(&mut random)))
                .collect();
            FlowKind::Transfers {
                direction: transfers.direction,
                pieces,
                request: transfers.request,
                persistent: transfers.persistent,
                tcp: options(&transfers.config, transfers.congestion_control.about().name),
            }
        }
        sim::Traffic::Web(WebSettings { direction: Direction::Up, .. }) => {
            return Err(Diagnostic::new(
                "page fetches from a server at the client's side can only be simulated",
            )
            .allowed("direction = \"down\" in a live run"));
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
        "newreno" => "reno",
        "tcp_lp" => "lp",
        "cubic_linux" | "cubic_ns2" => "cubic",
        other => other,
    }
}

fn capacity(of: &sim::Capacity) -> Capacity {
    match of {
        sim::Capacity::Constant(rate) if *rate == sim::UNLIMITED => Capacity::Unlimited,
        sim::Capacity::Constant(rate) => Capacity::Constant(*rate),
        sim::Capacity::Schedule(steps) => Capacity::Schedule(steps.clone()),
        sim::Capacity::Trace(all) => Capacity::Trace(all.at_ms().to_vec()),
    }
}

/// Computes the results from the session's outcome, given the form of a simulation's.
fn figures(run: &RunSpec, outcome: &SessionOutcome) -> Run {
    let config = &run.config;
    let begin = Instant::ZERO + config.warmup;
    let measured = outcome.end.since(begin);
    let links = Direction::BOTH.map(|direction| {
        let link = outcome.bottleneck.link(direction);
        let meter = &link.meter;
        let mut seen = Observation::from_qdisc(link.qdisc(), outcome.end);
        seen.stats = link.stats();
        sim::LinkOutcome {
            stats: link.stats().since(&outcome.before[direction.index()]),
            seen,
            sojourn: meter.sojourn().clone(),
            sojourn_mean: meter.sojourn_mean(),
            drops: *meter.drops(),
            sent: sim::Work::of_bytes(meter.sent_count().bytes),
            capacity: config.links[direction.index()].capacity.between(begin, outcome.end),
            queue_mean: meter.length_mean(outcome.end),
            queue_max: meter.length_most() as u64,
            // Not measured in a live run.
            backlog_mean: None,
            spikes: Vec::new(),
            pauses: None,
        }
    });
    let bottleneck_packets = links.iter().map(|link| link.seen.stats.dequeued.packets).sum();
    let flows = config.flows.iter().zip(&outcome.flows).map(|(flow, seen)| {
        let until = outcome.end.min(flow.stop.unwrap_or(outcome.end));
        let until = until.min(seen.after.completed_at.unwrap_or(until));
        flow_outcome(&flow.traffic, seen, begin, until.since(flow.start.max(begin)))
    });
    let outcome = sim::Outcome {
        measured,
        end: Instant::ZERO + config.duration,
        links,
        hops: Vec::new(),
        wifi: None,
        flows: flows.collect(),
        series: config.series_step.map(|step| sim::Series {
            step,
            queues: outcome.steps.clone().map(|steps| steps.iter().map(bin).collect()),
            delivered: outcome.delivered.clone(),
        }),
        events: 0,
        bottleneck_packets,
        in_flight: Count::default(),
        synchronization: [None; 2],
        // Not measured in a live run.
        shared_queues: Vec::new(),
    };
    measure::run(run.labels.clone(), config, &outcome)
}

fn flow_outcome(
    traffic: &sim::Traffic,
    seen: &FlowOutcome,
    begin: Instant,
    active: Duration,
) -> sim::FlowOutcome {
    let before = &seen.before;
    let after = &seen.after;
    let measured = || seen.samples.iter().filter(|sample| sample.sent_at >= begin);
    let round_trip = |sample: &Sample| sim::traffic::RoundTrip { sent_at: sample.sent_at, time: sample.took };
    let one_way = |sample: &Sample| sim::traffic::OneWay { sent_at: sample.sent_at, delay: sample.took };
    let transfer = |sample: &Sample| sim::traffic::Transfer {
        begun_at: sample.sent_at,
        ended_at: sample.took.map(|took| sample.sent_at + took),
        bytes: sample.bytes,
    };
    sim::FlowOutcome {
        tally: tally(before, after),
        fates: seen.packets.map(|queue| sim::network::Fates {
            sent: queue.offered,
            arrived: queue.sent,
            dropped: queue.dropped,
        }),
        losses: None,
        first_delivery: None,
        active,
        round_trips: match traffic {
            sim::Traffic::Ping(_) => measured().map(round_trip).collect(),
            _ => Vec::new(),
        },
        one_way: match traffic {
            sim::Traffic::Voip(_) => measured().map(one_way).collect(),
            _ => Vec::new(),
        },
        earlier: None,
        transfers: match traffic {
            sim::Traffic::Transfers(_) | sim::Traffic::Web(_) => measured().map(transfer).collect(),
            _ => Vec::new(),
        },
        playback: None,
    }
}

fn tally(before: &FlowTally, after: &FlowTally) -> sim::traffic::Tally {
    sim::traffic::Tally {
        delivered: after.delivered.saturating_sub(before.delivered),
        sent: after.sent.saturating_sub(before.sent),
        retransmits: after.retransmits.saturating_sub(before.retransmits),
        timeouts: after.timeouts.saturating_sub(before.timeouts),
        completed_at: after.completed_at,
    }
}

fn bin(step: &Step) -> sim::Bin {
    sim::Bin {
        packets: step.packets,
        sojourn_sum: step.sojourn_sum,
        sojourn_max: step.sojourn_most,
        sent: sim::Work::of_bytes(step.bytes),
        drops: step.drops,
        queue_packets: step.queued,
    }
}

/// Returns remarks on events that may have influenced the results.
fn told(outcome: &SessionOutcome) -> Vec<String> {
    let mut remarks = Vec::new();
    if outcome.kernel_drops > 0 {
        remarks.push(format!(
            "the kernel dropped {} packets in front of the bottleneck, because they were read too late",
            outcome.kernel_drops
        ));
    }
    remarks.extend(discarded(&outcome.bottleneck));
    let latest = outcome.counters.latest;
    if latest > NOTEWORTHY {
        let milliseconds = seconds(Instant::ZERO + latest) * 1e3;
        remarks.push(format!(
            "the bottleneck woke up as much as {milliseconds:.1} ms late, and more than 1 ms late {} times, because the machine is busy",
            outcome.counters.late
        ));
    }
    for (number, flow) in outcome.flows.iter().enumerate() {
        remarks.extend(flow.trouble.as_ref().map(|trouble| format!("flow {number}: {trouble}")));
    }
    remarks
}

/// A delay that is visible in the results.
const NOTEWORTHY: Duration = Duration::from_millis(5);
/// The maximum segment size on Ethernet: 1500 bytes less 40 of headers.
const DEFAULT_MSS: u32 = 1460;
/// Largest number of transfers.
const MOST_PIECES: u64 = 100_000;
/// Keeps these random numbers apart from all others of the seed.
const PIECES: u64 = 0x7069_6563_6573;
