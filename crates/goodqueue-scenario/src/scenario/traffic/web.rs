//! `kind = "web"`: a browser that fetches the same page again and again.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::{WebPage, WebSettings};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::kind::{FlowContext, Kind};
use super::transfers::REQUEST;
use crate::scenario::document::{Node, Raw};
use crate::scenario::files::Files;
use crate::scenario::form::{Form, Own, Shape, object};
use crate::scenario::keys::keys;
use crate::scenario::plain::{SIZE, TIME, Whole, whole};
use crate::scenario::reader::{Reader, measured};
use crate::scenario::tcp::Tcp;

keys! {
    /// Over UDP and TCP: a browser that looks up a name, fetches a page, and repeats this. The
    /// defaults are those of http-getter, the client of Høiland-Jørgensen et al. 2015. `direction`
    /// is as for packmime.
    pub struct Web(table, around: &FlowContext<'_>) {
        /// Page that the browser fetches: "google" (56 kB in 3 requests), "huffpost" (3 MB in 110),
        /// { objects = [20000, "18kb"] } with the page itself first, or { size = "3000kb", requests
        /// = 110 }.
        page: Page = "google", PAGE;
        /// Number of parallel connections.
        connections: u32 = 4, whole(1..=1000);
        /// Bytes of a request.
        request: u64 = 300, REQUEST;
        /// Time between the starts of two fetches; a fetch that takes longer delays the next one.
        interval: Duration = "1s", TIME;
    }
    with {
        /// The sizes of the objects of the page, which the flows share.
        objects: WebPage;
        /// How the ends of the connections behave.
        tcp: Tcp;
    }
    then {
        let objects = page.objects(table.document().files());
        // The form of `page` has refused such pages before.
        let objects = objects.ok_or_else(|| Diagnostic::new("a web page has no objects"))?;
        let tcp = around.read_tcp(table)?;
    }
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
    fn read(table: &Reader<'_>, key: &str, node: &Node) -> Result<Self, Diagnostic> {
        match &node.raw {
            Raw::Text(name) => match name.as_str() {
                "google" => Ok(Self::Google),
                "huffpost" => Ok(Self::Huffpost),
                _ => {
                    let message = Diagnostic::new(format!("there is no page `{}`", shortened(name)));
                    Err(table.error(key, message.one_of(name, PAGES).help(FORMS)))
                }
            },
            Raw::Table(_) => Self::read_table(&Reader::of_table(table.document(), node, "`page`")?),
            _ => {
                let message = Diagnostic::new(format!("{} is not possible", node.sort()));
                Err(table.error(key, message.allowed(FORMS)))
            }
        }
    }

    fn read_table(table: &Reader<'_>) -> Result<Self, Diagnostic> {
        if table.node("objects").is_some() {
            table.only(&["objects"])?;
            return read_objects(table).map(Self::Objects);
        }
        table.only(&["size", "requests"])?;
        let requests = REQUESTS.given(table, "requests")?.unwrap_or(1);
        let Some(size) = SIZE.given(table, "size")? else {
            let message = Diagnostic::new("neither `objects` nor `size` is given");
            return Err(table.error("size", message.allowed(FORMS)));
        };
        // Kept for all points of a sweep, because dividing a page takes a while.
        if table.document().files().page(size, requests).is_none() {
            let message = Diagnostic::new(format!("{size} bytes are not possible in {requests} requests"));
            // The limits of `WebPage::divided`.
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
    const IS_OVER_TCP: bool = true;

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

/// A page by its name, by the sizes of its objects, or by its size.
const PAGE: Own<Page> = Own {
    read: Page::read,
    write: Page::to_json,
    schema: || {
        let size = |about: &str| json!({ "type": ["integer", "string"], "description": about });
        let sizes = size("Bytes of an object.");
        let objects = json!({
            "type": "array", "items": sizes, "minItems": 1, "maxItems": MAX_OBJECTS,
            "description": "Sizes of the objects, the page itself first.",
        });
        let mut requests = Shape::<u32>::schema(&REQUESTS);
        requests["description"] = json!("Number of requests.");
        json!({ "anyOf": [
            { "enum": PAGES },
            object(&json!({ "objects": objects }), &["objects"]),
            object(&json!({ "size": size("Bytes of all objects."), "requests": requests }), &["size"]),
        ] })
    },
    quantity: None,
};

const PAGES: &[&str] = &["google", "huffpost"];
const FORMS: &str =
    "\"google\", \"huffpost\", { objects = [20000, \"18kb\"] } or { size = \"3000kb\", requests = 110 }";
const MAX_OBJECTS: u32 = 100_000;
const REQUESTS: Whole = whole(1..=MAX_OBJECTS as u64);
/// As many as a divided page may have in all.
const MAX_OBJECT: u64 = 1 << 50;
