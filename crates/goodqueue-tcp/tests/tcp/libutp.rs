//! libutp as it sends itself: its `utp_send` and `utp_recv` of 27 May 2010, driven through the same
//! network.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::{Config, CongestionControl, Flags, Segment};

use crate::pair::{Fate, Pair, at, ms, profile};

/// What libutp's own program sent, packet by packet: `5@400` is packet 5 after 400 ms, `5x@400` was
/// lost.
const WITH_LOSSES: &str = "0@100 1@250 2x@250 3@250 4@400 5x@400 6x@400 2@550 7@650 8x@650 5@800 6@800 9x@900 10@900 \
    11@900 8@1050 9x@1050 12x@1050 13@1050 14@1200 15@1200 16x@1200 17x@1350 18@1350 19@1350 20x@1500 21@1500 22x@1650 \
    23x@1650 9@2150 12@2250 16@2250 17@2250 20x@2250 22@2350 23@2350 24@2350 25@2500 26@2500 27@2500 28@2500 29@2650 \
    30@2650 31@2650 32@2650 33@2650 34@2650 35@2800 36@2800 37@2800 38@2800 39@2800 40x@2800 41@2800 42x@2800 43@2950 \
    44@2950 45@2950 46@2950 47@2950 48@2950 49@2950 50@3100 51@3100 52@3100 53@3100 54@3100 55@3100 56@3100 57@3100 \
    58@3250 59@3250 20@3750 40@3850 42x@3850 60@3950 61x@4100 62x@4100";

/// The same where each of four packets takes 3 ms longer than the one before, and all from packet
/// 12 on 400 ms: the window falls to ten bytes, and the timeout alone sends.
const WITH_DELAY: &str = "0@100 1@253 2@253 3@253 4@359 5@359 6@359 7@362 8@465 9@465 10@465 11@465 12@465 13@468 9@568 10@568 14@568 \
    15@574 16@574 17@574 18@974 19@974 20@974 15@1077 16@1077 18@1077 21@1083 22@1083 23@1083 24@2742 25@4448 \
    26@6157 27@7807 28@9460";

/// libutp's packets have 1418 bytes of payload.
const MSS: u32 = 1430;

fn sends_what_libutp_does(recorded: &str, fate: impl Fn(usize, bool) -> Fate, until: u64) {
    let config = Config { mss: MSS, ..profile("libutp").settings };
    let mut pair = Pair::bulk_with(config, "ledbat_utp");
    let fates = recorded.split(' ').enumerate().map(|(index, packet)| fate(index, packet.contains('x')));
    pair.data_fates = [Fate::Deliver].into_iter().chain(fates).collect(); // the SYN is first
    pair.run_until(at(until));
    let sent = pair.data.iter().skip(1).zip(&pair.data_fates[1..]).map(|((when, segment), fate)| {
        let lost = if *fate == Fate::Lose { "x" } else { "" };
        format!(
            "{}{lost}@{}",
            segment.seq / u64::from(config.payload()),
            when.since(at(0)).as_nanos() / 1_000_000
        )
    });
    assert_eq!(sent.collect::<Vec<_>>().join(" "), recorded);
    assert_eq!(pair.data.len(), pair.data_fates.len());
}

#[test]
fn it_sends_what_libutp_does_when_packets_are_lost() {
    sends_what_libutp_does(WITH_LOSSES, |_, lost| if lost { Fate::Lose } else { Fate::Deliver }, 4300);
}

#[test]
fn it_sends_what_libutp_does_when_a_queue_grows() {
    let late = |index| Fate::Delay(index as u64 % 4 * 3 + if index > 12 { 400 } else { 0 });
    sends_what_libutp_does(WITH_DELAY, |index, _| late(index + 1), 9900);
}

#[test]
fn it_gives_up_after_six_timeouts() {
    let mut pair = Pair::bulk_with(profile("libutp").settings, "ledbat_utp");
    pair.data_fates = [Fate::Deliver].into_iter().chain([Fate::Lose; 20]).collect();
    pair.run_until(at(120_000));
    let times = pair.times_of(1);
    // What follows is a multiple of 500 ms later, and nothing comes after the last.
    assert_eq!(
        times.windows(2).map(|pair| pair[1].since(pair[0])).collect::<Vec<_>>(),
        [500, 1000, 2000, 4000, 8000].map(ms)
    );
    // The sixth, after 16 s, doubles the timeout to 32 s, which ends the connection.
    assert_eq!(pair.sender.stats().timeouts, 5);
    assert_eq!(pair.sender.next_event(), None);
}

#[test]
fn it_repeats_a_syn_after_1500_ms_and_data_after_a_repeated_syn_after_3_s() {
    let mut pair = Pair::bulk_with(profile("libutp").settings, "ledbat_utp");
    pair.data_fates = vec![Fate::Lose, Fate::Lose, Fate::Deliver, Fate::Lose];
    pair.run_until(at(10_000));
    let is_syn = |sent: &&(Instant, Segment)| sent.1.flags.contains(Flags::SYN);
    let syns: Vec<Instant> = pair.data.iter().filter(is_syn).map(|sent| sent.0).collect();
    let waits = |times: &[Instant]| -> Vec<Duration> {
        times.windows(2).map(|pair| pair[1].since(pair[0])).collect()
    };
    assert_eq!((waits(&syns), waits(&pair.times_of(1))[0]), ([1500, 3000].map(ms).to_vec(), ms(3000)));
    let sources = profile("libutp").sources.join("\n");
    assert!(
        sources.contains("1500 ms for the SYN, 3000 ms (rto) for data after a repeated SYN"),
        "{sources}"
    );
}

#[test]
fn what_is_queued_is_not_taken_back() {
    let mut pair = Pair::bulk_with(profile("libutp").settings, "ledbat_utp");
    pair.data_fates = [Fate::Deliver; 12].into_iter().chain([Fate::Delay(400); 20]).collect();
    // The window is ten bytes, nothing is out, and one packet waits for the timeout.
    pair.run_while(|pair| {
        pair.sender.controller().pacing().fine_window != Some(10) || pair.sender.in_flight() > 0
    });
    let sent = pair.data.len();
    pair.sender.take_back();
    pair.run_until(at(20_000));
    assert_eq!(pair.data.len(), sent + 1);
    assert_eq!(pair.data[sent].1.len, pair.data[1].1.len);
    pair.sender.close();
    pair.finish();
}

#[test]
fn an_ack_tells_the_delay_of_the_last_packet_however_long_it_waited() {
    let mut pair = Pair::bulk(profile("libutp").settings);
    pair.run_until(at(400));
    // The first packet is alone: its ACK waits 50 ms.
    let (sent, ack) = pair.acks.iter().find(|(_, ack)| ack.ack > 1).expect("acknowledged");
    assert_eq!(sent.since(at(0)), ms(200));
    assert_eq!(ack.ts_val - ack.ts_ecr, 50_000);
}
