//! A user who asks again and again.

use goodqueue::{Duration, Instant};
use goodqueue_quic::sim::{QuicSettings, QuicTransfersSettings};
use goodqueue_sim::traffic::{Distribution, Habits, OwnSettings, Transfer};
use goodqueue_sim::{Direction, Outcome};

use super::lines::Line;
use super::{LINE, down, simulate};

/// Five transfers of 100 kB with pauses of a second.
fn user(persistent: bool) -> QuicTransfersSettings {
    let habits = Habits {
        size: Distribution::Constant(100_000.0),
        think: Distribution::Constant(1.0),
        persistent,
        count: Some(5),
    };
    QuicTransfersSettings { connection: down(), habits }
}

fn run(line: Line, user: QuicTransfersSettings, seconds: u64) -> Outcome {
    simulate(line, OwnSettings::from_settings(user).into(), seconds)
}

fn time(transfer: &Transfer) -> Duration {
    transfer.ended_at.expect("complete").since(transfer.begun_at)
}

const FIFO: Line = Line { queue: "pfifo", ..LINE };

#[test]
fn a_user_thinks_between_transfers_and_ends_after_the_last_one() {
    for persistent in [false, true] {
        let outcome = run(FIFO, user(persistent), 20);
        let flow = &outcome.flows[0];
        assert_eq!(flow.transfers.len(), 5);
        assert_eq!(flow.tally.delivered, 500_000);
        for pair in flow.transfers.windows(2) {
            let pause = pair[1].begun_at.since(pair[0].ended_at.expect("complete"));
            assert_eq!(pause, Duration::from_secs(1), "persistent: {persistent}");
        }
    }
}

#[test]
fn a_connection_that_is_used_again_saves_the_handshake_and_slow_start() {
    let fresh = run(FIFO, user(false), 20);
    let reused = run(FIFO, user(true), 20);
    let round_trip = Duration::from_millis(50);
    let first = time(&fresh.flows[0].transfers[0]);
    assert_eq!(first, time(&reused.flows[0].transfers[0]), "the first transfer has the same to do");
    let later = time(&fresh.flows[0].transfers[4]);
    assert!(
        later.as_nanos().abs_diff(first.as_nanos()) < 5_000_000,
        "each connection begins anew: {first} {later}"
    );
    let saved = first.saturating_sub(time(&reused.flows[0].transfers[4]));
    assert!(saved > round_trip, "no handshake, and a larger window: {saved}");
}

#[test]
fn uploads_repeat_too_and_need_no_request() {
    let connection = QuicSettings { direction: Direction::Up, ..down() };
    let outcome = run(FIFO, QuicTransfersSettings { connection, ..user(false) }, 20);
    let flow = &outcome.flows[0];
    assert_eq!((flow.transfers.len(), flow.tally.delivered), (5, 500_000));
    let download = time(&run(FIFO, user(false), 20).flows[0].transfers[0]);
    // The server of a download gets the request half a round trip after the handshake, and its data
    // travels another half.
    assert!(time(&flow.transfers[0]) < download);
}

#[test]
fn transfers_complete_over_a_path_that_loses_copies_and_reorders() {
    let line = Line { queue: "netem limit 1000 delay 10ms 5ms duplicate 5% loss 2%", ..LINE };
    for persistent in [false, true] {
        let mut user = user(persistent);
        user.habits.count = None;
        let outcome = run(line, user, 60);
        let transfers = &outcome.flows[0].transfers;
        let complete = transfers.iter().filter(|transfer| transfer.ended_at.is_some()).count();
        // The last transfer may be under way when the run ends.
        assert!(complete > 20 && complete + 1 >= transfers.len(), "{complete} of {}", transfers.len());
        assert!(outcome.flows[0].tally.retransmits > 0);
    }
}

#[test]
fn a_stopped_user_begins_no_transfer() {
    let mut config = FIFO.config(vec![OwnSettings::from_settings(user(false)).into()], 20);
    config.flows[0].stop = Some(Instant::ZERO + Duration::from_secs(2));
    let outcome = goodqueue_sim::run(&config).expect("valid");
    assert!(
        outcome.flows[0]
            .transfers
            .iter()
            .all(|transfer| transfer.begun_at <= Instant::ZERO + Duration::from_secs(2))
    );
    assert!(outcome.flows[0].transfers.len() < 5);
}
