//! A line, its router and the traffic of a home as they are modelled.

use std::fmt::Write as _;

use goodqueue::{Duration, Rate};

use crate::judge::seconds;
use crate::question::Question;

/// A line as it is modelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'q> {
    pub(crate) question: &'q Question,
    /// Bytes of the buffers towards the home and the Internet.
    pub(crate) buffers: [u64; 2],
    /// Rate of the line, in thousandths of the modelled one.
    pub(crate) slower: u64,
    /// Simulated time of a run.
    pub(crate) span: Span,
}

/// A router: how results call it, and its disciplines towards the home and the Internet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Router {
    pub(crate) label: String,
    pub(crate) lines: [String; 2],
}

impl Router {
    /// The router that does nothing about the queue in the modem.
    pub(crate) fn unmanaged() -> Self {
        // The transmit queue of Linux for Ethernet has 1000 packets (`txqueuelen`).
        let fifo = || "pfifo limit 1000".to_owned();
        Self { label: TODAY.to_owned(), lines: [fifo(), fifo()] }
    }
}

impl<'q> Model<'q> {
    /// Returns the model of a line with the buffers of its kind.
    pub(crate) fn new(question: &'q Question) -> Self {
        let buffers = question.rates.map(|rate| question.kind.line.buffer.bytes(rate));
        Self { question, buffers, slower: 1000, span: Span::promised(question, &NEAR_AND_FAR) }
    }

    /// Returns the same line with buffers of `factor` times the size, at least two packets.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "bytes of a buffer"
        )]
        let buffers = self.buffers.map(|bytes| ((bytes as f64 * factor) as u64).max(2 * 1514));
        Self { buffers, ..*self }
    }

    /// Returns the same line, whose runs take this time.
    pub(crate) const fn lasting(&self, span: Span) -> Self {
        Self { span, ..*self }
    }

    /// Returns a line that is a hundredth slower, and runs of this time.
    pub(crate) const fn slower(&self, span: Span) -> Self {
        Self { span, slower: 990, ..*self }
    }
}

/// How results call a router that does nothing.
pub(crate) const TODAY: &str = "today";
/// Seed of all runs of the search. The verification has others.
pub(crate) const SEARCH_SEED: u64 = 1;

/// Simulated time of a run in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Span {
    /// From the start of the load on, not part of the values.
    pub(crate) warmup_s: f64,
    /// Time of the values.
    pub(crate) measured_s: f64,
}

impl Span {
    /// Returns the time of runs with this load whose values are promised: what lasts, not the start
    /// of the load. The time of the values is an upper bound: a run ends when they are known.
    pub(crate) fn promised(question: &Question, mix: &Mix) -> Self {
        let start_s = match mix.start {
            _ if question.varies() => WARMUP_S,
            Start::RoundTrips => as_many_packets(question, SLOW_START, WARMUP_S),
            Start::Seconds => WARMUP_S,
        };
        let warmup_s = (ROUND_TRIPS * question.rtt_s()).round().max(start_s);
        Self { warmup_s, measured_s: if question.varies() { VARYING_S } else { MEASURED_S } }
    }

    /// Returns the time of runs that compare settings: as many packets on each line.
    pub(crate) fn compared(question: &Question) -> Self {
        Self::from_bits(question, COMPARED_BITS, [3.0, 15.0])
    }

    /// Returns the time of the runs of the first answer.
    pub(crate) fn first(question: &Question) -> Self {
        Self::from_bits(question, FIRST_BITS, [1.5, 10.0])
    }

    fn from_bits(question: &Question, bits: f64, [least, most]: [f64; 2]) -> Self {
        if question.varies() {
            return Self { warmup_s: 0.0, measured_s: VARYING_S / 2.0 };
        }
        let rate = both_rates(question);
        // `clamp` panics if its lower end is above the upper one.
        let least = least.max(ROUND_TRIPS * question.rtt_s()).min(most);
        let measured_s = tenths((bits / rate).clamp(least, most));
        Self { warmup_s: tenths((measured_s / 2.0).max(ROUND_TRIPS * question.rtt_s())), measured_s }
    }

    /// Returns the whole time in seconds.
    pub(crate) fn total(self) -> f64 {
        self.warmup_s + self.measured_s
    }
}

/// Returns the length of the blocks in which the values of a run are seen.
pub(crate) fn block_s(question: &Question) -> f64 {
    if question.varies() { BLOCK_S } else { as_many_packets(question, BLOCK_ROUND_TRIPS, BLOCK_S) }
}

/// Returns a time in which each line carries as many packets, but at least these round trips to the
/// farthest server, and at most `most_s` seconds. Above 200 Mbit/s of both directions together it
/// is less than 5 s.
fn as_many_packets(question: &Question, round_trips: f64, most_s: f64) -> f64 {
    let [.., farthest] = distances(question.rtt);
    tenths((COMPARED_BITS / both_rates(question)).max(round_trips * seconds(farthest)).min(most_s))
}

/// Returns the rates of both directions together in bit/s.
#[expect(clippy::cast_precision_loss, reason = "rates of a line")]
fn both_rates(question: &Question) -> f64 {
    question.rates.iter().map(|rate| rate.as_bps()).sum::<u64>() as f64
}

/// Rounds seconds as scenarios have them: with one digit after the point.
fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// Length of a block on most lines: longer than the round trips of a path, so that blocks hardly
/// depend on each other.
const BLOCK_S: f64 = 5.0;
/// Round trips to the farthest server in a block of a fast line.
const BLOCK_ROUND_TRIPS: f64 = 4.0;
/// Slow start is over by then. An eighth of 1 Gbit/s needs 2,700 segments at 250 ms, which are nine
/// doublings of ten segments: 2.3 s.
const WARMUP_S: f64 = 5.0;
/// Round trips of these nine doublings, and of the losses that end them.
const SLOW_START: f64 = 10.0;
/// Round trips in which a flow finds its share, if they take longer.
const ROUND_TRIPS: f64 = 20.0;
/// Several periods of CUBIC: an eighth of 100 Mbit/s at 100 ms has one of 4 s (RFC 9438, K).
const MEASURED_S: f64 = 30.0;
/// Time in which a rate changes often enough.
const VARYING_S: f64 = 60.0;
/// Bits of a run that compares settings: 100,000 packets of 1250 bytes.
const COMPARED_BITS: f64 = 1e9;
/// Bits of a run of the first answer.
const FIRST_BITS: f64 = 0.4e9;

/// Returns the rate of the router's port towards the modem, and of the network interfaces of the
/// hosts. A sender without a rate of its own would overflow the router's queue in a burst that no
/// real host sends.
pub(crate) fn port_rate(question: &Question) -> &'static str {
    if question.rates.iter().any(|rate| *rate > FAST) { FASTER_PORT } else { PORT }
}

const PORT: &str = "1gbit";
const FASTER_PORT: &str = "10gbit";
/// A line that a port of 1 Gbit/s would limit.
const FAST: Rate = Rate::from_bps(900_000_000);

/// A traffic mix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    /// Name for people.
    pub(crate) name: &'static str,
    /// Whether both directions are full all the time, so that the mix tells what the line carries.
    pub(crate) is_full: bool,
    start: Start,
    flows: fn(&mut Flows<'_>),
}

/// How long the start of a load lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// Some round trips: the slow start of CUBIC.
    RoundTrips,
    /// Seconds on each line: BBR keeps the shortest round-trip time of the last 10 s, and the first
    /// ones contain the queue that its start fills.
    Seconds,
}

impl Mix {
    /// Returns the flows, in TOML.
    pub(crate) fn flows(&self, question: &Question) -> String {
        let mut flows = Flows { question, text: String::new() };
        (self.flows)(&mut flows);
        flows.pings();
        flows.text
    }
}

/// The load of a speed test: its server is near, and it fills one direction after the other or
/// both. Pings that somebody measured are compared with it.
pub(crate) const SPEED_TEST: Mix = Mix {
    name: "a speed test in both directions",
    is_full: true,
    start: Start::RoundTrips,
    flows: |flows| {
        flows.tcp("count = 4");
        flows.tcp("direction = 'up'\ncount = 4");
    },
};

/// The load that settings are judged by. Its servers are near and far: a CAKE whose `rtt` suits one
/// distance only loses here.
pub(crate) const NEAR_AND_FAR: Mix = Mix {
    name: "4 downloads and 4 uploads, near and far",
    is_full: true,
    start: Start::RoundTrips,
    flows: |flows| flows.near_and_far("cubic"),
};

/// The same with a sender that keeps more packets on their way than others: a shaper behind the
/// bottleneck has to leave more room for it.
const BBR: Mix = Mix {
    name: "the same with BBR",
    is_full: true,
    start: Start::Seconds,
    flows: |flows| flows.near_and_far("bbr"),
};

/// The mixes with which settings are searched.
pub(crate) const SEARCHED: &[Mix] = &[NEAR_AND_FAR, BBR];

/// The mixes with which the advice is verified.
pub(crate) const VERIFIED: &[Mix] = &[
    NEAR_AND_FAR,
    BBR,
    Mix {
        name: "a call, and another device loads the line",
        is_full: false,
        start: Start::RoundTrips,
        flows: |flows| {
            flows.tcp("client = 2\ncount = 2");
            flows.tcp("client = 2\ndirection = 'up'");
            flows.call();
        },
    },
    Mix {
        name: "an evening: video, downloads, web, call",
        is_full: false,
        start: Start::RoundTrips,
        flows: |flows| {
            flows.tcp("count = 2");
            flows.served("video");
            flows.served("web");
            flows.call();
        },
    },
    Mix {
        name: "a backup: one upload, web pages",
        is_full: false,
        start: Start::RoundTrips,
        flows: |flows| {
            flows.tcp("direction = 'up'");
            flows.served("web");
        },
    },
];

/// The text of the flows of a mix.
struct Flows<'q> {
    question: &'q Question,
    text: String,
}

impl Flows<'_> {
    /// Adds downloads (unless `keys` say otherwise) that last.
    fn tcp(&mut self, keys: &str) {
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            "\n[[flows]]\n{keys}\nstart_jitter = '100ms'\naccess_rate = '{}'\n",
            port_rate(self.question)
        );
    }

    /// Adds a download from and an upload to a server at each distance.
    fn near_and_far(&mut self, cc: &str) {
        for direction in ["down", "up"] {
            for rtt in distances(self.question.rtt) {
                self.tcp(&format!(
                    "direction = '{direction}'\nrtt = '{}us'\ncc = '{cc}'",
                    rtt.as_nanos() / 1000
                ));
            }
        }
    }

    /// Adds the answers of a server to a person.
    fn served(&mut self, kind: &str) {
        let keys = format!("access_rate = '{}'\n", port_rate(self.question));
        self.other(kind, &keys);
    }

    fn other(&mut self, kind: &str, keys: &str) {
        let _ = write!(self.text, "\n[[flows]]\nkind = '{kind}'\n{keys}");
    }

    fn call(&mut self) {
        self.other("voip", "direction = 'up'\n");
        self.other("voip", "");
    }

    fn pings(&mut self) {
        self.other("ping", "interval = '50ms'\n");
    }
}

/// Returns base round-trip times of servers that people use at the same time: one near, one as far
/// as the question says, one on the same continent and one on another. With 30 ms they are 10, 30,
/// 100 and 250 ms.
fn distances(rtt: Duration) -> [Duration; 4] {
    let ms = Duration::from_millis;
    // A short path has less than 20 ms to spare, so its near server is at a third.
    let near = Duration::from_nanos((rtt.as_nanos() / 3).max(rtt.as_nanos().saturating_sub(20_000_000)));
    [near, rtt, rtt + ms(70), rtt + ms(220)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_near_and_far_whatever_the_line_adds() {
        let ms = Duration::from_millis;
        assert_eq!(distances(ms(30)), [10, 30, 100, 250].map(ms));
        assert_eq!(distances(ms(600)), [580, 600, 670, 820].map(ms));
        assert_eq!(distances(ms(12)), [4, 12, 82, 232].map(ms));
    }

    fn promised(rates: &str, link: &str, mix: &Mix) -> [f64; 2] {
        let question = Question::new(rates, link).unwrap();
        [Span::promised(&question, mix).warmup_s, block_s(&question)]
    }

    /// 200 Mbit/s carry 100,000 packets of 1250 bytes in 5 s.
    #[test]
    fn runs_on_fast_lines_have_as_many_packets_and_no_fewer_round_trips() {
        assert_eq!(promised("40mbit/10mbit", "cable", &NEAR_AND_FAR), [5.0, 5.0]);
        assert_eq!(promised("150mbit/50mbit", "cable", &NEAR_AND_FAR), [5.0, 5.0]);
        assert_eq!(promised("250mbit/150mbit", "fibre", &NEAR_AND_FAR), [2.5, 2.5]);
        // The farthest server is at 232 ms: 2.3 s are ten round trips, and 0.9 s are four.
        assert_eq!(promised("1000mbit/300mbit", "fibre", &NEAR_AND_FAR), [2.3, 0.9]);
        assert_eq!(promised("2500mbit/2500mbit", "fibre", &NEAR_AND_FAR), [2.3, 0.9]);
    }

    #[test]
    fn the_start_of_bbr_takes_as_long_on_each_line() {
        for rates in ["40mbit/10mbit", "1000mbit/300mbit"] {
            assert_eq!(promised(rates, "fibre", &BBR)[0], 5.0);
        }
    }

    #[test]
    fn a_line_whose_rate_changes_is_seen_as_long_however_fast_it_is() {
        assert_eq!(promised("1000mbit/300mbit", "leo", &NEAR_AND_FAR), [5.0, 5.0]);
    }
}
