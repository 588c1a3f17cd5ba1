//! `qdiscs`: the disciplines that a scenario compares.

use goodqueue::{AnyConfig, Direction, Link};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde_json::{Value, json};

use super::document::{BOTH, Document, Node, Raw, label_of_line, label_of_lines};
use super::ends::LinkRate;
use super::form::{Context, object};
use super::link::BottleneckLink;
use super::reader::Reader;

/// The disciplines of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct QdiscChoice {
    /// How results call it: the line as given, unless the scenario says otherwise.
    pub label: String,
    /// On the link towards the client.
    pub down: Discipline,
    /// On the link from the client.
    pub up: Discipline,
}

/// A discipline as given, and its configuration on its link.
#[derive(Clone, PartialEq, Debug)]
pub struct Discipline {
    /// The line as given.
    pub given: String,
    /// With every default filled in.
    pub config: AnyConfig,
}

pub(super) fn read_qdiscs(root: &Reader<'_>, link: &BottleneckLink) -> Result<Vec<QdiscChoice>, Diagnostic> {
    let document = root.document();
    let mut choices: Vec<QdiscChoice> = Vec::new();
    let listed = match root.node("qdiscs") {
        None => {
            // Each direction is read by itself, because a line derives its defaults from the rate
            // of its link.
            let default = |line: &&str| {
                let discipline = |direction: Direction, rate: &LinkRate| {
                    let config = tc::parse(line, &link.as_seen_by_qdisc(direction, rate))?;
                    Ok(Discipline { given: (*line).to_owned(), config })
                };
                let down = discipline(Direction::Down, &link.down.rate)?;
                let up = discipline(Direction::Up, &link.up.rate)?;
                Ok(QdiscChoice { label: (*line).to_owned(), down, up })
            };
            return DEFAULT_QDISCS.iter().map(default).collect();
        }
        Some(Node { raw: Raw::List(items), .. }) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    for node in listed {
        let choice = match &node.raw {
            Raw::Text(line) => read_line(document, node, line, link)?,
            _ => read_qdisc_table(document, node, link)?,
        };
        // Means over seeds are made of the runs with one label.
        if choices.iter().any(|earlier| earlier.label == choice.label) {
            let message = Diagnostic::new(format!("`{}` is listed twice", shortened(&choice.label)));
            return Err(document.at(message.help("remove one of the two, or give it another label"), node));
        }
        choices.push(choice);
    }
    if choices.is_empty() {
        return Err(
            root.error("qdiscs", Diagnostic::new("the list is empty").allowed("at least one discipline"))
        );
    }
    Ok(choices)
}

/// Reads a line for both directions, or one for each: `DOWN / UP`. Tables call the disciplines so,
/// and what stands in a table can be given again.
fn read_line(
    document: &Document,
    node: &Node,
    line: &str,
    link: &BottleneckLink,
) -> Result<QdiscChoice, Diagnostic> {
    // tc writes `burst 5000/8` without spaces, so ` / ` is free.
    let (down_line, up_line) = line.split_once(BOTH).unwrap_or((line, line));
    let down =
        read_discipline(document, node, down_line, &link.as_seen_by_qdisc(Direction::Down, &link.down.rate))?;
    let link = link.as_seen_by_qdisc(Direction::Up, &link.up.rate);
    let config = document.files().discipline(up_line, &link, document.disciplines()).map_err(|error| {
        let begins = line.len() - up_line.len();
        document.at(error.shifted(begins), node)
    })?;
    let up = Discipline { given: up_line.to_owned(), config };
    Ok(QdiscChoice { label: label_of_line(line), down, up })
}

fn read_qdisc_table(
    document: &Document,
    node: &Node,
    link: &BottleneckLink,
) -> Result<QdiscChoice, Diagnostic> {
    let Raw::Table(_) = node.raw else {
        let message = Diagnostic::new(format!("{} is not a queue discipline", node.sort()));
        let form =
            "a line in tc's grammar in quotes, or a table { label = \"...\", down = \"...\", up = \"...\" }";
        return Err(document.at(message.allowed(form), node));
    };
    let table = Reader::of_table(document, node, "the table in `qdiscs`")?;
    table.only(&["label", "down", "up"])?;
    let missing = || Diagnostic::new("the table in `qdiscs` has no `down`").allowed("a line in tc's grammar");
    let (Some(down_line), Some(down_node)) = (table.text("down")?, table.node("down")) else {
        return Err(document.at(missing(), node));
    };
    let (up_line, up_node) = match (table.text("up")?, table.node("up")) {
        (Some(line), Some(up_node)) => (line, up_node),
        _ => (down_line, down_node),
    };
    let label = match table.text("label")? {
        Some("") => return Err(table.error("label", Diagnostic::new("the label is empty"))),
        Some(label) if label.len() > MAX_LABEL => {
            let message =
                Diagnostic::new("the label is too long").allowed(format!("at most {MAX_LABEL} bytes"));
            return Err(table.error("label", message));
        }
        Some(label) => label.to_owned(),
        None => label_of_lines(down_line, up_line),
    };
    let down = read_discipline(
        document,
        down_node,
        down_line,
        &link.as_seen_by_qdisc(Direction::Down, &link.down.rate),
    )?;
    let up =
        read_discipline(document, up_node, up_line, &link.as_seen_by_qdisc(Direction::Up, &link.up.rate))?;
    Ok(QdiscChoice { label, down, up })
}

pub(super) fn read_discipline(
    document: &Document,
    node: &Node,
    line: &str,
    link: &Link,
) -> Result<Discipline, Diagnostic> {
    let config = document.files().discipline(line, link, document.disciplines());
    let config = config.map_err(|error| document.at(error, node))?;
    Ok(Discipline { given: line.to_owned(), config })
}

/// Lines, or tables with lines.
pub(super) const QDISCS: Context<Vec<QdiscChoice>> = Context {
    write: |choices| {
        let one = |choice: &QdiscChoice| {
            json!({
                "label": choice.label,
                "down": tc::to_tc(&choice.down.config),
                "up": tc::to_tc(&choice.up.config),
            })
        };
        choices.iter().map(one).collect()
    },
    schema: || {
        let label = json!({ "type": "string", "description": "Name in results. Default: the lines." });
        let table = json!({ "label": label, "down": line_schema(), "up": line_schema() });
        let one = json!({ "anyOf": [line_schema(), object(&table, &["down"])] });
        json!({ "anyOf": [line_schema(), { "type": "array", "items": one, "minItems": 1 }] })
    },
    quantity: None,
};

/// Returns the JSON schema of a line.
pub(super) fn line_schema() -> Value {
    json!({
        "type": "string",
        "description": "Queue discipline in tc's grammar, such as \"fq_codel limit 1000\"; `goodqueue list qdiscs` shows all.",
    })
}

/// One of each family: tail drop with the buffer of a modem, AQM on one queue, flow queueing
/// without and with AQM. 256 kB is a common buffer of modems (Kreibich et al., Netalyzr:
/// Illuminating the Edge Network, IMC 2010).
pub(crate) const DEFAULT_QDISCS: &[&str] =
    &["bfifo limit 256kb", "red adaptive", "pie", "codel", "sfq", "fq_codel", "cake"];

const MAX_LABEL: usize = 200;
