//! The story of one packet, for the commands that tell one: which packet, and the output.

use std::path::PathBuf;

use goodqueue::decision::{Fate, Quantity, Recalled};
use goodqueue_scenario::run::Runs as _;
use goodqueue_scenario::scenario::Document;
use goodqueue_sim::story::{NoStory, Which};
use goodqueue_sim::witness::{self, Story};
use goodqueue_sim::words::RuleInWords;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::simulation::{RunStorage, SimulationOptions, prepare};
use super::{Ending, Outcome};
use crate::output::{self, Outputs};

/// Reads the value of `--explain`.
pub(super) fn which(text: &str) -> Result<Which, Diagnostic> {
    match text {
        "drop" => Ok(Which::FirstDropped),
        "mark" => Ok(Which::FirstMarked),
        number => number.parse().map(Which::Number).map_err(|_| {
            Diagnostic::new(format!("`{text}` is not a packet"))
                .allowed(
                    "the packet's number from 0, or `drop` or `mark` for the first packet with this fate",
                )
                .in_argument("--explain", text)
        }),
    }
}

/// Tells the story of a packet of a simulated run.
pub(super) fn of_run(text: &str, how: &SimulationOptions, document: &Document) -> Outcome {
    let which = which(text)?;
    refuse_without_effect(how)?;
    let prepared = prepare(document, how, &mut Outputs::default(), RunStorage::Nowhere)?;
    let runs = &prepared.session;
    if runs.count() != 1 {
        let mut labels = Vec::new();
        for number in 0..runs.count() {
            let run = &*runs.spec(number)?;
            let label = format!("`{}` with seed {}", run.labels.qdisc, run.config.seed);
            labels.push(label);
        }
        labels.truncate(MOST_NAMED);
        return Err(Diagnostic::new(format!("a story is about one run, and here are {}", runs.count()))
            .allowed(format!("one of {}", labels.join(", ")))
            .help("choose the run with --qdisc, --seed and --set, such as `--qdisc codel`")
            .in_argument("--explain", text));
    }
    let run = &*runs.spec(0)?;
    let lines = [0, 1].map(|direction: usize| tc::to_tc(&run.config.links[direction].qdisc));
    let story = goodqueue_sim::story::story(&run.config, which, [&lines[0], &lines[1]]);
    let story = story.map_err(|why| without_story(&why).in_argument("--explain", text))?;
    print(&story, how.json.as_ref())
}

fn without_story(why: &NoStory) -> Diagnostic {
    let error = Diagnostic::new(why.to_string());
    match *why {
        // Without any packet there is no range to name.
        NoStory::TooFew(arrived) if arrived > 0 => {
            error.allowed(format!("0 to {}, counted over both directions as in --packets", arrived - 1))
        }
        NoStory::Copy(original) => error.help(format!("the story of its original is `--explain {original}`")),
        NoStory::NoneDropped(_) | NoStory::NoneMarked(_) => error.help("give the number of a packet"),
        _ => error,
    }
}

fn refuse_without_effect(how: &SimulationOptions) -> Result<(), Diagnostic> {
    for (option, is_given) in [
        ("--report", how.report.is_some()),
        ("--series", how.series.is_some()),
        ("--export", !how.export.is_empty()),
        ("--packets", !how.packets.is_empty()),
        ("--tc-stats", how.tc_stats.is_some()),
        ("--metric", how.metric.is_some()),
        ("--fail-if", !how.fail_if.is_empty()),
        ("--timing", how.timing),
        ("--explain-columns", how.explain_columns),
    ] {
        if is_given {
            return Err(Diagnostic::new(format!("`{option}` has no effect with --explain"))
                .help("run the command twice, once with --explain"));
        }
    }
    Ok(())
}

/// Prints a story, and writes it as JSON.
pub(super) fn print(story: &Story, target: Option<&PathBuf>) -> Outcome {
    if let Some(target) = target {
        output::write_json("--json", target, &to_json(story))?;
    }
    if target.is_none_or(|target| target.as_os_str() != "-") {
        output::print(&story.to_string())?;
    }
    Ok(Ending::Done)
}

/// The story of a packet, as `--explain --json` writes it.
#[derive(Serialize, JsonSchema)]
pub(super) struct StoryJson {
    /// Number of the packet, as in `--packets`.
    packet: u64,
    /// The discipline with every parameter, in tc's grammar.
    qdisc: String,
    /// Direction, flow and contents of the packet in a few words.
    what: String,
    /// Length with the link header.
    bytes: u32,
    /// Time of arrival.
    arrival_ns: u64,
    /// Time at which the packet was sent or dropped.
    departure_ns: u64,
    /// Time in the queue.
    sojourn_ns: u64,
    /// Packets that were queued when it arrived.
    found_packets: u64,
    /// Bytes that were queued when it arrived.
    found_bytes: u64,
    /// `sent`, `marked` or `dropped`.
    fate: &'static str,
    /// Reason of a drop; null if it was sent.
    reason: Option<&'static str>,
    /// The story in sentences.
    sentences: Vec<String>,
    /// Rules that led to the fate, the deciding one last.
    rules: Vec<RuleJson>,
    /// The state that the deciding rule looked at.
    state: Vec<ValueJson>,
}

/// A rule in words.
#[derive(Serialize, JsonSchema)]
struct RuleJson {
    /// The discipline whose rule it is.
    qdisc: &'static str,
    /// The algorithm and the rule, such as `codel.drop_due`.
    rule: &'static str,
    /// Sentences with the values that decided.
    text: String,
    /// Section of the standard, or the paper.
    source: &'static str,
}

/// A value around the decision.
#[derive(Serialize, JsonSchema)]
struct ValueJson {
    /// The discipline that has the value.
    qdisc: &'static str,
    /// Name of the value in the standard or the code.
    name: String,
    /// The value before the decision; null if it was not set, and text if it is no number, flag or
    /// word.
    before: Value,
    /// The value after the decision; null if it is not set or cannot change.
    after: Value,
    /// Unit of both; null for plain numbers, words and flags.
    unit: Option<&'static str>,
    /// Meaning in a few words.
    meaning: &'static str,
}

fn to_json(story: &Story) -> StoryJson {
    let (fate, reason) = match story.known.fate {
        Fate::Sent => ("sent", None),
        Fate::Marked => ("marked", None),
        Fate::Dropped(why) => ("dropped", Some(why.name())),
    };
    let of_value = |value: &witness::Value| ValueJson {
        qdisc: value.kind,
        name: value.name.to_owned(),
        before: number(value.before),
        after: value.after.map_or(Value::Null, number),
        unit: unit(value.before),
        meaning: value.doc,
    };
    let of_state = |value: &witness::StateValue| ValueJson {
        qdisc: value.kind,
        name: value.name.clone(),
        before: recalled(&value.before),
        after: value.after.as_ref().map_or(Value::Null, recalled),
        unit: if let Recalled::Quantity(before) = value.before { unit(before) } else { None },
        meaning: "field of the algorithm's state",
    };
    let of_rule = |rule: RuleInWords| RuleJson {
        qdisc: rule.kind,
        rule: rule.rule.id,
        text: rule.text,
        source: rule.source,
    };
    StoryJson {
        packet: story.number,
        qdisc: story.qdisc.clone(),
        what: story.what.clone(),
        bytes: story.length,
        arrival_ns: story.known.arrived.as_nanos(),
        departure_ns: story.known.ended.as_nanos(),
        sojourn_ns: story.waited().as_nanos(),
        found_packets: story.arrival.packets,
        found_bytes: story.arrival.bytes,
        fate,
        reason,
        sentences: story.sentences(),
        rules: story.rules().into_iter().map(of_rule).collect(),
        state: story.values().iter().map(of_value).chain(story.state().iter().map(of_state)).collect(),
    }
}

/// Returns a field of an algorithm's state.
fn recalled(value: &Recalled) -> Value {
    match value {
        Recalled::Quantity(quantity) => number(*quantity),
        Recalled::Text(text) => json!(text),
    }
}

/// Returns a value in the unit that [`unit`] names.
fn number(value: Quantity) -> Value {
    match value {
        Quantity::Span(span) | Quantity::In(span) => json!(seconds(span)),
        Quantity::Ago(span) => json!(-seconds(span)),
        Quantity::Difference(number) | Quantity::Real(number) | Quantity::Fraction(number) => json!(number),
        Quantity::Packets(number) | Quantity::Bytes(number) | Quantity::Number(number) => json!(number),
        Quantity::Credit(number) => json!(number),
        Quantity::Rate(rate) => json!(rate.as_bps()),
        Quantity::Flag(flag) => json!(flag),
        Quantity::Word(word) => json!(word),
        _ => Value::Null,
    }
}

/// Returns the unit of a value; `None` for numbers without one, words and flags.
fn unit(value: Quantity) -> Option<&'static str> {
    Some(match value {
        Quantity::Span(_) | Quantity::Difference(_) => "s",
        Quantity::In(_) | Quantity::Ago(_) => "s after the decision",
        Quantity::Packets(_) => "packets",
        Quantity::Bytes(_) | Quantity::Credit(_) => "bytes",
        Quantity::Fraction(_) => "fraction of 1",
        Quantity::Rate(_) => "bit/s",
        _ => return None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
fn seconds(span: goodqueue::Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// Runs that an error names.
const MOST_NAMED: usize = 8;
