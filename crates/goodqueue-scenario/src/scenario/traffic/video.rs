//! `kind = "video"`: a viewer of adaptive video.

use goodqueue::{Direction, Duration, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::VideoSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::transfers::read_request;
use crate::scenario::document::{Node, Raw};
use crate::scenario::reader::{Reader, measured};
use crate::scenario::tcp::Tcp;

/// A viewer.
#[derive(Clone, PartialEq, Debug)]
pub struct Video {
    /// How the ends of the connection behave.
    pub tcp: Tcp,
    /// Bit rates, ascending.
    pub ladder: Vec<Rate>,
    /// Duration of a segment.
    pub segment: Duration,
    /// So much of the film is fetched ahead at most.
    pub buffer: Duration,
    /// So much before it is shown.
    pub ready: Duration,
    /// Bytes of a request.
    pub request: u64,
}

impl Kind for Video {
    const NAME: &'static str = "video";
    const KEYS: &'static [&'static str] = &["ladder", "segment", "buffer", "ready", "request"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let segment = table.time("segment")?.unwrap_or(DEFAULT_SEGMENT);
        if segment.is_zero() || segment > LONGEST {
            let message = Diagnostic::new(format!("segments of {segment} are not possible"));
            return Err(table.error("segment", message.allowed(format!("above 0s, at most {LONGEST}"))));
        }
        let ready = table.time("ready")?.unwrap_or(segment.saturating_mul(DEFAULT_READY));
        let buffer = table.time("buffer")?.unwrap_or(DEFAULT_BUFFER.max(ready + segment));
        if buffer < ready + segment || buffer > LONGEST {
            let message = Diagnostic::new(format!("a buffer of {buffer} is not possible"));
            let least = ready + segment;
            let allowed = format!("{least} (`ready` and a segment) to {LONGEST}");
            return Err(table.error("buffer", message.allowed(allowed)));
        }
        Ok(Self {
            ladder: read_ladder(table)?,
            segment,
            buffer,
            ready,
            request: read_request(table)?,
            tcp: around.read_tcp(table)?,
        })
    }

    fn write(&self, flow: &mut Value) {
        flow["ladder"] = self.ladder.iter().map(ToString::to_string).collect();
        flow["segment"] = json!(self.segment.to_string());
        flow["buffer"] = json!(self.buffer.to_string());
        flow["ready"] = json!(self.ready.to_string());
        flow["request"] = json!(self.request);
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::Video(VideoSettings {
            direction,
            ladder: self.ladder.clone(),
            segment: self.segment,
            buffer: self.buffer,
            ready: self.ready,
            request: self.request,
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}

fn read_ladder(table: &Reader<'_>) -> Result<Vec<Rate>, Diagnostic> {
    let Some(node) = table.node("ladder") else {
        return Ok(DEFAULT_LADDER.iter().map(|kbit| Rate::from_bps(kbit * 1000)).collect());
    };
    let wrong = |what: String| {
        let allowed = "a list of bit rates, each above the one before, such as [\"300kbit\", \"1mbit\"]";
        table.error("ladder", Diagnostic::new(what).allowed(allowed))
    };
    let Raw::List(items) = &node.raw else { return Err(wrong("this is not a list".to_owned())) };
    if items.is_empty() || items.len() > MOST_STEPS {
        return Err(wrong(format!("these are {} bit rates", items.len())));
    }
    let mut ladder: Vec<Rate> = Vec::with_capacity(items.len());
    for node in items {
        let rate = read_step(table, node)
            .map_err(|error| error.unwrap_or_else(|| wrong(format!("{} is not possible", node.sort()))))?;
        if rate.as_bps() == 0 || ladder.last().is_some_and(|before| rate <= *before) {
            return Err(wrong(format!("a bit rate of {rate} is not possible here")));
        }
        ladder.push(rate);
    }
    Ok(ladder)
}

/// A bit rate with its unit; the error is `None` if it is no text.
fn read_step(table: &Reader<'_>, node: &Node) -> Result<Rate, Option<Diagnostic>> {
    let text = measured(node).ok_or(None)?;
    units::rate(&text).map_err(|error| Some(table.document().at(error, node)))
}

/// That of Pensieve (Mao, Netravali & Alizadeh, SIGCOMM 2017), in kbit/s: 240p to 1440p.
const DEFAULT_LADDER: [u64; 6] = [300, 750, 1200, 1850, 2850, 4300];
const DEFAULT_SEGMENT: Duration = Duration::from_secs(2);
/// Segments.
const DEFAULT_READY: u64 = 2;
/// dash.js, `bufferTimeAtTopQuality`.
const DEFAULT_BUFFER: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(3600);
const MOST_STEPS: usize = 100;
