//! Queue disciplines in tc's own grammar.
//!
//! [`parse`] reads what follows `root` in `tc qdisc add dev eth0 root fq_codel limit 10240p target 5ms ecn`; a pasted
//! command or a line that `tc qdisc show` printed is taken as it is. [`to_tc`] writes a configuration with every
//! parameter; reading that gives the same configuration again.
//!
//! Names, units and words come from the tables of `goodqueue::registry`: nothing here knows a discipline. One word is
//! ours: `variant NAME` chooses whose decisions a discipline reproduces, where it has variants. The name of a preset may
//! stand for that of a discipline; parameters behind it replace those of the preset.

use goodqueue::config::{ConfigError, Kind, Link, Parameter, Settings, Unit, Value};
use goodqueue::registry::{AnyConfig, KINDS, PRESETS, find_preset};

use crate::diagnostic::{Diagnostic, shortened, unknown};
use crate::units;

/// The discipline that `line` describes, on this `link`.
///
/// # Errors
/// Unknown discipline or parameter, missing or misspelt value, a parameter given twice, or a value that the discipline
/// refuses. The message is narrowed to the word in `line`.
pub fn parse(line: &str, link: &Link) -> Result<AnyConfig, Diagnostic> {
    let (words, shown) = without_command(&split_words(line))?;
    let Some((name, given)) = words.split_first() else {
        return Err(Diagnostic::new("no queue discipline is given")
            .at(0..line.len())
            .allowed(kind_names(KINDS).join(", ")));
    };
    let preset = find_preset(name.text);
    let kind = find_kind(preset.map_or(*name, |preset| Word { text: preset.kind, ..*name }), KINDS)
        .map_err(|_| unknown("the queue discipline", name.text, &all_names()).at(name.span()))?;
    let mut settings = read_settings(kind, given)?;
    if let Some(preset) = preset {
        settings = preset.with(&settings);
    }
    if shown {
        switch_off_what_is_not_shown(kind, &mut settings);
    }
    match AnyConfig::from_settings(kind.name, &settings, link) {
        Some(Ok(config)) => Ok(config),
        Some(Err(error)) => Err(refused(kind, &error, given).at(0..line.len())),
        None => Err(unknown("the queue discipline", name.text, &all_names()).at(name.span())),
    }
}

/// `config` with every parameter, such that [`parse`] gives it back.
#[must_use]
pub fn to_tc(config: &AnyConfig) -> String {
    write_settings(&config.kind(), &config.to_settings())
}

/// A word of the line and where it begins, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Word<'a> {
    text: &'a str,
    start: usize,
}

impl Word<'_> {
    fn span(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.text.len()
    }
}

fn split_words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = None;
    for (index, character) in line.char_indices().chain([(line.len(), ' ')]) {
        match (character.is_whitespace(), start) {
            (false, None) => start = Some(index),
            (true, Some(first)) => {
                words.push(Word { text: &line[first..index], start: first });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// What remains of `tc qdisc add dev eth0 root handle 1: NAME ...` or `qdisc NAME 8001: root refcnt 2 ...`: the name of
/// the discipline and its parameters, and whether it is the latter, printed by `tc qdisc show`.
fn without_command<'a>(words: &[Word<'a>]) -> Result<(Vec<Word<'a>>, bool), Diagnostic> {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first()
        && (word.text == "sudo"
            || word.text == "tc"
            || word.text.ends_with("/tc")
            || word.text.starts_with('-'))
    {
        rest = after;
    }
    let Some((_, after)) = rest.split_first().filter(|(word, _)| word.text == "qdisc") else {
        return Ok((rest.to_vec(), false));
    };
    let added = after.split_first().filter(|(verb, _)| VERBS.contains(&verb.text));
    if let Some((_, attached)) = added {
        return Ok((without_place(attached)?.to_vec(), false));
    }
    // As shown: the name comes first, statistics may follow on the next line.
    let Some((name, shown)) = after.split_first() else { return Ok((Vec::new(), true)) };
    let shown =
        shown.split_first().filter(|(handle, _)| handle.text.ends_with(':')).map_or(shown, |split| split.1);
    let parameters = without_place(shown)?.iter().take_while(|word| word.text != "Sent");
    Ok((std::iter::once(name).chain(parameters).copied().collect(), true))
}

/// Skips the words that say where a discipline is attached.
fn without_place<'a, 'w>(mut words: &'w [Word<'a>]) -> Result<&'w [Word<'a>], Diagnostic> {
    while let Some((word, after)) = words.split_first() {
        words = match word.text {
            "root" | "offloaded" => after,
            "dev" | "parent" | "handle" | "refcnt" => {
                after.split_first().ok_or_else(|| without_value(*word, "what tc shows or takes there"))?.1
            }
            _ => break,
        };
    }
    Ok(words)
}

fn find_kind<'k>(name: Word<'_>, kinds: &'k [Kind]) -> Result<&'k Kind, Diagnostic> {
    kinds
        .iter()
        .find(|kind| kind.name == name.text)
        .ok_or_else(|| unknown("the queue discipline", name.text, &kind_names(kinds)).at(name.span()))
}

fn kind_names(kinds: &[Kind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name).collect()
}

/// What may stand first: disciplines and presets.
fn all_names() -> Vec<&'static str> {
    kind_names(KINDS).into_iter().chain(PRESETS.iter().map(|preset| preset.name)).collect()
}

fn read_settings(kind: &Kind, mut words: &[Word<'_>]) -> Result<Settings, Diagnostic> {
    let mut settings = Settings::new();
    while let Some((&word, after)) = words.split_first() {
        let (name, value, rest) = read_setting(kind, word, after)?;
        if let Some(earlier) = settings.get(name) {
            let how = if earlier == value { "" } else { ", with another value" };
            return Err(Diagnostic::new(format!("`{name}` of {} is given twice{how}", kind.name))
                .at(word.span())
                .help("remove one of the two"));
        }
        settings.set(name, value);
        words = rest;
    }
    Ok(settings)
}

/// `tc qdisc show` prints `ecn` or nothing, never `noecn`: what has a word for "off" and is absent is off.
fn switch_off_what_is_not_shown(kind: &Kind, settings: &mut Settings) {
    for parameter in kind.parameters {
        if matches!(parameter.unit, Unit::Flag { off: Some(_) }) && settings.get(parameter.name).is_none() {
            settings.set(parameter.name, Value::Flag(false));
        }
    }
}

/// The setting that begins with `word`, and the words behind it.
fn read_setting<'a, 'w>(
    kind: &Kind,
    word: Word<'a>,
    after: &'w [Word<'a>],
) -> Result<(&'static str, Value, &'w [Word<'a>]), Diagnostic> {
    if word.text == VARIANT && !kind.variants.is_empty() {
        let names: Vec<&'static str> = kind.variants.iter().map(|variant| variant.name).collect();
        let (value, rest) = after.split_first().ok_or_else(|| without_value(word, &names.join(", ")))?;
        let chosen = choose(&names, *value, &format!("the variant of {}", kind.name))?;
        return Ok((VARIANT, Value::Choice(chosen), rest));
    }
    for parameter in kind.parameters {
        if let Unit::Flag { off } = parameter.unit {
            if parameter.name == word.text || off == Some(word.text) {
                return Ok((parameter.name, Value::Flag(parameter.name == word.text), after));
            }
        } else if parameter.name == word.text {
            let (value, rest) =
                after.split_first().ok_or_else(|| without_value(word, &written(parameter)))?;
            return Ok((parameter.name, read_value(kind, parameter, *value)?, rest));
        }
    }
    Err(unknown_parameter(kind, word))
}

fn read_value(kind: &Kind, parameter: &Parameter, word: Word<'_>) -> Result<Value, Diagnostic> {
    if is_parameter(kind, word.text) && !word.text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(Diagnostic::new(format!(
            "`{}` has no value: `{}` follows it",
            parameter.name, word.text
        ))
        .at(word.span())
        .allowed(written(parameter)));
    }
    let value = match parameter.unit {
        Unit::Packets => units::tc_packets(word.text).map(Value::Packets),
        Unit::Bytes => units::tc_size(word.text).map(Value::Bytes),
        Unit::Time => units::tc_time(word.text).map(Value::Time),
        Unit::Seconds => units::tc_seconds(word.text).map(Value::Time),
        Unit::Rate => units::tc_rate(word.text).map(Value::Rate),
        Unit::Integer => units::tc_integer(word.text).map(Value::Integer),
        Unit::Class => tc_class(word.text).map(Value::Class),
        Unit::Probability => units::tc_probability(word.text).map(Value::Probability),
        Unit::Choice(words) => {
            return choose(words, word, &format!("`{}`", parameter.name)).map(Value::Choice);
        }
        Unit::Flag { .. } => Ok(Value::Flag(true)),
    };
    value.map_err(|error| error.prefixed(&format!("`{}`", parameter.name)).at(word.span()))
}

/// The minor number of a class: hexadecimal.
fn tc_class(text: &str) -> Result<u32, Diagnostic> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')).map(u32::from).ok_or_else(|| {
        Diagnostic::new(format!("`{}` is not the number of a class", shortened(text)))
            .allowed("0 to ffff, hexadecimal as in tc")
    })
}

fn choose(words: &[&'static str], word: Word<'_>, what: &str) -> Result<&'static str, Diagnostic> {
    words.iter().find(|known| **known == word.text).copied().ok_or_else(|| {
        Diagnostic::new(format!("{what} cannot be `{}`", shortened(word.text)))
            .one_of(word.text, words)
            .at(word.span())
    })
}

fn is_parameter(kind: &Kind, word: &str) -> bool {
    parameter_words(kind).contains(&word)
}

/// Every word with which a setting can begin.
fn parameter_words(kind: &Kind) -> Vec<&'static str> {
    let mut words = Vec::new();
    for parameter in kind.parameters {
        words.push(parameter.name);
        if let Unit::Flag { off: Some(off) } = parameter.unit {
            words.push(off);
        }
    }
    if !kind.variants.is_empty() {
        words.push(VARIANT);
    }
    words
}

fn unknown_parameter(kind: &Kind, word: Word<'_>) -> Diagnostic {
    if DERIVED.contains(&word.text) {
        return Diagnostic::new(format!(
            "`{}` cannot be set: tc derives it from other parameters",
            word.text
        ))
        .at(word.span())
        .help(format!("remove `{}` and its value", word.text));
    }
    if word.text == VARIANT {
        return Diagnostic::new(format!("{} has no variants", kind.name))
            .at(word.span())
            .help("remove `variant` and its value");
    }
    Diagnostic::new(format!("{} has no parameter `{}`", kind.name, shortened(word.text)))
        .one_of(word.text, &parameter_words(kind))
        .at(word.span())
}

fn without_value(word: Word<'_>, allowed: &str) -> Diagnostic {
    Diagnostic::new(format!("`{}` has no value", word.text)).at(word.span()).allowed(allowed)
}

/// How the value of a parameter is written, for messages.
fn written(parameter: &Parameter) -> String {
    let form = match parameter.unit {
        Unit::Packets => "a number of packets, such as `1000`",
        Unit::Bytes => "a size, such as `1514` or `32mb`",
        Unit::Time => "a time, such as `5ms`; a bare number is microseconds",
        Unit::Seconds => "a time, such as `10s`; a bare number is seconds",
        Unit::Rate => "a rate, such as `10mbit`; a bare number is bit/s",
        Unit::Integer => "a whole number",
        Unit::Class => "the number of a class, such as `10`; hexadecimal, as in tc",
        Unit::Probability => "a fraction, such as `0.02`",
        Unit::Flag { .. } => "no value",
        Unit::Choice(words) => return words.join(", "),
    };
    if parameter.range.is_empty() { form.to_owned() } else { format!("{form}; {}", parameter.range) }
}

/// The discipline's own refusal, at the word that caused it.
fn refused(kind: &Kind, error: &ConfigError, given: &[Word<'_>]) -> Diagnostic {
    let setting = format!("{} {}", error.parameter, error.given);
    let message =
        Diagnostic::new(format!("{} does not accept `{}`", kind.name, shortened(setting.trim_end())))
            .allowed(error.allowed.as_ref());
    let parameter = kind.parameters.iter().find(|parameter| parameter.name == error.parameter);
    let words = |word: &Word<'_>| match parameter.map(|parameter| parameter.unit) {
        Some(Unit::Flag { off }) => word.text == error.parameter || off == Some(word.text),
        _ => word.text == error.parameter,
    };
    match given.iter().position(words) {
        Some(index) => {
            let valueless = matches!(parameter, Some(Parameter { unit: Unit::Flag { .. }, .. }));
            let last = if valueless { index } else { (index + 1).min(given.len() - 1) };
            message.at(given[index].start..given[last].span().end)
        }
        None => message.help(format!("`{}` has its default here: set it", error.parameter)),
    }
}

fn write_settings(kind: &Kind, settings: &Settings) -> String {
    let mut line = kind.name.to_owned();
    for (name, value) in settings.iter() {
        let parameter = kind.parameters.iter().find(|parameter| parameter.name == name);
        let word = match (value, parameter.map(|parameter| parameter.unit)) {
            (Value::Flag(true), _) => name.to_owned(),
            (Value::Flag(false), Some(Unit::Flag { off: Some(off) })) => off.to_owned(),
            (Value::Flag(false), _) => continue,
            _ => format!("{name} {value}"),
        };
        line.push(' ');
        line.push_str(&word);
    }
    line
}

const VARIANT: &str = "variant";

/// What may stand between `tc qdisc` and the place.
const VERBS: &[&str] = &["add", "change", "replace", "link"];

/// Printed by `tc qdisc show` for RED and its kin, but not accepted by `tc qdisc add`.
const DERIVED: &[&str] = &["ewma", "Plog", "Scell_log"];

#[cfg(test)]
mod tests;
