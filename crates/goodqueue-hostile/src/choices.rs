//! Bytes as decisions: turns an input of a fuzzer into a sequence of operations.

/// Bytes as a source of choices. Zeros follow the last byte.
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// Returns the next `length` bytes, or fewer at the end.
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    pub(crate) fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Returns a number. Small numbers, arbitrary ones and some of the largest are all frequent.
    pub(crate) fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=191 => u64::from(small),
            192..=223 => u64::from(self.word()),
            // The largest shift that keeps a word within 64 bits is 48.
            224..=247 => u64::from(self.word()) << (self.byte() % 49),
            248..=251 => u64::MAX - u64::from(self.byte()),
            _ => u64::from(u32::MAX) - u64::from(self.byte()),
        }
    }

    pub(crate) fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}
