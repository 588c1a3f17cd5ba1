//! Service curves of two segments, in the units of Linux: ticks of 64 ns, bytes, and slopes as
//! scaled integers.
//!
//! Sums wrap in 64 bits, as in the kernel. A curve whose second slope is 0 has an infinite inverse
//! slope, and relies on that.

/// A service curve as it is set: a slope, its length, and the slope after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Curve {
    /// Bytes per second of the first segment.
    pub(super) m1: u32,
    /// Length of the first segment in microseconds.
    pub(super) d: u32,
    /// Bytes per second after the first segment.
    pub(super) m2: u32,
}

/// The same curve with scaled slopes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scaled {
    first: Slope,
    second: Slope,
    /// The first segment in ticks and in bytes.
    dx: u64,
    dy: u64,
}

/// Bytes per tick, and ticks per byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slope {
    bytes: u64,
    ticks: u64,
}

/// A curve that starts at a point: at the time `x`, `y` bytes have been served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Running {
    x: u64,
    y: u64,
    dx: u64,
    dy: u64,
    first: Slope,
    second: Slope,
}

impl Slope {
    fn from_rate(bytes_per_second: u32) -> Self {
        let rate = u64::from(bytes_per_second);
        let ticks = match rate {
            // A class without a rate never serves a byte, and no division may depend on it.
            0 => INFINITE,
            _ => (TICKS_PER_SECOND << TICKS_SHIFT).div_ceil(rate),
        };
        // Rounded up, as Linux does: a class gets a little more than its rate, never less.
        Self { bytes: (rate << BYTES_SHIFT).div_ceil(TICKS_PER_SECOND), ticks }
    }

    /// Bytes served in `ticks`.
    const fn served(self, ticks: u64) -> u64 {
        scale(ticks, self.bytes, BYTES_SHIFT)
    }

    /// Ticks until `bytes` are served.
    const fn time_of(self, bytes: u64) -> u64 {
        match (bytes, self.ticks) {
            (0, _) => 0,
            (_, INFINITE) => INFINITE,
            (_, ticks) => scale(bytes, ticks, TICKS_SHIFT),
        }
    }
}

/// Returns `value` times `factor`, shifted by `shift`. The low bits are multiplied apart, so that
/// usual products fit in 64 bits.
const fn scale(value: u64, factor: u64, shift: u32) -> u64 {
    let low = value & ((1 << shift) - 1);
    (value >> shift).wrapping_mul(factor).wrapping_add(low.wrapping_mul(factor) >> shift)
}

impl Scaled {
    pub(super) fn new(curve: Curve) -> Self {
        let first = Slope::from_rate(curve.m1);
        // Rounded up (`d2dx()`), so that a first segment of a microsecond has a tick.
        let dx = (u64::from(curve.d) * TICKS_PER_SECOND).div_ceil(1_000_000);
        Self { first, second: Slope::from_rate(curve.m2), dx, dy: first.served(dx) }
    }

    /// The first slope is not steeper than the second one.
    const fn is_convex(&self) -> bool {
        self.first.bytes <= self.second.bytes
    }

    /// Returns the curve that starts at the time `x` after `y` bytes.
    pub(super) const fn starting(&self, x: u64, y: u64) -> Running {
        Running { x, y, dx: self.dx, dy: self.dy, first: self.first, second: self.second }
    }
}

impl Running {
    /// Returns when `y` bytes are served.
    pub(super) const fn time_of(&self, y: u64) -> u64 {
        if y < self.y {
            return self.x;
        }
        let beyond = y - self.y;
        // At the end of the first segment its own slope still counts (`rtsc_y2x()`).
        if beyond > self.dy {
            let after = self.second.time_of(beyond - self.dy);
            self.x.wrapping_add(self.dx).wrapping_add(after)
        // A first segment without bytes is a pause: nothing is served before its end.
        } else if self.dy == 0 {
            self.x.wrapping_add(self.dx)
        } else {
            self.x.wrapping_add(self.first.time_of(beyond))
        }
    }

    /// Returns the bytes served at the time `x`.
    const fn served(&self, x: u64) -> u64 {
        if x <= self.x {
            return self.y;
        }
        let beyond = x - self.x;
        if beyond <= self.dx {
            self.y.wrapping_add(self.first.served(beyond))
        } else {
            self.y.wrapping_add(self.dy).wrapping_add(self.second.served(beyond - self.dx))
        }
    }

    /// Lowers the curve to the smaller one of itself and `curve` from the point (`x`, `y`) on
    /// (Stoica et al. 1997, §4.2: the service curve is updated when the class becomes active).
    pub(super) fn lower(&mut self, curve: &Scaled, x: u64, y: u64) {
        let here = self.served(x);
        if curve.is_convex() {
            // Of two convex curves the later one is the smaller one from its start on, unless it
            // starts
            // above the old one.
            if here >= y {
                (self.x, self.y) = (x, y);
            }
            return;
        }
        // The old curve is the smaller one, and a concave one that starts above does not cross it.
        if here <= y {
            return;
        }
        let there = self.served(x.wrapping_add(curve.dx));
        if there >= y.wrapping_add(curve.dy) {
            (self.x, self.y, self.dx, self.dy) = (x, y, curve.dx, curve.dy);
            return;
        }
        // The curves cross where the steeper first segment has made up for the difference.
        let steeper = curve.first.bytes - curve.second.bytes;
        let mut dx = ((here - y) << BYTES_SHIFT) / steeper;
        // Until the end of its own first segment, the old curve is as steep as the new one.
        let own_end = self.x.wrapping_add(self.dx);
        if own_end > x {
            dx = dx.wrapping_add(own_end - x);
        }
        // From the crossing on, both have the second slope, so the sum is again of two segments.
        (self.x, self.y, self.dx, self.dy) = (x, y, dx, curve.first.served(dx));
    }

    /// Returns the curve by which a class becomes eligible, if this is the curve of its deadlines:
    /// a convex one counts with its second slope from the start, because the class must save up for
    /// the steeper part.
    pub(super) const fn eligible(&self, curve: &Scaled) -> Self {
        if curve.is_convex() { Self { dx: 0, dy: 0, ..*self } } else { *self }
    }
}

/// Ticks of 64 ns (Linux `PSCHED_SHIFT` is 6).
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> 6;
/// Linux `SM_SHIFT` and `ISM_SHIFT`.
const BYTES_SHIFT: u32 = 24;
const TICKS_SHIFT: u32 = 14;
/// The inverse of the slope 0.
const INFINITE: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_of_two_slopes_serves_and_is_served_in_the_same_time() {
        // 125,000 bytes/s for 10 ms, then 250,000 bytes/s.
        let curve = Scaled::new(Curve { m1: 125_000, d: 10_000, m2: 250_000 });
        let running = curve.starting(0, 0);
        // 10 ms are 156,250 ticks.
        assert_eq!(running.served(156_250), 1_250);
        assert_eq!(running.served(312_500), 1_250 + 2_500);
        assert!(running.time_of(1_250).abs_diff(156_250) <= 1);
        assert!(running.time_of(3_750).abs_diff(312_500) <= 1);
    }

    #[test]
    fn a_curve_that_ends_flat_is_due_at_once_behind_its_first_segment() {
        let curve = Scaled::new(Curve { m1: 125_000, d: 10_000, m2: 0 });
        // The sum wraps, as in the kernel.
        assert_eq!(curve.starting(1_000, 0).time_of(1_251), 1_000 + 156_250 - 1);
    }
}
