//! Speed of the environments: control steps per second of CPU time, and simulated packets.
//!
//! Prints a table and asserts nothing, because machines differ. `--json FILE` writes the rows to a
//! file. `--together 1` steps one line to its end before the next: the same work, in the cache.

#![allow(missing_docs, clippy::cast_precision_loss)]

use std::ops::Range;

use cpu_time::ProcessTime;
use goodqueue::{Duration, Rate};
use goodqueue_agents::{
    AqmControl, AqmEnvironment, AqmRanges, AqmSettings, CongestionEnvironment, CongestionRanges,
    CongestionSettings, Environment, Lines, Step,
};

/// Lines that are measured. They are stepped together without `--together N`.
const LINES: usize = 256;
/// Calls that are not measured: slow start is over then.
const WARM_UP: usize = 200;
/// Calls that are measured.
const CALLS: usize = 400;

fn main() {
    let together = option("--together").map_or(LINES, |lines| lines.parse().expect("--together N"));
    let ten = [Rate::from_bps(10_000_000); 2];
    println!("{LINES} lines, {together} together; CPU time of all threads");
    println!(
        "{:58} {:>12} {:>12} {:>12} {:>9}",
        "lines", "steps/CPU s", "packets/step", "packets/CPU s", "ns/packet"
    );
    let aqm = |control, ranges| AqmSettings { control, ranges, ..AqmSettings::default() };
    let at_ten = AqmRanges { rate: ten, ..AqmRanges::default() };
    let mut rows = Vec::new();
    let mut row = |what: &str, measured: Measured| {
        measured.print(what);
        rows.push(format!(
            "{{\"lines\": {what:?}, \"steps_per_cpu_s\": {:.0}, \"packets_per_cpu_s\": {:.0}}}",
            measured.steps_per_s(),
            measured.packets_per_s()
        ));
    };
    let vary = |call: usize, line: usize| 0.05 + 0.01 * ((call + line) % 8) as f64;
    let settings = aqm(AqmControl::Probability, at_ten);
    row(
        "AQM-v0, probability, 10 Mbit/s, 15 ms",
        measure(together, || AqmEnvironment::new(settings.clone()), vary),
    );
    let settings = aqm(AqmControl::Target, at_ten);
    row(
        "AQM-v0, CoDel's target, 10 Mbit/s, 15 ms",
        measure(together, || AqmEnvironment::new(settings.clone()), vary),
    );
    let settings = AqmSettings { interval: Duration::from_millis(1), ..aqm(AqmControl::Probability, at_ten) };
    row(
        "AQM-v0, probability, 10 Mbit/s, 1 ms",
        measure(together, || AqmEnvironment::new(settings.clone()), vary),
    );
    let settings = aqm(AqmControl::Probability, AqmRanges::default());
    row(
        "AQM-v0, probability, 2 to 64 Mbit/s, 15 ms",
        measure(together, || AqmEnvironment::new(settings.clone()), vary),
    );
    let turn = |call: usize, _: usize| if call.is_multiple_of(2) { 0.1 } else { -0.1 };
    let ranges = CongestionRanges { rate: ten, ..CongestionRanges::default() };
    let settings = CongestionSettings { ranges, ..CongestionSettings::default() };
    let window = || CongestionEnvironment::new(settings.clone());
    row("CongestionControl-v0, window, 10 Mbit/s, 50 ms", measure(together, window, turn));
    if let Some(path) = option("--json") {
        let text = format!("[\n  {}\n]\n", rows.join(",\n  "));
        std::fs::write(&path, text).expect("the file can be written");
    }
}

/// Returns the word behind this one on the command line.
fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

struct Measured {
    steps: usize,
    packets: u64,
    seconds: f64,
}

impl Measured {
    fn steps_per_s(&self) -> f64 {
        self.steps as f64 / self.seconds
    }

    fn packets_per_s(&self) -> f64 {
        self.packets as f64 / self.seconds
    }

    fn print(&self, what: &str) {
        println!(
            "{what:58} {:>12.0} {:>12.1} {:>12.0} {:>9.0}",
            self.steps_per_s(),
            self.packets as f64 / self.steps as f64,
            self.packets_per_s(),
            1e9 / self.packets_per_s()
        );
    }
}

fn measure<E: Environment>(
    together: usize,
    make: impl Fn() -> E,
    action: impl Fn(usize, usize) -> f64,
) -> Measured {
    let mut sum = Measured { steps: 0, packets: 0, seconds: 0.0 };
    for first in (0..LINES).step_by(together) {
        let measured = measure_group(first..first + together, &make, &action);
        sum.steps += measured.steps;
        sum.packets += measured.packets;
        sum.seconds += measured.seconds;
    }
    sum
}

/// Measures lines that are stepped together.
fn measure_group<E: Environment>(
    group: Range<usize>,
    make: impl Fn() -> E,
    action: impl Fn(usize, usize) -> f64,
) -> Measured {
    let count = group.len();
    let mut lines = Lines::new(count, 0, make).expect("the settings are valid");
    let mut observations = vec![0.0; count * E::OBSERVED.len()];
    let mut steps = vec![Step { reward: 0.0, is_over: false }; count];
    let seeds: Vec<u64> = group.clone().map(|line| line as u64).collect();
    lines.begin(&seeds, &mut observations).expect("the lines can be drawn");
    let mut start = (ProcessTime::now(), 0);
    for call in 0..WARM_UP + CALLS {
        if call == WARM_UP {
            start = (ProcessTime::now(), lines.packets());
        }
        let actions: Vec<f64> = group.clone().map(|line| action(call, line)).collect();
        lines.step(&actions, &mut observations, &mut steps).expect("the actions are possible");
    }
    let seconds = start.0.elapsed().as_secs_f64();
    Measured { steps: CALLS * count, packets: lines.packets() - start.1, seconds }
}
