//! Segments from a TCP peer.

use goodqueue::{Duration, Ecn, Instant};
use goodqueue_tcp::{
    AnyCongestionControl, Config as TcpConfig, DelayedAck, Flags, HyStart, Receiver, Segment, Sender,
};

use crate::choices::Choices;

/// Feeds arbitrary segments of a peer to a sender and a receiver. Neither may send without end, and
/// their accounting must stay correct.
///
/// # Panics
/// If one of these does not hold.
pub fn tcp_segments(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let switches = choices.byte();
    let on = |bit: u8| switches & 1 << bit != 0;
    let config = TcpConfig {
        mss: choices.of(&[1460, 1460, LEAST_MSS, 536, 65_495]),
        iw: choices.of(&[10, 1, 3, 1_000]),
        delayed_ack: DelayedAck { every: choices.of(&[2, 1, 100]), ..DelayedAck::default() },
        sack: on(0),
        ecn: on(1),
        accecn: on(1) && on(5),
        timestamps: on(2),
        limited_transmit: on(3),
        prr: on(4),
        idle_restart: on(5),
        rwnd: choices.of(&[MOST_WINDOW, 65_535, 0, 1]),
        hystart: if on(7) { HyStart::Rfc9406 } else { HyStart::Own },
        ..TcpConfig::default()
    };
    let name = if on(6) { "cubic" } else { "newreno" };
    let control = AnyCongestionControl::by_name(name).expect("listed");
    let mut sender = Sender::new(config, control).expect("in range");
    let mut receiver = Receiver::new(config).expect("in range");
    let mut now = Instant::ZERO;
    sender.open(now);
    // Segments that both ends sent. Copies of true segments are the most harmful lies.
    let mut said: Vec<Segment> = Vec::new();
    let mut written = 0_u64;
    while !choices.is_empty() {
        match choices.byte() {
            0..=15 => {
                let more = choices.number().min(100_000);
                written += more;
                sender.write(more);
            }
            16..=31 => now += Duration::from_nanos(choices.number().min(1 << 40)),
            32..=63 => now += Duration::from_millis(u64::from(choices.byte())),
            64..=79 => now = sender.next_event().map_or(now, |event| event.max(now)),
            80..=95 => now = receiver.next_event().map_or(now, |event| event.max(now)),
            // A caller's clock may step back.
            96..=99 => now = now - Duration::from_millis(u64::from(choices.byte())),
            100 => sender.close(),
            101..=119 => receiver.set_window(u32::try_from(choices.number()).unwrap_or(0).min(MOST_WINDOW)),
            120..=169 => {
                let index = choices.byte();
                if let Some(segment) = said.get(said.len().saturating_sub(1 + usize::from(index))) {
                    receiver.on_segment(now, segment);
                }
            }
            170..=219 => {
                let index = choices.byte();
                if let Some(segment) = said.get(said.len().saturating_sub(1 + usize::from(index))) {
                    sender.on_segment(now, segment);
                }
            }
            220..=239 => receiver.on_segment(now, &segment(&mut choices, MOST_WINDOW)),
            _ => sender.on_segment(now, &segment(&mut choices, MOST_WINDOW)),
        }
        transmit(&mut sender, &mut receiver, now, config.payload(), &mut said);
        if said.len() > 2_000 {
            said.drain(..1_000);
        }
        assert_eq!(sender.pipe(), sender.recount_pipe(), "the scoreboard's sum is wrong");
        assert!(sender.cwnd() >= u64::from(config.payload()), "a window of {} is none", sender.cwnd());
        assert!(sender.bytes_acked() <= written, "more acknowledged than written");
        if let Some(event) = sender.next_event() {
            assert!(event > Instant::ZERO, "a timer at the beginning of time");
        }
    }
}

/// Collects the segments that both ends send at `now`. Neither may send without end.
fn transmit(
    sender: &mut Sender,
    receiver: &mut Receiver,
    now: Instant,
    payload: u32,
    said: &mut Vec<Segment>,
) {
    let mut burst = 0;
    while let Some(segment) = sender.poll_transmit(now) {
        burst += 1;
        assert!(burst < BURST, "the sender does not stop at {now:?}");
        assert!(segment.len <= payload, "{segment:?} is longer than the MSS allows");
        said.push(segment);
    }
    burst = 0;
    while let Some(segment) = receiver.poll_transmit(now) {
        burst += 1;
        assert!(burst < 100, "the receiver does not stop at {now:?}");
        assert_eq!(segment.len, 0, "a receiver has no data");
        said.push(segment);
    }
}

/// Smallest MSS in bytes: timestamps take 12 and leave one.
const LEAST_MSS: u32 = 13;
/// Largest window in bytes.
const MOST_WINDOW: u32 = 200_000;
/// More segments than the largest window has room for.
const BURST: u32 = 70_000;

/// Returns any segment. Its numbers are near zero, near each other, or anywhere.
fn segment(choices: &mut Choices<'_>, most_window: u32) -> Segment {
    let mut flags = Flags::NONE;
    let bits = choices.byte();
    for (bit, flag) in [Flags::FIN, Flags::SYN, Flags::ACK, Flags::ECE, Flags::CWR].into_iter().enumerate() {
        flags = flags.and_if(bits & 1 << bit != 0, flag);
    }
    let far = |number: u64, factor: u8| number.saturating_mul(u64::from(factor).max(1));
    let ack = far(choices.number(), choices.byte());
    let mut segment = Segment {
        seq: far(choices.number(), choices.byte()),
        ack,
        len: u32::try_from(choices.number()).unwrap_or(u32::MAX),
        window: u32::try_from(choices.number().saturating_mul(1_000)).unwrap_or(0).min(most_window),
        ts_val: u32::from(choices.word()),
        ts_ecr: u32::from(choices.word()),
        flags,
        ecn: Ecn::from_bits(bits >> 6),
        ..Segment::default()
    };
    for _ in 0..bits >> 5 & 3 {
        let start = ack.wrapping_add(far(choices.number(), choices.byte()));
        segment.sack.push(ack, start, start.wrapping_add(choices.number()));
    }
    segment
}
