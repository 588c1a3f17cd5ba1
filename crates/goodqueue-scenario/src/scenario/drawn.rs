//! Times and sizes that are drawn: `"5s"` for always the same, or `{ uniform = ["5s", "15s"] }` and
//! the like.

use goodqueue::Duration;
use goodqueue_sim::traffic::Distribution;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::document::{Node, Raw};
use super::form::{Form, Shape, object};
use super::plain::NUMBER;
use super::quantity;
use super::reader::{Reader, measured};

/// Where a time or a number of bytes comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Drawn<T> {
    /// Always this.
    Constant(T),
    /// Uniform between the two.
    Uniform(T, T),
    /// Exponential with this mean.
    Exponential(T),
    /// Pareto.
    Pareto {
        /// The mean.
        mean: T,
        /// The exponent of the tail, above 1.
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// The median.
        median: T,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

/// A quantity that can be random.
pub trait Quantity: Copy + PartialOrd + 'static {
    /// How it is written, for messages.
    const FORM: &'static str;
    fn parse(text: &str) -> Result<Self, Diagnostic>;
    fn to_json(self) -> Value;
    /// The JSON schema of its values.
    fn schema() -> Value;
    /// The quantity of bare numbers.
    const BARE: Option<quantity::Quantity>;
    /// Seconds or bytes.
    fn to_f64(self) -> f64;
}

impl Quantity for Duration {
    const BARE: Option<quantity::Quantity> = Some(quantity::Quantity::Time);
    const FORM: &'static str = "a time in quotes, such as \"5s\", or a table such as { uniform = [\"5s\", \"15s\"] }, \
                                { exponential = \"5s\" }, { pareto = \"5s\", shape = 1.2 } or { log_normal = \"5s\", sigma = 1.0 }";

    fn parse(text: &str) -> Result<Self, Diagnostic> {
        units::time(text)
    }

    fn to_json(self) -> Value {
        json!(self.to_string())
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    #[expect(clippy::cast_precision_loss, reason = "a parameter of a distribution")]
    fn to_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }
}

impl Quantity for u64 {
    const BARE: Option<quantity::Quantity> = None;
    const FORM: &'static str = "a size, such as 1500 (bytes) or \"360kb\", or a table such as { uniform = [1000, \"20kb\"] }, \
                                { exponential = \"20kb\" }, { pareto = \"20kb\", shape = 1.2 } or { log_normal = \"20kb\", sigma = 1.0 }";

    fn parse(text: &str) -> Result<Self, Diagnostic> {
        units::size(text)
    }

    fn to_json(self) -> Value {
        json!(self)
    }

    fn schema() -> Value {
        json!({ "type": ["integer", "string"] })
    }

    #[expect(clippy::cast_precision_loss, reason = "a parameter of a distribution")]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl<T: Quantity> Drawn<T> {
    fn read(table: &Reader<'_>, key: &str, node: &Node) -> Result<Self, Diagnostic> {
        let Raw::Table(_) = node.raw else {
            return quantity(table, key, node).map(Self::Constant);
        };
        let name = format!("`{key}`");
        let inner = Reader::of_table(table.document(), node, &name)?;
        let form = FORMS.iter().find_map(|(form, keys)| Some((*form, *keys, inner.node(form)?)));
        let Some((form, keys, parameter)) = form else {
            let message = Diagnostic::new("no known distribution is given").allowed(T::FORM);
            return Err(table.error(key, message));
        };
        // Also refuses a second form, which the search above passes over.
        inner.only(keys)?;
        if form == "uniform" {
            let (low, high) = bounds(&inner, parameter)?;
            return Ok(Self::Uniform(low, high));
        }
        let parameter = quantity(&inner, form, parameter)?;
        Ok(match form {
            "exponential" => Self::Exponential(parameter),
            // A Pareto distribution has a mean only if its shape is above 1.
            "pareto" => Self::Pareto { mean: parameter, shape: factor(&inner, "shape", 1.0, 100.0)? },
            // The form came from `FORMS`, which has no fifth one.
            _ => Self::LogNormal { median: parameter, sigma: factor(&inner, "sigma", 0.0, 10.0)? },
        })
    }

    fn to_json(self) -> Value {
        match self {
            Self::Constant(value) => value.to_json(),
            Self::Uniform(low, high) => json!({ "uniform": [low.to_json(), high.to_json()] }),
            Self::Exponential(mean) => json!({ "exponential": mean.to_json() }),
            Self::Pareto { mean, shape } => json!({ "pareto": mean.to_json(), "shape": shape }),
            Self::LogNormal { median, sigma } => json!({ "log_normal": median.to_json(), "sigma": sigma }),
        }
    }

    pub(super) fn to_sim(self) -> Distribution {
        match self {
            Self::Constant(value) => Distribution::Constant(value.to_f64()),
            Self::Uniform(low, high) => Distribution::Uniform(low.to_f64(), high.to_f64()),
            Self::Exponential(mean) => Distribution::Exponential(mean.to_f64()),
            Self::Pareto { mean, shape } => Distribution::Pareto { shape, mean: mean.to_f64() },
            Self::LogNormal { median, sigma } => Distribution::log_normal(median.to_f64(), sigma),
        }
    }

    /// True if nothing but 0 can come.
    pub(super) fn is_always_zero(self) -> bool {
        let parameter = match self {
            // The lower bound is not above the upper one (`bounds`), so that one decides.
            Self::Constant(value) | Self::Uniform(_, value) | Self::Exponential(value) => value,
            Self::Pareto { mean, .. } => mean,
            Self::LogNormal { median, .. } => median,
        };
        parameter.to_f64() <= 0.0
    }
}

/// A constant, or a table with the parameters of a distribution.
pub(super) struct Random;

impl<T: Quantity> Form<Drawn<T>> for Random {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<Drawn<T>, Diagnostic> {
        Drawn::read(table, key, node)
    }
}

impl<T: Quantity> Shape<Drawn<T>> for Random {
    fn write(&self, value: &Drawn<T>) -> Option<Value> {
        Some(value.to_json())
    }

    fn schema(&self) -> Value {
        let value = T::schema();
        let of = |(form, keys): &(&str, &[&str])| {
            let parameter = |key: &&str| {
                let mut schema = match (*key == *form, *key) {
                    (true, "uniform") => {
                        json!({ "type": "array", "items": value, "minItems": 2, "maxItems": 2 })
                    }
                    (true, _) => value.clone(),
                    (false, _) => json!({ "type": "number" }),
                };
                schema["description"] =
                    json!(MEANINGS.iter().find(|(name, _)| name == key).map(|(_, about)| about));
                ((*key).to_owned(), schema)
            };
            object(&keys.iter().map(parameter).collect(), keys)
        };
        let all: Vec<Value> = [value.clone()].into_iter().chain(FORMS.iter().map(of)).collect();
        json!({ "anyOf": all })
    }

    fn quantity(&self) -> Option<quantity::Quantity> {
        T::BARE
    }
}

fn quantity<T: Quantity>(table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
    match measured(node) {
        Some(text) => T::parse(&text).map_err(|error| table.error(key, error)),
        None => {
            let message = Diagnostic::new(format!("{} is not possible", node.sort()));
            Err(table.error(key, message.allowed(T::FORM)))
        }
    }
}

fn bounds<T: Quantity>(table: &Reader<'_>, node: &Node) -> Result<(T, T), Diagnostic> {
    let pair = match &node.raw {
        Raw::List(pair) => pair.as_slice(),
        _ => &[],
    };
    let [low, high] = pair else {
        let message = Diagnostic::new("these are not two bounds").allowed(T::FORM);
        return Err(table.error("uniform", message));
    };
    let low = quantity::<T>(table, "uniform", low)?;
    let high = quantity::<T>(table, "uniform", high)?;
    if high < low {
        let message = Diagnostic::new("the second bound is below the first");
        return Err(table.error("uniform", message.allowed("the lower bound first")));
    }
    Ok((low, high))
}

/// A number without a unit, above `low`; it must be given.
fn factor(table: &Reader<'_>, key: &str, low: f64, high: f64) -> Result<f64, Diagnostic> {
    let given = NUMBER.given(table, key)?.ok_or_else(|| {
        let message = Diagnostic::new("this is not given");
        table.error(key, message.allowed(format!("a number above {low}, at most {high}")))
    })?;
    // NaN, which TOML can write, fails both comparisons.
    if given > low && given <= high {
        return Ok(given);
    }
    let message = Diagnostic::new(format!("{} is not possible", units::show_number(given)));
    Err(table.error(key, message.allowed(format!("a number above {low}, at most {high}"))))
}

/// True for the keys that hold the first parameter of a distribution.
pub(super) fn is_distribution(key: &str) -> bool {
    FORMS.iter().any(|(form, _)| *form == key)
}

/// The distributions by the key that holds their first parameter, with all their keys.
const FORMS: &[(&str, &[&str])] = &[
    ("uniform", &["uniform"]),
    ("exponential", &["exponential"]),
    ("pareto", &["pareto", "shape"]),
    ("log_normal", &["log_normal", "sigma"]),
];

/// The parameters of the distributions.
const MEANINGS: &[(&str, &str)] = &[
    ("uniform", "The lower and the upper bound."),
    ("exponential", "The mean."),
    ("pareto", "The mean."),
    ("shape", "Exponent of the tail: above 1, at most 100."),
    ("log_normal", "The median."),
    ("sigma", "Standard deviation of the natural logarithm: above 0, at most 10."),
];
