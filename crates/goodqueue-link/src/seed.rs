//! Seeds from outside, so that a failed test can be repeated.

extern crate std;

use std::string::String;
use std::{env, format, println};

use goodqueue::hash::mix_64;

/// The seed of a test. If the test panics, the seed and the way to use it again are printed.
///
/// ```
/// use goodqueue_link::{Link, seed::Seed};
///
/// let seed = Seed::from_env("MY_TEST_SEED", 42)?;
/// let builder = Link::builder().loss(0.01).seed(seed.value());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Seed {
    name: String,
    text: String,
    value: u64,
}

impl Seed {
    /// Reads the environment variable `name`: a decimal number below 2^64, or 32 bytes as 64
    /// hexadecimal digits. Without the variable the seed is `otherwise`.
    ///
    /// # Errors
    /// The variable has another form; the message says which forms are allowed.
    pub fn from_env(name: &str, otherwise: u64) -> Result<Self, String> {
        let text = match env::var(name) {
            Ok(text) => text,
            Err(env::VarError::NotPresent) => format!("{otherwise}"),
            Err(env::VarError::NotUnicode(_)) => return Err(refused(name, "bytes that are no text")),
        };
        Self::from_text(name, &text)
    }

    /// Reads `text` as [`Self::from_env`] reads the variable `name`.
    ///
    /// # Errors
    /// As [`Self::from_env`].
    pub fn from_text(name: &str, text: &str) -> Result<Self, String> {
        // `parse` alone would accept a sign.
        let decimal = if text.bytes().all(|digit| digit.is_ascii_digit()) { text.parse().ok() } else { None };
        let value = decimal.or_else(|| hexadecimal(text)).ok_or_else(|| refused(name, text))?;
        Ok(Self { name: name.into(), text: text.into(), value })
    }

    /// Returns the seed. Of 32 bytes every bit counts.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("repeat this test with {}={}", self.name, self.text);
        }
    }
}

/// Folds 64 hexadecimal digits to 64 bits.
fn hexadecimal(text: &str) -> Option<u64> {
    // `from_str_radix` alone would accept a sign.
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let words = (0..4).map(|word| u64::from_str_radix(text.get(word * 16..word * 16 + 16)?, 16).ok());
    words.into_iter().try_fold(0, |folded, word| Some(mix_64(folded ^ word?)))
}

fn refused(name: &str, text: &str) -> String {
    format!(
        "{name}: `{text}` is not a seed\n  allowed: a decimal number below 2^64, or 32 bytes as 64 hexadecimal digits\n  \
         help: {name}=1 is a seed"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_32_bytes_of_which_each_bit_counts() {
        let value = |text: &str| Seed::from_text("SEED", text).map(|seed| seed.value());
        assert_eq!(value("18446744073709551615"), Ok(u64::MAX));
        let zeros = "0".repeat(64);
        let one = value(&zeros).unwrap();
        for place in 0..64 {
            let mut changed = zeros.clone();
            changed.replace_range(place..=place, "8");
            assert_ne!(value(&changed).unwrap(), one, "digit {place}");
        }
    }

    #[test]
    fn what_is_no_seed_is_refused_with_the_allowed_forms() {
        for text in ["", "-1", "18446744073709551616", "0x12", "12ab", &"g".repeat(64), &"ä".repeat(32)] {
            let refused = Seed::from_text("SEED", text).unwrap_err();
            assert!(refused.contains("SEED: `") && refused.contains("64 hexadecimal digits"), "{refused}");
        }
    }
}
