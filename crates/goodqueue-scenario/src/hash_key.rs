//! The key that a run mixes into the salt of a queue's hash, so that flows that collide under one
//! discipline, or at one point of a sweep, do not collide under all. docs/REPRODUCIBILITY.md tells
//! how.

use std::collections::BTreeMap;

use goodqueue::random::mix_64;
use serde_json::Value;

/// The key of a queue under `discipline`, with every parameter, at this point of a sweep.
#[must_use]
pub fn hash_key(discipline: &str, sweep: &BTreeMap<String, Value>) -> u32 {
    let fields = sweep.iter().flat_map(|(key, value)| [key.clone(), value.to_string()]);
    let hash = std::iter::once(discipline.to_owned()).chain(fields).fold(0, absorb);
    u32::try_from(hash >> 32).unwrap_or(0)
}

/// The hash of all texts so far and of this one: its length, and its bytes in words of eight.
fn absorb(hash: u64, text: String) -> u64 {
    let words = text.as_bytes().chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    // Without the length, a letter at the end of a key would count like one at the beginning of its
    // value.
    std::iter::once(text.len() as u64)
        .chain(words)
        // `mix_64` maps 0 to 0: without the sum, zeros at the beginning would not count.
        .fold(hash, |hash, word| mix_64(hash ^ word).wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn point(fields: &[(&str, Value)]) -> BTreeMap<String, Value> {
        fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    #[test]
    fn every_discipline_and_point_has_a_key_of_its_own() {
        let points = [
            point(&[]),
            point(&[("link.up", json!("1mbit"))]),
            point(&[("link.up", json!("10mbit"))]),
            point(&[("link.down", json!("1mbit"))]),
            point(&[("flows.0.count", json!(1)), ("link.up", json!("1mbit"))]),
            point(&[("flows.0.count", json!(11)), ("link.up", json!("mbit"))]),
        ];
        let mut keys: Vec<u32> = points
            .iter()
            .flat_map(|at| ["fq_codel", "fq_code", "l", ""].map(|line| hash_key(line, at)))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        // Six points times four lines.
        assert_eq!(keys.len(), 24);
    }

    #[test]
    fn keys_stay_as_they_are_from_version_to_version() {
        assert_eq!(hash_key("fq_codel", &point(&[])), 3_845_495_268);
        assert_eq!(hash_key("fq_codel", &point(&[("link.up", json!("1mbit"))])), 1_475_723_371);
    }
}
