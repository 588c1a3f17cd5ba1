//! F-RTO of Linux 3.2: a timeout is put to the test before anything is taken for lost.

use goodqueue::Instant;
use goodqueue_tcp::Config;

use crate::pair::{Fate, MSS, Pair, at};
use crate::profiles::window_of;
use crate::undo::older;

/// Ten segments and those that follow; the timeout is 300 ms after the first ones were sent at 100
/// ms.
fn ten() -> Pair {
    let config: Config = window_of(10, older("linux32"));
    Pair::bulk_with(config, "reno")
}

/// The first ten come after the timeout, and in their order with what is sent again.
fn late() -> Pair {
    let mut pair = ten();
    for segment in 1..=10 {
        for transmission in 1..=2 {
            pair.fates.insert((segment, transmission), Fate::Delay(400));
        }
    }
    pair
}

#[test]
fn after_a_timeout_only_the_oldest_segment_goes_and_nothing_is_lost_yet() {
    let mut pair = late();
    pair.run_until(at(401));
    assert_eq!(pair.sender.stats().timeouts, 1);
    assert_eq!(pair.sender.cwnd(), 10 * MSS, "the window is not that of a loss");
    assert_eq!(pair.sender.ssthresh(), 5 * MSS);
    assert_eq!(pair.sender.pipe(), 11 * MSS, "the ten, and the first again");
    assert_eq!((pair.times_of(1).len(), pair.times_of(2).len()), (2, 1));
}

#[test]
fn the_first_ack_lets_two_new_segments_out_and_the_second_shows_the_timeout_to_be_wrong() {
    let mut pair = late();
    pair.run_while(|pair| pair.sender.bytes_acked() == 0);
    assert_eq!((pair.times_of(11).len(), pair.times_of(12).len(), pair.times_of(13).len()), (1, 1, 0));
    assert_eq!(pair.sender.stats().undone, 0);
    pair.run_while(|pair| pair.sender.bytes_acked() <= MSS);
    assert_eq!(pair.sender.stats().undone, 1);
    assert_eq!(pair.sender.stats().retransmits, 1);
}

#[test]
fn a_wrong_timeout_halves_the_rate_over_a_round_trip_and_the_window_stays_there() {
    let mut pair = late();
    pair.run_until(at(750));
    assert_eq!((pair.sender.stats().timeouts, pair.sender.stats().retransmits), (1, 1));
    assert!((5..=8).contains(&(pair.sender.cwnd() / MSS)), "{}", pair.sender.cwnd() / MSS);
    assert_eq!(pair.sender.ssthresh(), 5 * MSS);
}

#[test]
fn a_loss_while_the_rate_is_halved_is_recovered_from_in_proportion() {
    let mut pair = late().lose(3..=3);
    pair.fates.remove(&(3, 2));
    pair.run_while(|pair| pair.sender.stats().undone == 0);
    assert!(!pair.sender.is_in_recovery());
    pair.run_while(|pair| !pair.sender.is_in_recovery());
    let window = pair.sender.cwnd();
    pair.run_while(|pair| pair.sender.is_in_recovery());
    assert_eq!((pair.sender.stats().timeouts, pair.times_of(3).len()), (1, 2));
    assert!(pair.sender.cwnd() <= window, "no more than what it had when it began");
    assert_eq!(pair.sender.ssthresh(), 5 * MSS, "the window is reduced once");
}

#[test]
fn duplicates_before_the_answer_wait_for_it() {
    // The first is lost, and the rest are late: their SACKs come before the answer to the
    // retransmission.
    let mut pair = late();
    pair.fates.insert((1, 1), Fate::Lose);
    pair.fates.insert((1, 2), Fate::Delay(100));
    for segment in 2..=10 {
        pair.fates.insert((segment, 1), Fate::Delay(310));
    }
    // The SACKs come from 510 ms on, the answer at 600 ms.
    pair.run_until(at(590));
    assert!(pair.sender.stats().duplicate_acks > 3);
    assert!(!pair.sender.is_in_recovery());
    assert_eq!(pair.times_of(11).len(), 0, "and nothing new goes meanwhile");
    pair.run_until(at(1200));
    assert_eq!(pair.sender.stats().retransmits, 1, "the only one that was lost");
}

#[test]
fn sacks_of_the_new_segments_show_that_the_rest_is_lost() {
    let mut pair = ten().lose(1..=10);
    pair.run_until(at(500));
    // The retransmission of the first is answered, and two new segments leave.
    assert_eq!((pair.times_of(1), pair.times_of(11)), (vec![at(100), at(400)], vec![at(500)]));
    assert_eq!(pair.times_of(2).len(), 1);
    pair.run_until(at(600));
    assert_eq!(pair.times_of(2), [at(100), at(600)], "their SACK tells");
    assert_eq!(pair.times_of(3), [at(100), at(600)], "three beyond what is in flight");
    assert_eq!(pair.sender.stats().undone, 0);
    pair.run_until(at(3000));
    assert!((1..=10).all(|segment| pair.times_of(segment).len() == 2), "each of them once");
    assert_eq!(pair.sender.stats().timeouts, 1);
}

#[test]
fn with_nothing_new_to_send_the_first_ack_mends_the_rest() {
    let config = window_of(10, older("linux32"));
    let mut pair = Pair::with(config, config, "reno");
    pair.sender.write(10 * MSS);
    pair.sender.close();
    pair.sender.open(Instant::ZERO);
    let mut pair = pair.lose(1..=10);
    pair.run_until(at(500));
    assert_eq!((pair.times_of(2), pair.times_of(3)), (vec![at(100), at(500)], vec![at(100), at(500)]));
    pair.finish();
    assert_eq!(pair.receiver.delivered(), 10 * MSS);
}

#[test]
fn a_second_timeout_tests_anew() {
    let mut pair = ten().lose(1..=10).lose_times(1, 3);
    pair.run_until(at(2800));
    let times = pair.times_of(1);
    assert_eq!(times, [at(100), at(400), at(1000), at(2200)], "300 ms, doubled each time");
    assert_eq!(pair.sender.ssthresh(), 5 * MSS, "reduced once");
    pair.run_until(at(8000));
    assert!((2..=10).all(|segment| pair.times_of(segment).len() == 2));
}
