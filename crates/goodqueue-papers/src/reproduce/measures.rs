//! The measures of a paper may use each other. This makes sure that each of them ends.

use std::collections::BTreeMap;

use goodqueue_tc::diagnostic::{Diagnostic, shortened};

use super::evidence::function;
use super::expression::Expression;

/// Refuses measures that use themselves, and measures that become too deep or too long when each
/// name in them is replaced by what it stands for.
pub(super) fn check(measures: &BTreeMap<String, Expression>) -> Result<(), Diagnostic> {
    let mut checked = Checked { measures, sizes: BTreeMap::new(), open: Vec::new() };
    for name in measures.keys() {
        checked
            .measure(name, 0)
            .map_err(|error| error.prefixed(&format!("the measure `{}`", shortened(name))))?;
    }
    Ok(())
}

/// Levels and numbers of an expression whose names were replaced.
#[derive(Clone, Copy, Default)]
struct Size {
    levels: usize,
    terms: usize,
}

struct Checked<'m> {
    measures: &'m BTreeMap<String, Expression>,
    sizes: BTreeMap<&'m str, Size>,
    /// Measures whose expression is being looked at, from the outermost on.
    open: Vec<&'m str>,
}

impl<'m> Checked<'m> {
    /// Returns the size of the measure `name` at the given depth of nesting; zero if no such
    /// measure exists.
    fn measure(&mut self, name: &str, level: usize) -> Result<Size, Diagnostic> {
        // Such a name is a word of degree, or an error that the first evaluation reports.
        let Some((name, expression)) = self.measures.get_key_value(name) else { return Ok(Size::default()) };
        let size = match self.sizes.get(name.as_str()) {
            // Each measure is looked at once. Otherwise measures that use the one before twice
            // would take a time that doubles with each of them.
            Some(size) => *size,
            None if self.open.contains(&name.as_str()) => {
                let message = Diagnostic::new(format!("`{}` is defined by itself", shortened(name)));
                return Err(message.help("define it by figures of the results"));
            }
            None => {
                self.open.push(name);
                let size = self.expression(expression, level)?;
                self.open.pop();
                self.sizes.insert(name, size);
                size
            }
        };
        if level + size.levels > MOST_LEVELS || size.terms > MOST_TERMS { Err(too_large()) } else { Ok(size) }
    }

    fn expression(&mut self, expression: &'m Expression, level: usize) -> Result<Size, Diagnostic> {
        if level > MOST_LEVELS {
            return Err(too_large());
        }
        let inner = level + 1;
        let size = match expression {
            Expression::Number(_) => Size::default(),
            Expression::Name(name) => self.measure(name, inner)?,
            Expression::In(inside, _) => self.expression(inside, inner)?,
            Expression::Chain(first, rest) => {
                self.all(std::iter::once(&**first).chain(rest.iter().map(|(_, next)| next)), inner)?
            }
            Expression::Call(name, arguments) => {
                let of_measures = function(name).is_some() || matches!(name.as_str(), "greatest" | "least");
                // The first argument of a statistic is a path in the results.
                self.all(arguments.iter().skip(usize::from(!of_measures)), inner)?
            }
        };
        // Measures that use the one before twice double the number of terms, which soon exceeds 64
        // bits.
        Ok(Size { levels: size.levels + 1, terms: size.terms.saturating_add(1) })
    }

    fn all(
        &mut self,
        expressions: impl Iterator<Item = &'m Expression>,
        level: usize,
    ) -> Result<Size, Diagnostic> {
        let mut all = Size::default();
        for expression in expressions {
            let size = self.expression(expression, level)?;
            all.levels = all.levels.max(size.levels);
            all.terms = all.terms.saturating_add(size.terms);
        }
        Ok(all)
    }
}

fn too_large() -> Diagnostic {
    Diagnostic::new("it is too large with all measures that it uses")
        .allowed(format!("at most {MOST_LEVELS} levels and {MOST_TERMS} terms"))
}

/// Levels of an expression in which every name was replaced. The text of a single one has at
/// most 400.
const MOST_LEVELS: usize = 500;
/// Terms of an expression in which every name was replaced.
const MOST_TERMS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(measures: &[(String, String)]) -> Result<(), Diagnostic> {
        let read = |(name, text): &(String, String)| (name.clone(), Expression::parse(text).unwrap());
        check(&measures.iter().map(read).collect())
    }

    fn named(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_measure_may_use_others_and_a_path_of_its_own_name() {
        checked(&[named("rate", "mean(rate)"), named("twice", "2 * rate[codel@x] + max(rate, 3)")]).unwrap();
    }

    #[test]
    fn measures_that_are_defined_by_themselves_are_refused() {
        let refused = checked(&[named("a", "1 + b[codel@x]"), named("b", "max(1, least(a))")]).unwrap_err();
        assert!(refused.to_string().starts_with("the measure `a`: `a` is defined by itself"), "{refused}");
        assert!(checked(&[named("a", "a")]).is_err());
    }

    #[test]
    fn measures_that_grow_without_bounds_through_each_other_are_refused() {
        // The last one stands for 2^60 terms.
        let doubled: Vec<_> = (1..=60).map(|n| (format!("m{n}"), format!("m{} + m{0}", n - 1))).collect();
        assert!(checked(&doubled).unwrap_err().to_string().contains("too large"));
        let chain: Vec<_> = (1..=100_000).map(|n| (format!("m{n:06}"), format!("m{:06}", n + 1))).collect();
        assert!(checked(&chain).unwrap_err().to_string().contains("too large"));
    }
}
