//! Reductions that were wrong are taken back: by timestamps (RFC 3522, RFC 4015), by F-RTO (RFC
//! 5682), by DSACK (RFC 3708).

use goodqueue_tcp::config::{BufferGrowth, BufferTuning, SendTuning};
use goodqueue_tcp::{Config, Flags, Timers};

use crate::pair::{Fate, Pair, at, ms};
use crate::profiles::{linux, settings, window_of};

const MSS: u64 = 1460;

/// Linux with timestamps, and segments that carry 1460 bytes all the same.
fn stamped() -> Config {
    Config { mss: 1472, timestamps: true, ..linux() }
}

/// The first window of ten, and its retransmissions, take `by` ms longer; nothing is lost.
fn held_up(config: Config, by: u64) -> Pair {
    let mut pair = Pair::bulk(config);
    for transmission in 1..=4 {
        for segment in 1..=11 {
            pair.fates.insert((segment, transmission), Fate::Delay(by));
        }
    }
    pair
}

/// Reno in slow start with a window of ten, as it was before anything happened.
fn is_as_before(pair: &Pair) -> bool {
    pair.sender.cwnd() >= 10 * MSS && pair.sender.ssthresh() > 1 << 40
}

#[test]
fn a_timeout_is_undone_when_the_ack_answers_what_was_sent_first() {
    // Sent at 100, probed at 302, timed out at 602; the first arrives at 750, its ACK at 800.
    let mut pair = held_up(stamped(), 600);
    pair.run_until(at(799));
    assert_eq!(pair.sender.stats().timeouts, 1);
    assert_eq!(pair.sender.cwnd(), MSS);
    pair.run_until(at(800));
    assert_eq!(pair.sender.stats().undone, 1);
    assert!(is_as_before(&pair), "{} {}", pair.sender.cwnd(), pair.sender.ssthresh());
    pair.run_until(at(1500));
    assert!((2..=10).all(|segment| pair.times_of(segment).len() == 1), "nothing else is sent again");
}

#[test]
fn after_several_timeouts_the_window_before_the_first_comes_back() {
    let mut pair = held_up(stamped(), 1600);
    // The timeouts come at 602 and 1202 ms, the ACK of the first transmission at 1800 ms.
    pair.run_until(at(1799));
    assert_eq!(pair.sender.stats().timeouts, 2);
    pair.run_until(at(1800));
    assert_eq!(pair.sender.stats().undone, 1);
    assert!(is_as_before(&pair));
}

#[test]
fn the_rtt_of_what_was_sent_twice_comes_from_the_timestamps() {
    let mut pair = held_up(stamped(), 600);
    pair.run_until(at(799));
    assert_eq!(pair.sender.srtt(), Some(ms(100)));
    pair.run_while(|pair| pair.sender.bytes_acked() == 0);
    assert_eq!(pair.sender.srtt(), Some(ms(175)), "700 ms count for an eighth");
    assert!(pair.sender.rto() > ms(700), "no more timeouts of that kind: {:?}", pair.sender.rto());
}

#[test]
fn without_timestamps_an_ack_of_what_was_sent_once_shows_the_timeout_to_be_wrong() {
    let mut pair = held_up(linux(), 600);
    pair.run_until(at(800));
    let stats = pair.sender.stats();
    assert_eq!((stats.timeouts, stats.undone), (1, 1));
    assert!(is_as_before(&pair));
}

#[test]
fn a_timeout_that_was_right_is_not_undone() {
    for config in [stamped(), linux()] {
        let mut pair = Pair::bulk(config).lose(1..=11);
        pair.run_until(at(3000));
        let stats = pair.sender.stats();
        assert_eq!((stats.timeouts, stats.undone), (1, 0));
        assert!(pair.receiver.delivered() >= 11 * MSS);
        // Half of the first window of ten.
        assert!(pair.sender.ssthresh() <= 5 * MSS);
    }
}

#[test]
fn the_first_ack_after_a_timeout_lets_new_data_out_before_what_was_lost() {
    let mut pair = Pair::bulk(stamped()).lose(1..=11);
    pair.run_while(|pair| pair.sender.stats().timeouts == 0);
    let timeout = pair.now;
    // The retransmission is acknowledged one round trip later: RFC 5682 §3.1 step 2b.
    pair.run_until(timeout + ms(100));
    let sent: Vec<u64> = pair
        .data
        .iter()
        .filter(|(when, _)| *when == timeout + ms(100))
        .map(|(_, data)| data.seq / MSS + 1)
        .collect();
    assert_eq!(sent, [12, 13]);
    // Its SACKs show that the loss was real: step 3a.
    pair.run_until(timeout + ms(200));
    assert!(pair.times_of(2).contains(&(timeout + ms(200))), "{:?}", pair.times_of(2));
    assert_eq!(pair.sender.stats().undone, 0);
}

#[test]
fn with_nothing_new_to_send_what_was_lost_goes_at_once() {
    let mut pair = Pair::with(stamped(), stamped(), "newreno");
    pair.sender.write(10 * MSS);
    pair.sender.close();
    pair.sender.open(at(0));
    let mut pair = pair.lose(1..=10).lose_times(10, 2);
    pair.run_while(|pair| pair.sender.stats().timeouts == 0);
    let timeout = pair.now;
    pair.run_until(timeout + ms(100));
    assert!(pair.times_of(2).contains(&(timeout + ms(100))), "{:?}", pair.times_of(2));
    pair.finish();
    assert_eq!(pair.receiver.delivered(), 10 * MSS);
}

#[test]
fn a_hole_filled_by_what_came_late_ends_recovery_as_if_there_had_been_none() {
    // The second comes 60 ms late: the others show it lost, and it is sent again; what the ACK
    // answers tells better.
    let mut pair = Pair::bulk(window_of(20, stamped()));
    pair.fates.insert((2, 1), Fate::Delay(60));
    pair.run_until(at(600));
    let stats = pair.sender.stats();
    assert_eq!((stats.retransmits, stats.undone, stats.fast_recoveries), (1, 1, 1));
    assert!(pair.sender.cwnd() >= 20 * MSS);
}

#[test]
fn a_timeout_within_a_recovery_reduces_nothing_further() {
    // The second segment is lost, and so is every retransmission of it for a while.
    let mut pair = Pair::bulk(window_of(20, stamped())).lose_times(2, 6);
    pair.run_while(|pair| !pair.sender.is_in_recovery());
    let ssthresh = pair.sender.ssthresh();
    assert_eq!(ssthresh, 10 * MSS);
    pair.run_while(|pair| pair.sender.stats().timeouts == 0);
    assert_eq!(pair.sender.ssthresh(), ssthresh);
    pair.run_until(at(30_000));
    assert!(pair.receiver.delivered() > 20 * MSS);
}

#[test]
fn a_mark_is_never_undone() {
    let config = Config { ecn: true, ..window_of(20, stamped()) };
    let mut pair = Pair::bulk(config);
    pair.fates.insert((3, 1), Fate::Mark);
    pair.run_until(at(1000));
    assert_eq!((pair.sender.stats().ecn_reductions, pair.sender.stats().undone), (1, 0));
    assert!(pair.data.iter().any(|(_, data)| data.flags.contains(Flags::CWR)));
}

/// An older Linux, likewise; neither its send buffer nor the first window that Linux 3.2 announces
/// limits what leaves.
pub(crate) fn older(name: &str) -> Config {
    let settings = settings(name);
    let buffer_tuning = match settings.buffer_tuning.growth {
        BufferGrowth::TwoRoundTrips => BufferTuning::default(),
        _ => settings.buffer_tuning,
    };
    let send_tuning = SendTuning::Unlimited;
    let delayed_ack = linux().delayed_ack;
    Config { mss: 1472, timers: Timers::Exact, delayed_ack, send_tuning, buffer_tuning, ..settings }
}

#[test]
fn linux_3_14_undoes_a_timeout_whole() {
    let mut pair = held_up(older("linux314"), 600);
    pair.run_until(at(799));
    assert_eq!(pair.sender.stats().timeouts, 1);
    pair.run_until(at(800));
    assert_eq!(pair.sender.stats().undone, 1);
    assert!(is_as_before(&pair));
}

#[test]
fn in_linux_3_14_only_what_was_sent_once_undoes_a_second_timeout() {
    let mut pair = held_up(older("linux314"), 1600);
    pair.run_while(|pair| pair.sender.bytes_acked() == 0);
    // The ACK answers the first transmission of what was sent three times: timestamps are not
    // asked.
    assert_eq!((pair.sender.stats().timeouts, pair.sender.stats().undone), (2, 0));
    assert_eq!(pair.sender.bytes_acked(), MSS);
    pair.run_until(at(1800));
    assert_eq!((pair.sender.stats().timeouts, pair.sender.stats().undone), (2, 1));
    assert!(is_as_before(&pair), "the window before the first timeout");
}

#[test]
fn linux_3_14_doubts_a_timeout_that_follows_another_after_progress() {
    // The first window is lost; of what is new then and what goes again all is late, so that the
    // second timeout is a mistake.
    let of = |config: Config| {
        let mut pair = Pair::bulk(window_of(10, config)).lose(1..=10);
        for segment in 2..=40 {
            pair.fates.insert((segment, 2), Fate::Delay(700));
            if segment > 10 {
                pair.fates.insert((segment, 1), Fate::Delay(700));
            }
        }
        pair.run_until(at(6000));
        (pair.sender.stats().timeouts, pair.sender.stats().undone)
    };
    assert_eq!((of(older("linux314")), of(stamped())), ((2, 1), (2, 0)));
}

#[test]
fn linux_3_14_probes_a_lost_tail_and_linux_3_2_waits_for_the_timeout() {
    let of = |name: &str| {
        let mut pair = Pair::with(older(name), older(name), "newreno");
        pair.sender.write(10 * MSS);
        pair.sender.close();
        pair.sender.open(at(0));
        let mut pair = pair.lose([9, 10]);
        pair.finish();
        (pair.sender.stats().tail_loss_probes, pair.sender.stats().timeouts)
    };
    assert_eq!(of("linux314"), (1, 0));
    assert_eq!(of("linux32"), (0, 1));
}

#[test]
fn linux_3_14_retransmits_early_after_a_quarter_of_the_round_trip() {
    // Three segments, the first lost: two duplicates are all there will be (RFC 5827 §3.2).
    let of = |name: &str| {
        let mut pair = Pair::with(older(name), older(name), "newreno");
        pair.sender.write(3 * MSS);
        pair.sender.open(at(0));
        let mut pair = pair.lose([1]);
        pair.run_until(at(1000));
        (pair.times_of(1)[1], pair.sender.stats().timeouts)
    };
    // The duplicates come at 200 ms, and the RTT is 100 ms.
    assert_eq!(of("linux314"), (at(200 + 25), 0));
    let (again, timeouts) = of("linux32");
    // Sent at 100 ms, with a timeout of the RTT and the least deviation of 200 ms.
    assert_eq!((again, timeouts), (at(400), 1));
}
