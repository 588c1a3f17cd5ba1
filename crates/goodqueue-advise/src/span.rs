//! Simulated time of a run.

use crate::known::BLOCK_S;
use crate::question::Question;

/// Simulated time of a run in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Span {
    /// From the start of the load on, not part of the values.
    pub(crate) warmup_s: f64,
    /// Time of the values.
    pub(crate) measured_s: f64,
}

impl Span {
    /// Returns the time of runs whose values are promised: what lasts, not the start of the load.
    pub(crate) fn promised(question: &Question) -> Self {
        let warmup_s = (ROUND_TRIPS * question.rtt_s()).max(WARMUP_S).round();
        Self { warmup_s, measured_s: if question.varies() { VARYING_S } else { MEASURED_S } }
    }

    /// Returns the time of runs that compare settings: as many packets on each line.
    pub(crate) fn compared(question: &Question) -> Self {
        Self::of_bits(question, COMPARED_BITS, [3.0, 15.0])
    }

    /// Returns the time of the runs of the first answer.
    pub(crate) fn first(question: &Question) -> Self {
        Self::of_bits(question, FIRST_BITS, [1.5, 10.0])
    }

    fn of_bits(question: &Question, bits: f64, [least, most]: [f64; 2]) -> Self {
        if question.varies() {
            return Self { warmup_s: 0.0, measured_s: VARYING_S / 2.0 };
        }
        #[expect(clippy::cast_precision_loss, reason = "rates of a line")]
        let rate = question.rates.iter().map(|rate| rate.as_bps()).sum::<u64>() as f64;
        let least = least.max(ROUND_TRIPS * question.rtt_s()).min(most);
        let tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
        let measured_s = tenths((bits / rate).clamp(least, most));
        Self { warmup_s: tenths((measured_s / 2.0).max(ROUND_TRIPS * question.rtt_s())), measured_s }
    }

    /// Returns the number of blocks of the values.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few blocks")]
    pub(crate) fn blocks(self) -> usize {
        (self.measured_s / BLOCK_S) as usize
    }

    /// Returns the whole time in seconds.
    pub(crate) fn total(self) -> f64 {
        self.warmup_s + self.measured_s
    }
}

/// Slow start is over by then. An eighth of 1 Gbit/s needs 2,700 segments at 250 ms, which are nine
/// doublings of ten segments: 2.3 s.
const WARMUP_S: f64 = 5.0;
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
