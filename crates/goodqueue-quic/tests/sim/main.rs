//! QUIC flows in the simulator, as stories in simulated time.

mod beside_tcp;
mod lines;
mod live;
mod page;
mod transfers;

use goodqueue::{Duration, Instant};
use goodqueue_quic::sim::{CongestionControl, QuicSettings};
use goodqueue_sim::traffic::OwnSettings;
use goodqueue_sim::{Config, Direction, Outcome, Run, Traffic, run};

use lines::Line;

const LINE: Line = Line { mbit: 10, rtt_ms: 50, queue: "fq_codel ecn" };

fn quic(settings: QuicSettings) -> Traffic {
    OwnSettings::from_settings(settings).into()
}

fn down() -> QuicSettings {
    QuicSettings::new(Direction::Down)
}

fn simulate(line: Line, traffic: Traffic, seconds: u64) -> Outcome {
    run(&line.config(vec![traffic], seconds)).expect("valid")
}

#[test]
fn a_download_takes_the_handshake_the_request_and_the_data() {
    let settings = QuicSettings { size: Some(100_000), ..down() };
    let outcome = simulate(Line { queue: "pfifo", ..LINE }, quic(settings), 5);
    let flow = &outcome.flows[0];
    assert_eq!(flow.tally.delivered, 100_000);
    assert_eq!((flow.tally.retransmits, flow.fates[0].dropped), (0, 0));
    // One round trip for the handshake, one for the request.
    let first = flow.first_delivery.expect("data arrived").since(Instant::ZERO);
    assert!(first > Duration::from_millis(100) && first < Duration::from_millis(115), "{first}");
    // 10 Mbit/s need 80 ms for the data, and slow start has to wait for acknowledgements.
    let took = flow.tally.completed_at.expect("complete").since(Instant::ZERO);
    assert!(took > Duration::from_millis(230) && took < Duration::from_millis(400), "{took}");
}

#[test]
fn an_upload_needs_no_request() {
    let settings = QuicSettings { direction: Direction::Up, size: Some(100_000), ..down() };
    let outcome = simulate(Line { queue: "pfifo", ..LINE }, quic(settings), 5);
    let flow = &outcome.flows[0];
    assert_eq!(flow.tally.delivered, 100_000);
    let first = flow.first_delivery.expect("data arrived").since(Instant::ZERO);
    // One round trip for the handshake, and half of one for the data.
    assert!(first > Duration::from_millis(75) && first < Duration::from_millis(90), "{first}");
}

#[test]
fn with_ecn_the_queue_marks_and_without_it_drops() {
    let capable = simulate(LINE, quic(QuicSettings { ecn: true, ..down() }), 10);
    let queue = &capable.links[0].stats;
    assert!(queue.marked.packets > 0 && queue.dropped().packets == 0, "{queue:?}");
    assert_eq!(capable.flows[0].tally.retransmits, 0);

    let incapable = simulate(LINE, quic(down()), 10);
    let queue = &incapable.links[0].stats;
    assert!(queue.marked.packets == 0 && queue.dropped().packets > 0, "{queue:?}");
    // Losses of the last round trip are not detected yet. Lost probes of the MTU are not sent
    // again.
    assert!(incapable.flows[0].tally.retransmits.abs_diff(queue.dropped().packets) <= 3, "{queue:?}");
}

#[test]
fn equal_seeds_give_equal_runs_and_others_do_not() {
    let line = Line { queue: "netem limit 100 loss random 1%", ..LINE };
    let run_with = |seed| {
        let config = Config { seed, ..line.config(vec![quic(down())], 5) };
        let outcome = run(&config).expect("valid");
        (outcome.flows[0].tally, outcome.events, outcome.links[0].stats)
    };
    assert_eq!(run_with(1), run_with(1));
    assert_ne!(run_with(1), run_with(2));
}

#[test]
fn a_path_that_duplicates_and_reorders_delivers_all_bytes_once() {
    let line = Line { queue: "netem limit 1000 delay 10ms loss random 1% duplicate 2% reorder 5%", ..LINE };
    let settings = QuicSettings { size: Some(2_000_000), ..down() };
    let outcome = simulate(line, quic(settings), 60);
    assert_eq!(outcome.flows[0].tally.delivered, 2_000_000);
    assert!(outcome.flows[0].tally.completed_at.is_some());
}

#[test]
fn a_stopped_flow_sends_no_more_data() {
    let mut config = LINE.config(vec![quic(down())], 6);
    config.flows[0].stop = Some(Instant::ZERO + Duration::from_secs(3));
    config.warmup = Duration::from_secs(4);
    let outcome = run(&config).expect("valid");
    assert_eq!(outcome.flows[0].fates[0].sent, 0);
    assert_eq!(outcome.flows[0].tally.delivered, 0);
}

#[test]
fn both_congestion_controls_share_a_line() {
    let newreno = QuicSettings { congestion_control: CongestionControl::NewReno, ..down() };
    let config = Line { queue: "fq_codel", ..LINE }.config(vec![quic(newreno), quic(down())], 20);
    let outcome = run(&config).expect("valid");
    let shares = outcome.flows.iter().map(|flow| flow.tally.delivered);
    let all: u64 = shares.clone().sum();
    // fq_codel gives each of two greedy flows half of the line.
    // Each has more than two fifths.
    assert!(shares.clone().all(|share| share * 5 > all * 2), "{:?}", shares.collect::<Vec<_>>());
}

#[test]
fn received_bytes_include_those_behind_a_gap_and_never_more_than_the_line_carries() {
    let size = 3_000_000;
    let settings = QuicSettings { size: Some(size), ..down() };
    for queue in ["pfifo limit 40", "netem limit 1000 loss random 2%", "netem limit 1000 duplicate 5%"] {
        let config = Line { queue, ..LINE }.config(vec![quic(settings.clone())], 60);
        let mut run = Run::new(&config).expect("valid");
        let mut received = vec![0];
        let mut has_gaps = false;
        for tick in 1..=600 {
            run.advance(Instant::ZERO + Duration::from_millis(100 * tick), None).expect("runs");
            let [all, in_order] = [run.so_far().received(0), run.so_far().delivered(0)];
            assert!(all >= in_order, "{queue}: {all} and {in_order}");
            has_gaps |= all > in_order;
            received.push(all);
        }
        // 10 Mbit/s are 125 kB in a tenth of a second.
        let most = received.windows(2).map(|pair| pair[1].checked_sub(pair[0]).expect("grows")).max();
        assert!(most <= Some(125_000), "{queue}: {most:?}");
        assert_eq!((received.last(), run.so_far().delivered(0)), (Some(&size), size), "{queue}");
        assert_eq!(has_gaps, !queue.contains("duplicate"), "{queue}");
    }
}

#[test]
fn a_run_on_its_way_tells_what_the_sender_knows() {
    let config = LINE.config(vec![quic(down())], 10);
    let mut run = Run::new(&config).expect("valid");
    assert_eq!(run.so_far().sender(0), None, "there is no connection yet");
    run.advance(Instant::ZERO + Duration::from_secs(5), None).expect("runs");
    let sender = run.so_far().sender(0).expect("a connection");
    // 10 Mbit/s and 50 ms are 62 kB, and the queue may hold as much again.
    assert!((20_000..400_000).contains(&sender.cwnd), "{}", sender.cwnd);
    assert!(sender.srtt > Duration::from_millis(50), "{}", sender.srtt);
    assert_eq!(sender.delivered, run.so_far().delivered(0));
    assert!(sender.sent > 1000 && sender.in_flight.is_none());
}
