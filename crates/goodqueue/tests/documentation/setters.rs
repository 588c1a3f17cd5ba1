//! The comments of the typed setters.

use goodqueue::config::{Kind, Parameter, Unit};

use crate::keep_up_to_date;

const WIDTH: usize = 100;

#[test]
fn every_setter_is_documented_as_the_table_in_code_has_it() {
    keep_up_to_date(|source, old| {
        let mut text = String::new();
        let mut kind = None;
        let mut comment = String::new();
        for line in old.split_inclusive('\n') {
            if line.starts_with("setters! {\n") {
                kind = Some(source.kinds[0]);
            } else if line.starts_with('}') {
                kind = None;
            }
            let Some(current) = kind else {
                text += line;
                continue;
            };
            let trimmed = line.trim();
            if let Some(config) = trimmed.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
                kind = Some(configured_by(config.1, &source.kinds));
                text += line;
            } else if trimmed.starts_with("///") {
                comment += line;
            } else if trimmed.starts_with("with_") {
                text += &documentation(parameter(current, trimmed));
                text += line;
                comment.clear();
            } else {
                text += &std::mem::take(&mut comment);
                text += line;
            }
        }
        text
    });
}

/// The discipline that `PfifoHeadDropConfig` configures.
fn configured_by(config: &str, kinds: &[&'static Kind]) -> &'static Kind {
    let name: String = config.chars().take_while(|letter| letter.is_alphanumeric()).collect();
    let wanted = name.to_lowercase();
    let own = kinds.iter().find(|kind| format!("{}config", kind.name.replace('_', "")) == wanted);
    own.unwrap_or_else(|| panic!("{config} configures none of the disciplines of its module"))
}

/// The parameter that `with_delay_jitter(time) = "delay.jitter";` sets.
fn parameter<'a>(kind: &'a Kind, setter: &str) -> &'a Parameter {
    let name = match setter.split_once('"') {
        Some((_, rest)) => rest.trim_end_matches("\";"),
        None => setter.trim_start_matches("with_").split('(').next().expect("a name"),
    };
    let own = kind.parameters.iter().find(|parameter| parameter.name == name);
    own.unwrap_or_else(|| panic!("{} has no parameter {name}", kind.name))
}

fn documentation(parameter: &Parameter) -> String {
    let Parameter { name, default, range, doc, .. } = parameter;
    let mut text = format!("Sets `{name}`: {doc}. Default: {default}.");
    if let Unit::Choice(words) | Unit::Table(words) = parameter.unit {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        text += &format!(" One of {}.", words.join(", "));
    } else if !range.is_empty() {
        text += &format!(" Range: {range}.");
    }
    wrapped(&text)
}

fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("    ///");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &format!("{line}\n");
            line = String::from("    ///");
        }
        line += &format!(" {word}");
    }
    lines + &format!("{line}\n")
}
