//! The words behind a discipline's name: parameters, their values, and words that stand for several
//! settings.

use std::sync::Arc;

use goodqueue::config::{ConfigError, Keyword, Kind, Parameter, Settings, Unit, Value};
use goodqueue::registry::{self, PRESETS};
use goodqueue::{Disciplines, Rate};

use crate::diagnostic::{Diagnostic, shortened, unknown};
use crate::table;
use crate::units;

/// A word, and its place in the given text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Word<'_> {
    pub(super) fn span(&self) -> std::ops::Range<usize> {
        self.start..self.end
    }
}

pub(super) fn find_kind<'k>(
    name: Word<'_>,
    mut kinds: impl Iterator<Item = &'k Kind> + Clone,
) -> Result<&'k Kind, Diagnostic> {
    let known = kinds.clone();
    let found = kinds.find(|kind| kind.name == name.text);
    found.ok_or_else(|| no_such_discipline(name, &known.map(|kind| kind.name).collect::<Vec<_>>()))
}

pub(super) fn no_such_discipline(name: Word<'_>, known: &[&str]) -> Diagnostic {
    let message = unknown("the queue discipline", name.text, known).at(name.span());
    match ELSEWHERE.iter().find(|(names, _)| names.contains(&name.text)) {
        Some((_, help)) => message.help(*help),
        None => message,
    }
}

/// Names with which a line can begin: disciplines and presets.
pub(super) fn all_names(disciplines: &Disciplines) -> Vec<&'static str> {
    disciplines.kinds().map(|kind| kind.name).chain(PRESETS.iter().map(|preset| preset.name)).collect()
}

pub(super) fn read_settings(kind: &Kind, mut words: &[Word<'_>], link: Rate) -> Result<Settings, Diagnostic> {
    let mut settings = Settings::new();
    // A later word may override the settings of an earlier keyword, as in tc.
    let mut implied = Vec::new();
    // The first of two words that name a parameter also counts for the words behind its value.
    let mut group = "";
    while let Some((&word, after)) = words.split_first() {
        if let Some(keyword) = registry::keywords(kind.name).iter().find(|keyword| keyword.name == word.text)
        {
            let stands_for = sets(keyword, &settings);
            settings = replaced(kind, &settings, &implied, &stands_for);
            implied.extend(stands_for.iter().map(|(name, _)| name));
            words = after;
            continue;
        }
        let (name, value, rest) = read_setting(kind, group, word, after, link)?;
        group = group_of(name);
        if let Some(earlier) = settings.get(name).filter(|_| !implied.contains(&name)) {
            let how = if earlier == value { "" } else { ", with another value" };
            return Err(Diagnostic::new(format!("`{name}` of {} is given twice{how}", kind.name))
                .at(word.span())
                .help("remove one of the two"));
        }
        settings = replaced(kind, &settings, &implied, &Settings::new().with(name, value));
        words = read_followers(kind, name, rest, &mut settings, link)?;
    }
    Ok(settings)
}

/// What `keyword` stands for behind `settings`.
fn sets(keyword: &Keyword, settings: &Settings) -> Settings {
    let mut set = Settings::new();
    for (name, value) in keyword.sets {
        set.set(name, value.clone());
    }
    if let Some((name, more)) = keyword.adds {
        // A keyword such as `ether-vlan` adds to the overhead of the words before it.
        let before = if let Some(Value::Signed(number)) = settings.get(name) { number } else { 0 };
        // The range of the sum is checked later, with all other settings.
        set.set(name, Value::Signed(before.saturating_add(more)));
    }
    set
}

/// Returns `settings` with `later`, which replaces the excluded ones among the `implied` settings.
fn replaced(kind: &Kind, settings: &Settings, implied: &[&str], later: &Settings) -> Settings {
    let stays = |name| !implied.contains(&name) || registry::is_kept_by_change(kind.name, name, later);
    let mut all = Settings::new();
    for (name, value) in settings.iter().filter(|(name, _)| stays(name)).chain(later.iter()) {
        all.set(name, value);
    }
    all
}

/// Values that tc writes behind that of `name` without names of their own.
fn read_followers<'a, 'w>(
    kind: &Kind,
    name: &str,
    mut words: &'w [Word<'a>],
    settings: &mut Settings,
    link: Rate,
) -> Result<&'w [Word<'a>], Diagnostic> {
    for parameter in followers(kind.parameters, name) {
        let number = words.split_first().filter(|(word, _)| {
            let signed = parameter.unit == Unit::Signed;
            let digits = if signed { word.text.strip_prefix('-') } else { None }.unwrap_or(word.text);
            digits.starts_with(|c: char| c.is_ascii_digit())
        });
        // A word that is no number begins the next setting.
        let Some((word, rest)) = number else { break };
        settings.set(parameter.name, read_value(kind, parameter, *word, link)?);
        words = rest;
    }
    Ok(words)
}

/// The parameter that tc calls `word`.
pub(super) fn called<'p>(parameters: &'p [Parameter], word: &str) -> Option<&'p Parameter> {
    let of_name = |name: &str| parameters.iter().find(|parameter| parameter.name == name);
    // Names come first: `latency` is a parameter of tbf, and another word for netem's `delay`.
    of_name(word).or_else(|| SYNONYMS.iter().find(|pair| pair.0 == word).and_then(|pair| of_name(pair.1)))
}

/// The parameters whose values stand behind that of `name`.
pub(super) fn followers<'p>(parameters: &'p [Parameter], name: &str) -> impl Iterator<Item = &'p Parameter> {
    let follows = move |parameter: &&Parameter| {
        parameter.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
    };
    parameters.iter().filter(follows)
}

/// `tc qdisc show` prints `ecn` or nothing, never `noecn`. An absent flag with a word for "off" is
/// therefore off.
pub(super) fn switch_off_what_is_not_shown(kind: &Kind, settings: &mut Settings) {
    for parameter in kind.parameters {
        if matches!(parameter.unit, Unit::Flag { off: Some(_) }) && settings.get(parameter.name).is_none() {
            settings.set(parameter.name, Value::Flag(false));
        }
    }
}

/// Returns the first of two words that name a parameter. tc writes it once in front of several
/// such parameters: `rt m1 2mbit d 10ms m2 1mbit`.
pub(super) fn group_of(name: &str) -> &str {
    name.split_once(' ').map_or("", |(group, _)| group)
}

/// Returns the words behind the `name` of a discipline in a line of `tc qdisc show` without those
/// that are no settings.
pub(super) fn without_only_shown<'a>(name: &str, mut words: &[Word<'a>]) -> Vec<Word<'a>> {
    let mut settings = Vec::new();
    while let Some((word, after)) = words.split_first() {
        let shown = ONLY_SHOWN.iter().find(|(kind, known, _)| (*kind, *known) == (name, word.text));
        words = match shown {
            Some((.., values)) => after.get(*values..).unwrap_or_default(),
            None => {
                settings.push(*word);
                after
            }
        };
    }
    settings
}

/// Returns the setting that starts with `word`, and the following words. The parameter before it is
/// of `group`.
fn read_setting<'a, 'w>(
    kind: &Kind,
    group: &str,
    word: Word<'a>,
    after: &'w [Word<'a>],
    link: Rate,
) -> Result<(&'static str, Value, &'w [Word<'a>]), Diagnostic> {
    if word.text == VARIANT && !kind.variants.is_empty() {
        let names: Vec<&'static str> = kind.variants.iter().map(|variant| variant.name).collect();
        let (value, rest) = after.split_first().ok_or_else(|| without_value(word, &names.join(", ")))?;
        let chosen = choose(&names, *value, &format!("the variant of {}", kind.name))?;
        return Ok((VARIANT, Value::Choice(chosen), rest));
    }
    let second = after.first().map_or("", |word| word.text);
    let is_meant = |parameter: &&Parameter| match parameter.name.split_once(' ') {
        Some(both) => both == (word.text, second),
        None => parameter.name == word.text,
    };
    // `loss gemodel` before `loss`.
    let both = kind.parameters.iter().filter(|parameter| parameter.name.contains(' ')).find(is_meant);
    let off = |parameter: &&Parameter| matches!(parameter.unit, Unit::Flag { off } if off == Some(word.text));
    if let Some(parameter) = kind.parameters.iter().find(off) {
        return Ok((parameter.name, Value::Flag(false), after));
    }
    let in_group = || {
        let both_words = Some((group, word.text));
        kind.parameters.iter().find(|parameter| parameter.name.split_once(' ') == both_words)
    };
    let parameter = both.or_else(|| called(kind.parameters, word.text)).or_else(in_group);
    let parameter = parameter.ok_or_else(|| unknown_parameter(kind, word))?;
    if matches!(parameter.unit, Unit::Flag { .. }) {
        return Ok((parameter.name, Value::Flag(true), after));
    }
    let skipped = both.is_some() || EMPTY_WORDS.contains(&(parameter.name, second));
    let values = if skipped { after.get(1..).unwrap_or_default() } else { after };
    if parameter.unit == Unit::Priomap {
        let default = match parameter.default_of("") {
            Some(Value::Priomap(map)) => Some(map),
            _ => None,
        };
        return read_priomap(word, default, values)
            .map(|(map, rest)| (parameter.name, Value::Priomap(map), rest));
    }
    let (value, rest) = values.split_first().ok_or_else(|| without_value(word, &written(parameter)))?;
    let parameter = in_packets(kind, parameter, value.text).unwrap_or(parameter);
    Ok((parameter.name, read_value(kind, parameter, *value, link)?, rest))
}

/// Returns the parameter that takes packets in place of the time that `parameter` takes, if `text`
/// is a number of packets: `step_thresh 4p`.
fn in_packets<'k>(kind: &'k Kind, parameter: &Parameter, text: &str) -> Option<&'k Parameter> {
    let digits = text.strip_suffix('p').filter(|_| parameter.unit == Unit::Time)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_twin = |other: &&Parameter| other.name.strip_suffix("_packets") == Some(parameter.name);
    kind.parameters.iter().find(is_twin).filter(|_| is_number)
}

fn read_value(kind: &Kind, parameter: &Parameter, word: Word<'_>, link: Rate) -> Result<Value, Diagnostic> {
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
        Unit::Bytes => {
            // `burst 5000/8`: the cells of a table of rates that Linux has not looked into since
            // 3.8.
            let cells = if HAS_CELLS.contains(&parameter.name) { word.text.split_once('/') } else { None };
            match cells {
                Some((size, cell)) => {
                    units::tc_size(cell).and_then(|_| units::tc_size(size)).map(Value::Bytes)
                }
                None => units::tc_size(word.text).map(Value::Bytes),
            }
        }
        Unit::Time => units::tc_time(word.text).map(Value::Time),
        Unit::Seconds => units::tc_seconds(word.text).map(Value::Time),
        Unit::Rate if word.text.ends_with('%') => units::share(word.text, link).map(Value::Rate),
        Unit::Rate => units::tc_rate(word.text).map(Value::Rate),
        Unit::Integer if word.text.contains('.') && IN_256THS.contains(&(kind.name, parameter.name)) => {
            units::tc_256ths(word.text).map(Value::Integer)
        }
        Unit::Integer => units::tc_integer(word.text).map(Value::Integer),
        Unit::Signed => units::tc_signed(word.text).map(Value::Signed),
        Unit::Class => tc_class(word.text).map(Value::Class),
        Unit::Probability => units::tc_probability(word.text).map(Value::Probability),
        Unit::Percentage => units::tc_percentage(word.text).map(Value::Probability),
        Unit::Choice(words) => {
            return choose(words, word, &format!("`{}`", parameter.name)).map(Value::Choice);
        }
        Unit::Table(words) => match words.iter().find(|known| **known == word.text) {
            Some(known) => Ok(Value::Choice(known)),
            None => table::read(word.text, words).map(|table| Value::Table(Arc::new(table))),
        },
        Unit::Flag { .. } | Unit::Priomap => Ok(Value::Flag(true)),
    };
    value.map_err(|error| error.prefixed(&format!("`{}`", parameter.name)).at(word.span()))
}

/// Reads up to 16 bands. Those that are not given are those of `default`; without one, 16 are
/// needed.
fn read_priomap<'a, 'w>(
    name: Word<'a>,
    default: Option<[u8; 16]>,
    words: &'w [Word<'a>],
) -> Result<([u8; 16], &'w [Word<'a>]), Diagnostic> {
    let allowed = "up to 16 bands, each from 0 to 15, as in `1 2 2 2 1 2 0 0`";
    let mut map = default.unwrap_or_default();
    let is_number = |word: &&Word<'_>| word.text.starts_with(|c: char| c.is_ascii_digit());
    let count = words.iter().take_while(is_number).count();
    if count == 0 {
        return Err(without_value(name, allowed));
    }
    // The default of ets depends on its number of bands, so it cannot complete the list here.
    if count < map.len() && default.is_none() {
        let message = Diagnostic::new(format!("`priomap` has {count} bands"));
        return Err(message.at(name.span()).allowed("16 bands, one for each priority"));
    }
    for (index, word) in words.iter().take(count).enumerate() {
        let band = word.text.parse().ok().filter(|band| *band < 16);
        match (map.get_mut(index), band) {
            (Some(entry), Some(band)) => *entry = band,
            _ => {
                let text = shortened(word.text);
                return Err(Diagnostic::new(format!(
                    "`priomap` cannot have `{text}` as number {}",
                    index + 1
                ))
                .at(word.span())
                .allowed(allowed));
            }
        }
    }
    Ok((map, words.get(count..).unwrap_or_default()))
}

/// The minor number of a class: hexadecimal.
pub(super) fn tc_class(text: &str) -> Result<u32, Diagnostic> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // `from_str_radix` accepts a `+`.
    u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')).map(u32::from).ok_or_else(
        || {
            Diagnostic::new(format!("`{}` is not the number of a class", shortened(text)))
                .allowed("0 to ffff, hexadecimal as in tc")
        },
    )
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

/// Every first word of a setting.
fn parameter_words(kind: &Kind) -> Vec<&'static str> {
    let mut words = Vec::new();
    for parameter in kind.parameters {
        words.push(parameter.name);
        if let Unit::Flag { off: Some(off) } = parameter.unit {
            words.push(off);
        }
    }
    words.extend(registry::keywords(kind.name).iter().map(|keyword| keyword.name));
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

pub(super) fn without_value(word: Word<'_>, allowed: &str) -> Diagnostic {
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
        Unit::Integer | Unit::Signed => "a whole number",
        Unit::Class => "the number of a class, such as `10`; hexadecimal, as in tc",
        Unit::Probability => "a fraction, such as `0.02`",
        Unit::Percentage => "a percentage, such as `2%`; a bare number is percent",
        Unit::Flag { .. } => "no value",
        Unit::Choice(words) => return words.join(", "),
        Unit::Table(words) => return table::written(words),
        Unit::Priomap => "up to 16 bands, such as `1 2 2 2 1 2 0 0`",
    };
    let range = parameter.range_text();
    if range.is_empty() { form.to_owned() } else { format!("{form}; {range}") }
}

/// The discipline's own refusal, at the word that caused it.
pub(super) fn refused(kind: &Kind, error: &ConfigError, given: &[Word<'_>]) -> Diagnostic {
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
            // A flag has no value. The value of any other parameter is the next word.
            let last = if valueless { index } else { (index + 1).min(given.len() - 1) };
            message.at(given[index].start..given[last].span().end)
        }
        None if parameter.is_none() => message,
        None => message.help(format!("`{}` has its default here: set it", error.parameter)),
    }
}

/// Whole 256ths of a number that tc writes with a decimal point.
const IN_256THS: &[(&str, &str)] = &[("dualpi2", "alpha"), ("dualpi2", "beta")];
pub(super) const VARIANT: &str = "variant";

/// Other words that tc takes for a parameter.
const SYNONYMS: &[(&str, &str)] = &[
    ("buffer", "burst"),
    ("maxburst", "burst"),
    ("cbuffer", "cburst"),
    ("minburst", "mtu"),
    ("latency", "delay"),
    // `tc qdisc show` prints it.
    ("lat", "latency"),
    ("drop", "loss"),
];

/// Sizes behind which tc takes, and prints, that of a cell.
const HAS_CELLS: &[&str] = &["burst", "cburst", "mtu"];

/// Words after a parameter without meaning.
const EMPTY_WORDS: &[(&str, &str)] = &[("loss", "random")];

/// Disciplines of Linux that a line may name and that are not here, and what to do.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["mq", "mqprio"], "it only spreads packets over the queues of a device: give the discipline below it"),
    (&["noqueue"], "this device has no queue: give the discipline of the device that is slow"),
    (
        &["ingress", "clsact"],
        "it queues nothing: give the discipline of the device that packets are sent on to",
    ),
    (&["cbq"], "htb, hfsc, drr and prio share a line between classes"),
];

/// Words that `tc qdisc show` prints of a discipline and `tc qdisc add` does not take, each with
/// the number of its values: statistics, and what cannot be changed.
const ONLY_SHOWN: &[(&str, &str, usize)] =
    &[("htb", "direct_packets_stat", 1), ("pfifo_fast", "bands", 1), ("pfifo_fast", "priomap", 16)];

/// Printed by `tc qdisc show` for RED and its kin, but not accepted by `tc qdisc add`.
const DERIVED: &[&str] = &["ewma", "Plog", "Scell_log"];
