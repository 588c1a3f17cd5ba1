//! The cycle that looks for bandwidth.

use alloc::boxed::Box;
use alloc::vec::Vec;

use goodqueue::Instant;

use super::path::{DEEP, Fate, MSS, Path, mbit, ms};
use crate::congestion::bbr3::cycle::Phase;
use crate::congestion::bbr3::state::State;
use crate::congestion::bbr3::units::INFINITE;

const DOWN: State = State::ProbeBw(Phase::Down);
const CRUISE: State = State::ProbeBw(Phase::Cruise);
const REFILL: State = State::ProbeBw(Phase::Refill);
const UP: State = State::ProbeBw(Phase::Up);

fn reach(path: &mut Path, state: State) -> Instant {
    path.until(|path| path.state() == state)
}

#[test]
fn the_phases_follow_each_other_and_a_probe_comes_after_two_to_three_seconds() {
    let mut path = Path::bulk(mbit(20.0), DEEP);
    reach(&mut path, CRUISE);
    assert!((path.bbr().pacing_gain() - 1.0).abs() < 1e-9);
    let began = path.bbr().cycle.began_at;
    let waited = reach(&mut path, REFILL).since(began);
    assert!((ms(2000)..ms(3100)).contains(&waited), "{waited:?}");
    let refilled = path.bbr().model.round();
    reach(&mut path, UP);
    assert_eq!(path.bbr().model.round(), refilled + 1, "the pipe is full after a round");
    assert!((path.bbr().pacing_gain() - 1.25).abs() < 1e-9);
    assert!((path.bbr().cwnd_gain() - 2.25).abs() < 1e-9);
    reach(&mut path, DOWN);
    assert!((path.bbr().pacing_gain() - 0.9).abs() < 1e-9);
}

#[test]
fn flows_with_a_small_window_probe_as_often_as_reno_would_fill_the_pipe() {
    // 1 Mbit/s and 40 ms hold 3.5 segments.
    let mut path = Path::bulk(mbit(1.0), DEEP);
    reach(&mut path, DOWN);
    let round = path.bbr().model.round();
    reach(&mut path, REFILL);
    // The draft's bound for paths that hold more (§5.3.3.8).
    assert!(path.bbr().model.round() - round <= 63);
}

#[test]
fn a_plateau_of_the_bandwidth_ends_the_probe() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    reach(&mut path, UP);
    let round = path.bbr().model.round();
    path.until(|path| path.state() != UP);
    assert_eq!(path.state(), DOWN);
    assert!(path.bbr().full.is_now());
    assert!(path.bbr().model.round() >= round + 3);
    assert_eq!(path.dropped, 0);
}

#[test]
fn losses_end_the_probe_and_set_the_bound() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    reach(&mut path, UP);
    // The first rounds of the probe lose one segment in ten.
    path.fate = Box::new(|number| if number % 10 == 0 { Fate::Lose } else { Fate::Deliver });
    path.until(|path| path.state() != UP);
    assert_eq!(path.state(), DOWN);
    assert!(path.bbr().cycle.was_too_high);
    let longterm = path.bbr().losses.inflight_longterm;
    // `Beta`, 0.7, of the target is the least bound that losses set.
    assert!(longterm != INFINITE && longterm as f64 >= 0.69 * path.bbr().target_inflight() as f64);
}

#[test]
fn down_ends_when_queue_and_headroom_are_free() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    reach(&mut path, UP);
    reach(&mut path, DOWN);
    let bound = path.bbr().inflight(path.bbr().model.max_bw(), 1.0);
    assert!(path.pipe() > bound, "the probe left a queue");
    reach(&mut path, CRUISE);
    assert!(path.pipe() <= path.bbr().inflight(path.bbr().model.max_bw(), 1.0));
}

#[test]
fn down_is_left_for_the_next_probe_when_the_queue_does_not_become_empty() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    reach(&mut path, UP);
    reach(&mut path, DOWN);
    // 12 % less than it thinks, so that 0.9 of it keeps the queue.
    path.rate *= 0.88;
    let mut states = Vec::new();
    path.until(|path| {
        if states.last() != Some(&path.state()) {
            states.push(path.state());
        }
        path.state() == REFILL
    });
    assert_eq!(states, [DOWN, REFILL]);
}

#[test]
fn a_loss_after_the_bound_is_set_stops_the_probe_and_the_next_one_is_cautious() {
    let mut path = Path::bulk(mbit(20.0), 20_000);
    path.until(|path| path.bbr().losses.inflight_longterm != INFINITE && path.state() == CRUISE);
    let mut precautionary = false;
    for _ in 0..4 {
        reach(&mut path, UP);
        let was_too_high = path.bbr().cycle.was_too_high;
        path.until(|path| path.state() != UP);
        // A cautious probe ends as soon as the bound of the one before is reached.
        precautionary |= was_too_high && !path.bbr().cycle.was_too_high;
    }
    assert!(precautionary);
    let rate = mbit(20.0) * 1448.0 / 1500.0;
    let goodput = path.goodput(ms(10_000));
    assert!(goodput > 0.9 * rate, "{goodput} of {rate}");
}

#[test]
fn cruising_leaves_a_share_of_the_bound_to_others() {
    let mut path = Path::bulk(mbit(20.0), 40_000);
    path.until(|path| path.bbr().losses.inflight_longterm != INFINITE && path.state() == CRUISE);
    path.run(ms(1));
    let longterm = path.bbr().losses.inflight_longterm;
    // `Headroom` is 0.15.
    assert!(path.bbr().cwnd as f64 <= 0.851 * longterm as f64, "{} of {longterm}", path.bbr().cwnd);
}

#[test]
fn samples_of_an_application_with_little_to_send_do_not_lower_the_bandwidth() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    reach(&mut path, REFILL);
    let bw = path.bbr().model.max_bw();
    path.take_back();
    path.writes = Some(MSS / 4);
    path.until(|path| path.state() != REFILL);
    assert_eq!(path.state(), UP);
    assert!((path.bbr().model.max_bw() - bw).abs() < 1.0);
}

#[test]
fn ten_times_the_bandwidth_is_found() {
    let mut path = Path::bulk(mbit(5.0), DEEP);
    path.run(ms(3000));
    path.rate *= 10.0;
    let link = path.rate * 1448.0 / 1500.0;
    let start = path.now;
    path.until(|path| path.bbr().model.max_bw() > 0.9 * link);
    let took = path.now.since(start);
    assert!(took < ms(12_000), "{took:?}");
}

#[test]
fn a_tenth_of_the_bandwidth_is_noticed_within_two_cycles() {
    let mut path = Path::bulk(mbit(50.0), 200_000);
    path.run(ms(3000));
    path.rate /= 10.0;
    let link = path.rate * 1448.0 / 1500.0;
    path.until(|path| path.bbr().losses.bw_shortterm < 0.5 * path.bbr().model.max_bw());
    path.until(|path| path.bbr().model.max_bw() < 1.1 * link);
    assert!(path.now < Instant::ZERO + ms(12_000), "{:?}", path.now);
}
