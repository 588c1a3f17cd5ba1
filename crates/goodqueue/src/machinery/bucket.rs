//! Token-bucket arithmetic as Linux does it: tokens are nanoseconds, and a packet costs the time
//! that it takes at the rate, by a multiplication and a shift (`psched_l2t_ns`), rounded down.

use crate::config::{ConfigError, Declaration, Parameter, Settings};
use crate::tc_version::{TICK, TcVersion};
use crate::time::Rate;

/// The parameter [`Framing::overhead`].
pub(crate) const OVERHEAD: Parameter = Declaration::bytes("overhead")
    .default(0)
    .range(0..=65_535)
    .source("tc")
    .meaning("bytes that the link adds to each packet");

/// The parameter [`Framing::mpu`].
pub(crate) const MPU: Parameter = Declaration::bytes("mpu")
    .default(0)
    .range(0..=65_535)
    .source("tc")
    .meaning("smallest length of a packet on the link, overhead included");

/// The parameter [`Framing::linklayer`].
pub(crate) const LINKLAYER: Parameter = Declaration::choice("linklayer")
    .default("ethernet")
    .words(&["ethernet", "atm", "adsl"])
    .source("tc")
    .meaning("framing of the link; `atm` and `adsl` send cells of 53 bytes that carry 48");

/// What bytes cost at a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ByteCost {
    mult: u32,
    shift: u32,
    bytes_per_s: u64,
    framing: Framing,
}

/// What the link adds to the bytes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Framing {
    overhead: u16,
    mpu: u16,
    /// Cells of 53 bytes carry 48.
    atm: bool,
}

impl Framing {
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, ConfigError> {
        Ok(Self {
            overhead: OVERHEAD.read(settings)?,
            mpu: MPU.read(settings)?,
            atm: LINKLAYER.read::<&str>(settings)? != "ethernet",
        })
    }

    /// Adds the settings that differ from the defaults.
    pub(crate) fn add_to_settings(self, settings: &mut Settings) {
        if self.overhead > 0 {
            settings.put(&OVERHEAD, self.overhead);
        }
        if self.mpu > 0 {
            settings.put(&MPU, self.mpu);
        }
        if self.atm {
            settings.put(&LINKLAYER, "atm");
        }
    }

    /// Bytes on the link, for a packet of `bytes`.
    fn on_link(self, bytes: u32) -> u64 {
        let framed = (u64::from(bytes) + u64::from(self.overhead)).max(u64::from(self.mpu));
        // A cell of ATM has 53 bytes, of which 48 carry the frame.
        if self.atm { framed.div_ceil(48) * 53 } else { framed }
    }
}

impl ByteCost {
    /// `None` if the rate is below one byte per second.
    pub(crate) fn new(rate: Rate) -> Option<Self> {
        let bytes_per_s = rate.as_bps() / 8;
        let mut factor: u64 = NANOS;
        let mut shift = 0;
        loop {
            // As large a multiplier as fits: it has its highest bit set, or the dividend has.
            let mult = factor.checked_div(bytes_per_s)?;
            if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
                let mult = u32::try_from(mult).unwrap_or(u32::MAX);
                return Some(Self { mult, shift, bytes_per_s, framing: Framing::default() });
            }
            factor <<= 1;
            shift += 1;
        }
    }

    pub(crate) const fn framed(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// Nanoseconds that a packet of `bytes` costs.
    #[inline]
    pub(crate) fn nanos(&self, bytes: u32) -> i64 {
        // A length of 32 bits times the multiplier fits. Only framing can make the length larger.
        let on_link = self.framing.on_link(bytes);
        let wide = match on_link.checked_mul(u64::from(self.mult)) {
            Some(product) => product >> self.shift,
            None => u64::MAX >> self.shift,
        };
        i64::try_from(wide).unwrap_or(i64::MAX)
    }

    /// Nanoseconds that `bytes` cost as tc computes a bucket's depth: in steps of 64 ns, rounded
    /// up. tc 6.1 rounds down, first to microseconds and then to these steps.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "tc computes with doubles; the conversion saturates"
    )]
    pub(crate) fn depth(&self, bytes: u32, version: TcVersion) -> i64 {
        // The quotient comes first, as in tc's `tc_calc_xmittime()`: another order rounds
        // differently, and may take one step more or less. tc hands over numbers of 32 bits.
        let seconds = f64::from(bytes) / self.bytes_per_s as f64;
        let ticks = match version {
            TcVersion::Linux => rounded_up(1e6 * seconds * TICKS_PER_MICRO) as u32,
            TcVersion::Linux61 => (f64::from((1e6 * seconds) as u32) * TICKS_PER_MICRO) as u32,
        };
        i64::from(ticks) * TICK as i64
    }
}

/// The next whole number. `f64::ceil` is not in the core library.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "tc computes with doubles; the conversion saturates"
)]
fn rounded_up(value: f64) -> u64 {
    let whole = value as u64;
    whole + u64::from((whole as f64) < value)
}

const NANOS: u64 = 1_000_000_000;
const TICKS_PER_MICRO: f64 = 15.625;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_the_time_on_the_wire_rounded_down() {
        let cost = ByteCost::new(Rate::from_bps(10_000_000)).unwrap();
        assert_eq!(cost.nanos(1514), 1_211_200);
        assert_eq!(cost.nanos(0), 0);
        assert_eq!(ByteCost::new(Rate::from_bps(8)).unwrap().nanos(2), 2_000_000_000);
        assert_eq!(ByteCost::new(Rate::from_bps(8)).unwrap().nanos(u32::MAX), 4_294_967_295_000_000_000);
        assert_eq!(ByteCost::new(Rate::from_bps(7)), None);
        // A tenth of a nanosecond per byte: the bits below the shift count.
        assert_eq!(ByteCost::new(Rate::from_bps(80_000_000_000)).unwrap().nanos(1515), 151);
        assert!(ByteCost::new(Rate::from_bps(u64::MAX)).unwrap().nanos(u32::MAX) <= 2);
    }

    #[test]
    fn framing_comes_before_the_least_size_and_cells_come_last() {
        let cost = |overhead, mpu, atm| {
            ByteCost::new(Rate::from_bps(8_000_000)).unwrap().framed(Framing { overhead, mpu, atm })
        };
        assert_eq!(cost(10, 0, false).nanos(100), 110_000);
        assert_eq!(cost(10, 64, false).nanos(40), 64_000);
        assert_eq!(cost(10, 64, true).nanos(40), 106_000, "two cells");
        assert_eq!(cost(0, 0, true).nanos(48), 53_000);
    }

    #[test]
    fn depths_are_whole_ticks_and_in_tc_6_1_of_whole_microseconds() {
        let cost = ByteCost::new(Rate::from_bps(10_000_000)).unwrap();
        let new = TcVersion::Linux;
        let old = TcVersion::Linux61;
        assert_eq!([new, old].map(|tc| cost.depth(1600, tc)), [1_280_000; 2]);
        assert_eq!([new, old].map(|tc| cost.depth(1601, tc)), [1_280_832, 1_280_000]);
        // 3737.6 us are 58,400 ticks, and by tc's arithmetic a little more.
        assert_eq!(ByteCost::new(Rate::from_bps(5_000_000)).unwrap().depth(2336, new), 58_401 * 64);
        // 4266.67 us are 66,666.67 ticks. Cut to 4266 they are 66,656.25.
        let third = ByteCost::new(Rate::from_bps(3_000_000)).unwrap();
        assert_eq!([new, old].map(|tc| third.depth(1600, tc)), [4_266_688, 4_265_984]);
    }
}
