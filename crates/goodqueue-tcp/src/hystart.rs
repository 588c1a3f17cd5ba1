//! `HyStart++` (RFC 9406): slow start ends when the round-trip time rises, before the queue is
//! full.
//!
//! `HyStart++` applies to the initial slow start of controllers with the standard slow start:
//! `cubic` (RFC 9438 §4.10 recommends it), `newreno`, `reno` and `cubic_linux`, whose own `HyStart`
//! it replaces. [`Config::hystart`] switches it on.
//!
//! A round lasts until all data in flight at its start is acknowledged. Conservative Slow Start
//! (CSS) begins when the least RTT of a round is above that of the previous round by an eighth (at
//! least 4 ms, at most 16 ms). The window then grows a quarter as fast. If the RTT falls below its
//! value at the start of CSS, the rise was a false alarm, and slow start resumes. Otherwise
//! congestion avoidance begins after five rounds. A loss or a mark ends CSS as it ends slow start.
//!
//! # Deviations
//!
//! None from RFC 9406. Where the RFC leaves a choice, the ACK that ends a round is the last sample
//! of that round, and the first round begins with the first ACK of data. If a wrong reduction is
//! taken back, the interrupted slow start resumes in its old state. L is 8, because none of these
//! controllers paces.
//!
//! [`Config::hystart`]: crate::Config::hystart

use goodqueue::Duration;

use crate::congestion::Constant;

/// Smallest rise of the RTT that starts CSS (RFC 9406 §4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Rise of the RTT that always starts CSS (RFC 9406 §4.3).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Divisor of the last round's least RTT. The result is the rise that starts CSS, between the two
/// bounds (RFC 9406 §4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// Least number of RTT samples of a round (RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of slow start's growth in CSS (RFC 9406 §4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Number of rounds of CSS, including the one in which it begins (RFC 9406 §4.3).
const CSS_ROUNDS: u32 = 5;
/// Largest growth of the window by one ACK, in segments, without pacing (RFC 9406 §4.3).
const L: u64 = 8;

/// Constants that cannot be set.
pub const CONSTANTS: &[Constant] = &[
    Constant { name: "MIN_RTT_THRESH", value: "4 ms", source: "RFC 9406 §4.3" },
    Constant { name: "MAX_RTT_THRESH", value: "16 ms", source: "RFC 9406 §4.3" },
    Constant { name: "MIN_RTT_DIVISOR", value: "8", source: "RFC 9406 §4.3" },
    Constant { name: "N_RTT_SAMPLE", value: "8", source: "RFC 9406 §4.3" },
    Constant { name: "CSS_GROWTH_DIVISOR", value: "4", source: "RFC 9406 §4.3" },
    Constant { name: "CSS_ROUNDS", value: "5", source: "RFC 9406 §4.3" },
    Constant { name: "L", value: "8 segments", source: "RFC 9406 §4.3, without pacing" },
];

/// Algorithm that ends slow start before a loss.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum HyStart {
    /// That of the congestion controller: Linux's `HyStart` in `cubic_linux`, none in `cubic`,
    /// `newreno` and `reno`.
    #[default]
    Own,
    /// None, for controllers with the standard slow start.
    Off,
    /// `HyStart++` (RFC 9406), for controllers with the standard slow start.
    Rfc9406,
}

impl HyStart {
    /// All algorithms.
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
pub(crate) struct SlowStartAck {
    /// First byte not yet acknowledged (SND.UNA).
    pub(crate) una: u64,
    /// First byte not yet sent (SND.NXT).
    pub(crate) next: u64,
    /// RTT sample of the ACK.
    pub(crate) rtt: Option<Duration>,
    /// Acknowledged bytes that count for the growth of the window; 0 if it must not grow.
    pub(crate) acked: u64,
    /// Payload of a full segment in bytes.
    pub(crate) mss: u64,
    /// Step of the window's growth in bytes: a full segment or one byte.
    pub(crate) step: u64,
}

/// Effect of an ACK on slow start.
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
    /// Least RTT of the round in which CSS began (`cssBaselineMinRtt`).
    baseline: Duration,
    /// Rounds that ended since then.
    rounds: u32,
}

/// State of a connection during its initial slow start.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStartPlusPlus {
    /// Sequence number whose acknowledgement ends the round (windowEnd); 0 before the first round.
    window_end: u64,
    /// Least RTT of the last round.
    last_round_min_rtt: Option<Duration>,
    /// Least RTT of this round.
    current_round_min_rtt: Option<Duration>,
    /// RTT samples of this round.
    samples: u32,
    /// Conservative Slow Start, if it is active.
    css: Option<Conservative>,
    /// Acknowledged bytes in CSS that do not yet make a whole step of growth.
    credit: u64,
}

impl HyStartPlusPlus {
    /// RFC 9406 §4.2.
    pub(crate) fn on_ack(&mut self, ack: &SlowStartAck) -> Verdict {
        let round_ends = ack.una >= self.window_end && self.window_end > 0;
        if self.window_end == 0 {
            self.window_end = ack.next;
        }
        // The window grows before the sample is looked at, as RFC 9406 §4.2 orders the steps.
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

    fn growth(&mut self, ack: &SlowStartAck) -> u64 {
        // An ACK of many segments would otherwise send a burst, since nothing paces here (RFC 9406
        // §4.3).
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
            // `RttThresh` of RFC 9406 §4.2.
            if least >= last + rise.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) {
                self.css = Some(Conservative { baseline: least, rounds: 0 });
            }
        }
    }
}
