//! The receiver's window.

use goodqueue::Instant;
use goodqueue_tcp::Config;
use goodqueue_tcp::config::MAX_WINDOW;

use crate::pair::{MSS, Pair, at, ms, quick};

#[test]
fn the_sender_stays_within_the_window() {
    let mut pair = Pair::bulk(Config { rwnd: 5 * 1460 + 700, ..quick() });
    pair.run_until(at(1000));
    // The 700 bytes beyond are less than half of the window, and wait (RFC 9293 §3.8.6.2.1).
    assert_eq!(pair.sender.in_flight(), 5 * MSS);
    assert_eq!(pair.sender.cwnd(), 10 * MSS);
    assert_eq!(pair.receiver.stats().refused, 0);
}

#[test]
fn a_window_smaller_than_a_segment_is_used_as_it_is() {
    let mut pair = Pair::new(Config { rwnd: 500, ..quick() });
    pair.sender.write(2000);
    pair.sender.close();
    pair.sender.open(Instant::ZERO);
    pair.finish();
    assert_eq!(pair.receiver.delivered(), 2000);
    assert_eq!(pair.sender.stats().timeouts, 0);
}

#[test]
fn a_closed_window_is_probed_ever_more_slowly_for_ever() {
    let mut pair = Pair::with(quick(), Config { rwnd: 0, ..quick() }, "newreno");
    pair.sender.write(u64::MAX);
    pair.sender.open(Instant::ZERO);
    // The timeout has doubled to its bound of 60 s by then.
    pair.run_until(at(400_000));
    assert_eq!(pair.receiver.delivered(), 0);
    let probes: Vec<_> = pair.data.iter().filter(|e| e.1.len > 0).map(|e| e.0).collect();
    // The timeout of 1 s from 100 ms on, doubled each time.
    assert_eq!(probes[..4], [at(1100), at(3100), at(7100), at(15_100)]);
    assert_eq!(pair.sender.rto(), ms(60_000));
    let stats = pair.sender.stats();
    assert_eq!((stats.timeouts, stats.retransmits, stats.spurious), (0, 0, 0));
    assert_eq!(stats.window_probes, probes.len() as u64);
}

#[test]
fn a_window_that_opens_lets_the_data_flow() {
    for announcement_lost in [false, true] {
        let mut pair = Pair::with(quick(), Config { rwnd: 0, ..quick() }, "newreno");
        pair.sender.write(20 * MSS);
        pair.sender.close();
        pair.sender.open(Instant::ZERO);
        pair.run_until(at(2000));
        if announcement_lost {
            // Fates count from the first ACK of all: only the next one is still to be sent.
            pair.ack_fates = vec![crate::pair::Fate::Lose; pair.acks.len() + 1];
        }
        pair.receiver.set_window(MAX_WINDOW);
        let finished = pair.finish();
        // The next probe leaves at 3100 ms and is answered a round trip later; the announcement
        // arrives at 2050 ms. Windows of ten then take two round trips.
        let expected = if announcement_lost { at(3100 + 300) } else { at(2050 + 200) };
        assert_eq!(finished, expected);
        assert_eq!(pair.receiver.delivered(), 20 * MSS);
    }
}

#[test]
fn a_window_that_closes_takes_nothing_back() {
    let mut pair = Pair::bulk(Config { rwnd: 20 * 1460, ..quick() });
    pair.run_until(at(500));
    pair.receiver.set_window(0);
    // The sender must not take the closed window for a loss, however long it lasts.
    pair.run_until(at(20_000));
    assert_eq!((pair.receiver.stats().refused, pair.sender.stats().timeouts), (0, 0));
    assert_eq!(pair.sender.in_flight(), 0);
    let before = pair.receiver.delivered();
    pair.receiver.set_window(20 * 1460);
    pair.run_until(at(21_000));
    assert!(pair.receiver.delivered() > before + 100 * MSS);
}

#[test]
fn what_is_taken_back_is_not_sent_and_what_is_written_later_is() {
    let mut pair = Pair::bulk(quick());
    pair.run_until(at(450));
    pair.sender.take_back();
    pair.run_until(at(2000));
    let so_far = pair.receiver.delivered();
    assert!(so_far > 0 && so_far.is_multiple_of(MSS) && pair.sender.in_flight() == 0);
    assert_eq!(pair.sender.bytes_acked(), so_far, "nothing is missing of what was sent");
    pair.sender.write(5 * MSS);
    pair.sender.close();
    pair.finish();
    assert_eq!(pair.receiver.delivered(), so_far + 5 * MSS);
    assert_eq!(pair.sender.stats().timeouts, 0);
}

#[test]
fn what_waits_for_a_closed_window_can_be_taken_back() {
    let mut pair = Pair::with(quick(), Config { rwnd: 0, ..quick() }, "newreno");
    pair.sender.write(u64::MAX);
    pair.sender.open(Instant::ZERO);
    pair.run_until(at(5000));
    pair.sender.take_back();
    let probes = pair.sender.stats().window_probes;
    pair.run_until(at(60_000));
    assert!(pair.sender.stats().window_probes <= probes + 1, "nobody asks for room that nobody needs");
    pair.receiver.set_window(MAX_WINDOW);
    pair.sender.write(5 * MSS);
    pair.sender.close();
    pair.finish();
    assert_eq!(pair.receiver.delivered(), 5 * MSS);
}
