//! The language in which claims are written: what is measured, and what it is compared with.
//!
//! ```text
//! check      = sum "=" sum                     a number; its tolerance follows from a rule
//!            | sum "=" sum "+-" sum            a number with its tolerance
//!            | sum (("<" | "<=" | ">" | ">=") sum)+    an order, which may be a chain
//! sum        = product (("+" | "-") product)*
//! product    = value (("*" | "/") value)*
//! value      = ["-"] (number [unit] | name | name "(" arguments ")" | "(" sum ")") ["[" label "@" experiment "]"]
//! ```
//!
//! A name is a measure that `claims.toml` defines, or (as the argument of a statistic) the path of
//! a figure in the results of a run: `bottleneck.down.utilization`, `flows.*.goodput_bps`.
//! `[codel@4+4]` says of which runs: those of the discipline labelled `codel` in the experiment
//! `4+4`. Units are `s ms us min`, `bit kbit mbit`, `%`; all else is a plain number. Words in
//! braces are all tried: `p50[{codel,pie}@{1+1,2+2}] < 24ms` stands for four checks.

use std::collections::BTreeSet;
use std::fmt;

use goodqueue_tc::diagnostic::{Diagnostic, shortened};

/// The runs of one discipline in one experiment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    /// Label of the discipline in the scenario.
    pub label: String,
    /// Name of the experiment.
    pub experiment: String,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.label, self.experiment)
    }
}

/// Something to calculate.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A constant.
    Number(f64),
    /// A measure, or the path of a figure.
    Name(String),
    /// A function of arguments.
    Call(String, Vec<Self>),
    /// The same for the runs of this cell.
    In(Box<Self>, Cell),
    /// A first operand, and what is done to it, from left to right. A sum of a thousand terms is
    /// one node, so that the tree is no deeper than the text is nested.
    Chain(Box<Self>, Vec<(Operator, Self)>),
}

/// Arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
}

/// How two values are to stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// The result.
    #[must_use]
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
        }
    }
}

impl Relation {
    /// True if the two stand so to each other.
    #[must_use]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::More => left > right,
            Self::AtLeast => left >= right,
        }
    }
}

/// One check, with the text from which it was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// As written, braces expanded.
    pub text: String,
    /// What it says.
    pub statement: Statement,
}

/// What a check says.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `value = expected`, or `value = expected +- within`
    Equal {
        /// What is measured.
        value: Expression,
        /// What the paper has.
        expected: Expression,
        /// How far off it may be; by the rule of the claim if the check does not say it.
        within: Option<Expression>,
    },
    /// `first < second <= third ...`
    Ordered(Expression, Vec<(Relation, Expression)>),
}

impl Statement {
    /// All expressions in it.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Equal { value, expected, within } => [value, expected].into_iter().chain(within).collect(),
            Self::Ordered(first, rest) => {
                std::iter::once(first).chain(rest.iter().map(|(_, next)| next)).collect()
            }
        }
    }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// It is none; the message says where.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let mut parser = Parser::new(text);
        let expression = parser.sum()?;
        parser.end()?;
        Ok(expression)
    }

    /// The cells that it names.
    pub fn cells(&self, into: &mut BTreeSet<Cell>) {
        match self {
            Self::Number(_) | Self::Name(_) => {}
            Self::Call(_, arguments) => arguments.iter().for_each(|argument| argument.cells(into)),
            Self::In(inner, cell) => {
                into.insert(cell.clone());
                inner.cells(into);
            }
            Self::Chain(first, rest) => {
                first.cells(into);
                rest.iter().for_each(|(_, next)| next.cells(into));
            }
        }
    }
}

impl Check {
    /// The cells that it names.
    #[must_use]
    pub fn cells(&self) -> BTreeSet<Cell> {
        let mut cells = BTreeSet::new();
        for expression in self.statement.expressions() {
            expression.cells(&mut cells);
        }
        cells
    }
}

/// Reads the checks for which `text` stands.
///
/// # Errors
/// It is none; the message says where.
pub fn checks(text: &str) -> Result<Vec<Check>, Diagnostic> {
    expand(text)?.into_iter().map(|text| Ok(Check { statement: statement(&text)?, text })).collect()
}

fn statement(text: &str) -> Result<Statement, Diagnostic> {
    let mut parser = Parser::new(text);
    let first = parser.sum()?;
    if parser.take("=") {
        let expected = parser.sum()?;
        let within = if parser.take("+-") { Some(parser.sum()?) } else { None };
        parser.end()?;
        return Ok(Statement::Equal { value: first, expected, within });
    }
    let mut rest = Vec::new();
    while let Some(relation) = parser.relation() {
        rest.push((relation, parser.sum()?));
    }
    if rest.is_empty() {
        return Err(parser.expected("`=`, `<`, `<=`, `>` or `>=`"));
    }
    parser.end()?;
    Ok(Statement::Ordered(first, rest))
}

/// Every text that comes from choosing one word of each pair of braces; the last pair varies
/// fastest.
///
/// # Errors
/// A brace that is not closed, or more texts than [`MOST_TEXTS`].
pub fn expand(text: &str) -> Result<Vec<String>, Diagnostic> {
    let mut texts = vec![String::new()];
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|open| at + open) {
        let Some(close) = text[open..].find('}').map(|close| open + close) else {
            let message = format!("a brace is not closed in `{}`", shortened(text));
            return Err(Diagnostic::new(message).at(open..open + 1));
        };
        let words: Vec<&str> = text[open + 1..close].split(',').map(str::trim).collect();
        // The size is checked before the texts are made: each pair of braces multiplies their
        // number.
        let count = texts.len().saturating_mul(words.len());
        if count > MOST_TEXTS || count.saturating_mul(text.len()) > MOST_EXPANDED_BYTES {
            let message = format!("the braces in `{}` stand for too many texts", shortened(text));
            let allowed = format!("{MOST_TEXTS} texts, {} MiB together", MOST_EXPANDED_BYTES >> 20);
            return Err(Diagnostic::new(message).allowed(format!("at most {allowed}")).at(open..close + 1));
        }
        let before = &text[at..open];
        texts = texts
            .iter()
            .flat_map(|begun| words.iter().map(move |word| format!("{begun}{before}{word}")))
            .collect();
        at = close + 1;
    }
    texts.iter_mut().for_each(|begun| begun.push_str(&text[at..]));
    Ok(texts)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Parentheses, calls and signs that are open.
    open: usize,
}

impl<'t> Parser<'t> {
    const fn new(text: &'t str) -> Self {
        Self { text, at: 0, open: 0 }
    }

    /// Reads what is inside of a parenthesis, a call or a sign.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        if self.open == MOST_NESTED {
            let message = format!("`{}` is nested too deeply", shortened(self.text));
            return Err(Diagnostic::new(message)
                .allowed(format!("at most {MOST_NESTED} parentheses, calls and signs within each other"))
                .at(self.at..self.text.len()));
        }
        self.open += 1;
        let inner = read(self);
        self.open -= 1;
        inner
    }

    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes as many characters as `wanted` accepts.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let word = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn expected(&mut self, what: &str) -> Diagnostic {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end" } else { rest };
        let text = shortened(self.text);
        let found = shortened(found);
        Diagnostic::new(format!("`{text}`: {what} is expected where `{found}` stands"))
            .at(self.at..self.text.len())
    }

    fn end(&mut self) -> Result<(), Diagnostic> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.expected("the end")) }
    }

    fn relation(&mut self) -> Option<Relation> {
        // Longer signs come first, because `<=` begins with `<`.
        let relations = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Less),
            (">", Relation::More),
        ];
        relations.into_iter().find(|(sign, _)| self.take(sign)).map(|(_, relation)| relation)
    }

    fn sum(&mut self) -> Result<Expression, Diagnostic> {
        let first = self.product()?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.rest() {
                // The tolerance of a check begins here.
                rest if rest.starts_with("+-") => break,
                rest if rest.starts_with('+') => Operator::Add,
                rest if rest.starts_with('-') => Operator::Subtract,
                _ => break,
            };
            self.at += 1;
            rest.push((operator, self.product()?));
        }
        Ok(chain(first, rest))
    }

    fn product(&mut self) -> Result<Expression, Diagnostic> {
        let first = self.value()?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.rest() {
                rest if rest.starts_with('*') => Operator::Multiply,
                rest if rest.starts_with('/') => Operator::Divide,
                _ => break,
            };
            self.at += 1;
            rest.push((operator, self.value()?));
        }
        Ok(chain(first, rest))
    }

    fn value(&mut self) -> Result<Expression, Diagnostic> {
        if self.take("-") {
            let value = self.nested(Self::value)?;
            // Nothing else needs to know signs if `-x` is `0 - x`.
            return Ok(chain(Expression::Number(0.0), vec![(Operator::Subtract, value)]));
        }
        let value = if self.take("(") {
            let inner = self.nested(Self::sum)?;
            self.close(")")?;
            inner
        } else if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            self.number()?
        } else {
            self.name()?
        };
        if !self.take("[") {
            return Ok(value);
        }
        let cell = self.take_while(|c| c != ']');
        let Some((label, experiment)) = cell.split_once('@') else {
            return Err(self.expected("a cell such as `codel@4+4`"));
        };
        let cell = Cell { label: label.trim().to_owned(), experiment: experiment.trim().to_owned() };
        self.close("]")?;
        Ok(Expression::In(Box::new(value), cell))
    }

    fn close(&mut self, bracket: &str) -> Result<(), Diagnostic> {
        if self.take(bracket) { Ok(()) } else { Err(self.expected(&format!("`{bracket}`"))) }
    }

    fn number(&mut self) -> Result<Expression, Diagnostic> {
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '.');
        // `take_while` would skip spaces, but a word behind a space is no unit.
        let unit = match self.text[self.at..].chars().next() {
            Some(c) if c.is_ascii_alphabetic() || c == '%' => {
                self.take_while(|c| c.is_ascii_alphabetic() || c == '%')
            }
            _ => "",
        };
        let scale = UNITS.iter().find(|known| known.0 == unit).map(|known| known.1);
        match (digits.parse::<f64>(), scale) {
            // 95 hundredths are nearer to 95 % than 95 times a hundredth is.
            (Ok(number), Some(_)) if unit == "%" => Ok(Expression::Number(number / 100.0)),
            (Ok(number), Some(scale)) => Ok(Expression::Number(number * scale)),
            (_, None) => {
                // The error then points to the unit.
                self.at -= unit.len();
                let names: Vec<&str> =
                    UNITS.iter().map(|known| known.0).filter(|name| !name.is_empty()).collect();
                Err(self.expected("a unit").allowed(names.join(", ")))
            }
            _ => {
                self.at -= digits.len() + unit.len();
                Err(self.expected("a number"))
            }
        }
    }

    fn name(&mut self) -> Result<Expression, Diagnostic> {
        if !self.rest().starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(self.expected("a number or a name"));
        }
        let mut name = self.take_while(|c| c.is_ascii_alphanumeric() || "_.".contains(c)).to_owned();
        // A star is a part of a path only after a dot, where no factor can end.
        while name.ends_with('.') && self.take("*") {
            name.push('*');
            name.push_str(self.take_while(|c| c.is_ascii_alphanumeric() || "_.".contains(c)));
        }
        if !self.take("(") {
            return Ok(Expression::Name(name));
        }
        let mut arguments = Vec::new();
        if !self.take(")") {
            loop {
                arguments.push(self.nested(Self::sum)?);
                if !self.take(",") {
                    break;
                }
            }
            self.close(")")?;
        }
        Ok(Expression::Call(name, arguments))
    }
}

/// `first` alone, or with what is done to it.
fn chain(first: Expression, rest: Vec<(Operator, Expression)>) -> Expression {
    if rest.is_empty() { first } else { Expression::Chain(Box::new(first), rest) }
}

/// Parentheses, calls and signs within each other. Deeper ones would exhaust the stack of whoever
/// descends.
const MOST_NESTED: usize = 100;
/// Texts for which braces may stand. With `--full` a paper that comes with goodqueue has 1,080
/// settings in one.
pub const MOST_TEXTS: usize = 10_000;
/// Bytes of all texts for which the braces of one stand.
const MOST_EXPANDED_BYTES: usize = 16 << 20;

const UNITS: &[(&str, f64)] = &[
    ("", 1.0),
    ("%", 0.01),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("min", 60.0),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> Box<Expression> {
        Box::new(Expression::Number(value))
    }

    #[test]
    fn products_bind_closer_than_sums_and_cells_closest() {
        let sum = Expression::parse("1 + 2 * 3ms").unwrap();
        let product = Expression::Chain(number(2.0), vec![(Operator::Multiply, *number(0.003))]);
        assert_eq!(sum, Expression::Chain(number(1.0), vec![(Operator::Add, product)]));
        let cell = Cell { label: "red adaptive".to_owned(), experiment: "4+4".to_owned() };
        let name = Box::new(Expression::Name("p95".to_owned()));
        let measured = Box::new(Expression::In(name, cell));
        let twice = Expression::parse("2 * p95[red adaptive@4+4]").unwrap();
        assert_eq!(twice, Expression::Chain(number(2.0), vec![(Operator::Multiply, *measured)]));
    }

    #[test]
    fn a_path_may_have_stars_and_functions_several_arguments() {
        let call = Expression::parse("quantile(flows.*.goodput_bps, 95%)").unwrap();
        let path = Expression::Name("flows.*.goodput_bps".to_owned());
        assert_eq!(call, Expression::Call("quantile".to_owned(), vec![path, Expression::Number(0.95)]));
    }

    #[test]
    fn braces_stand_for_every_choice() {
        assert_eq!(expand("a{1, 2}b{x,y}").unwrap(), ["a1bx", "a1by", "a2bx", "a2by"]);
        assert_eq!(checks("f[{a,b}@x] < 3s").unwrap().len(), 2);
        assert!(expand("a{b").is_err());
    }

    #[test]
    fn braces_that_stand_for_more_texts_than_memory_holds_are_refused() {
        let many = "{a,b}".repeat(10_000);
        let refused = expand(&many).unwrap_err().to_string();
        assert!(refused.contains("stand for too many texts") && refused.contains("10000 texts"), "{refused}");
        assert!(expand(&format!("{}{{{}}}", "x".repeat(100_000), "a,".repeat(1000))).is_err());
        assert_eq!(expand(&"{a}".repeat(10_000)).unwrap(), ["a".repeat(10_000)]);
    }

    #[test]
    fn a_long_sum_or_product_is_read_and_forgotten_on_a_small_stack() {
        let small = std::thread::Builder::new().stack_size(256 << 10);
        let all = || {
            for operator in ["+", "-", "*", "/", " + x * "] {
                let text = ["x"; 100_000].join(operator);
                let sum = Expression::parse(&text).unwrap();
                sum.cells(&mut BTreeSet::new());
                assert_eq!(sum.clone(), sum);
            }
            assert!(matches!(&checks(&["1"; 100_000].join("<")).unwrap()[0].statement,
                Statement::Ordered(_, rest) if rest.len() == 99_999));
        };
        small.spawn(all).unwrap().join().unwrap();
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused_before_the_stack_is_exhausted() {
        for (open, close) in [("(", ")"), ("-", ""), ("max(", ")"), ("(1 + ", ")"), ("max(1, ", ")")] {
            let nested = |depth: usize| format!("{}x{}", open.repeat(depth), close.repeat(depth));
            assert!(Expression::parse(&nested(MOST_NESTED)).is_ok(), "{open}");
            for depth in [MOST_NESTED + 1, 10_000, 200_000] {
                let refused = Expression::parse(&nested(depth)).unwrap_err().to_string();
                assert!(refused.contains("is nested too deeply\n"), "{refused}");
                assert!(refused.len() < 1000, "{refused}");
            }
        }
    }

    #[test]
    fn a_check_is_an_order_or_a_number_with_its_tolerance() {
        let chain = &checks("1 < 2 <= 3").unwrap()[0].statement;
        assert!(matches!(chain, Statement::Ordered(_, rest) if rest.len() == 2));
        let equal = &checks("p95[codel@4+4] = 0.170s +- max(10% * 0.170s, 6ms)").unwrap()[0].statement;
        assert!(matches!(equal, Statement::Equal { .. }));
        for wrong in
            ["1", "1 = 2 3", "1 <", "f(1", "f[codel] < 1", "1 << 2", "2 parsec < 3", "1..2 < 3", "< 1"]
        {
            assert!(checks(wrong).is_err(), "{wrong}");
        }
    }
}
