//! `goodqueue schema`: the JSON schemas of scenario files, and of everything that `--json` writes.
//!
//! That of scenario files follows from the declarations of their keys. Most other schemas follow
//! from the types that are written: their doc comments are the descriptions. Lists and live
//! statistics have no types; their schemas are written here.

#[cfg(feature = "papers")]
mod papers;
mod parts;

use clap::Args;
use goodqueue_advise::Advice;
#[cfg(feature = "papers")]
use goodqueue_papers::validate::Row;
use goodqueue_scenario::results::{LinkResult, Results};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use self::parts::{adopt, array, count, number, object, of, text, with_optional};
use super::explain::between;
use super::replay::{beside, compare};
use super::{Ending, Outcome, story};
use crate::output;

/// Print the JSON schema of scenario files, or of a format that --json writes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue schema                the names of all formats
  goodqueue schema results        what compare and run write
  goodqueue schema scenario       scenario files, for editors
  goodqueue schema story > story.schema.json")]
pub(crate) struct SchemaArgs {
    /// Name of the format [default: list the formats].
    format: Option<String>,
}

/// One format.
struct Format {
    name: &'static str,
    /// The commands that write it; what it is, if none does.
    written_by: &'static str,
    schema: fn() -> Value,
}

const FORMATS: &[Format] = &[
    Format { name: "scenario", written_by: "scenario files", schema: goodqueue_scenario::scenario::schema },
    Format { name: "results", written_by: "compare, run", schema: of::<Results> },
    Format {
        name: "story",
        written_by: "compare --explain, replay --explain",
        schema: of::<story::StoryJson>,
    },
    Format { name: "comparison", written_by: "replay --compare", schema: of::<Vec<compare::Comparison>> },
    Format {
        name: "side-by-side",
        written_by: "replay with several --qdisc",
        schema: of::<Vec<beside::Line>>,
    },
    #[cfg(feature = "papers")]
    Format { name: "verdicts", written_by: "reproduce", schema: papers::verdicts },
    #[cfg(feature = "papers")]
    Format { name: "validation", written_by: "validate", schema: of::<Vec<Row>> },
    Format { name: "advice", written_by: "advise", schema: of::<Advice> },
    Format { name: "list", written_by: "list", schema: list },
    Format { name: "explanation", written_by: "explain", schema: explanation },
    Format { name: "variants", written_by: "explain --between", schema: of::<between::Between> },
    Format { name: "live", written_by: "shell, shape, stats", schema: live },
    Format { name: "requirements", written_by: "shell --check", schema: requirements },
    Format { name: "tc-stats", written_by: "--tc-stats, stats --format tc-json", schema: tc_stats },
];

pub(crate) fn main(args: &SchemaArgs) -> Outcome {
    let Some(name) = &args.format else {
        let lines = FORMATS.iter().map(|format| format!("{:13}  {}\n", format.name, format.written_by));
        output::print(&lines.collect::<String>())?;
        return Ok(Ending::Done);
    };
    let Some(format) = FORMATS.iter().find(|format| format.name == name) else {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        return Err(Diagnostic::new(format!("there is no format `{name}`"))
            .one_of(name, &names)
            .in_argument("FORMAT", name));
    };
    let mut schema = (format.schema)();
    finish(&mut schema);
    schema["title"] = json!(format!("goodqueue {}: {}", format.name, format.written_by));
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Diagnostic::new(format!("the schema cannot be printed: {error}")))?;
    output::print(&format!("{text}\n"))?;
    Ok(Ending::Done)
}

#[cfg(target_os = "linux")]
fn requirements() -> Value {
    of::<Vec<super::shell::check::Requirement>>()
}

/// Other systems have no live part, and write no such file.
#[cfg(not(target_os = "linux"))]
fn requirements() -> Value {
    array("Requirements of the live part.", json!({}))
}

/// Forbids keys that a schema does not name, joins the lines of descriptions, and adds units that
/// follow from names.
fn finish(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) {
                // A test validates the output of every command. A key without an entry in the
                // schema must fail it. Objects that are open on purpose, such as options in tc's
                // format, have said so before.
                fields.entry("additionalProperties").or_insert(json!(false));
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                // Most descriptions are doc comments, which are wrapped in the source.
                *text = text.replace('\n', " ");
            }
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                for (name, of) in properties.iter_mut() {
                    if let (Some(unit), Value::Object(of)) = (unit(name), of) {
                        of.insert("x-unit".to_owned(), json!(unit));
                    }
                }
            }
            fields.values_mut().for_each(finish);
        }
        Value::Array(items) => items.iter_mut().for_each(finish),
        _ => {}
    }
}

/// Returns the unit of a key, which its end names.
fn unit(key: &str) -> Option<&'static str> {
    let ends = [
        ("_s", "s"),
        ("_ns", "ns"),
        ("_bps", "bit/s"),
        ("bytes", "bytes"),
        ("packets", "packets"),
        ("_rpm", "round trips per minute"),
    ];
    ends.into_iter().find(|(end, _)| key.ends_with(end)).map(|(_, unit)| unit)
}

fn list() -> Value {
    let mut kinds = vec![qdisc(), controller(), profile(), listed_scenario(), link()];
    #[cfg(feature = "papers")]
    kinds.extend([papers::paper(), papers::claim()]);
    kinds.push(overview());
    json!({
        "$schema": DRAFT,
        "description": "Entries of one kind.",
        "type": "array",
        "items": { "anyOf": kinds },
    })
}

fn constants() -> Value {
    let constant = object(
        "A constant.",
        json!({
            "name": text("Name in the standard."),
            "value": text("Value with its unit."),
            "source": text("Where the value comes from."),
        }),
    );
    array("Constants.", constant)
}

fn parameters(description: &str) -> Value {
    let parameter = object(
        "A parameter.",
        json!({
            "name": text("Name in tc's grammar or in a scenario."),
            "unit": text("Kind of the value."),
            "default": text("Value without the parameter."),
            "source": text("Where the default comes from."),
            "range": text("Allowed values; empty if every value is."),
            "doc": text("Meaning."),
        }),
    );
    array(description, parameter)
}

fn named(description: &str) -> Value {
    object(description, json!({ "name": text("Name."), "doc": text("Meaning.") }))
}

/// Returns the keys that disciplines and congestion controls share.
fn algorithm() -> Value {
    json!({
        "name": text("Name."),
        "summary": text("Purpose in a sentence."),
        "reference": text("RFC, paper or implementation."),
        "variants": array("Variants, the default first.", named("Whose decisions are meant.")),
        "parameters": parameters("Parameters."),
    })
}

fn qdisc() -> Value {
    with_optional(
        object("A queue discipline (`list qdiscs`).", algorithm()),
        json!({
            "keywords": array("Words that stand for settings.", named("A keyword.")),
            "class_parameters": parameters("Parameters of a class."),
            "preset_of": text("The line that a preset stands for."),
        }),
    )
}

fn controller() -> Value {
    let mut keys = algorithm();
    keys["constants"] = constants();
    with_optional(
        object("A congestion control (`list tcps`).", keys),
        json!({ "hystart": {
            "type": "object",
            "description": "Constants of each slow-start algorithm that it can use.",
            "additionalProperties": constants(),
        } }),
    )
}

fn profile() -> Value {
    let selected = object(
        "A congestion control that the profile selects.",
        json!({
            "name": text("Name as given."),
            "stands_for": text("The congestion control that is used."),
        }),
    );
    object(
        "A TCP profile (`list profiles`).",
        json!({
            "name": text("Name."),
            "summary": text("The implementation that it imitates."),
            "sources": array("Where the settings come from.", json!({ "type": "string" })),
            "settings": {
                "type": "object",
                "description": "Settings by their keys.",
                "additionalProperties": { "type": "string" },
            },
            "congestion_controls": array("Congestion controls under this profile.", selected),
        }),
    )
}

fn listed_scenario() -> Value {
    let or_null = |description: &str| json!({ "type": ["string", "null"], "description": description });
    object(
        "A built-in scenario (`list scenarios`).",
        json!({
            "name": text("Name."),
            "title": or_null("Title."),
            "question": or_null("The question that it answers."),
            "expect": or_null("The expected answer."),
            "source": or_null("Where it comes from."),
        }),
    )
}

fn link() -> Value {
    object(
        "A kind of access line (`list links`).",
        json!({
            "name": text("Name."),
            "title": text("The line in words."),
            "rtt": text("Base round-trip time."),
            "mtu": count("Longest packet in bytes."),
            "overhead": { "type": "integer", "description": "Bytes that the line adds to each packet." },
            "mpu": count("Smallest packet on the line in bytes."),
            "source": text("Where the values come from."),
        }),
    )
}

fn overview() -> Value {
    object(
        "A kind of entries (`list` without a kind).",
        json!({
            "name": text("Name of the kind."),
            "summary": text("What its entries are."),
            "entries": array("Names of the entries.", json!({ "type": "string" })),
        }),
    )
}

fn explanation() -> Value {
    let mut schema = object(
        "The documentation of a discipline, or of the scenario format.",
        json!({
            "name": text("Name of the page."),
            "page": text("The page in Markdown."),
        }),
    );
    schema["$schema"] = json!(DRAFT);
    schema
}

/// Live statistics: `stats` adds the recent past and the flows to what `shell` writes at its end.
fn live() -> Value {
    let mut outer = json!({ "$schema": DRAFT });
    let mut side = of::<LinkResult>();
    adopt(&mut outer, &mut side);
    side["description"] = json!("The queue and the link of one direction.");
    side["properties"]["queued"] = object(
        "Waiting now.",
        json!({
            "packets": count("Packets queued."),
            "bytes": count("Bytes queued."),
        }),
    );
    side["properties"]["propagating_packets"] = count("Packets on their way behind the link.");
    if let Some(required) = side["required"].as_array_mut() {
        required.extend([json!("queued"), json!("propagating_packets")]);
    }
    let mut interface = object(
        "An interface; null if the kernel does not tell.",
        json!({
            "interface_dropped": count("Packets that the kernel dropped there."),
            "interface_up": { "type": "boolean", "description": "The interface is up." },
            "mtu": count("Longest packet in bytes."),
        }),
    );
    interface["type"] = json!(["object", "null"]);
    let both = |description: &str, of: Value| object(description, json!({ "down": of, "up": of }));
    let flows = array("Flows.", flow());
    let mut history = both("The recent past.", past());
    history["properties"]["step_s"] = number("Length of a step.");
    let percentiles = object(
        "Percentiles of sojourn times in seconds; null if no packet left.",
        json!({ "p50": number_or_null("Median."), "p95": number_or_null("95th."), "p99": number_or_null("99th.") }),
    );
    let mut recent = both("The last seconds (`stats` only).", percentiles);
    recent["properties"]["seconds"] = count("Number of these seconds, at most 10.");
    let schema = with_optional(
        object(
            "A live bottleneck.",
            json!({
                "goodqueue": text("Version."),
                "duration_s": number("Time since the start."),
                "down": side, "up": side,
                "client": interface, "server": interface,
                "process": process(),
            }),
        ),
        json!({ "recent": recent, "history": history, "flows": both("Flows seen last (`stats` only).", flows) }),
    );
    let Value::Object(schema) = schema else { return outer };
    if let Some(fields) = outer.as_object_mut() {
        fields.extend(schema);
    }
    outer
}

fn process() -> Value {
    object(
        "The process that forwards packets.",
        json!({
            "read_packets": count("Packets read."),
            "written_packets": count("Packets written."),
            "not_written_packets": count("Packets that the kernel did not take."),
            "out_of_memory_packets": count("Packets dropped because the memory was used up."),
            "contradictory_packets": count("Packets whose headers contradict each other."),
            "late_wakeups": count("How often the process woke up late."),
            "latest_s": number("The longest delay of a wake-up."),
            "memory_bytes": count("Memory of queued packets."),
            "memory_max_bytes": count("The most that it was."),
        }),
    )
}

fn number_or_null(description: &str) -> Value {
    json!({ "type": ["number", "null"], "description": description })
}

fn past() -> Value {
    object(
        "Steps of one direction, the oldest first.",
        json!({
            "sojourn_mean_s": array("Mean sojourn time; null if no packet left.", number_or_null("Mean.")),
            "bytes": array("Bytes that left.", count("Bytes.")),
            "drops": array("Packets dropped.", count("Packets.")),
            "queued": array("Packets queued at the end of the step.", count("Packets.")),
        }),
    )
}

fn flow() -> Value {
    object(
        "A flow that was seen.",
        json!({
            "protocol": { "description": "Protocol: a name, or its number." },
            "source": { "description": "Address and port of the sender." },
            "destination": { "description": "Address and port of the receiver." },
            "throughput_bps": count("Bits in the last second."),
            "sojourn_mean_s": number_or_null("Mean sojourn time in the last second."),
            "queued_packets": count("Packets queued now."),
            "packets": count("Packets sent."),
            "bytes": count("Bytes sent."),
            "dropped": count("Packets dropped."),
            "marked": count("Packets marked."),
        }),
    )
}

/// tc's own format is open: each discipline has its options and values. What we add is not.
fn tc_stats() -> Value {
    let pair = |description: &str| {
        object(description, json!({ "packets": count("Packets."), "bytes": count("Bytes.") }))
    };
    let mut own = object(
        "Everything that tc does not know.",
        json!({
            "offered": pair("Arrived."),
            "enqueued": pair("Queued."),
            "dequeued": pair("Sent."),
            "dropped_before_enqueue": pair("Dropped at arrival."),
            "dropped_after_enqueue": pair("Dropped while queued."),
            "marked": pair("Marked."),
        }),
    );
    own = with_optional(
        own,
        json!({
            "variant": text("Variant of the discipline."),
            "sojourn_s": { "type": "object", "description": "Sojourn times of the root, after the warm-up." },
            "classes": array("Classes of htb, drr and qfq.", json!({ "type": "object" })),
            "run": { "type": "object", "description": "The simulated run: qdisc, seed, sweep." },
            "recording": text("The recording that was replayed."),
        }),
    );
    let mut qdisc = object(
        "A discipline in the form of `tc -s -j qdisc show`.",
        json!({
            "kind": text("Name of the discipline."),
            "handle": text("Handle; invented, 1: is the root."),
            "options": { "type": "object", "description": "Options by tc's names, in tc's units." },
            "bytes": count("Bytes sent."),
            "packets": count("Packets sent."),
            "drops": count("Packets dropped."),
            "overlimits": count("How often a limit was reached."),
            "requeues": count("Always 0."),
            "backlog": count("Bytes queued."),
            "qlen": count("Packets queued."),
            "goodqueue": own,
        }),
    );
    // `finish` leaves an object open that says so.
    qdisc["additionalProperties"] = json!(true);
    json!({ "$schema": DRAFT, "type": "array", "items": qdisc, "description": "Disciplines, parents first." })
}

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
