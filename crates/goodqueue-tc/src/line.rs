//! Queue disciplines in tc's own grammar.
//!
//! [`parse`] reads what follows `root` in `tc qdisc add dev eth0 root fq_codel limit 10240p target
//! 5ms ecn`; a pasted command or a line that `tc qdisc show` printed is taken as it is. [`to_tc`]
//! writes a configuration with every parameter; reading that gives the same configuration again.
//!
//! A discipline that holds others has them in brackets behind its parameters: `tbf rate 10mbit
//! burst 5000 [codel]`, `prio [1: pfifo limit 30] [2: codel]`, `htb default 20 [1 rate 10mbit [10
//! rate 2mbit: pfifo] [20 rate 8mbit: fq_codel]]` (number of the band or class, parameters of the
//! class, classes below it, and behind a colon its discipline). A script of tc commands, separated
//! by line ends or `;`, with `for` loops and variables, says the same. Numbers of classes are
//! hexadecimal, as in tc.
//!
//! Names, units and words come from the tables of `goodqueue::registry`: nothing here knows a
//! discipline. [`parse_among`] also reads disciplines of other crates. One word is ours: `variant
//! NAME` chooses whose decisions a discipline reproduces, where it has variants. The name of a
//! preset may stand for that of a discipline; parameters behind it replace those of the preset. A
//! rate may be a percentage of the link's rate, as in `tbf rate 95%`.

use goodqueue::Disciplines;
use goodqueue::config::Link;
use goodqueue::registry::AnyConfig;

use crate::diagnostic::Diagnostic;
use crate::printable;
use settings::all_names;
use writing::write_tree;

pub use remarks::remarks;

/// The discipline that `line` describes, on this `link`.
///
/// # Errors
/// Unknown discipline or parameter, missing or misspelt value, a parameter given twice, or a value
/// that the discipline refuses. The message is narrowed to the word in `line`.
pub fn parse(line: &str, link: &Link) -> Result<AnyConfig, Diagnostic> {
    parse_as(line, link, None)
}

/// As [`parse`], with this variant for every discipline in `text` that has it and for which none is
/// given.
///
/// # Errors
/// As [`parse`].
pub fn parse_as(text: &str, link: &Link, variant: Option<&str>) -> Result<AnyConfig, Diagnostic> {
    parse_among(&Disciplines::new(), text, link, variant)
}

/// As [`parse_as`], where `text` may also name disciplines of other crates.
///
/// # Errors
/// As [`parse`].
pub fn parse_among(
    disciplines: &Disciplines,
    text: &str,
    link: &Link,
    variant: Option<&str>,
) -> Result<AnyConfig, Diagnostic> {
    let commands = commands::read(text)?;
    let tree = script::tree(&commands, text.len(), disciplines, link.rate)?;
    tree.build(link, variant)
}

/// `config` with every parameter, such that [`parse`] gives it back.
#[must_use]
pub fn to_tc(config: &AnyConfig) -> String {
    write_tree(&config.kind(), &config.to_settings())
}

/// Returns true if `text` is a discipline in tc's grammar, and not a name chosen by a user.
#[must_use]
pub fn is_line(text: &str) -> bool {
    parse(text, &Link::default()).is_ok()
}

/// Returns a pasted `line` without `tc qdisc add dev eth0 root` and other words before the
/// discipline, as one line of printable text. Other text and scripts of several commands keep all
/// their words.
#[must_use]
pub fn brief(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    printable::line(&without_place(line, &words)).into_owned()
}

fn without_place(line: &str, words: &[&str]) -> String {
    let pasted = matches!(words.first(), Some(&("tc" | "sudo" | "qdisc"))) && !line.contains([';', '\n']);
    let names = all_names(&Disciplines::new());
    let named = words.iter().position(|word| names.contains(word));
    let Some(from) = named.filter(|_| pasted) else { return words.join(" ") };
    let mut left = vec![words[from]];
    let mut rest = words[from + 1..].iter().peekable();
    while let Some(word) = rest.next_if(|word| **word == "root" || PLACE.contains(word) || is_handle(word)) {
        if PLACE.contains(word) {
            rest.next();
        }
    }
    left.extend(rest);
    left.join(" ")
}

/// `8001:`, which `tc qdisc show` prints behind the name of a discipline.
fn is_handle(word: &str) -> bool {
    word.strip_suffix(':').is_some_and(|number| number.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// Words of tc, each with a value, that give the place of a discipline.
const PLACE: &[&str] = &["dev", "parent", "handle", "refcnt"];

mod commands;
mod remarks;
mod script;
mod settings;
mod writing;

#[cfg(test)]
mod tests;
