//! `HyStart++` (RFC 9406): slow start ends when the round-trip time rises, before the queue that
//! makes it rise is full.
//!
//! It shapes the initial slow start of the controllers that have the standard one: `cubic` (for
//! which RFC 9438 §4.10 recommends it), `newreno`, `reno` and, in place of its own `HyStart`,
//! `cubic_linux`. [`Config::hystart`] switches it on.
//!
//! A round lasts until what was out at its start is acknowledged. When the least RTT of a round's
//! first samples is above that of the round before by an eighth (4 ms at least, 16 ms at most),
//! Conservative Slow Start (CSS) begins: the window grows a quarter as fast. If the RTT comes back
//! below what it was then, the rise was a false alarm and slow start goes on; if it has not after
//! five rounds, congestion avoidance begins where the window is. A loss or a mark ends it as it
//! ends any slow start.
//!
//! # Deviations
//!
//! None from RFC 9406. What it leaves open: the ACK that ends a round is that round's last sample,
//! the first round begins with the first ACK of data, and a slow start that a wrong reduction
//! interrupted goes on where it was if the reduction is taken back. L is 8, as none of the
//! controllers that it shapes paces.
//!
//! [`Config::hystart`]: crate::Config::hystart

use goodqueue::Duration;

use crate::congestion::Constant;

/// Least and greatest rise of the RTT that counts (`MIN_RTT_THRESH` and `MAX_RTT_THRESH`, RFC 9406
/// §4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Between these the rise is this part of the last round's least RTT (`MIN_RTT_DIVISOR`, RFC 9406
/// §4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples without which a round says nothing (`N_RTT_SAMPLE`, RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// In CSS the window grows by this part of what slow start would add (`CSS_GROWTH_DIVISOR`, RFC
/// 9406 §4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds that CSS lasts, that in which it begins among them (`CSS_ROUNDS`, RFC 9406 §4.3).
const CSS_ROUNDS: u32 = 5;
/// Segments by which an ACK lets the window grow at most, without pacing (L, RFC 9406 §4.3).
const L: u64 = 8;

/// What is built in.
pub const CONSTANTS: &[Constant] = &[
    Constant { name: "MIN_RTT_THRESH", value: "4 ms", source: "RFC 9406 §4.3" },
    Constant { name: "MAX_RTT_THRESH", value: "16 ms", source: "RFC 9406 §4.3" },
    Constant { name: "MIN_RTT_DIVISOR", value: "8", source: "RFC 9406 §4.3" },
    Constant { name: "N_RTT_SAMPLE", value: "8", source: "RFC 9406 §4.3" },
    Constant { name: "CSS_GROWTH_DIVISOR", value: "4", source: "RFC 9406 §4.3" },
    Constant { name: "CSS_ROUNDS", value: "5", source: "RFC 9406 §4.3" },
    Constant { name: "L", value: "8 segments", source: "RFC 9406 §4.3, without pacing" },
];

/// Who ends slow start before a loss does.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum HyStart {
    /// The congestion controller, in its own way: `cubic_linux` by Linux's `HyStart`; `cubic`,
    /// `newreno` and `reno` do not.
    #[default]
    Own,
    /// Nobody, where slow start is the standard one.
    Off,
    /// `HyStart++` (RFC 9406), where slow start is the standard one.
    Rfc9406,
}

impl HyStart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Own, Self::Off, Self::Rfc9406];

    /// Its name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Off => "off",
            Self::Rfc9406 => "rfc9406",
        }
    }
}

/// An ACK of new data in slow start.
pub(crate) struct Seen {
    /// The first byte not yet acknowledged, and the first not yet sent (SND.UNA, SND.NXT).
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// Its RTT sample.
    pub(crate) rtt: Option<Duration>,
    /// What it counts for the growth of the window, in bytes; 0 if that is not to grow.
    pub(crate) acked: u64,
    /// Payload of a full segment, and what the window grows in steps of: that, or a byte.
    pub(crate) mss: u64,
    pub(crate) step: u64,
}

/// What becomes of slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The window grows by this number of bytes.
    Grow(u64),
    /// Congestion avoidance begins with this ACK.
    Leave,
}

/// Conservative Slow Start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The least RTT of the round in which it began (`cssBaselineMinRtt`).
    baseline: Duration,
    /// Rounds that have ended since.
    rounds: u32,
}

/// What a connection remembers during its initial slow start.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStartPlusPlus {
    /// The round ends when this is acknowledged (windowEnd); 0 before the first.
    window_end: u64,
    /// Of the last round and of this one the least RTT, and the samples of this one.
    last_round_min_rtt: Option<Duration>,
    current_round_min_rtt: Option<Duration>,
    samples: u32,
    css: Option<Conservative>,
    /// In CSS: bytes that count for growth and have not yet made a whole step of it.
    credit: u64,
}

impl HyStartPlusPlus {
    /// RFC 9406 §4.2.
    pub(crate) fn on_ack(&mut self, ack: &Seen) -> Verdict {
        let round_ends = ack.una >= self.window_end && self.window_end > 0;
        if self.window_end == 0 {
            self.window_end = ack.next;
        }
        let grown = self.growth(ack);
        if let Some(rtt) = ack.rtt {
            self.take_sample(rtt);
        }
        if round_ends {
            self.last_round_min_rtt = self.current_round_min_rtt.take();
            self.samples = 0;
            self.window_end = ack.next;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    return Verdict::Leave;
                }
            }
        }
        Verdict::Grow(grown)
    }

    fn growth(&mut self, ack: &Seen) -> u64 {
        let acked = ack.acked.min(L * ack.mss);
        if self.css.is_none() {
            return acked;
        }
        self.credit += acked;
        let step = CSS_GROWTH_DIVISOR * ack.step.max(1);
        let steps = self.credit / step;
        self.credit -= steps * step;
        steps * ack.step.max(1)
    }

    fn take_sample(&mut self, rtt: Duration) {
        let least = self.current_round_min_rtt.map_or(rtt, |least| least.min(rtt));
        self.current_round_min_rtt = Some(least);
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        if let Some(css) = self.css {
            if least < css.baseline {
                self.css = None;
                self.credit = 0;
            }
        } else if let Some(last) = self.last_round_min_rtt {
            let rise = Duration::from_nanos(last.as_nanos() / MIN_RTT_DIVISOR);
            if least >= last + rise.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) {
                self.css = Some(Conservative { baseline: least, rounds: 0 });
            }
        }
    }
}
