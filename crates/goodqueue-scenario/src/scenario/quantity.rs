//! The keys whose values are times or rates, for programs that give them as numbers.
//!
//! A scenario file has a unit at each time and rate, so it refuses bare numbers. A program that
//! has numbers in SI base units adds the unit that [`Quantity::of_key`] names.

/// The quantity of a value with a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Seconds, as in `link.rtt`.
    Time,
    /// Bits per second, as in `link.up`.
    Rate,
}

impl Quantity {
    /// Returns the quantity of the values of a dotted key, such as `link.rtt` or `flows.0.rate`.
    /// `None`: they have no unit (counts, probabilities) or bytes, which are bare numbers in files,
    /// too.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        let name = key.rsplit('.').find(|part| !part.bytes().all(|byte| byte.is_ascii_digit()))?;
        if TIMES.contains(&name) {
            Some(Self::Time)
        } else if RATES.contains(&name) {
            Some(Self::Rate)
        } else {
            None
        }
    }

    /// True if a table with this key has values of the quantity that the table itself is for: the
    /// first parameters of distributions, as in `think = { exponential = "5s" }`.
    #[must_use]
    pub fn is_inherited(key: &str) -> bool {
        DISTRIBUTIONS.contains(&key)
    }
}

/// Last parts of keys. Entries of lists have numbers, which are skipped.
const TIMES: &[&str] = &[
    "access",
    "buffer",
    "delay",
    "delay_tick",
    "delayed_ack",
    "duration",
    "interval",
    "longest",
    "min_rto",
    "off",
    "on",
    "playout",
    "ready",
    "repeat",
    "rtt",
    "rtt_step",
    "rttvar",
    "segment",
    "series",
    "start",
    "start_jitter",
    "stop",
    "think",
    "timeout",
    "warmup",
];
const RATES: &[&str] = &["access_rate", "down", "ladder", "rate", "up"];
const DISTRIBUTIONS: &[&str] = &["exponential", "log_normal", "pareto", "uniform"];

#[cfg(test)]
mod tests {
    use goodqueue_tc::units;

    use super::*;

    /// The keys of the examples in the description of the format, each with the texts that it has.
    fn described() -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        let mut is_toml = false;
        for line in include_str!("../scenario.rs").lines() {
            let line = line.trim_start_matches("//!").trim_start();
            if line.starts_with("```") {
                is_toml = line == "```toml";
            }
            // The keys of a sweep are texts themselves.
            if !is_toml || line.starts_with(['#', '"']) {
                continue;
            }
            let mut key = String::new();
            for (number, piece) in line.split(" #").next().unwrap_or("").split('"').enumerate() {
                if number % 2 == 1 {
                    pairs.push((key.clone(), piece.to_owned()));
                    continue;
                }
                for word in piece.split(['=', '{', ',', '[', ']', ' ']).filter(|word| !word.is_empty()) {
                    let is_key = word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                    if is_key && !Quantity::is_inherited(word) {
                        word.clone_into(&mut key);
                    }
                }
            }
        }
        pairs
    }

    #[test]
    fn each_time_and_each_rate_of_the_format_is_known() {
        let described = described();
        assert!(described.len() > 80, "the description is read: {}", described.len());
        for (key, text) in described {
            // A tc line, a window, a parameter of a congestion control; a step of a schedule.
            if ["qdisc", "rwnd", "target", "schedule"].contains(&key.as_str()) {
                continue;
            }
            let expected = match (units::time(&text), units::rate(&text)) {
                (Ok(_), _) => Some(Quantity::Time),
                (_, Ok(_)) => Some(Quantity::Rate),
                _ => continue,
            };
            assert_eq!(Quantity::of_key(&key), expected, "{key} = {text:?}");
        }
    }

    #[test]
    fn a_key_is_known_by_its_last_name() {
        for key in ["rtt", "link.rtt", "sweep.link.rtt", "flows.0.rtt", "flows.0.on", "tcp.delayed_ack"] {
            assert_eq!(Quantity::of_key(key), Some(Quantity::Time), "{key}");
        }
        for key in ["link.up", "link.down.rate", "hops.0.down", "flows.0.ladder.2"] {
            assert_eq!(Quantity::of_key(key), Some(Quantity::Rate), "{key}");
        }
        for key in ["flows", "flows.0", "flows.0.count", "flows.0.size", "wifi.error", "", "0"] {
            assert_eq!(Quantity::of_key(key), None, "{key}");
        }
    }
}
