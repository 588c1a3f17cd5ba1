//! The wire format of Accurate ECN feedback (AccECN, RFC 9768).
//!
//! Both ends of a connection count: the packets that arrived with a congestion mark, and the
//! payload bytes that arrived with each ECN field. Three bits of the TCP header report the first
//! counter ([`Flags::ace`](crate::Flags::ace)), an option reports the others ([`EcnOption`]).

use goodqueue::Ecn;

/// The counter of marked packets starts here (RFC 9768 §3.2.1), and not at 0, so that a field that
/// was cleared on the way is noticed (§3.2.2.4).
pub(crate) const FIRST_PACKETS: u64 = 5;
/// The counters of ECT(0) and ECT(1) bytes start here on the wire (RFC 9768 §3.2.1).
const FIRST_BYTES: u32 = 1;
/// Byte counters have 24 bits (RFC 9768 §3.2.3.1).
const MASK: u32 = (1 << 24) - 1;
/// Number of counters of a whole option.
pub(crate) const ALL_FIELDS: u8 = 3;

/// Returns the three header bits that report an ECN field in the handshake (RFC 9768 §3.1.2 table
/// 2, §3.2.2.1 table 3).
#[must_use]
pub const fn code_of(field: Ecn) -> u8 {
    match field {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// Returns the ECN field that three header bits of the handshake report; `None` for other bits.
#[must_use]
pub const fn field_of(code: u8) -> Option<Ecn> {
    match code {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Payload bytes that arrived with each ECN field, modulo 2^24.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EcnBytes {
    /// Bytes with ECT(0).
    pub ect0: u32,
    /// Bytes with ECT(1).
    pub ect1: u32,
    /// Bytes with a congestion mark.
    pub ce: u32,
}

impl EcnBytes {
    /// Counts `bytes` that arrived with an ECN field.
    pub fn count(&mut self, field: Ecn, bytes: u32) {
        let counter = match field {
            Ecn::NotEct => return,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        };
        *counter = counter.wrapping_add(bytes) & MASK;
    }
}

/// Returns the difference between two readings of a byte counter.
pub(crate) const fn grown(before: u32, after: u32) -> u32 {
    // The counters have 24 bits (RFC 9768 §3.2.3), so their difference has as many.
    after.wrapping_sub(before) & MASK
}

/// The AccECN option: up to three byte counters, in one of two orders (RFC 9768 §3.2.3). A sender
/// without room leaves out the last counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnOption {
    /// The counters are those of ECT(1), CE and ECT(0) bytes in this order (kind 174), and
    /// otherwise in the reverse order (kind 172).
    pub ect1_first: bool,
    /// Number of counters, up to 3.
    pub fields: u8,
    /// The counters as on the wire; unused ones are 0.
    pub values: [u32; 3],
}

impl EcnOption {
    /// Returns the option with the first `fields` counters.
    #[must_use]
    pub fn new(bytes: &EcnBytes, ect1_first: bool, fields: u8) -> Self {
        let ect0 = (bytes.ect0 + FIRST_BYTES) & MASK;
        let ect1 = (bytes.ect1 + FIRST_BYTES) & MASK;
        // The counter of marked bytes starts at 0 on the wire, unlike the others (RFC 9768 §3.2.1).
        let mut values = if ect1_first { [ect1, bytes.ce, ect0] } else { [ect0, bytes.ce, ect1] };
        let fields = fields.min(ALL_FIELDS);
        values[usize::from(fields)..].fill(0);
        Self { ect1_first, fields, values }
    }

    /// Returns the counted bytes with a congestion mark, if the option has them.
    #[must_use]
    pub const fn ce(&self) -> Option<u32> {
        // In both orders CE is the second.
        if self.fields >= 2 { Some(self.values[1]) } else { None }
    }

    /// Returns the counted bytes with ECT(0), if the option has them.
    #[must_use]
    pub fn ect0(&self) -> Option<u32> {
        self.capable(!self.ect1_first)
    }

    /// Returns the counted bytes with ECT(1), if the option has them.
    #[must_use]
    pub fn ect1(&self) -> Option<u32> {
        self.capable(self.ect1_first)
    }

    fn capable(&self, comes_first: bool) -> Option<u32> {
        let at = if comes_first { 0 } else { 2 };
        (self.fields > at).then(|| grown(FIRST_BYTES, self.values[usize::from(at)]))
    }

    /// Returns the bytes that the option takes in the header, padded to a multiple of four.
    #[must_use]
    pub const fn wire_len(&self) -> u32 {
        wire_len(self.fields)
    }
}

/// Returns the length of an option with this number of counters, padded to a multiple of four.
#[must_use]
pub(crate) const fn wire_len(fields: u8) -> u32 {
    // Kind and length, and 24 bits for each counter.
    (2 + 3 * fields as u32).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handshake_reports_each_of_the_four_fields() {
        for field in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(field_of(code_of(field)), Some(field));
        }
        // Not ECN, classic ECN, reserved, broken.
        for code in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(field_of(code), None);
        }
    }

    #[test]
    fn an_option_has_the_counters_in_the_order_of_its_kind() {
        let bytes = EcnBytes { ect0: 100, ect1: 20, ce: 3 };
        let whole = EcnOption::new(&bytes, false, 3);
        // Three counters take 11 bytes and two 8, with kind and length.
        assert_eq!((whole.values, whole.wire_len()), ([101, 3, 21], 12));
        assert_eq!((whole.ect0(), whole.ce(), whole.ect1()), (Some(100), Some(3), Some(20)));
        let cut = EcnOption::new(&bytes, true, 2);
        assert_eq!((cut.values, cut.wire_len()), ([21, 3, 0], 8));
        assert_eq!((cut.ect0(), cut.ce(), cut.ect1()), (None, Some(3), Some(20)));
        assert_eq!(EcnOption::new(&bytes, true, 0).wire_len(), 4);
    }

    #[test]
    fn byte_counters_wrap_at_24_bits() {
        let mut bytes = EcnBytes { ect0: MASK, ..EcnBytes::default() };
        assert_eq!(EcnOption::new(&bytes, false, 1).values[0], 0);
        bytes.count(Ecn::Ect0, 1460);
        bytes.count(Ecn::NotEct, 1460);
        assert_eq!(bytes, EcnBytes { ect0: 1459, ..EcnBytes::default() });
        assert_eq!(grown(MASK, 1459), 1460);
    }
}
