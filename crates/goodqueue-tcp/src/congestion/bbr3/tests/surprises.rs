//! Aggregation, tiny paths, policers, and losses that were none.

use alloc::boxed::Box;

use super::path::{DEEP, Fate, MSS, Path, Policer, mbit, ms};
use crate::congestion::bbr3::cycle::Phase;
use crate::congestion::bbr3::state::State;
use crate::congestion::bbr3::units::INFINITE;

#[test]
fn bunched_acks_let_the_window_be_larger_so_that_the_path_stays_full() {
    let mut path = Path::bulk(mbit(20.0), DEEP);
    path.bunch = ms(30);
    path.until(|path| path.state() == State::ProbeBw(Phase::Cruise));
    path.run(ms(1000));
    let bbr = path.bbr();
    // 30 ms bring 75 kB.
    assert!(bbr.model.extra_acked() > 30_000, "{}", bbr.model.extra_acked());
    assert!(bbr.cwnd > 2 * bbr.bdp());
    let link = path.rate * 1448.0 / 1500.0;
    let goodput = path.goodput(ms(4000));
    assert!(goodput > 0.93 * link, "{goodput} of {link}");
}

#[test]
fn a_path_that_holds_less_than_a_segment_gets_a_window_of_four() {
    // 0.2 Mbit/s and 40 ms hold 1000 bytes.
    let mut path = Path::bulk(mbit(0.2), DEEP);
    path.until(|path| matches!(path.state(), State::ProbeBw(_)));
    path.run(ms(4000));
    assert!(path.bbr().cwnd >= 4 * MSS);
    let link = path.rate * 1448.0 / 1500.0;
    let goodput = path.goodput(ms(10_000));
    assert!(goodput > 0.9 * link, "{goodput} of {link}");
}

#[test]
fn a_policer_is_obeyed_without_lasting_losses() {
    let mut path = Path::bulk(mbit(100.0), DEEP);
    path.run(ms(1000));
    let depth = 100_000.0;
    path.policer = Some(Policer { rate: mbit(10.0), depth, tokens: depth, at: path.now });
    path.until(|path| path.bbr().losses.bw_shortterm.is_finite());
    assert!(path.bbr().losses.inflight_shortterm < INFINITE);
    path.run(ms(10_000));
    path.dropped = 0;
    let sent = path.acknowledged();
    let goodput = path.goodput(ms(10_000));
    let rate = mbit(10.0) * 1448.0 / 1500.0;
    assert!(goodput > 0.6 * rate, "{goodput} of {rate}");
    let segments = (path.acknowledged() - sent) / MSS;
    assert!(path.dropped * 10 < segments, "{} of {segments} dropped", path.dropped);
}

/// The next `count` segments come `late` later than they should.
fn hold_back(path: &mut Path, count: u32, late: u64) {
    let mut left = count;
    path.fate = Box::new(move |_| {
        if left == 0 {
            return Fate::Deliver;
        }
        left -= 1;
        Fate::Late(ms(late))
    });
}

#[test]
fn a_fast_recovery_without_a_loss_is_undone() {
    let mut path = Path::bulk(mbit(20.0), DEEP);
    let before = State::ProbeBw(Phase::Up);
    path.until(|path| path.state() == before);
    hold_back(&mut path, 30, 60);
    path.until(|path| path.bbr().in_recovery);
    path.until(|path| !path.bbr().in_recovery);
    path.until(|path| path.state() == before);
    assert_eq!(path.timeouts(), 0);
    assert_eq!(path.bbr().losses.inflight_longterm, INFINITE, "as before the episode");
    assert!(path.bbr().losses.bw_shortterm.is_infinite());
}

#[test]
fn a_timeout_without_a_loss_is_undone() {
    let mut path = Path::bulk(mbit(20.0), DEEP);
    path.until(|path| path.state() == State::ProbeBw(Phase::Cruise));
    let window = path.bbr().cwnd;
    hold_back(&mut path, 250, 500);
    path.until(|path| path.timeouts() > 0);
    path.until(|path| !path.bbr().in_recovery);
    assert!(path.bbr().losses.bw_shortterm.is_infinite(), "as before the episode");
    path.run(ms(1000));
    assert!(path.bbr().cwnd * 10 >= window * 8, "{} of {window}", path.bbr().cwnd);
}
