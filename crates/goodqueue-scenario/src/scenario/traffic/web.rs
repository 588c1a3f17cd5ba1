//! `kind = "web"`: a browser that fetches the same page again and again.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::{WebPage, WebSettings};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::transfers::read_request;
use crate::scenario::document::{Node, Raw};
use crate::scenario::files::Files;
use crate::scenario::reader::{Reader, measured};
use crate::scenario::tcp::Tcp;

/// A browser.
#[derive(Clone, PartialEq, Debug)]
pub struct Web {
    /// How the ends of the connections behave.
    pub tcp: Tcp,
    /// Page that the browser fetches.
    pub page: Page,
    /// The sizes of its objects, which the flows share.
    pub objects: WebPage,
    /// Connections side by side.
    pub connections: u32,
    /// Bytes of a request.
    pub request: u64,
    /// Time from the beginning of a fetch to the beginning of the next.
    pub interval: Duration,
}

/// A web page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Page {
    /// 56 kB in 3 requests.
    Google,
    /// 3 MB in 110 requests.
    Huffpost,
    /// Objects of these sizes in bytes, the page itself first.
    Objects(Vec<u64>),
    /// Total bytes, divided among a number of requests.
    Divided {
        /// Bytes of all objects.
        size: u64,
        /// Objects.
        requests: u32,
    },
}

impl Page {
    fn read(table: &Reader<'_>) -> Result<Self, Diagnostic> {
        let Some(node) = table.node("page") else { return Ok(Self::Google) };
        match &node.raw {
            Raw::Text(name) => match name.as_str() {
                "google" => Ok(Self::Google),
                "huffpost" => Ok(Self::Huffpost),
                _ => {
                    let message = Diagnostic::new(format!("there is no page `{}`", shortened(name)));
                    Err(table.error("page", message.one_of(name, PAGES).help(FORMS)))
                }
            },
            Raw::Table(_) => Self::read_table(&Reader::of(table.document(), node, "`page`")?),
            _ => {
                let message = Diagnostic::new(format!("{} is not possible", node.sort()));
                Err(table.error("page", message.allowed(FORMS)))
            }
        }
    }

    fn read_table(table: &Reader<'_>) -> Result<Self, Diagnostic> {
        if table.node("objects").is_some() {
            table.only(&["objects"])?;
            return read_objects(table).map(Self::Objects);
        }
        table.only(&["size", "requests"])?;
        let requests = table.small("requests", 1, 1, MAX_OBJECTS)?;
        let Some(size) = table.size("size")? else {
            let message = Diagnostic::new("neither `objects` nor `size` is given");
            return Err(table.error("size", message.allowed(FORMS)));
        };
        if table.document().files().page(size, requests).is_none() {
            let message = Diagnostic::new(format!("{size} bytes are not possible in {requests} requests"));
            let least = 10 * u64::from(requests);
            return Err(table.error("size", message.allowed(format!("{least} bytes to 2^50"))));
        }
        Ok(Self::Divided { size, requests })
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Google => json!("google"),
            Self::Huffpost => json!("huffpost"),
            Self::Objects(sizes) => json!({ "objects": sizes }),
            Self::Divided { size, requests } => json!({ "size": size, "requests": requests }),
        }
    }

    fn objects(&self, files: &Files) -> Option<WebPage> {
        match self {
            Self::Google => Some(WebPage::google()),
            Self::Huffpost => Some(WebPage::huffpost()),
            Self::Objects(sizes) => WebPage::new(sizes.clone()),
            Self::Divided { size, requests } => files.page(*size, *requests),
        }
    }
}

fn read_objects(table: &Reader<'_>) -> Result<Vec<u64>, Diagnostic> {
    let allowed = format!("a list of 1 to {MAX_OBJECTS} sizes above 0, such as [20000, \"18kb\"]");
    let wrong =
        |what: &str| table.error("objects", Diagnostic::new(what.to_owned()).allowed(allowed.clone()));
    let Some(Node { raw: Raw::List(items), .. }) = table.node("objects") else {
        return Err(wrong("this is not a list"));
    };
    if items.is_empty() || items.len() > MAX_OBJECTS as usize {
        return Err(wrong(&format!("these are {} objects", items.len())));
    }
    let size = |node: &Node| {
        let text = measured(node).ok_or_else(|| wrong(&format!("{} is not possible", node.sort())))?;
        let bytes = units::size(&text).map_err(|error| table.document().at(error, node))?;
        if bytes == 0 || bytes > MAX_OBJECT {
            return Err(wrong(&format!("an object of {bytes} bytes is not possible")));
        }
        Ok(bytes)
    };
    items.iter().map(size).collect()
}

impl Web {
    /// Objects of the page.
    pub(crate) fn requests(&self) -> u64 {
        self.objects.requests() as u64
    }
}

impl Kind for Web {
    const NAME: &'static str = "web";
    const KEYS: &'static [&'static str] = &["page", "connections", "request", "interval"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let page = Page::read(table)?;
        let objects = page.objects(table.document().files());
        Ok(Self {
            objects: objects.ok_or_else(|| Diagnostic::new("a web page has no objects"))?,
            page,
            connections: table.small("connections", DEFAULT_CONNECTIONS, 1, 1000)?,
            request: read_request(table)?,
            interval: table.time("interval")?.unwrap_or(DEFAULT_INTERVAL),
            tcp: around.read_tcp(table)?,
        })
    }

    fn write(&self, flow: &mut Value) {
        flow["page"] = self.page.to_json();
        flow["connections"] = json!(self.connections);
        flow["request"] = json!(self.request);
        flow["interval"] = json!(self.interval.to_string());
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::Web(WebSettings {
            direction,
            page: self.objects.clone(),
            connections: self.connections,
            request: self.request,
            interval: self.interval,
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}

const PAGES: &[&str] = &["google", "huffpost"];
const FORMS: &str =
    "\"google\", \"huffpost\", { objects = [20000, \"18kb\"] } or { size = \"3000kb\", requests = 110 }";
/// Those of http-getter, the client of Høiland-Jørgensen et al. 2015.
const DEFAULT_CONNECTIONS: u32 = 4;
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
const MAX_OBJECTS: u32 = 100_000;
/// As many as a divided page may have in all.
const MAX_OBJECT: u64 = 1 << 50;
