//! `Startup` and `Drain`.

use alloc::boxed::Box;

use super::path::{DEEP, Fate, MSS, Path, mbit, ms};
use crate::congestion::bbr3::cycle::Phase;
use crate::congestion::bbr3::state::State;

#[test]
fn a_plateau_of_the_bandwidth_ends_startup() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    let mut grown = 0.0;
    path.until(|path| {
        let full = path.bbr().full.is_reached();
        if !full {
            grown = path.bbr().model.max_bw();
        }
        full
    });
    assert_eq!(path.state(), State::Drain);
    // 1448 bytes of each 1500 are payload.
    let link = mbit(10.0) * 1448.0 / 1500.0;
    assert!((grown / link - 1.0).abs() < 0.02, "{grown} of {link}");
}

#[test]
fn losses_end_the_startup_of_an_application_that_has_little_to_send() {
    let mut path = Path::limited(mbit(100.0), DEEP, 6 * MSS);
    path.run(ms(600));
    assert_eq!(path.state(), State::Startup, "its samples are limited by the application");
    // Every tenth segment, for some rounds.
    path.fate = Box::new(|number| if number % 10 == 0 { Fate::Lose } else { Fate::Deliver });
    path.until(|path| path.state() != State::Startup);
    assert_eq!(path.state(), State::Drain);
    assert!(path.bbr().full.is_reached());
    assert!(path.bbr().losses.inflight_longterm >= path.bbr().bdp(), "and the bound is what was delivered");
}

#[test]
fn few_losses_do_not_end_startup() {
    let mut path = Path::limited(mbit(100.0), DEEP, 2 * MSS);
    path.run(ms(600));
    // One segment in 200, which is less than 2 %.
    path.fate = Box::new(|number| if number % 200 == 0 { Fate::Lose } else { Fate::Deliver });
    path.run(ms(2000));
    assert_eq!(path.state(), State::Startup);
}

#[test]
fn drain_ends_when_the_queue_is_empty() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    path.until(|path| path.state() == State::Drain);
    assert!((path.bbr().pacing_gain() - 0.5).abs() < 1e-9);
    let bdp = path.bbr().inflight(path.bbr().model.bw(), 1.0);
    assert!(path.pipe() > bdp, "Startup left a queue");
    path.until(|path| path.state() != State::Drain);
    // What is drained may cruise at once.
    assert!(matches!(path.state(), State::ProbeBw(Phase::Down | Phase::Cruise)));
    assert!(path.pipe() <= path.bbr().inflight(path.bbr().model.bw(), 1.0));
}

#[test]
fn drain_ends_after_three_rounds_if_the_path_became_slower() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    path.until(|path| path.state() == State::Drain);
    let start = path.bbr().drain_start_round;
    path.rate /= 4.0;
    path.until(|path| path.state() != State::Drain);
    assert_eq!(path.state(), State::ProbeBw(Phase::Down));
    // The draft asks for more than three rounds.
    assert_eq!(path.bbr().model.round(), start + 4);
    assert!(path.pipe() > path.bbr().inflight(path.bbr().model.bw(), 1.0));
}

#[test]
fn an_application_that_has_little_to_send_stays_in_startup_without_losses() {
    let mut path = Path::limited(mbit(100.0), DEEP, 2 * MSS);
    for _ in 0..40 {
        path.run(ms(100));
        assert_eq!(path.state(), State::Startup);
    }
}

#[test]
fn startup_finds_the_bandwidth_of_a_path_that_bunches_acks() {
    let mut path = Path::bulk(mbit(40.0), DEEP);
    path.bunch = ms(20);
    path.until(|path| path.state() == State::Drain);
    let link = mbit(40.0) * 1448.0 / 1500.0;
    assert!(path.bbr().model.max_bw() > 0.95 * link, "{} of {link}", path.bbr().model.max_bw());
    // 20 ms bring 100 kB.
    let extra = path.bbr().model.extra_acked();
    assert!(extra > 50_000, "{extra} bytes came beyond the bandwidth");
}
