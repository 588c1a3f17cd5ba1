//! Stack profiles: what Linux's sender and receiver do that the RFCs' do not.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::Flags;
use goodqueue_tcp::config::{SackDelay, SendTuning};
use goodqueue_tcp::{Config, Receiver, SackBlocks, Segment, Sender, Timers};

use crate::pair::{Fate, Pair, at, catalogue, controller, ms, profile, quick};

pub(crate) fn settings(name: &str) -> Config {
    profile(name).settings
}

/// Linux's settings, with segments of 1460 bytes, an ACK for each and exact timers, to count
/// easily.
pub(crate) fn linux() -> Config {
    Config {
        delayed_ack: quick().delayed_ack,
        timestamps: false,
        timers: Timers::Exact,
        sack_delay: SackDelay::NONE,
        ..settings("linux")
    }
}

/// The RFCs' settings with a receiver that can adapt its ACKs.
pub(crate) fn adaptive() -> Config {
    Config { stack: settings("linux").stack, ..Config::default() }
}

const MSS: u64 = 1460;

pub(crate) fn window_of(segments: u32, config: Config) -> Config {
    Config { iw: segments, initial_ssthresh: u64::from(segments) * MSS, ..config }
}

#[test]
fn every_profile_delivers_a_transfer_through_losses_with_every_controller() {
    for profile in catalogue().profiles() {
        for name in catalogue().controllers().map(|about| about.name) {
            let config = Config { delayed_ack: profile.settings.delayed_ack, ..profile.settings };
            let config = config.suited_to(controller(name).about().needs);
            let mut pair = Pair::with(config, config, name);
            pair.sender.write(200_000);
            pair.sender.close();
            pair.sender.open(Instant::ZERO);
            let mut pair = pair.lose([3, 7, 8, 30, 31, 32, 60, 100]).lose_times(8, 2);
            pair.finish();
            assert_eq!(pair.receiver.delivered(), 200_000, "{} {name}", profile.name);
            assert_eq!(pair.sender.pipe(), pair.sender.recount_pipe());
        }
    }
}

#[test]
fn linux_probes_a_lost_tail_after_two_round_trips() {
    let mut pair = Pair::transfer(linux(), 10).lose([10]);
    let finished = pair.finish();
    let stats = pair.sender.stats();
    assert_eq!((stats.timeouts, stats.tail_loss_probes), (0, 1));
    // the ninth is acknowledged at 200 ms; then two round trips and two ticks, and as one segment
    // is out, 200 ms more
    assert_eq!(pair.times_of(10), [at(100), at(500)]);
    assert_eq!(finished, at(600));
}

#[test]
fn linux_probes_with_several_out_after_two_round_trips_and_two_ticks() {
    let mut pair = Pair::transfer(linux(), 10).lose([9, 10]);
    pair.finish();
    assert_eq!(pair.sender.stats().tail_loss_probes, 1);
    // The ACKs come at 200 ms; two round trips and two ticks later the probe leaves.
    assert_eq!(pair.times_of(10)[1], at(402));
}

#[test]
fn linux_finds_a_lost_retransmission_without_the_timer() {
    let mut pair = Pair::bulk(window_of(20, linux())).lose_times(1, 2);
    pair.run_until(at(2000));
    assert_eq!(pair.sender.stats().timeouts, 0);
    let times = pair.times_of(1);
    assert_eq!(times.len(), 3);
    assert_eq!(times[..2], [at(100), at(200)]);
    assert!(times[2] <= at(400), "{:?}", times[2]);
}

#[test]
fn linux_repairs_three_losses_in_one_round() {
    let mut pair = Pair::bulk(window_of(20, linux())).lose([1, 2, 3]);
    let (began, ended) = pair.through_recovery();
    assert_eq!(ended.since(began), ms(100));
    assert_eq!((pair.sender.stats().retransmits, pair.sender.stats().timeouts), (3, 0));
    assert_eq!(pair.sender.ssthresh(), 10 * MSS);
    assert_eq!(pair.sender.cwnd() / MSS, 10);
}

#[test]
fn linux_takes_a_segment_that_comes_late_for_reordered() {
    let mut pair = Pair::bulk(window_of(10, linux()));
    // a tenth of the round trip late: within a quarter of the least RTT
    pair.fates.insert((2, 1), Fate::Delay(10));
    pair.run_until(at(190));
    assert_eq!(pair.sender.stats().retransmits, 0);
}

#[test]
fn linux_undoes_a_reduction_when_all_retransmissions_were_duplicates() {
    let mut pair = Pair::bulk(window_of(20, linux()));
    // so late that the others show it lost
    pair.fates.insert((2, 1), Fate::Delay(60));
    pair.run_until(at(600));
    let stats = pair.sender.stats();
    assert_eq!(stats.retransmits, 1);
    assert_eq!(stats.undone, 1);
    assert!(pair.sender.cwnd() >= 20 * MSS);
}

#[test]
fn linux_timeouts_are_at_least_200_ms_above_the_rtt() {
    let mut pair = Pair::bulk(linux());
    pair.run_while(|pair| !pair.sender.is_established());
    assert_eq!(pair.sender.rto(), ms(100 + 200));
    pair.run_until(at(500));
    assert!(pair.sender.rto() >= pair.sender.srtt().unwrap() + ms(200));
}

#[test]
fn linux_grows_by_all_that_was_delivered() {
    let mut pair =
        Pair::bulk(Config { delayed_ack: Config::default().delayed_ack, quick_acks: 0, ..linux() });
    pair.run_until(at(200));
    assert_eq!(pair.sender.cwnd(), 20 * MSS);
}

#[test]
fn per_ack_growth_is_half_as_fast_with_delayed_acks() {
    let send_tuning = SendTuning::Unlimited;
    let config = Config { quick_acks: 0, mss: 1460, timestamps: false, send_tuning, ..settings("linux32") };
    let mut pair = Pair::bulk(config);
    pair.run_until(at(200));
    // Five ACKs for ten segments.
    assert_eq!(pair.sender.cwnd(), 15 * MSS);
}

#[test]
fn the_first_send_buffer_of_linux_3_2_holds_six_segments_and_that_of_3_14_a_whole_window() {
    for (name, segments) in [("linux32", 6), ("linux314", 10)] {
        let mut pair = Pair::bulk(settings(name));
        pair.run_until(at(150));
        assert_eq!(pair.sender.stats().data_segments, segments, "{name}");
    }
}

#[test]
fn the_first_sixteen_acks_are_not_delayed() {
    let config = Config { quick_acks: 16, ..adaptive() };
    let mut receiver = connected(config);
    let mut acks = 0;
    for number in 0..40 {
        receiver.on_segment(at(number), &data(number));
        acks += std::iter::from_fn(|| receiver.poll_transmit(at(number))).count();
    }
    // The other 24 are acknowledged in pairs.
    assert_eq!(acks, 16 + 12);
    // after a pause they are quick again
    receiver.on_segment(at(10_000), &data(40));
    assert!(receiver.poll_transmit(at(10_000)).is_some());
}

#[test]
fn a_duplicate_makes_acks_quick_again() {
    let mut receiver = connected(Config { quick_acks: 2, ..adaptive() });
    for number in 0..4 {
        receiver.on_segment(at(number), &data(number));
        receiver.poll_transmit(at(number));
    }
    receiver.on_segment(at(5), &data(4));
    assert!(receiver.poll_transmit(at(5)).is_none());
    receiver.on_segment(at(6), &data(0));
    assert!(receiver.poll_transmit(at(6)).is_some());
    receiver.on_segment(at(7), &data(5));
    assert!(receiver.poll_transmit(at(7)).is_some());
}

#[test]
fn until_linux_4_17_a_gap_makes_acks_quick_again() {
    for (quick_after_gap, answered) in [(true, [true, true, true, false]), (false, [true, true, false, true])]
    {
        let mut receiver = connected(Config { quick_acks: 3, quick_after_gap, ..adaptive() });
        for number in 0..5 {
            receiver.on_segment(at(number), &data(number));
            receiver.poll_transmit(at(number));
        }
        for (number, answered) in [6, 5, 7, 8].into_iter().zip(answered) {
            receiver.on_segment(at(10), &data(number));
            assert_eq!(receiver.poll_transmit(at(10)).is_some(), answered, "segment {number}");
        }
    }
    assert!(settings("linux314").quick_after_gap && settings("linux32").quick_after_gap);
    assert!(!settings("linux").quick_after_gap);
}

#[test]
fn after_three_duplicates_sacks_wait_a_part_of_the_handshakes_rtt_and_the_timers_slack() {
    // A twentieth of the RTT is 0.5 ms, or more than the longest wait; the slack is 0.1 ms. Linux
    // 7.3 waits up to a third of the RTT, and its slack is a tenth of that.
    let cases = [("linux61", 10, 600), ("linux61", 50, 1100), ("linux", 2, 670), ("linux", 50, 1010)];
    for (profile, rtt, micros) in cases {
        let sack_delay = settings(profile).sack_delay;
        let mut receiver = Receiver::new(Config { sack_delay, ..adaptive() }).expect("valid");
        receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
        assert!(receiver.poll_transmit(at(0)).is_some());
        receiver.on_segment(at(rtt), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
        for number in 1..=3 {
            receiver.on_segment(at(rtt), &data(number));
            assert!(receiver.poll_transmit(at(rtt)).is_some());
        }
        receiver.on_segment(at(rtt), &data(4));
        assert!(receiver.poll_transmit(at(rtt)).is_none());
        let due = at(rtt) + Duration::from_micros(micros);
        assert_eq!(receiver.next_event(), Some(due), "{profile}");
        let ack = receiver.poll_transmit(due).expect("due");
        assert_eq!(ack.sack.iter(ack.ack).next(), Some((101, 501)));
    }
}

#[test]
fn sacks_in_quick_mode_leave_the_three_that_are_never_delayed() {
    let mut receiver = connected(Config { sack_delay: SackDelay::LINUX_6, quick_acks: 3, ..adaptive() });
    // The first data makes ACKs quick, and uses the first of them.
    receiver.on_segment(at(1), &data(0));
    assert!(receiver.poll_transmit(at(1)).is_some());
    let acknowledged = (2..=10).filter(|&number| {
        receiver.on_segment(at(1), &data(number));
        receiver.poll_transmit(at(1)).is_some()
    });
    assert_eq!(acknowledged.count(), 5, "two quick ones, and three duplicates");
}

#[test]
fn linux_acknowledges_at_once_that_the_sender_reduced_its_window() {
    let config = Config { ecn: true, adaptive_acks: true, ..adaptive() };
    let mut receiver = Receiver::new(config).expect("valid");
    let syn = Segment { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..Segment::default() };
    receiver.on_segment(at(0), &syn);
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(0), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    let full = |number: u64, flags| Segment { seq: 1 + number * 1460, ack: 1, len: 1460, flags, ..data(0) };
    receiver.on_segment(at(1), &full(0, Flags::ACK));
    assert!(receiver.poll_transmit(at(1)).is_none(), "delayed");
    receiver.on_segment(at(2), &full(1, Flags::ACK));
    assert!(receiver.poll_transmit(at(2)).is_some());
    receiver.on_segment(at(3), &full(2, Flags::ACK | Flags::CWR));
    assert!(receiver.poll_transmit(at(3)).is_some());
}

#[test]
fn accurate_echo_acknowledges_each_change_of_marking_at_once() {
    let config = Config { ecn: true, accurate_ecn_echo: true, ..Config::default() };
    let mut receiver = Receiver::new(config).expect("valid");
    let syn = Segment { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..Segment::default() };
    receiver.on_segment(at(0), &syn);
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(0), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    let marked = |number| Segment { ecn: goodqueue::Ecn::Ce, ..data(number) };
    receiver.on_segment(at(1), &data(0));
    assert!(receiver.poll_transmit(at(1)).is_none());
    receiver.on_segment(at(2), &marked(1));
    let change = receiver.poll_transmit(at(2)).expect("at once");
    assert_eq!((change.ack, change.flags.contains(Flags::ECE)), (101, false));
    receiver.on_segment(at(3), &marked(2));
    let echo = receiver.poll_transmit(at(3)).expect("second segment");
    assert_eq!((echo.ack, echo.flags.contains(Flags::ECE)), (301, true));
}

#[test]
fn ns2_forgets_what_was_sacked_on_a_timeout() {
    let config = Config { delayed_ack: quick().delayed_ack, initial_rto: ms(1000), ..settings("ns2_sack1") };
    let mut sender = Sender::new(Config { iw: 4, ..config }, controller("newreno")).expect("valid");
    sender.write(4 * MSS);
    sender.open(Instant::ZERO);
    assert!(sender.poll_transmit(Instant::ZERO).is_some());
    let answer = Segment { ack: 1, window: 1 << 30, flags: Flags::SYN | Flags::ACK, ..Segment::default() };
    sender.on_segment(at(100), &answer);
    while sender.poll_transmit(at(100)).is_some() {}
    let mut sack = SackBlocks::NONE;
    assert!(sack.push(1, MSS + 1, 2 * MSS + 1));
    sender
        .on_segment(at(200), &Segment { seq: 1, ack: 1, window: 1 << 30, sack, flags: Flags::ACK, ..answer });
    let due = sender.next_event().expect("running");
    assert!(sender.poll_transmit(due).is_some());
    assert_eq!(sender.in_flight(), 4 * MSS);
    assert_eq!(sender.pipe(), MSS);
}

#[test]
fn a_coarse_clock_rounds_round_trips_up() {
    let mut pair = Pair::bulk(Config { tick: ms(30), ..quick() });
    pair.run_while(|pair| !pair.sender.is_established());
    // 100 ms are more than three ticks of 30 ms.
    assert_eq!(pair.sender.srtt(), Some(ms(120)));
}

#[test]
fn what_needs_sack_is_refused_without_it() {
    let config = Config { sack: false, ..settings("linux") };
    assert!(config.check().is_err());
    assert!(Config { tail_loss_probe: true, sack: false, ..Config::default() }.check().is_err());
    assert!(Config { early_retransmit: true, ..settings("linux") }.check().is_err());
}

pub(crate) fn connected(config: Config) -> Receiver {
    let mut receiver = Receiver::new(config).expect("valid");
    receiver.on_segment(at(0), &Segment { flags: Flags::SYN, ..Segment::default() });
    assert!(receiver.poll_transmit(at(0)).is_some());
    receiver.on_segment(at(0), &Segment { seq: 1, ack: 1, flags: Flags::ACK, ..Segment::default() });
    receiver
}

pub(crate) fn data(number: u64) -> Segment {
    Segment { seq: number * 100 + 1, ack: 1, len: 100, flags: Flags::ACK, ..Segment::default() }
}
