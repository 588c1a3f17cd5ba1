//! The table of parameters in the documentation of each module.

use goodqueue::config::{Kind, Parameter, Unit};

use crate::keep_up_to_date;
use crate::sources::{Source, of_classes};

const HEADER: &str = "//! | name | meaning | unit | default | source of the default | range |\n\
                      //! |---|---|---|---|---|---|\n";

#[test]
fn every_parameter_is_documented_as_the_table_in_code_has_it() {
    keep_up_to_date(|source, text| {
        let Some((before, rest)) = text.split_once("//! # Parameters\n") else {
            return text.to_owned();
        };
        let is_row = |line: &&str| line.starts_with("//! |");
        let old: usize = rest.split_inclusive('\n').take_while(is_row).map(str::len).sum();
        format!("{before}//! # Parameters\n{}{}", table(source), &rest[old..])
    });
}

#[test]
fn every_module_has_a_table() {
    for source in Source::all() {
        let text = std::fs::read_to_string(source.files().pop().expect("a file")).expect("readable");
        assert_eq!(text.matches("//! # Parameters\n").count(), 1, "{}", source.name());
    }
}

fn table(source: &Source) -> String {
    let mut table = HEADER.to_owned();
    for kind in &source.kinds {
        let prefix = if source.kinds.len() > 1 { format!("{}: ", kind.name) } else { String::new() };
        for parameter in kind.parameters {
            table += &row(&prefix, parameter);
        }
        for parameter in of_classes(kind) {
            table += &row("class ", parameter);
        }
        table += &variants(kind);
    }
    table
}

fn row(prefix: &str, parameter: &Parameter) -> String {
    let Parameter { name, source, doc, .. } = parameter;
    let default = parameter.default_text();
    let range = parameter.range_text();
    format!("//! | {prefix}`{name}` | {doc} | {} | {default} | {source} | {range} |\n", unit(parameter.unit))
        // Two empty cells side by side share a bar, so one pass finds only the first.
        .replace("|  |", "| |")
        .replace("|  |", "| |")
}

fn variants(kind: &Kind) -> String {
    let Some(first) = kind.variants.first() else { return String::new() };
    let described: Vec<String> =
        kind.variants.iter().map(|variant| format!("`{}`: {}", variant.name, variant.doc)).collect();
    format!("//! | `variant` | {} | word | {} | | |\n", described.join(". "), first.name)
}

fn unit(unit: Unit) -> String {
    let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    String::from(match unit {
        Unit::Packets => "packets",
        Unit::Bytes => "bytes",
        Unit::Time => "time",
        Unit::Seconds => "time; without a unit: seconds",
        Unit::Rate => "rate",
        Unit::Integer => "number",
        Unit::Signed => "number, may be negative",
        Unit::Class => "class, hexadecimal",
        Unit::Probability => "fraction, 0 to 1",
        Unit::Percentage => "percentage; without a unit: percent",
        Unit::Flag { .. } => "flag",
        Unit::Choice(choices) => return words(choices),
        Unit::Table(choices) => return format!("{}, or a table", words(choices)),
        Unit::Priomap => "16 bands, from 0",
    })
}
