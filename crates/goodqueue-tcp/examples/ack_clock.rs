//! How fast is TCP itself? One sender, one receiver, a fixed delay, no losses: prints segments per
//! second.
//!
//! `cargo run --release -p goodqueue-tcp --example ack_clock [segments] [window in segments] [loss:
//! one in n]`

use std::collections::VecDeque;
use std::env::args;

use goodqueue::{Duration, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config, Receiver, Segment, Sender};

const DELAY: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |index: usize, default: u64| args().nth(index).map_or(Ok(default), |text| text.parse());
    let segments = number(1, 5_000_000)?;
    let window = number(2, 100)?;
    let loss = number(3, 0)?;
    for name in ["newreno", "cubic"] {
        let config = Config { rwnd: u32::try_from(window * 1460)?, ..Config::default() };
        let controller = AnyCongestionControl::by_name(name).ok_or("no such controller")?;
        let mut sender = Sender::new(config, controller)?;
        let mut receiver = Receiver::new(config)?;
        sender.write(u64::MAX);
        sender.open(Instant::ZERO);
        #[expect(clippy::disallowed_methods, reason = "this program measures real time")]
        let started = std::time::Instant::now();
        run(&mut sender, &mut receiver, segments, loss);
        let elapsed = started.elapsed().as_secs_f64();
        let done = sender.stats().data_segments;
        println!(
            "{name}: {:.1} ns per data segment with its ACK, {:.2} million segments/s, {} retransmits, {} timeouts",
            elapsed * 1e9 / done as f64,
            done as f64 / elapsed / 1e6,
            sender.stats().retransmits,
            sender.stats().timeouts,
        );
    }
    Ok(())
}

/// Data segments leave 1 us apart, so that ACKs come one by one, as through a bottleneck.
fn run(sender: &mut Sender, receiver: &mut Receiver, segments: u64, loss: u64) {
    let mut data: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut now = Instant::ZERO;
    let mut free = now;
    while sender.stats().data_segments < segments {
        while let Some(segment) = sender.poll_transmit(now) {
            let stats = sender.stats();
            if segment.len == 0
                || loss == 0
                || !(stats.data_segments + stats.retransmits).is_multiple_of(loss)
            {
                free = free.max(now) + Duration::from_micros(1);
                data.push_back((free + DELAY, segment));
            }
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            acks.push_back((now + DELAY, segment));
        }
        let next_data = data.front().map_or(Instant::MAX, |entry| entry.0);
        let next_ack = acks.front().map_or(Instant::MAX, |entry| entry.0);
        let timers = [sender.next_event(), receiver.next_event()];
        now = timers.into_iter().flatten().fold(next_data.min(next_ack), Instant::min).max(now);
        if next_data <= now {
            data.pop_front().inspect(|entry| receiver.on_segment(now, &entry.1));
        } else if next_ack <= now {
            acks.pop_front().inspect(|entry| sender.on_segment(now, &entry.1));
        }
    }
}
