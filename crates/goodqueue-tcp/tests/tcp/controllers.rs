//! Controllers that look at more than losses: what they do to the window, and when.

use goodqueue::Instant;
use goodqueue_tcp::congestion::Needs;
use goodqueue_tcp::{AnyCongestionControl, Config};

use crate::pair::{Fate, MSS, Pair, at, controller, profile, quick};

fn linux(name: &str) -> Config {
    let settings = profile("linux").settings;
    Config { delayed_ack: quick().delayed_ack, ..settings.suited_to(controller(name).about().needs) }
}

fn bulk(name: &str, config: Config) -> Pair {
    Pair::bulk_with(config, name)
}

fn segments(pair: &Pair, config: &Config) -> u64 {
    pair.sender.cwnd() / u64::from(config.payload())
}

#[test]
fn dctcp_halves_on_the_first_mark_as_alpha_begins_at_one() {
    let config = Config { iw: 20, initial_ssthresh: 20 * MSS, ..linux("dctcp") };
    let mut pair = bulk("dctcp", config);
    // SYN, ACK, then data: the fifth transmission is a data segment.
    pair.data_fates = vec![Fate::Deliver, Fate::Deliver, Fate::Deliver, Fate::Deliver, Fate::Mark];
    pair.run_while(|pair| pair.sender.stats().ecn_reductions == 0);
    pair.run_until(pair.now + crate::pair::ms(150));
    assert_eq!(pair.sender.stats().ecn_reductions, 1);
    assert!((9..=12).contains(&segments(&pair, &config)), "{}", segments(&pair, &config));
}

#[test]
fn dctcp_cuts_less_once_marks_have_become_rare() {
    let config = Config { iw: 20, initial_ssthresh: 20 * MSS, ..linux("dctcp") };
    let mut pair = bulk("dctcp", config);
    // Three seconds without a mark let alpha fall by a sixteenth per round trip; then one mark.
    let mark_after = 800;
    pair.data_fates = vec![Fate::Deliver; mark_after];
    pair.data_fates.push(Fate::Mark);
    pair.run_while(|pair| pair.sender.stats().ecn_reductions == 0);
    let before = pair.sender.cwnd();
    pair.run_until(pair.now + crate::pair::ms(150));
    let after = pair.sender.cwnd();
    let AnyCongestionControl::Dctcp(dctcp) = pair.sender.controller() else { panic!("it is DCTCP") };
    assert!(dctcp.alpha() < 0.3, "{}", dctcp.alpha());
    assert!(after * 10 > before * 8, "{before} -> {after}: half of alpha is taken, not half of the window");
}

#[test]
fn dctcp_takes_a_loss_as_reno_does() {
    let config = Config { iw: 20, initial_ssthresh: 20 * MSS, ..linux("dctcp") };
    let mut pair = bulk("dctcp", config).lose([5]);
    let _ = pair.through_recovery();
    assert_eq!(segments(&pair, &config), 10);
}

/// How often a flow that was marked recovers, and the window in segments that it has then.
fn after_a_mark(name: &str, lost: [u64; 2]) -> (u64, u64) {
    let config = Config { iw: 20, initial_ssthresh: 20 * MSS, ..linux(name) };
    let config = Config { ecn: true, ..config };
    let mut pair = bulk(name, config).lose(lost);
    // The mark is answered while segment 21 is the newest.
    pair.fates.insert((2, 1), Fate::Mark);
    pair.run_until(at(520));
    assert_eq!((pair.sender.stats().ecn_reductions, pair.sender.stats().timeouts), (1, 0));
    (pair.sender.stats().fast_recoveries, segments(&pair, &config))
}

#[test]
fn in_linux_a_loss_beyond_what_was_out_at_a_mark_is_a_new_event() {
    // Both losses lie in what was out at the mark: one recovery, which ends there.
    assert_eq!(after_a_mark("dctcp", [10, 15]).0, 1);
    // Segment 23 left while the window was being reduced for the mark. Its loss reduces it again,
    // although the recovery of segment 10 had not begun when it left.
    let (recoveries, window) = after_a_mark("dctcp", [10, 23]);
    assert_eq!(recoveries, 2);
    assert!(window <= 5, "halved for the mark, for the loss and for the later loss: {window}");
    assert_eq!(after_a_mark("cubic", [10, 23]).0, 2, "also without DCTCP");
}

#[test]
fn vegas_grows_by_a_segment_per_round_trip_while_nothing_queues() {
    let config = Config { iw: 10, initial_ssthresh: 10 * MSS, ..linux("vegas") };
    let mut pair = bulk("vegas", config);
    pair.run_until(at(450));
    let early = segments(&pair, &config);
    pair.run_until(at(950));
    let late = segments(&pair, &config);
    assert!((4..=6).contains(&(late - early)), "{early} -> {late} in five round trips");
}

#[test]
fn vegas_shrinks_when_more_than_four_segments_stand_in_the_queue() {
    let config = Config { iw: 20, initial_ssthresh: 20 * MSS, ..linux("vegas") };
    let mut pair = bulk("vegas", config);
    // From the fourth round trip on every segment takes 40 ms longer: 20 segments of 140 ms, 6 of
    // them queued.
    pair.data_fates = vec![Fate::Deliver; 62];
    pair.data_fates.extend([Fate::Delay(40); 400]);
    pair.run_until(at(500));
    let before = segments(&pair, &config);
    pair.run_until(at(1500));
    let after = segments(&pair, &config);
    assert!(after < before, "{before} -> {after}");
    assert_eq!(pair.sender.stats().retransmits, 0);
}

#[test]
fn bbr_sends_pairs_at_most_and_spreads_them_over_the_round_trip() {
    let mut pair = bulk("bbr", Config { rwnd: 100 * 1460, ..linux("bbr") });
    pair.run_until(at(1000));
    let times: Vec<Instant> =
        pair.data.iter().filter(|sent| sent.0 > at(800) && sent.1.len > 0).map(|sent| sent.0).collect();
    assert!(times.len() > 20);
    let more = times.windows(3).filter(|three| three[0] == three[2]).count();
    assert_eq!(more, 0, "no more than two leave at one instant");
}

#[test]
fn bbr_sends_single_segments_below_1200_kbit_per_second() {
    let settings = profile("linux").settings;
    let mut pair = bulk("bbr", Config { rwnd: 6 * 1460, ..settings.suited_to(Needs::Nothing) });
    // Slow enough for six segments in a round trip.
    pair.data_fates = vec![Fate::Delay(200); 8000];
    pair.run_until(at(8000));
    let rate = pair.sender.pacing_rate().expect("it paces");
    // 1200 kbit/s.
    assert!(rate < 150_000, "{rate} bytes per second");
    let times: Vec<Instant> =
        pair.data.iter().filter(|sent| sent.0 > at(4000) && sent.1.len > 0).map(|sent| sent.0).collect();
    assert!(times.len() > 20);
    assert!(times.windows(2).all(|two| two[0] < two[1]), "no two leave at one instant");
}

#[test]
fn bbr_keeps_its_rate_through_a_loss() {
    let rate_after = |lost: bool| {
        // The receiver's window is the bottleneck: this network has none.
        let mut pair = bulk("bbr", Config { rwnd: 100 * 1460, ..linux("bbr") });
        if lost {
            pair = pair.lose([200]);
        }
        pair.run_until(at(2000));
        pair.sender.pacing_rate().expect("it paces")
    };
    let without = rate_after(false);
    let with = rate_after(true);
    assert!(with * 2 > without, "{without} -> {with} bytes per second");
}

#[test]
fn bbr_lets_its_window_down_to_four_segments_to_see_the_least_round_trip() {
    let config = Config { rwnd: 50 * 1460, ..linux("bbr") };
    let mut pair = bulk("bbr", config);
    // From then on something queues.
    pair.data_fates = vec![Fate::Deliver; 20];
    pair.data_fates.extend([Fate::Delay(10); 8000]);
    let mut least = u64::MAX;
    let mut time = 9_000;
    while time < 13_000 {
        pair.run_until(at(time));
        least = least.min(segments(&pair, &config));
        time += 20;
    }
    assert_eq!(least, 4, "ten seconds after the least round trip was last seen");
}

#[test]
fn tcp_lp_grows_as_reno_after_its_first_delay() {
    let windows = |name: &str| {
        let config = Config { iw: 10, initial_ssthresh: 10 * 1448, ..linux(name) };
        let mut pair = bulk(name, config);
        pair.run_until(at(2000));
        segments(&pair, &config)
    };
    let reno = windows("reno");
    let lp = windows("tcp_lp");
    assert!(reno > 20);
    // Linux takes the first delay of all for a sign of congestion: half of 11, and three round
    // trips without growth.
    assert_eq!((reno, lp), (29, 24));
}

#[test]
fn tcp_lp_backs_off_to_one_segment_when_the_delay_jumps_and_stays() {
    let config = Config { iw: 10, initial_ssthresh: 10 * 1448, ..linux("tcp_lp") };
    let mut pair = bulk("tcp_lp", config);
    pair.data_fates = vec![Fate::Deliver; 100];
    pair.data_fates.extend([Fate::Delay(60); 2000]);
    pair.run_until(at(700));
    let before = segments(&pair, &config);
    let mut least = before;
    for step in 0..60 {
        pair.run_until(at(700 + 20 * step));
        least = least.min(segments(&pair, &config));
    }
    assert_eq!(least, 1, "from {before}");
    assert_eq!(pair.sender.stats().retransmits, 0);
}
