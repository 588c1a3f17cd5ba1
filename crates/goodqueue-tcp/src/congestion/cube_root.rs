//! The cube root of Linux and of its port to ns-2: a table for six bits, and one step of Newton's
//! method (`cubic_root` in `net/ipv4/tcp_cubic.c`).
//!
//! An exact root would be simpler. But this one is up to 0.2 % off for the values that CUBIC has,
//! and that decides in which millisecond a window grows.

/// Bits of a value that the table knows.
const TABLE_BITS: u32 = 6;
/// The table holds 64 roots of its index, less this, as Linux has rounded them.
const OFFSET: u64 = 10;
/// What is added where the table alone gives the result.
const ROUNDING: u64 = 35;
/// A third of a number of bits in 256ths, which 84 is but for rounding.
const THIRD_OF_BITS: u32 = 84;
/// A third in 1024ths.
const THIRD: u64 = 341;

#[rustfmt::skip]
const TABLE: [u8; 1 << TABLE_BITS] = [
      0,  54,  54,  54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Returns the cube root of `value` as Linux computes it. It is within 0.2 % of the exact one from
/// 2^29 on, which CUBIC's values are; below, what is lost by rounding down counts for more.
#[must_use]
pub fn cube_root(value: u64) -> u64 {
    let bits = u64::BITS - value.leading_zeros();
    if bits <= TABLE_BITS {
        return (entry(value) + ROUNDING) >> TABLE_BITS;
    }
    // The leading bits have a root in the table; each three bits below them double it.
    let doublings = ((bits * THIRD_OF_BITS) >> 8) - 1;
    let guess = ((entry(value >> (3 * doublings)) + OFFSET) << doublings) >> TABLE_BITS;
    // Newton: (2 x + value / x²) / 3, with Linux's x (x - 1) for the square.
    ((2 * guess + value / (guess * (guess - 1))) * THIRD) >> 10
}

fn entry(index: u64) -> u64 {
    usize::try_from(index).ok().and_then(|index| TABLE.get(index)).copied().map_or(0, u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_kernel_are_met() {
        let known = [
            (0, 0),
            (1, 1),
            (4, 2),
            (63, 4),
            (64, 4),
            (100, 5),
            (1000, 10),
            (109_951_162_777, 4788),
            (268_173_567_750, 6451),
            (u64::MAX, 2_641_850),
        ];
        for (value, root) in known {
            assert_eq!(cube_root(value), root, "{value}");
        }
    }

    #[test]
    fn roots_of_large_values_are_within_a_fifth_of_a_percent() {
        let mut value = 1 << 29;
        while value < u64::MAX / 3 {
            let exact = libm::cbrt(value as f64);
            let error = (cube_root(value) as f64 - exact).abs() / exact;
            assert!(error < 0.002, "{value}: {error}");
            value += value / 1000;
        }
    }

    #[test]
    fn no_value_is_outside_the_table() {
        for bits in 0..u64::BITS {
            for value in [1 << bits, u64::MAX >> (u64::BITS - 1 - bits)] {
                let exact = libm::cbrt(value as f64);
                let root = cube_root(value) as f64;
                assert!(root > exact * 0.85 - 1.0 && root < exact * 1.15 + 1.0, "{value}: {root}");
            }
        }
    }
}
