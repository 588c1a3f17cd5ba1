//! Airtime of IEEE 802.11n frames (HT, mixed format) at 5 GHz.

use goodqueue::Duration;

/// SIFS of the OFDM PHYs at 5 GHz (IEEE 802.11-2012 Table 18-17).
pub const SIFS: Duration = Duration::from_micros(16);
/// Slot time of the OFDM PHYs (IEEE 802.11-2012 Table 18-17).
pub const SLOT: Duration = Duration::from_micros(9);
/// Additional wait of a station after a frame that it could not decode: EIFS - DIFS = SIFS and an
/// ACK at 6 Mbit/s (IEEE 802.11-2012 §9.3.7).
pub const EIFS_EXTRA: Duration = Duration::from_micros(16 + 44);
/// Time from the end of a station's own frame until it gives up waiting for the answer: SIFS, a
/// slot, and `aRxPHYStartDelay` of the OFDM PHYs, 20 µs (IEEE 802.11-2016 §10.3.2.9 and Table
/// 17-21; 25 µs in IEEE 802.11-2012 Table 18-17).
pub const ANSWER_TIMEOUT: Duration = Duration::from_micros(16 + 9 + 20);
/// Largest A-MPDU in bytes (IEEE 802.11-2012 §8.4.2.58.3).
pub const MAX_AMPDU_BYTES: u32 = 65_535;
/// Longest PPDU (IEEE 802.11-2012 `aPPDUMaxTime`, 5.484 ms in mixed format).
pub const MAX_PPDU: Duration = Duration::from_micros(5_484);
/// Bytes added to an IP packet: QoS data header (26) and LLC/SNAP (8) before it, FCS (4) behind it.
/// Nothing is encrypted.
pub const MPDU_OVERHEAD: u32 = 26 + 8 + 4;
/// Bytes of a subframe's delimiter.
pub const DELIMITER: u32 = 4;

/// A modulation and coding scheme with channel width and guard interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modulation {
    mcs: u8,
    width: Width,
    short_gi: bool,
}

/// Width of the channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
}

impl Width {
    /// Returns the width in MHz.
    #[must_use]
    pub const fn mhz(self) -> u32 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
        }
    }
}

impl Modulation {
    /// Largest index of a modulation and coding scheme: 8 per spatial stream, up to 4 streams.
    pub const MAX_MCS: u8 = 31;

    /// Returns HT MCS `mcs` (0 to 31: 8 per spatial stream), with the short guard interval of 400
    /// ns if `short_gi`; `None` for a larger index.
    #[must_use]
    pub const fn new(mcs: u8, width: Width, short_gi: bool) -> Option<Self> {
        if mcs > Self::MAX_MCS { None } else { Some(Self { mcs, width, short_gi }) }
    }

    /// Returns the index of the scheme.
    #[must_use]
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Returns the width of the channel.
    #[must_use]
    pub const fn width(self) -> Width {
        self.width
    }

    /// Returns true with the short guard interval.
    #[must_use]
    pub const fn short_gi(self) -> bool {
        self.short_gi
    }

    /// Returns the number of spatial streams.
    #[must_use]
    pub const fn streams(self) -> u32 {
        self.mcs as u32 / 8 + 1
    }

    /// Returns the data bits per symbol, `N_DBPS` (IEEE 802.11-2012 Tables 20-30 to 20-37).
    #[must_use]
    pub const fn bits_per_symbol(self) -> u32 {
        let per_stream = match self.width {
            Width::Mhz20 => [26, 52, 78, 104, 156, 208, 234, 260],
            Width::Mhz40 => [54, 108, 162, 216, 324, 432, 486, 540],
        };
        per_stream[(self.mcs % 8) as usize] * self.streams()
    }

    /// Returns the rate of the data symbols in bits per second, rounded down: 65 Mbit/s for MCS 7
    /// at 20 MHz.
    #[must_use]
    pub const fn rate_bps(self) -> u64 {
        self.bits_per_symbol() as u64 * 1_000_000_000 / self.symbol_nanos()
    }

    /// Returns the airtime of a PPDU with a PSDU of `bytes` (IEEE 802.11-2012 §20.4.3).
    #[must_use]
    pub fn ppdu(self, bytes: u32) -> Duration {
        let bits = SERVICE_BITS + 8 * u64::from(bytes) + self.tail_bits();
        let symbols = bits.div_ceil(u64::from(self.bits_per_symbol()));
        // Short symbols end on the 4 µs grid of the long ones.
        let data = (symbols * self.symbol_nanos()).div_ceil(LONG_SYMBOL) * LONG_SYMBOL;
        self.preamble() + Duration::from_nanos(data)
    }

    /// Returns the time from the beginning of a PPDU to the end of the symbol with the last bit of
    /// its PSDU's first `bytes`.
    #[must_use]
    pub fn until(self, bytes: u32) -> Duration {
        // Without the grid of `ppdu`, which only the end of the data keeps to.
        let symbols = (SERVICE_BITS + 8 * u64::from(bytes)).div_ceil(u64::from(self.bits_per_symbol()));
        self.preamble() + Duration::from_nanos(symbols * self.symbol_nanos())
    }

    /// Returns the largest PSDU, in bytes, whose PPDU takes no longer than `limit`.
    #[must_use]
    pub fn bytes_within(self, limit: Duration) -> u32 {
        // The inverse of `ppdu`: whole steps of the grid first, then whole symbols in them.
        let grid = limit.saturating_sub(self.preamble()).as_nanos() / LONG_SYMBOL;
        let bits = grid * LONG_SYMBOL / self.symbol_nanos() * u64::from(self.bits_per_symbol());
        let bytes = bits.saturating_sub(SERVICE_BITS + self.tail_bits()) / 8;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Returns the airtime of the answer to a PPDU: an ACK (14 bytes) to a single frame, a
    /// compressed BlockAck (32 bytes) to an A-MPDU. It is sent at the highest mandatory rate that
    /// is not above the data's modulation (IEEE 802.11-2012 §9.7.6.5).
    #[must_use]
    pub fn answer(self, block_ack: bool) -> Duration {
        let bytes: u64 = if block_ack { 32 } else { 14 };
        let bits_per_symbol = match self.mcs % 8 {
            0 => 24,     // BPSK 1/2: 6 Mbit/s
            1 | 2 => 48, // QPSK: 12 Mbit/s
            _ => 96,     // 16-QAM and above: 24 Mbit/s
        };
        // 6 tail bits.
        let symbols = (SERVICE_BITS + 8 * bytes + 6).div_ceil(bits_per_symbol);
        LEGACY_PREAMBLE + Duration::from_nanos(symbols * LONG_SYMBOL)
    }

    const fn symbol_nanos(self) -> u64 {
        if self.short_gi { 3_600 } else { LONG_SYMBOL }
    }

    /// Legacy preamble and SIGNAL 20 µs, HT-SIG 8, HT-STF 4, and HT-LTFs of 4 each: 1, 2, 4, 4 for
    /// 1 to 4 streams (IEEE 802.11-2012 Table 20-13).
    const fn preamble(self) -> Duration {
        let training_fields = match self.streams() {
            1 => 1,
            2 => 2,
            _ => 4,
        };
        Duration::from_micros(20 + 8 + 4 + 4 * training_fields)
    }

    /// 6 bits for each encoder; above 300 Mbit/s there are two encoders.
    const fn tail_bits(self) -> u64 {
        // 1080 bits in a short symbol of 3.6 µs are 300 Mbit/s.
        if self.bits_per_symbol() > 1080 { 12 } else { 6 }
    }
}

/// Returns the bytes of the MPDU that carries an IP packet of `ip_bytes`.
#[must_use]
pub const fn mpdu_bytes(ip_bytes: u32) -> u32 {
    ip_bytes.saturating_add(MPDU_OVERHEAD)
}

/// Returns the bytes that an MPDU of `bytes` takes in an A-MPDU, with its delimiter and padded to a
/// multiple of 4.
#[must_use]
pub const fn subframe_bytes(bytes: u32) -> u32 {
    bytes.saturating_add(DELIMITER + 3) / 4 * 4
}

// The field in front of the data that initializes the scrambler (IEEE 802.11-2012 §18.3.5.2).
const SERVICE_BITS: u64 = 16;
const LONG_SYMBOL: u64 = 4_000;
/// Preamble and SIGNAL of a legacy OFDM frame.
const LEGACY_PREAMBLE: Duration = Duration::from_micros(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn ht(mcs: u8, width: Width, short_gi: bool) -> Modulation {
        Modulation::new(mcs, width, short_gi).expect("an HT MCS")
    }

    #[test]
    fn rates_are_those_of_the_standards_tables() {
        let rate = |mcs, width, short_gi| ht(mcs, width, short_gi).rate_bps();
        assert_eq!(rate(0, Width::Mhz20, false), 6_500_000);
        assert_eq!(rate(7, Width::Mhz20, false), 65_000_000);
        assert_eq!(rate(7, Width::Mhz20, true), 72_222_222);
        assert_eq!(rate(15, Width::Mhz20, true), 144_444_444);
        assert_eq!(rate(0, Width::Mhz40, false), 13_500_000);
        assert_eq!(rate(31, Width::Mhz40, true), 600_000_000);
        assert_eq!(Modulation::new(32, Width::Mhz20, false), None);
    }

    #[test]
    fn answers_at_24_mbits_take_28_and_32_microseconds() {
        let fast = ht(7, Width::Mhz20, false);
        // 16 + 8 * 14 + 6 = 134 bits are 2 symbols of 96, and 16 + 8 * 32 + 6 = 278 bits are 3,
        // each of 4 µs, behind 20 µs of preamble.
        assert_eq!([fast.answer(false), fast.answer(true)], [28, 32].map(Duration::from_micros));
        let slow = ht(0, Width::Mhz20, false);
        // At 24 bits per symbol they are 6 and 12 symbols.
        assert_eq!([slow.answer(false), slow.answer(true)], [44, 68].map(Duration::from_micros));
    }

    #[test]
    fn a_full_packet_at_65_mbits_takes_48_symbols() {
        // 16 + 8 * 1538 + 6 = 12326 bits need 48 symbols of 260 bits. The preamble takes 36 µs.
        let bytes = mpdu_bytes(1500);
        assert_eq!(bytes, 1538);
        assert_eq!(ht(7, Width::Mhz20, false).ppdu(bytes), Duration::from_micros(36 + 48 * 4));
        // 48 symbols of 3.6 µs take 172.8 µs, which the grid rounds up to 176.
        assert_eq!(ht(7, Width::Mhz20, true).ppdu(bytes), Duration::from_micros(36 + 176));
        assert_eq!(subframe_bytes(bytes), 1544);
        assert_eq!(subframe_bytes(mpdu_bytes(40)), 84);
    }

    #[test]
    fn the_longest_psdu_of_a_duration_fits_and_one_byte_more_does_not() {
        for mcs in 0..=Modulation::MAX_MCS {
            for (width, short_gi) in
                [(Width::Mhz20, false), (Width::Mhz20, true), (Width::Mhz40, false), (Width::Mhz40, true)]
            {
                let modulation = ht(mcs, width, short_gi);
                for limit in [Duration::from_micros(300), Duration::from_millis(4), MAX_PPDU] {
                    let most = modulation.bytes_within(limit);
                    assert!(modulation.ppdu(most) <= limit, "{modulation:?} {limit} {most}");
                    assert!(modulation.ppdu(most + 1) > limit, "{modulation:?} {limit} {most}");
                }
            }
        }
    }
}
