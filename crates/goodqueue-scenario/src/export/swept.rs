//! The values of swept keys as columns of numbers in SI units: `"10ms"` becomes 0.01, `"1mbit"`
//! 1,000,000 and `"360kb"` 368,640.

use goodqueue_tc::units;
use serde_json::Value;

use crate::results::{Results, Run};
use crate::statistics::{float, seconds};

/// A column with the values of a swept key.
#[derive(Clone, Copy, Debug)]
pub struct Swept<'r> {
    key: &'r str,
    /// The quantity that all values have; `None`: the values stay texts.
    quantity: Option<Quantity>,
}

/// Quantities of a scenario's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantity {
    Number,
    Size,
    Time,
    Rate,
    Packets,
}

impl<'r> Swept<'r> {
    /// Returns a column for each key that any run sweeps, in the order of the keys.
    #[must_use]
    pub fn all(results: &'r Results) -> Vec<Self> {
        let mut keys: Vec<&str> =
            results.runs.iter().flat_map(|run| run.sweep.keys()).map(String::as_str).collect();
        keys.sort_unstable();
        // All runs of a sweep have the same keys.
        keys.dedup();
        keys.into_iter().map(|key| Self::new(key, results)).collect()
    }

    fn new(key: &'r str, results: &Results) -> Self {
        // Runs of a point share their values, and points share many of theirs.
        let mut values: Vec<&Value> = results.runs.iter().filter_map(|run| run.sweep.get(key)).collect();
        values.dedup();
        let has_all = |quantity: &Quantity| values.iter().all(|value| quantity.in_si(value).is_some());
        let name = key.rsplit('.').next().unwrap_or(key);
        // Only the key tells whether "1mbit" is a rate or, as in tc, a size.
        let order = if SIZES.contains(&name) {
            [Quantity::Number, Quantity::Size, Quantity::Time, Quantity::Rate, Quantity::Packets]
        } else {
            [Quantity::Number, Quantity::Time, Quantity::Rate, Quantity::Size, Quantity::Packets]
        };
        Self { key, quantity: order.into_iter().find(has_all) }
    }

    /// Returns the heading of the column: the key, or `sweep.` and the key if another column of
    /// every table has this name.
    #[must_use]
    pub fn heading(&self) -> String {
        if TAKEN.contains(&self.key) { format!("sweep.{}", self.key) } else { self.key.to_owned() }
    }

    /// True if all values are numbers.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        self.quantity.is_some()
    }

    /// Returns the number of this run; `None` if the column has texts or the run has no value.
    #[must_use]
    pub fn number(&self, run: &Run) -> Option<f64> {
        self.quantity?.in_si(run.sweep.get(self.key)?)
    }

    /// Returns the value of this run as it was written.
    #[must_use]
    pub fn text(&self, run: &Run) -> Option<String> {
        run.sweep.get(self.key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }
}

impl Quantity {
    /// Returns the value in the SI unit of this quantity, if it is one.
    fn in_si(self, value: &Value) -> Option<f64> {
        let text = match value {
            Value::Number(number) => return number.as_f64(),
            Value::String(text) => text.as_str(),
            _ => return None,
        };
        match self {
            // Scenario files keep fractions as they were written.
            Self::Number => text.parse().ok().filter(|number: &f64| number.is_finite()),
            Self::Size => units::size(text).ok().map(float),
            Self::Time => units::time(text).ok().map(seconds),
            Self::Rate => units::rate(text).ok().map(|rate| float(rate.as_bps())),
            Self::Packets => text.ends_with('p').then(|| units::tc_packets(text).ok().map(float)).flatten(),
        }
    }
}

/// Last parts of the keys whose values are sizes.
const SIZES: &[&str] = &["size", "total", "request", "rwnd", "small_queue", "spikes"];
/// Columns that the tables have beside those of swept keys.
const TAKEN: &[&str] = &["run", "qdisc", "seed"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{results, run};

    fn column(key: &str, values: &[Value]) -> (bool, Vec<Option<f64>>) {
        let runs = values.iter().map(|value| {
            let mut swept = run("pie", 1);
            swept.sweep.insert(key.to_owned(), value.clone());
            swept
        });
        let results = results(runs.collect());
        let columns = Swept::all(&results);
        let numbers = results.runs.iter().map(|run| columns[0].number(run)).collect();
        (columns[0].is_number(), numbers)
    }

    #[test]
    fn values_with_units_become_numbers_in_si_units() {
        for (key, values, expected) in [
            ("link.rtt", ["10ms", "1.5s"], [0.01, 1.5]),
            ("link.up", ["1mbit", "10 Mbit/s"], [1e6, 1e7]),
            // As a size, `1mbit` is 1024 * 1024 / 8 bytes, as in tc.
            ("flows.0.size", ["360kb", "1mbit"], [368_640.0, 131_072.0]),
            ("tcp.rwnd", ["64kb", "1000"], [65_536.0, 1000.0]),
            ("link.down.driver", ["2p", "256p"], [2.0, 256.0]),
            ("wifi.error", ["0.1", "0.25"], [0.1, 0.25]),
        ] {
            let values = values.map(Value::from);
            assert_eq!(column(key, &values), (true, expected.map(Some).into()), "{key}");
        }
        assert_eq!(column("flows.0.count", &[1.into(), 4.into()]), (true, vec![Some(1.0), Some(4.0)]));
        assert_eq!(column("flows.0.size", &[15_000.into(), "1kb".into()]).1, [Some(15_000.0), Some(1024.0)]);
    }

    #[test]
    fn values_without_a_common_unit_stay_as_written() {
        for values in [
            ["40ms".into(), "off".into()],
            ["codel".into(), "codel target 13ms".into()],
            [true.into(), false.into()],
            ["1mbit".into(), serde_json::json!({"trace": "lte.down"})],
        ] {
            assert_eq!(column("key", &values), (false, vec![None, None]), "{values:?}");
        }
    }

    #[test]
    fn a_swept_seed_has_a_heading_of_its_own() {
        let mut swept = run("pie", 8);
        swept.sweep.insert("seed".to_owned(), 7.into());
        assert_eq!(Swept::all(&results(vec![swept]))[0].heading(), "sweep.seed");
    }
}
