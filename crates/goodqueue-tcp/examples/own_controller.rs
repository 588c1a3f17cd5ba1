//! How do I write a congestion controller? Additive increase and multiplicative decrease in one
//! type with one parameter, compared with the controllers of the crate over a link of 10 Mbit/s
//! that loses one segment in 200.
//!
//! `Catalogue::with_controller::<Aimd>()` makes the name `aimd` known. A controller in the crate is
//! the same: a file like the upper half of this one in `src/congestion`, and one line in
//! `src/registry.rs`.
//!
//! `cargo run --release -p goodqueue-tcp --example own_controller`

use std::collections::VecDeque;

use goodqueue::{Duration, Instant};
use goodqueue_tcp::congestion::own::Own;
use goodqueue_tcp::congestion::parameter::{Parameter, Value};
use goodqueue_tcp::congestion::{About, Ack, Congestion, Controller};
use goodqueue_tcp::{AnyCongestionControl, Config, CongestionControl, Receiver, Segment, Sender};

/// Grows by a segment per round trip, and keeps a share of the window at a loss.
#[derive(Clone, Debug)]
struct Aimd {
    /// That share, in per cent.
    percent: u64,
}

impl Default for Aimd {
    fn default() -> Self {
        Self { percent: 50 }
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64 {
        match ack.may_grow {
            false => cwnd,
            true if cwnd < ack.ssthresh => ack.slow_start(cwnd),
            true => cwnd + (ack.acked * u64::from(ack.mss)).div_ceil(cwnd),
        }
    }

    fn on_congestion(&mut self, event: &Congestion) -> u64 {
        (event.in_flight * self.percent / 100).max(2 * u64::from(event.mss))
    }
}

impl Controller for Aimd {
    const ABOUT: About = About {
        name: "aimd",
        summary: "one segment more per round trip, a share of the window on congestion",
        reference: "Chiu & Jain 1989",
        parameters: &[Parameter::count(
            "percent",
            50,
            [10, 90],
            "10 to 90",
            "Chiu & Jain 1989",
            "share of the window that is left after congestion",
        )],
        ..About::PLAIN
    };

    fn set(&mut self, _parameter: &str, value: Value) {
        self.percent = value.as_count();
    }
}

const DELAY: Duration = Duration::from_millis(20);
const SECONDS: u64 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for percent in [30, 50, 80] {
        let mut aimd = Aimd::default();
        let given = Value::Count(percent);
        Aimd::ABOUT.parameters[0].check(given)?;
        aimd.set("percent", given);
        println!("aimd, {percent} % left: {:.2} Mbit/s", megabits_per_second(Own::new(aimd).into())?);
    }
    for name in ["newreno", "cubic"] {
        let listed = AnyCongestionControl::by_name(name).ok_or("no such controller")?;
        println!("{name}: {:.2} Mbit/s", megabits_per_second(listed)?);
    }
    Ok(())
}

/// The goodput through the link.
fn megabits_per_second(controller: AnyCongestionControl) -> Result<f64, goodqueue::ConfigError> {
    let config = Config::default();
    let mut sender = Sender::new(config, controller)?;
    let mut receiver = Receiver::new(config)?;
    let mut data: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Segment)> = VecDeque::new();
    let (mut now, mut free, mut count) = (Instant::ZERO, Instant::ZERO, 0_u64);
    sender.write(u64::MAX);
    sender.open(now);
    while now < Instant::ZERO + Duration::from_secs(SECONDS) {
        while let Some(segment) = sender.poll_transmit(now) {
            count += 1;
            free = free.max(now) + Duration::from_micros(1200); // 1500 bytes at 10 Mbit/s
            if !count.is_multiple_of(200) {
                data.push_back((free + DELAY, segment));
            }
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            acks.push_back((now + DELAY, segment));
        }
        let arrivals = [data.front(), acks.front()].map(|entry| entry.map(|entry| entry.0));
        let events = arrivals.into_iter().chain([sender.next_event(), receiver.next_event()]);
        now = events.flatten().fold(Instant::MAX, Instant::min).max(now);
        if arrivals[0].is_some_and(|time| time <= now) {
            data.pop_front().inspect(|entry| receiver.on_segment(now, &entry.1));
        } else if arrivals[1].is_some_and(|time| time <= now) {
            acks.pop_front().inspect(|entry| sender.on_segment(now, &entry.1));
        }
    }
    Ok(receiver.delivered() as f64 * 8.0 / 1e6 / SECONDS as f64)
}
