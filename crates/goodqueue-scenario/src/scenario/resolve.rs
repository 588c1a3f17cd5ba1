//! From a document to a scenario: defaults filled in, units read, traces loaded, ranges checked.

use std::path::{Component, Path};

use goodqueue::Duration;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;

use super::discipline::read_qdiscs;
use super::document::{Document, Node, Raw};
use super::flows::{FlowGroup, read_traffic};
use super::hops::{Hop, Side, read_hops};
use super::link::{BottleneckLink, LinkEnd, read_link};
use super::names::Names;
use super::reader::{Reader, measured};
use super::resolved::{Output, Scenario};
use super::tcp::{TCP_KEYS, Tcp, TcpDefaults, default_tcp};
use super::wifi::read_wifi;
use crate::series_step;

impl Document {
    /// The scenario that this document describes, without its sweep.
    ///
    /// # Errors
    /// An unknown key, a value of the wrong sort or out of range, a trace or a discipline that
    /// cannot be read.
    pub fn resolve(&self, names: &Names<'_>) -> Result<Scenario, Diagnostic> {
        let root = Reader::root(self);
        root.only(ROOT_KEYS)?;
        let duration = root.time("duration")?.unwrap_or(DEFAULT_DURATION);
        if duration.is_zero() || duration > MAX_DURATION {
            let message = Diagnostic::new(format!("a run of {duration} is not possible"));
            return Err(
                root.error("duration", message.allowed(format!("more than 0s, at most {MAX_DURATION}")))
            );
        }
        let warmup = root.time("warmup")?.unwrap_or(Duration::ZERO);
        if warmup >= duration {
            let message =
                Diagnostic::new(format!("a warm-up of {warmup} leaves nothing of a run of {duration}"));
            return Err(root.error("warmup", message.allowed("less than the duration")));
        }
        let seeds = root.small("seeds", 1, 1, MAX_SEEDS)?;
        let link = read_link(&root, duration)?;
        let hops = read_hops(&root, &link, duration)?;
        let tcp_table = root.table("tcp", "[tcp]")?;
        tcp_table.only(&TCP_KEYS)?;
        let defaults = TcpDefaults { tcp: &default_tcp(&link, names), link: &link, names };
        let tcp = Tcp::read(&tcp_table, &defaults)?;
        let flows = read_traffic(&root, (&link, &hops), &tcp, duration, names)?;
        check_distances(&root, &hops, &flows)?;
        check_pauses(&root, &link, &hops)?;
        Ok(Scenario {
            name: read_name(&root)?,
            title: read_words(&root, "title")?,
            question: read_words(&root, "question")?,
            expect: read_words(&root, "expect")?,
            source: read_words(&root, "source")?,
            duration,
            warmup,
            seed: root.integer("seed", 1, 0, u64::MAX - u64::from(seeds))?,
            seeds,
            qdiscs: read_qdiscs(&root, &link)?,
            output: read_output(&root, duration)?,
            wifi: read_wifi(&root, &link, &flows)?,
            flows,
            link,
            hops,
            tcp,
        })
    }
}

/// The delays of the hops and of the access are parts of every flow's round-trip time.
fn check_distances(root: &Reader<'_>, hops: &[Hop], flows: &[FlowGroup]) -> Result<(), Diagnostic> {
    let between = |group: &FlowGroup| Hop::delay_from(hops, group.enters.as_deref()).saturating_mul(2);
    let left = |group: &FlowGroup| group.rtt.saturating_sub(group.access.saturating_mul(2));
    let too_near = flows.iter().filter(|group| left(group) < between(group));
    let Some(flow) = too_near.min_by_key(|group| left(group)) else { return Ok(()) };
    let between = between(flow);
    let of_access =
        if flow.access.is_zero() { String::new() } else { format!(" with {} of access", flow.access) };
    let message = Diagnostic::new(format!(
        "the delays of the hops take {between} there and back, a flow's base round-trip time{of_access} is {}",
        flow.rtt
    ));
    Err(root.error(
        "hops",
        message.allowed("delays within the shortest `rtt`").help("lower a `delay`, or raise `rtt`"),
    ))
}

/// A device can pause only a link before its buffer, and a pause has a length only at a rate that
/// is never 0. The PAUSE frames take the other direction of that link.
fn check_pauses(root: &Reader<'_>, link: &BottleneckLink, hops: &[Hop]) -> Result<(), Diagnostic> {
    let on = |side| hops.iter().filter(move |hop| hop.side == side).map(|hop| [&hop.down, &hop.up]);
    let path: Vec<[&LinkEnd; 2]> =
        on(Side::Server).chain([[&link.down, &link.up]]).chain(on(Side::Client)).collect();
    for (position, ends) in path.iter().enumerate() {
        let before = [position.checked_sub(1), Some(position + 1)];
        for (end, before) in ends.iter().zip(before).filter(|(end, _)| end.pause.is_some()) {
            let Some(paused) = before.and_then(|before| path.get(before)) else {
                let message = Diagnostic::new("no link is before this one, so `pause` stops nothing");
                return Err(root.error("link", message.help("remove `pause`, or add a hop before the link")));
            };
            if !paused.iter().all(|end| end.rate.always_sends()) {
                let message = Diagnostic::new(format!(
                    "the pause of a link ({}) needs a rate above 0 in both directions",
                    end.to_json()
                ));
                let message = message.allowed("a rate, or a schedule of rates above 0");
                return Err(
                    root.error("link", message.help("give the link before the one with `pause` a rate"))
                );
            }
        }
    }
    Ok(())
}

/// Names go into paths: nothing that a file system or a shell gives a meaning to.
fn read_name(root: &Reader<'_>) -> Result<String, Diagnostic> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let Some(given) = root.text("name")? else {
        let stem: String = root.document().stem().unwrap_or("rrul").chars().take(MAX_NAME).collect();
        let mut name = stem.replace(|character| !plain(character), "-");
        if name.starts_with('.') || name.is_empty() {
            name.insert(0, '-');
        }
        return Ok(name);
    };
    if given.is_empty() || given.len() > MAX_NAME || given.starts_with('.') || !given.chars().all(plain) {
        let message = Diagnostic::new(format!("`{}` cannot be the name of files", shortened(given)));
        return Err(root.error(
            "name",
            message
                .allowed(format!(
                    "1 to {MAX_NAME} of the characters A-Z a-z 0-9 . _ -, not beginning with a dot"
                ))
                .help("put free text into `title`"),
        ));
    }
    Ok(given.to_owned())
}

fn read_words(root: &Reader<'_>, key: &str) -> Result<String, Diagnostic> {
    let text = root.text(key)?.unwrap_or("");
    if text.len() > MAX_WORDS {
        let message = Diagnostic::new("the text is too long").allowed(format!("at most {MAX_WORDS} bytes"));
        return Err(root.error(key, message.at(0..0)));
    }
    Ok(text.to_owned())
}

fn read_output(root: &Reader<'_>, duration: Duration) -> Result<Output, Diagnostic> {
    let table = root.table("output", "[output]")?;
    table.only(&["json", "report", "series", "spikes"])?;
    let series = table.time("series")?;
    if let Some(step) = series {
        series_step::check(step, duration).map_err(|error| table.error("series", error))?;
        if step > duration {
            let message = Diagnostic::new(format!("a step of {step} is longer than the run"));
            return Err(table.error("series", message.allowed(format!("at most {duration}"))));
        }
    }
    let json = read_file_name(&table, "json", &[".json"])?;
    let report = read_file_name(&table, "report", &[".html", ".htm"])?;
    Ok(Output { json, report, series, spikes: read_spikes(&table)? })
}

/// A name below the working directory. Scenarios come from others, and must not choose any file of
/// who runs them.
fn read_file_name(table: &Reader<'_>, key: &str, ends: &[&str]) -> Result<Option<String>, Diagnostic> {
    let Some(name) = table.text(key)? else { return Ok(None) };
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(part) => !part.as_encoded_bytes().starts_with(b"."),
        Component::CurDir => true,
        _ => false,
    };
    let is_below = Path::new(name).components().all(is_plain) && !name.contains(char::is_control);
    if is_below && ends.iter().any(|end| name.to_lowercase().ends_with(end)) {
        return Ok(Some(name.to_owned()));
    }
    let message = Diagnostic::new(format!("a scenario cannot write to `{}`", shortened(name)));
    let ends = ends.join(" or ");
    Err(table.error(
        key,
        message
            .allowed(format!(
                "a name below the working directory that ends with {ends}, without `..` and hidden folders or files"
            ))
            .help(format!("`--{key} FILE` writes to any place")),
    ))
}

fn read_spikes(table: &Reader<'_>) -> Result<Vec<u64>, Diagnostic> {
    let form = "a list of sizes, such as [15000, \"25kb\"]";
    let Some(node) = table.node("spikes") else { return Ok(Vec::new()) };
    let Raw::List(items) = &node.raw else {
        return Err(table.error("spikes", Diagnostic::new("this is not a list").allowed(form)));
    };
    if items.len() > MAX_SPIKES {
        let message = Diagnostic::new(format!("{} thresholds are too many", items.len()));
        return Err(table.error("spikes", message.allowed(format!("at most {MAX_SPIKES}"))));
    }
    let document = table.document();
    let size = |item: &Node| match measured(item) {
        Some(text) => units::size(&text).map_err(|error| document.at(error, item)),
        None => Err(document.at(Diagnostic::new("this is not a size").allowed(form), item)),
    };
    items.iter().map(size).collect()
}

const ROOT_KEYS: &[&str] = &[
    "name", "title", "question", "expect", "source", "duration", "warmup", "seed", "seeds", "qdiscs", "line",
    "link", "hops", "wifi", "tcp", "flows", "sweep", "output",
];

const DEFAULT_DURATION: Duration = Duration::from_secs(60);

const MAX_DURATION: Duration = Duration::from_secs(1_000_000);
const MAX_SEEDS: u32 = 100_000;
const MAX_SPIKES: usize = 16;
const MAX_NAME: usize = 100;
const MAX_WORDS: usize = 10_000;
