//! Numbers for keys such as the hashes of flows.

use alloc::collections::BTreeMap;

/// Gives each key a number, counted from 0 in the order of first use.
#[derive(Debug)]
pub(crate) struct Numbers<K>(BTreeMap<K, u32>);

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Numbers<K> {
    pub(crate) fn number(&mut self, key: K) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(key).or_insert(next)
    }
}
