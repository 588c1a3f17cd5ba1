//! What Linux's senders do when their application paused.

use goodqueue::Instant;
use goodqueue_tcp::config::SackDelay;
use goodqueue_tcp::{Config, Timers};

use crate::pair::{MSS, Pair, at};
use crate::profiles::{linux, settings};

/// Of a connection that sent 30 segments in four round trips, from 100 ms to 400 ms. Its timeout is
/// 300 ms then. A long transfer follows after a pause of `millis`. Returns the pair a moment later,
/// and the window before in segments.
fn after_a_pause(config: Config, name: &str, millis: u64) -> (Pair, u64) {
    let mut pair = Pair::with(config, config, name);
    pair.sender.open(Instant::ZERO);
    pair.sender.write(30 * MSS);
    pair.run_until(at(400 + millis));
    let before = pair.sender.cwnd() / MSS;
    pair.sender.write(1000 * MSS);
    pair.run_until(at(400 + millis + 1));
    (pair, before)
}

#[test]
fn each_timeout_of_a_pause_halves_the_window_down_to_the_initial_one() {
    for name in ["linux", "linux314", "linux32"] {
        let config = Config { iw: 4, timers: Timers::Exact, timestamps: false, ..settings(name) };
        let config = Config { delayed_ack: linux().delayed_ack, sack_delay: SackDelay::NONE, ..config };
        for (pause, halvings) in [(290, 0), (310, 1), (590, 1), (610, 2), (910, 3), (60_000, 199)] {
            let (pair, before) = after_a_pause(config, "reno", pause);
            assert!((16..=34).contains(&before), "{name}: {before}");
            let expected = before.checked_shr(halvings).unwrap_or(0).max(4);
            assert_eq!(pair.sender.cwnd() / MSS, expected, "{name}: a pause of {pause} ms");
            assert_eq!(pair.sender.stats().idle_restarts, u64::from(halvings > 0));
        }
    }
}

#[test]
fn after_a_pause_slow_start_leads_back_to_three_quarters_of_the_window() {
    let config = Config { initial_ssthresh: 8 * MSS, ..linux() };
    let (pair, before) = after_a_pause(config, "reno", 10_000);
    assert_eq!(before, 12);
    assert_eq!(pair.sender.ssthresh(), 9 * MSS);
    assert_eq!(pair.sender.cwnd(), 10 * MSS, "as large as that of a new connection");
}

#[test]
fn a_controller_that_paces_keeps_its_window_over_a_pause() {
    for name in ["bbr", "bbr3"] {
        let (pair, before) = after_a_pause(Config { iw: 4, ..linux() }, name, 10_000);
        assert!(before > 8, "{name}: {before}");
        assert_eq!(pair.sender.cwnd() / MSS, before, "{name}");
        assert!(pair.sender.in_flight() < before * MSS, "{name}: no burst of the whole window");
    }
}

#[test]
fn the_short_segment_at_the_end_of_a_write_counts_as_a_whole_one() {
    let config = Config { iw: 4, ..linux() };
    let mut pair = Pair::with(config, config, "reno");
    pair.sender.open(Instant::ZERO);
    pair.sender.write(3 * MSS + 1);
    pair.run_until(at(300));
    assert_eq!(pair.sender.cwnd(), 8 * MSS, "four acknowledged segments, and four more");
}

#[test]
fn the_window_grows_for_the_last_data_as_for_the_rest() {
    let config = Config { iw: 4, initial_ssthresh: 4 * MSS, ..linux() };
    let mut pair = Pair::with(config, config, "reno");
    pair.sender.open(Instant::ZERO);
    // The window is full once, and these ACKs come when nothing is left to send.
    pair.sender.write(4 * MSS);
    pair.run_until(at(300));
    assert_eq!(pair.sender.cwnd(), 5 * MSS);
}
