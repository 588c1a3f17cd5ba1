//! QUIC and TCP with the same congestion control on ten lines, each alone.

use std::fmt::Write as _;

use goodqueue::Duration;
use goodqueue_quic::sim::{CongestionControl, QuicSettings};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Config, Direction, Outcome, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

use super::lines::Line;
use super::{down, page, quic};

const CUBIC: CongestionControl = CongestionControl::Cubic;
const NEWRENO: CongestionControl = CongestionControl::NewReno;

const LINES: [(Line, CongestionControl); 10] = [
    (Line { mbit: 10, rtt_ms: 50, queue: "bfifo limit 64kb" }, CUBIC),
    (Line { mbit: 10, rtt_ms: 50, queue: "bfifo limit 64kb" }, NEWRENO),
    (Line { mbit: 10, rtt_ms: 20, queue: "pfifo limit 100" }, CUBIC),
    (Line { mbit: 10, rtt_ms: 50, queue: "codel" }, CUBIC),
    (Line { mbit: 10, rtt_ms: 50, queue: "fq_codel ecn" }, CUBIC),
    (Line { mbit: 10, rtt_ms: 50, queue: "pie" }, NEWRENO),
    (Line { mbit: 5, rtt_ms: 100, queue: "fq_codel ecn" }, CUBIC),
    (Line { mbit: 2, rtt_ms: 300, queue: "bfifo limit 75kb" }, NEWRENO),
    (Line { mbit: 20, rtt_ms: 10, queue: "fq_codel" }, NEWRENO),
    (Line { mbit: 10, rtt_ms: 50, queue: "netem limit 1000 loss random 1%" }, NEWRENO),
];

/// A flow alone on a line, without the first seconds.
struct Alone {
    /// Payload per second of the time measured.
    goodput_mbit: f64,
    /// Bytes of the queue's packets per second.
    throughput_mbit: f64,
    sent: u64,
    dropped: u64,
    marked: u64,
    /// Median of the time in the queue.
    sojourn: Duration,
}

fn alone(line: Line, traffic: Traffic) -> Alone {
    let config = Config { warmup: Duration::from_secs(5), ..line.config(vec![traffic], 20) };
    let outcome: Outcome = run(&config).expect("valid");
    let queue = &outcome.links[0];
    let flow = &outcome.flows[0];
    // 20 s less the warm-up.
    let mbit = |bytes: u64| bytes as f64 * 8.0 / 1e6 / 15.0;
    Alone {
        goodput_mbit: mbit(flow.tally.delivered),
        throughput_mbit: mbit(queue.stats.dequeued.bytes),
        sent: flow.fates[0].sent,
        dropped: flow.fates[0].dropped,
        marked: queue.stats.marked.packets,
        sojourn: Duration::from_nanos(queue.sojourn.value_at_quantile(0.5)),
    }
}

fn tcp(congestion_control: CongestionControl, ecn: bool) -> Traffic {
    let cc = AnyCongestionControl::by_name(congestion_control.name()).expect("both are listed");
    let config = goodqueue_tcp::Config { ecn, ..goodqueue_tcp::Config::default() };
    Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: config.into(),
        congestion_control: cc,
        local_congestion: false,
    })
}

fn both(line: Line, congestion_control: CongestionControl) -> [Alone; 2] {
    let ecn = line.queue.ends_with("ecn");
    [quic(QuicSettings { congestion_control, ecn, ..down() }), tcp(congestion_control, ecn)]
        .map(|traffic| alone(line, traffic))
}

/// `UPDATE=1 cargo test -p goodqueue-quic --features sim --test sim` writes the table anew.
#[test]
fn the_book_shows_what_quic_and_tcp_get_from_ten_lines() {
    let mut table = String::from(
        "| line | queue | control | goodput, Mbit/s | dropped, % | marked | median queue, ms |\n\
         |---|---|---|--:|--:|--:|--:|\n",
    );
    for (line, congestion_control) in LINES {
        let [quic, tcp] = both(line, congestion_control);
        check(line, &quic, &tcp);
        let Line { mbit, rtt_ms, queue } = line;
        let cell = |of: fn(&Alone) -> String| format!("{} / {}", of(&quic), of(&tcp));
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| {mbit} Mbit/s, {rtt_ms} ms | `{queue}` | {} | {} | {} | {} | {} |",
            congestion_control.name(),
            cell(|flow| format!("{:.2}", flow.goodput_mbit)),
            cell(|flow| format!("{:.2}", flow.dropped as f64 / flow.sent as f64 * 100.0)),
            cell(|flow| flow.marked.to_string()),
            cell(|flow| format!("{:.1}", flow.sojourn.as_nanos() as f64 / 1e6)),
        );
    }
    page::keep("lines", &table);
}

/// Checks what theory says of each line.
fn check(line: Line, quic: &Alone, tcp: &Alone) {
    let what = format!("{line:?}");
    if line.queue.starts_with("netem") {
        // Random loss limits the window, not the line. A hole in front of the data measured, or
        // behind it, is a part of the little that arrives.
        return;
    }
    for flow in [quic, tcp] {
        assert!(flow.throughput_mbit <= line.mbit as f64 * 1.001, "{what}");
        // The queue gave its signal when the window filled the line, and NewReno keeps half of it
        // (RFC 9002 §7.3.2), CUBIC 70 % (RFC 8312 §4.5).
        assert!(flow.throughput_mbit > line.mbit as f64 * 0.5, "{what}");
    }
    let share = |flow: &Alone| flow.goodput_mbit / flow.throughput_mbit;
    // TCP without options has 1460 bytes of payload in the 1514 of Ethernet.
    assert!((share(tcp) - 1460.0 / 1514.0).abs() < 0.005, "{what}: {}", share(tcp));
    // quinn's largest datagram has 1452 bytes. Besides data, it has at least a header of 10 bytes,
    // a tag of 16, and the header of a STREAM frame of 4.
    assert!(share(quic) < (1452.0 - 30.0) / (1452.0 + 42.0), "{what}: {}", share(quic));
    assert!(share(quic) > (1452.0 - 60.0) / (1452.0 + 42.0), "{what}: {}", share(quic));
}
