//! Bandwidth and gains in the units of Linux, which computes with whole numbers. Its rounding
//! decides when the next segment leaves, and sometimes whether the window has room for it.

/// A bandwidth in units of 2^-24 segments per microsecond (`BW_SCALE`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Bandwidth(u64);

const SCALE: u32 = 24;
/// Microseconds of a second that the pace uses: all but 1 %, so that the queue becomes shorter
/// (`bbr_pacing_margin_percent`).
const USED_MICROS: u128 = 990_000;

impl Bandwidth {
    /// `segments` came in `micros` microseconds.
    pub(super) fn of(segments: u64, micros: u64) -> Self {
        Self((segments << SCALE) / micros.max(1))
    }

    pub(super) const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whole segments that it brings in `micros` microseconds.
    pub(super) const fn segments_in(self, micros: u64) -> u64 {
        self.0.saturating_mul(micros) >> SCALE
    }

    /// Segments of `gain` bandwidth-delay products (`bbr_bdp`). Rounded up, because a product that
    /// is too small would lower the rate, and thereby the next product.
    pub(super) fn product(self, micros: u64, gain: Gain) -> u64 {
        gain.times(self.0.saturating_mul(micros)).div_ceil(1 << SCALE)
    }

    /// The pacing rate in bytes per second, with segments of `mss` bytes
    /// (`bbr_rate_bytes_per_sec`).
    pub(super) fn pace(self, gain: Gain, mss: u32) -> u64 {
        let scaled = (u128::from(self.0) * u128::from(mss) * u128::from(gain.0)) >> Gain::SCALE;
        u64::try_from((scaled * USED_MICROS) >> SCALE).unwrap_or(u64::MAX)
    }

    /// `gain` times this bandwidth.
    pub(super) fn times(self, gain: Gain) -> Self {
        Self(gain.times(self.0))
    }

    pub(super) const fn difference(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    pub(super) const fn mean(self, other: Self) -> Self {
        Self(u64::midpoint(self.0, other.0))
    }
}

/// A factor in 256ths (`BBR_UNIT`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Gain(u64);

impl Gain {
    const SCALE: u32 = 8;
    pub(super) const ONE: Self = Self(1 << Self::SCALE);

    pub(super) const fn of_256ths(parts: u64) -> Self {
        Self(parts)
    }

    /// `factor`, rounded down to 256ths.
    pub(super) fn of(factor: f64) -> Self {
        Self(crate::congestion::whole::whole(factor * 256.0))
    }

    const fn times(self, value: u64) -> u64 {
        value.saturating_mul(self.0) >> Self::SCALE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_window_over_50_milliseconds_has_the_pace_of_linux() {
        // On Linux 7.3.4, in the set-up `advise-7.3/lte-40-10/today/bbr` without ports of 1 Gbit/s
        // and with seed 1, the upload of 50 ms sent two segments of 1448 bytes each 3.499596 ms.
        // Without rounding it would be 3.499134 ms.
        let pace = Bandwidth::of(10, 50_000).pace(Gain::of(739.0 / 256.0), 1448);
        assert_eq!(2 * 1448 * 1_000_000_000 / pace, 3_499_596);
    }

    #[test]
    fn products_are_rounded_up_and_deliveries_down() {
        // A segment in 1.2 ms.
        let bandwidth = Bandwidth::of(10, 12_000);
        assert_eq!(bandwidth.product(50_000, Gain::ONE), 42, "41.7");
        assert_eq!(bandwidth.product(50_000, Gain::of(1.25)), 53, "52.1");
        assert_eq!(bandwidth.segments_in(50_000), 41);
    }
}
