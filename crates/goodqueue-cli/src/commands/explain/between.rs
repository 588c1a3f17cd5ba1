//! `explain --between`: how two variants of a discipline differ, in words and in their decisions
//! about the same packets.

use std::fmt::Write as _;

use goodqueue::config::{Kind, Link};
use goodqueue::random::Source;
use goodqueue::{AnyQdisc, Duration, Ecn, Instant, registry};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::replay::{Fate, replay};
use schemars::JsonSchema;
use serde::Serialize;

use super::loads::{LOADS, Recorded};

/// The comparison of two variants.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Between {
    /// The discipline with its settings, in tc's grammar.
    name: String,
    /// The two variants.
    variants: [Described; 2],
    /// Their decisions, load by load.
    loads: Vec<Compared>,
}

/// A variant and its rules.
#[derive(Serialize, JsonSchema)]
struct Described {
    /// Name of the variant.
    name: &'static str,
    /// The system or document that it follows.
    follows: &'static str,
    /// Its rules where they differ from others, as Markdown.
    rules: Vec<String>,
}

/// The decisions of both variants about the same packets.
#[derive(Serialize, JsonSchema)]
struct Compared {
    /// The load in words.
    load: &'static str,
    /// Packets that arrived.
    packets: u64,
    /// Packets that one variant dropped, marked or sent unmarked, and the other did not.
    other_fate: u64,
    /// Packets with the same fate at another time.
    other_time: u64,
    /// Packets dropped by each.
    drops: [u64; 2],
    /// Packets marked by each.
    marks: [u64; 2],
    /// Mean time in the queue of packets that were sent, in milliseconds.
    mean_sojourn_ms: [f64; 2],
}

/// Compares the variants `names` of the discipline in `line`.
pub(crate) fn between(line: &str, names: &[String], page: &str) -> Result<Between, Diagnostic> {
    let word = line.split_whitespace().next().unwrap_or(line);
    let kind =
        // A preset is a discipline with settings, so it has the variants of this discipline.
        registry::find(registry::find_preset(word).map_or(word, |preset| preset.kind)).ok_or_else(|| {
            Diagnostic::new(format!("there is no discipline `{word}`"))
                .one_of(word, &registry::names())
                .in_argument("NAME", line)
        })?;
    if kind.variants.len() < 2 {
        return Err(Diagnostic::new(format!("`{word}` has no variants"))
            .help(format!("`goodqueue explain {word}` tells how it differs from Linux"))
            .in_argument("NAME", line));
    }
    let mut variants = Vec::new();
    for name in names {
        variants.push(described(&kind, name, page)?);
    }
    let Ok(variants) = <[Described; 2]>::try_from(variants) else {
        return Err(Diagnostic::new("--between takes two variants"));
    };
    if variants[0].name == variants[1].name {
        return Err(Diagnostic::new(format!("both are the variant `{}`", variants[0].name))
            .in_argument("--between", &names.join(" ")));
    }
    // Later the line is parsed as a part of a scenario, whose errors would name a load that the
    // user never gave.
    tc::parse(line, &Link::default()).map_err(|error| error.in_argument("NAME", line))?;
    // With another `variant`, the parser would report a parameter that is given twice. A discipline
    // inside, in brackets, may have one.
    let own = line.split('[').next().unwrap_or(line);
    if own.split_whitespace().any(|word| word == "variant") {
        return Err(Diagnostic::new(format!("`{line}` names a variant, and --between names two"))
            .help("leave `variant` out of NAME")
            .in_argument("NAME", line));
    }
    let mut loads = Vec::new();
    for load in LOADS {
        let first = in_variant(line, variants[0].name);
        // TCP reacts to drops, so two runs would soon have different packets. Both variants get the
        // arrivals of one run.
        let recorded = load.record(&first)?;
        let fates = [fates(line, &variants[0], &recorded)?, fates(line, &variants[1], &recorded)?];
        loads.push(compared(load.name, &recorded, &fates));
    }
    Ok(Between { name: line.to_owned(), variants, loads })
}

/// Returns `line` with this variant. It stands first, since nothing may follow classes in brackets.
fn in_variant(line: &str, variant: &str) -> String {
    let (name, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line, ""));
    format!("{name} variant {variant} {rest}")
}

/// Finds a variant by its name. Linux 7.3, the newest kernel that was recorded, is the variant
/// `linux`.
fn described(kind: &Kind, name: &str, page: &str) -> Result<Described, Diagnostic> {
    let wanted = if name == "linux73" { "linux" } else { name };
    let Some(variant) = kind.variants.iter().find(|variant| variant.name == wanted) else {
        let names: Vec<&str> = kind.variants.iter().map(|variant| variant.name).collect();
        return Err(Diagnostic::new(format!("`{}` has no variant `{name}`", kind.name))
            .one_of(name, &names)
            .in_argument("--between", name));
    };
    Ok(Described { name: variant.name, follows: variant.doc, rules: rules(page, variant.name) })
}

/// Returns the paragraphs and list items of the page's deviations that begin with this variant.
fn rules(page: &str, variant: &str) -> Vec<String> {
    let section = page.split_once("# Deviations\n").map_or("", |split| split.1);
    // It ends where the next section begins.
    let section = section.split("\n# ").next().unwrap_or(section);
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        let text = line.trim();
        let begins =
            line.starts_with("* ") || !line.starts_with(' ') && items.last().is_none_or(String::is_empty);
        if begins || text.is_empty() {
            items.push(text.trim_start_matches("* ").to_owned());
        } else if let Some(item) = items.last_mut() {
            item.push(' ');
            item.push_str(text);
        }
    }
    let head = |item: &str| item.split(':').next().unwrap_or("").to_owned();
    items.retain(|item| item.starts_with('`') && head(item).contains(&format!("`{variant}`")));
    items
}

/// The fate of a packet: the time, and the ECN field with which it left; `None` for a drop.
type Outcome = (Instant, Option<Ecn>);

/// Feeds the recorded packets to one variant on the link of the load.
fn fates(line: &str, variant: &Described, recorded: &Recorded) -> Result<Vec<Option<Outcome>>, Diagnostic> {
    // Some defaults depend on the rate of the link.
    let link = Link { rate: recorded.rate, ..Link::default() };
    let text = in_variant(line, variant.name);
    let config = tc::parse(&text, &link).map_err(|error| error.in_argument("NAME", &text))?;
    let (salt, random) = recorded.draws.clone();
    let mut qdisc = AnyQdisc::new(config, salt, Source::Seeded(random));
    let mut fates = vec![None; recorded.arrivals.len()];
    replay(&mut qdisc, recorded.rate, Duration::ZERO, recorded.arrivals.iter().copied(), |fate| {
        let (seq, outcome) = match fate {
            Fate::Sent { at, seq, tos, .. } => (seq, (at, Some(Ecn::from_bits(tos)))),
            Fate::Dropped { at, seq, .. } => (seq, (at, None)),
        };
        if let Some(slot) = usize::try_from(seq).ok().and_then(|seq| fates.get_mut(seq)) {
            *slot = Some(outcome);
        }
    });
    Ok(fates)
}

fn compared(load: &'static str, recorded: &Recorded, fates: &[Vec<Option<Outcome>>; 2]) -> Compared {
    let [first, second] = fates;
    let pairs = || first.iter().zip(second);
    let ecn = |outcome: &Option<Outcome>| outcome.map(|(_, ecn)| ecn);
    let other_fate = pairs().filter(|(first, second)| ecn(first) != ecn(second)).count() as u64;
    let other = pairs().filter(|(first, second)| first != second).count() as u64;
    let drops =
        |fates: &[Option<Outcome>]| fates.iter().filter(|fate| matches!(fate, Some((_, None)))).count();
    let marks = |fates: &[Option<Outcome>]| {
        let marked = |(fate, arrival): &(&Option<Outcome>, &goodqueue_tc::replay::Arrival)| {
            // A packet that arrives with CE was marked by somebody else.
            matches!(fate, Some((_, Some(Ecn::Ce)))) && Ecn::from_bits(arrival.tos) != Ecn::Ce
        };
        fates.iter().zip(&recorded.arrivals).filter(marked).count()
    };
    let sojourn = |fates: &[Option<Outcome>]| {
        let waits = fates.iter().zip(&recorded.arrivals).filter_map(|(fate, arrival)| match fate {
            Some((at, Some(_))) => Some(at.since(arrival.at).as_nanos()),
            _ => None,
        });
        let (count, sum) = waits.fold((0_u64, 0_u64), |(count, sum), wait| (count + 1, sum + wait));
        // Without a sent packet the mean is 0, because JSON has no NaN.
        sum as f64 / 1e6 / count.max(1) as f64
    };
    Compared {
        load,
        packets: recorded.arrivals.len() as u64,
        other_fate,
        // A pair with another fate is also among `other`, so the difference has no underflow.
        other_time: other - other_fate,
        drops: [drops(first) as u64, drops(second) as u64],
        marks: [marks(first) as u64, marks(second) as u64],
        mean_sojourn_ms: [sojourn(first), sojourn(second)],
    }
}

impl Between {
    /// Returns the comparison as Markdown.
    pub(crate) fn text(&self) -> String {
        let [first, second] = &self.variants;
        let mut text = format!("# {}: from {} to {}\n\n", self.name, first.name, second.name);
        // Writing to a string cannot fail.
        for variant in &self.variants {
            let _ = writeln!(text, "* `{}`: {}", variant.name, variant.follows);
        }
        let rules: Vec<&String> = self.variants.iter().flat_map(|variant| &variant.rules).collect();
        if !rules.is_empty() {
            text.push_str("\n## Rules\n\n");
        }
        for rule in rules {
            let _ = writeln!(text, "* {rule}");
        }
        text.push('\n');
        let equal = self.loads.iter().all(|load| load.other_fate + load.other_time == 0);
        let all: u64 = self.loads.iter().map(|load| load.packets).sum();
        text.push_str("## Decisions\n\n");
        text.push_str(&if equal {
            format!("Both variants decide alike about all {all} packets of these loads:\n\n")
        } else {
            "The decisions of both about the same packets:\n\n".to_owned()
        });
        text.push_str(
            "| load | packets | another fate | another time | drops | marks | mean sojourn, ms |\n",
        );
        text.push_str("|---|--:|--:|--:|--:|--:|--:|\n");
        for load in &self.loads {
            let Compared { load, packets, other_fate, other_time, drops, marks, mean_sojourn_ms: mean } =
                load;
            let both = |values: &[u64; 2]| format!("{} → {}", values[0], values[1]);
            let _ = writeln!(
                text,
                "| {load} | {packets} | {other_fate} | {other_time} | {} | {} | {:.2} → {:.2} |",
                both(drops),
                both(marks),
                mean[0],
                mean[1]
            );
        }
        let _ = write!(
            text,
            "\nEach load ran through `{}` on its way down. The arrivals of that run were fed to both variants, \
             with the same random numbers, so senders do not react to what the second variant decides.\n",
            first.name
        );
        text
    }
}
