//! Remarks about words that mean something else in tc than most people expect.

use goodqueue::Disciplines;
use goodqueue::config::{Children, Kind, Link, Parameter, Unit};

use super::script::{self, Tree};
use super::settings::Word;
use super::{commands, settings};
use crate::diagnostic::Diagnostic;
use crate::units;

/// Returns a remark for each time without a unit in `text`, which tc reads as microseconds, such as
/// `target 5`. None for text that is no line of these disciplines.
#[must_use]
pub fn remarks(disciplines: &Disciplines, text: &str) -> Vec<Diagnostic> {
    let Ok(commands) = commands::read(text) else { return Vec::new() };
    let tree = script::tree(&commands, text.len(), disciplines, Link::default().rate);
    tree.map_or_else(|_| Vec::new(), |tree| of_tree(&tree))
}

fn of_tree(tree: &Tree<'_>) -> Vec<Diagnostic> {
    let mut remarks = Vec::new();
    for (kind, given, classes) in tree.given() {
        bare_times(kind, kind.parameters, given, &mut remarks);
        let Children::Classes(parameters) = kind.children else { continue };
        for class in classes {
            bare_times(kind, parameters, class, &mut remarks);
        }
    }
    remarks
}

/// Adds a remark for each time without a unit among the words of a discipline or a class.
fn bare_times(kind: &Kind, parameters: &[Parameter], words: &[Word<'_>], remarks: &mut Vec<Diagnostic>) {
    for (index, word) in words.iter().enumerate() {
        let Some(parameter) = settings::called(parameters, word.text) else { continue };
        // Values without names of their own follow that of their parameter: `delay 10ms 5ms`.
        let followers = settings::followers(parameters, parameter.name);
        let values = std::iter::once(parameter).chain(followers).zip(words.iter().skip(index + 1));
        let values = values.take_while(|(_, value)| value.text.starts_with(|c: char| c.is_ascii_digit()));
        for (of, value) in values.filter(|(of, value)| of.unit == Unit::Time && is_bare(value.text)) {
            let name = word.text;
            let given = value.text;
            let place = match of.name == parameter.name {
                true => format!("`{name} {given}`"),
                false => format!("`{given}` behind `{name}`"),
            };
            remarks.push(
                Diagnostic::new(format!("{place} of {} means {given}us, as in tc", kind.name))
                    .at(value.span())
                    .help(format!("write `{given}ms` if you meant milliseconds, or `{given}us`")),
            );
        }
    }
}

/// True for a number without a unit. 0 is the same in every unit.
fn is_bare(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|number| number != 0.0) && units::tc_time(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let place = |remark: Diagnostic| remark.in_argument("--qdisc", text).to_string();
        remarks(&Disciplines::new(), text).into_iter().map(place).collect()
    }

    #[test]
    fn a_time_without_a_unit_is_told_with_what_it_means() {
        insta::assert_snapshot!(told("fq_codel target 5").join("\n"), @r"
        --qdisc: `target 5` of fq_codel means 5us, as in tc
           | fq_codel target 5
           |                 ^
          help: write `5ms` if you meant milliseconds, or `5us`
        ");
        assert_eq!(told("fq_codel target 5 interval 100 limit 1000").len(), 2);
        assert!(told("netem latency 100")[0].contains("`latency 100` of netem means 100us"));
        assert!(told("netem delay 10ms 5")[0].contains("`5` behind `delay` of netem means 5us"));
    }

    #[test]
    fn inner_disciplines_classes_and_scripts_are_looked_at_too() {
        assert_eq!(told("tbf rate 10mbit burst 5000 latency 50ms [codel target 5]").len(), 1);
        assert_eq!(told("prio [1: codel interval 100] [2: pie target 15]").len(), 2);
        assert_eq!(told("tc qdisc replace dev eth0 root codel target 5").len(), 1);
        let script = "tc qdisc add dev eth0 root handle 1: tbf rate 10mbit burst 5000 latency 50\n\
                      tc qdisc add dev eth0 parent 1: codel target 5";
        assert_eq!(told(script).len(), 2);
    }

    #[test]
    fn units_zeros_seconds_numbers_and_other_text_are_not() {
        for text in [
            "fq_codel target 5ms interval 100ms",
            "fq_codel target 5us",
            "codel target 0",
            "sfq perturb 10",
            "fq_codel limit 1000 flows 1024 quantum 1514",
            "tbf rate 1000000 burst 5000 limit 10000",
            "netem delay 10ms loss 1",
            "my queue",
            "",
        ] {
            assert_eq!(told(text), Vec::<String>::new(), "{text}");
        }
    }
}
