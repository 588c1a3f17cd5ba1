//! The numbers of a run by their paths, eight bytes each, where a JSON value takes several times as
//! much: a paper in full has ten thousand runs, each with its time series.

use serde_json::Value;

/// A part of a run. What is no number is left out.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tree {
    /// Text, a truth value, or nothing.
    Nothing,
    /// A number.
    Number(f64),
    /// A list of numbers; NaN where one is missing.
    Numbers(Box<[f64]>),
    /// A list of numbers with their counts.
    Counted(Box<[(f64, f64)]>),
    /// A list of anything else.
    List(Box<[Self]>),
    /// Named parts.
    Fields(Box<[(Box<str>, Self)]>),
}

/// What is found at a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Found<'t> {
    Number(f64),
    Part(&'t Tree),
}

impl Tree {
    pub(super) fn new(value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(_) | Value::String(_) => Self::Nothing,
            Value::Number(number) => number.as_f64().map_or(Self::Nothing, Self::Number),
            Value::Array(items) if items.is_empty() => Self::List(Box::default()),
            Value::Array(items) => {
                let numbers = items.iter().map(number_or_nan).collect::<Option<_>>().map(Self::Numbers);
                let counted = || items.iter().map(pair).collect::<Option<_>>().map(Self::Counted);
                let list = || Self::List(items.iter().map(Self::new).collect());
                numbers.or_else(counted).unwrap_or_else(list)
            }
            Value::Object(fields) => Self::Fields(
                fields.iter().map(|(name, part)| (name.as_str().into(), Self::new(part))).collect(),
            ),
        }
    }

    /// Everything at a path such as `flows.*.goodput_bps`.
    pub(super) fn at(&self, path: &str) -> Vec<Found<'_>> {
        path.split('.').fold(vec![Found::Part(self)], |found, part| {
            found.into_iter().flat_map(|found| found.step(part)).collect()
        })
    }

    /// The number at a path: the last, if there are several.
    pub(super) fn number(&self, path: &str) -> Option<f64> {
        self.at(path).pop()?.number()
    }
}

impl<'t> Found<'t> {
    pub(super) const fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) | Self::Part(&Tree::Number(number)) => Some(number),
            Self::Part(_) => None,
        }
    }

    /// A series; `None` where it has no value.
    pub(super) fn series(self) -> Vec<Option<f64>> {
        match self {
            Self::Part(Tree::Numbers(numbers)) => numbers.iter().map(|number| some(*number)).collect(),
            _ => Vec::new(),
        }
    }

    /// Every number in it, with the number of times that it occurs.
    pub(super) fn samples(self, into: &mut impl FnMut(f64, f64)) {
        match self {
            Self::Number(number) | Self::Part(&Tree::Number(number)) => into(number, 1.0),
            Self::Part(Tree::Numbers(numbers)) => {
                numbers.iter().filter_map(|number| some(*number)).for_each(|number| into(number, 1.0));
            }
            Self::Part(Tree::Counted(numbers)) => {
                numbers.iter().for_each(|(number, count)| into(*number, *count))
            }
            Self::Part(Tree::List(items)) => items.iter().for_each(|item| Self::Part(item).samples(into)),
            Self::Part(Tree::Nothing | Tree::Fields(_)) => {}
        }
    }

    /// What a part of a path leads to: the name of a field, the number of an item, or `*` for all
    /// items.
    fn step(self, part: &str) -> Vec<Self> {
        let Self::Part(tree) = self else { return Vec::new() };
        let chosen = |length: usize| match part {
            "*" => 0..length,
            _ => part
                .parse::<usize>()
                .ok()
                .filter(|index| *index < length)
                .map_or(0..0, |index| index..index + 1),
        };
        match tree {
            Tree::Numbers(numbers) => numbers[chosen(numbers.len())]
                .iter()
                .filter_map(|number| some(*number))
                .map(Self::Number)
                .collect(),
            Tree::Counted(numbers) => {
                let pairs = numbers[chosen(numbers.len())].iter();
                pairs.flat_map(|(number, count)| [Self::Number(*number), Self::Number(*count)]).collect()
            }
            Tree::List(items) => items[chosen(items.len())].iter().map(Self::Part).collect(),
            Tree::Fields(fields) => {
                let of_name = fields.iter().filter(|(name, _)| **name == *part);
                of_name.map(|(_, found)| Self::Part(found)).collect()
            }
            Tree::Nothing | Tree::Number(_) => Vec::new(),
        }
    }
}

fn some(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

fn number_or_nan(value: &Value) -> Option<f64> {
    // JSON has no NaN, so it can stand for a step without a value.
    if value.is_null() { Some(f64::NAN) } else { value.as_f64() }
}

fn pair(value: &Value) -> Option<(f64, f64)> {
    match value.as_array()?.as_slice() {
        [number, count] => Some((number.as_f64()?, count.as_f64()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn samples(tree: &Tree, path: &str) -> Vec<(f64, f64)> {
        let mut samples = Vec::new();
        tree.at(path)
            .into_iter()
            .for_each(|found| found.samples(&mut |number, count| samples.push((number, count))));
        samples
    }

    #[test]
    fn numbers_are_found_by_name_by_number_and_all_at_once() {
        let run = Tree::new(&json!({
            "grade": "A",
            "flows": [{"goodput_bps": 1.5, "fct_s": null}, {"goodput_bps": 2}],
            "sojourn_s": [[0.006, 40], [0.012, 2]],
            "spikes_s": [0.5, 0.25],
            "series": {"step_s": 0.1, "rate": [1.0, null, 3.0], "by_flow": [[1.0, 2.0, 3.0], [4.0, null, 6.0]]},
        }));
        assert_eq!(samples(&run, "flows.*.goodput_bps"), [(1.5, 1.0), (2.0, 1.0)]);
        assert_eq!(samples(&run, "flows.0.fct_s"), []);
        assert_eq!(samples(&run, "sojourn_s"), [(0.006, 40.0), (0.012, 2.0)]);
        assert_eq!(run.number("flows.1.goodput_bps"), Some(2.0));
        assert_eq!(run.number("spikes_s.1"), Some(0.25));
        assert_eq!(run.number("spikes_s.2"), None);
        assert_eq!(run.number("grade"), None);
        assert_eq!(run.at("series.rate").pop().map(Found::series), Some(vec![Some(1.0), None, Some(3.0)]));
        assert_eq!(samples(&run, "series.by_flow.1"), [(4.0, 1.0), (6.0, 1.0)]);
        assert_eq!(run.at("nothing.there"), []);
    }
}
