//! Service curves: functions from time to bytes, as lists of segments.

/// A service curve as tc takes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Curve {
    /// Bytes per second at first.
    pub m1: u32,
    /// Time for which `m1` holds, in µs.
    pub d: u32,
    /// Bytes per second after it.
    pub m2: u32,
}

/// The least of all copies of a curve that have started so far: bytes by time.
#[derive(Clone, Debug)]
pub struct Function {
    curve: Curve,
    /// Where it starts: the time in ticks, and the bytes at that time.
    x: u64,
    y: u64,
    /// The segments that end, in their order.
    segments: Vec<Segment>,
    /// Bytes per second after the last of them.
    rate: u32,
}

/// A part of constant slope.
#[derive(Clone, Copy, Debug)]
struct Segment {
    rate: u32,
    ticks: u64,
    bytes: u64,
}

impl Segment {
    fn new(rate: u32, ticks: u64) -> Self {
        Self { rate, ticks, bytes: bytes_in(rate, ticks) }
    }
}

impl Function {
    /// The curve, started at the time `x` with `y` bytes.
    #[must_use]
    pub fn starting(curve: Curve, x: u64, y: u64) -> Self {
        // Rounded up, so that a segment of 1 µs has ticks.
        let ticks = (u64::from(curve.d) * TICKS_PER_SECOND).div_ceil(1_000_000);
        Self { curve, x, y, segments: vec![Segment::new(curve.m1, ticks)], rate: curve.m2 }
    }

    const fn is_convex(&self) -> bool {
        self.curve.m1 <= self.curve.m2
    }

    /// The bytes at the time `x`.
    #[must_use]
    pub fn at(&self, x: u64) -> u64 {
        let mut ticks = x.saturating_sub(self.x);
        let mut bytes = self.y;
        for segment in &self.segments {
            if ticks <= segment.ticks {
                return bytes.wrapping_add(bytes_in(segment.rate, ticks));
            }
            ticks -= segment.ticks;
            bytes = bytes.wrapping_add(segment.bytes);
        }
        bytes.wrapping_add(bytes_in(self.rate, ticks))
    }

    /// The time at which the function reaches `y` bytes; for fewer bytes than it starts with, its
    /// start.
    ///
    /// Times are added in 64 bits, as in Linux. A flat end takes the largest number of ticks for a
    /// byte. The addition wraps, so the byte is due a tick before the flat end begins.
    #[must_use]
    pub fn time_of(&self, y: u64) -> u64 {
        let Some(mut bytes) = y.checked_sub(self.y) else { return self.x };
        let mut time = self.x;
        for segment in &self.segments {
            // A segment without bytes is a pause, and nothing is reached before its end.
            if segment.bytes > 0 && bytes <= segment.bytes {
                return time.wrapping_add(ticks_for(segment.rate, bytes));
            }
            bytes -= segment.bytes;
            time = time.wrapping_add(segment.ticks);
        }
        time.wrapping_add(ticks_for(self.rate, bytes))
    }

    /// §4: the class becomes active at the time `x` and has got `y` bytes. From here on the
    /// function is the lesser one of itself and the curve that starts here.
    pub fn lower(&mut self, x: u64, y: u64) {
        let restarted = Self::starting(self.curve, x, y);
        let old = self.at(x);
        if self.is_convex() {
            // A convex curve gets steeper, so the older one stays above if it is above now. If it
            // is below, Linux keeps it, although it may cross the later one. The paper would follow
            // the later one from the crossing on.
            if old >= y {
                *self = restarted;
            }
            return;
        }
        // A concave curve gets flatter, so the older one stays below if it is below now.
        if old <= y {
            return;
        }
        let first = restarted.segments[0];
        if self.at(x.wrapping_add(first.ticks)) >= y.wrapping_add(first.bytes) {
            *self = restarted;
            return;
        }
        // The restarted curve catches up within its first segment. Both have the same second slope,
        // so the old curve can take over there with its slope alone: a longer first segment.
        let old_end = self.x.wrapping_add(self.segments[0].ticks);
        // The distance stays the same until the first segment of the old curve ends.
        let parallel = old_end.saturating_sub(x);
        // In whole ticks, rounded down. The bytes of the segment follow from the ticks, and not
        // from the old curve, so the rest is a little lower than the old curve was.
        let closing = u128::from(per_tick(self.curve.m1) - per_tick(self.curve.m2));
        let apart = u128::from(old - y) << BYTES_SHIFT;
        let ticks = u64::try_from(apart / closing).unwrap_or(u64::MAX).wrapping_add(parallel);
        *self = Self { segments: vec![Segment::new(self.curve.m1, ticks)], ..restarted };
    }

    /// §4: the curve of eligible times. A class of a concave curve is eligible as its deadlines
    /// say. One of a convex curve must save up for the steeper part, so its second slope holds
    /// from the start.
    #[must_use]
    pub fn eligible(&self) -> Self {
        let segments = if self.is_convex() { Vec::new() } else { self.segments.clone() };
        Self { segments, ..self.clone() }
    }
}

/// Bytes in a tick, in units of 2⁻²⁴ bytes. Rounded up: a class gets a little more than its rate.
fn per_tick(rate: u32) -> u64 {
    (u64::from(rate) << BYTES_SHIFT).div_ceil(TICKS_PER_SECOND)
}

/// Whole bytes at a rate in bytes per second.
fn bytes_in(rate: u32, ticks: u64) -> u64 {
    low_bits((u128::from(ticks) * u128::from(per_tick(rate))) >> BYTES_SHIFT)
}

/// Whole ticks for some bytes. Linux inverts the rate in bytes per second with a rounding of its
/// own, so the result is not the exact inverse of [`bytes_in`].
fn ticks_for(rate: u32, bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    if rate == 0 {
        return u64::MAX;
    }
    let per_byte = (TICKS_PER_SECOND << TICKS_SHIFT).div_ceil(u64::from(rate));
    low_bits((u128::from(bytes) * u128::from(per_byte)) >> TICKS_SHIFT)
}

/// The lower 64 bits, which are all that Linux has.
fn low_bits(value: u128) -> u64 {
    u64::try_from(value & u128::from(u64::MAX)).unwrap_or(u64::MAX)
}

/// Ticks of 64 ns.
const TICKS_PER_SECOND: u64 = 15_625_000;
/// Binary places of bytes per tick and of ticks per byte.
const BYTES_SHIFT: u32 = 24;
const TICKS_SHIFT: u32 = 14;
