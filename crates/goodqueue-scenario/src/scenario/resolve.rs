//! The parts of a scenario that refer to each other, and checks across them.

use goodqueue::Duration;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde_json::json;

use super::document::Document;
use super::ends::LinkEnd;
use super::flows::{FlowGroup, read_traffic};
use super::form::{Form, Own};
use super::hops::{Hop, Side, read_hops};
use super::keys::Table;
use super::link::{BottleneckLink, Line, LinkContext};
use super::names::{Choices, Names};
use super::output::Output;
use super::plain::{TEXT, Time, time};
use super::reader::Reader;
use super::tcp::{Tcp, TcpDefaults, default_tcp, tcp_keys};
use super::traffic::FlowContext;
use super::wifi::{Wifi, read_wifi};

/// The parts of a scenario that refer to each other.
pub(super) struct Parts {
    pub(super) link: BottleneckLink,
    pub(super) hops: Vec<Hop>,
    pub(super) wifi: Option<Wifi>,
    pub(super) tcp: Tcp,
    pub(super) flows: Vec<FlowGroup>,
    pub(super) output: Output,
}

impl Parts {
    pub(super) fn read(root: &Reader<'_>, names: &Names<'_>) -> Result<Self, Diagnostic> {
        // Each part is read after the parts to which its keys refer.
        let duration = DURATION.given(root, "duration")?.unwrap_or(DEFAULT_DURATION);
        let ends = LinkContext { line: read_line(root)?, duration };
        let link = BottleneckLink::read(&table(root, "link", &BottleneckLink::TABLE)?, &ends)?;
        let hops = read_hops(root, &link, &ends)?;
        let tcp_table = root.table("tcp", "[tcp]")?;
        tcp_table.only(&tcp_keys(root.document().extensions()))?;
        let names = &Choices::from_document(root.document(), names);
        let tcp = &default_tcp(root.document(), &link, names);
        let defaults = TcpDefaults { tcp, link: &link, names };
        let tcp = Tcp::read(&tcp_table, &defaults)?;
        let around = FlowContext { link: &link, tcp: &tcp, hops: &hops, duration, names };
        let flows = read_traffic(root, &around)?;
        check_distances(root, &hops, &flows)?;
        check_pauses(root, &link, &hops)?;
        let wifi = read_wifi(root, &link, &flows)?;
        let output = Output::read(&table(root, "output", &Output::TABLE)?, duration)?;
        Ok(Self { link, hops, wifi, tcp, flows, output })
    }
}

/// Simulated time.
pub(super) const DURATION: Time =
    time("a run of {} is not possible", Duration::from_nanos(1)..=Duration::from_secs(1_000_000));
/// Names go into paths: nothing that a file system or a shell gives a meaning to.
pub(super) const NAME: Own<String> = Own {
    read: |table, key, node| {
        let given = TEXT.read(table, key, node)?;
        if !given.is_empty() && given.len() <= MAX_NAME && !given.starts_with('.') && given.chars().all(plain)
        {
            return Ok(given);
        }
        let message = Diagnostic::new(format!("`{}` cannot be the name of files", shortened(&given)));
        Err(table.error(
            key,
            message
                .allowed(format!(
                    "1 to {MAX_NAME} of the characters A-Z a-z 0-9 . _ -, not beginning with a dot"
                ))
                .help("put free text into `title`"),
        ))
    },
    write: |name| json!(name),
    schema: || json!({ "type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$", "maxLength": MAX_NAME }),
    quantity: None,
};

fn plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._-".contains(character)
}

/// The name of a scenario without a name.
pub(super) fn name_of_file(document: &Document) -> String {
    // A document without a file is that of `goodqueue compare` without arguments, the load of RRUL.
    let stem: String = document.stem().unwrap_or("rrul").chars().take(MAX_NAME).collect();
    let mut name = stem.replace(|character| !plain(character), "-");
    if name.starts_with('.') || name.is_empty() {
        name.insert(0, '-');
        // Each of its characters is ASCII now, so the cut is between two of them.
        name.truncate(MAX_NAME);
    }
    name
}

/// The table under `key`, which has no other keys than `keys`.
fn table<'d>(root: &Reader<'d>, key: &str, keys: &Table) -> Result<Reader<'d>, Diagnostic> {
    let table = root.table(key, &format!("[{key}]"))?;
    table.only(&keys.names())?;
    Ok(table)
}

fn read_line(root: &Reader<'_>) -> Result<Option<Line>, Diagnostic> {
    match root.node("line") {
        Some(_) => Line::read(&table(root, "line", &Line::TABLE)?, ()).map(Some),
        None => Ok(None),
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
    // From this position of the path to the next one the delay differs by flow.
    let rest = hops.iter().filter(|hop| hop.side == Side::Server).position(|hop| hop.rest);
    for (position, ends) in path.iter().enumerate() {
        // Packets to the clients come from the previous link of the path, packets to the servers
        // from the next one.
        let before = [position.checked_sub(1), Some(position + 1)];
        for (end, before) in ends.iter().zip(before).filter(|(end, _)| end.pause.is_some()) {
            // A PAUSE frame belongs to no flow, so it has no delay there.
            if rest.is_some() && before.map(|before| before.min(position)) == rest {
                let message = Diagnostic::new("`pause` cannot stop a link across `rest = true`");
                let help = "give the hop with `rest` a `delay` instead, or remove `pause`";
                return Err(root.error("hops", message.help(help)));
            }
            let Some(paused) = before.and_then(|before| path.get(before)) else {
                let message = Diagnostic::new("no link is before this one, so `pause` stops nothing");
                return Err(root.error("link", message.help("remove `pause`, or add a hop before the link")));
            };
            if paused.iter().any(|end| end.grants.is_some()) {
                let message = Diagnostic::new("a link with `grants` cannot be paused");
                return Err(
                    root.error("link", message.help("remove `pause`, or `grants` of the link before"))
                );
            }
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

/// That of an absent `duration`.
const DEFAULT_DURATION: Duration = Duration::from_secs(60);
const MAX_NAME: usize = 100;
