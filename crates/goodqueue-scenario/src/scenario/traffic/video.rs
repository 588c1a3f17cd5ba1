//! `kind = "video"`: a viewer of adaptive video.

use goodqueue::{Direction, Duration, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::VideoSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde_json::json;

use super::kind::{FlowContext, Kind};
use super::transfers::REQUEST;
use crate::scenario::document::{Node, Raw};
use crate::scenario::form::{Form, Own};
use crate::scenario::keys::keys;
use crate::scenario::plain::{TIME, time};
use crate::scenario::quantity::Quantity;
use crate::scenario::reader::{Reader, measured};
use crate::scenario::tcp::Tcp;

keys! {
    /// Over TCP: adaptive video on one connection. Each segment has the bit rate that the last five
    /// segments allow. The flow is silent while the buffer is full. `direction` is as for packmime.
    pub struct Video(table, around: &FlowContext<'_>) {
        /// Bit rates, ascending (those of Pensieve, 240p to 1440p: Mao, Netravali & Alizadeh,
        /// SIGCOMM 2017).
        ladder: Vec<Rate> = ["300kbit", "750kbit", "1200kbit", "1850kbit", "2850kbit", "4300kbit"], LADDER;
        /// Duration of a segment.
        segment: Duration = "2s", time("segments of {} are not possible", Duration::from_nanos(1)..=LONGEST);
        /// Length of the video that may be fetched ahead (dash.js, `bufferTimeAtTopQuality`).
        /// Default: 30s, or `ready` and a segment if that is longer.
        buffer: Duration = "30s", TIME => or(DEFAULT_BUFFER.max(ready_of(table, segment)? + segment));
        /// Length in the buffer before the video starts, also after a stall. Default: two segments.
        ready: Duration = "4s", TIME => from(ready_of(table, segment)?);
        /// Bytes of a request.
        request: u64 = 300, REQUEST;
    }
    with {
        /// How the ends of the connection behave.
        tcp: Tcp;
    }
    then {
        // Segments come whole: the one that reaches `ready` may exceed it by nearly a segment.
        // Without room for it, the film would never start.
        let least = ready + segment;
        if buffer < least || buffer > LONGEST {
            let message = Diagnostic::new(format!("a buffer of {buffer} is not possible"));
            let allowed = format!("{least} (`ready` and a segment) to {LONGEST}");
            return Err(table.error("buffer", message.allowed(allowed)));
        }
        let tcp = around.read_tcp(table)?;
    }
}

/// `ready`: by default two segments.
fn ready_of(table: &Reader<'_>, segment: Duration) -> Result<Duration, Diagnostic> {
    Ok(TIME.given(table, "ready")?.unwrap_or(segment.saturating_mul(2)))
}

impl Kind for Video {
    const NAME: &'static str = "video";
    const IS_OVER_TCP: bool = true;

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

/// The bit rates in which a video exists.
const LADDER: Own<Vec<Rate>> = Own {
    read: read_ladder,
    write: |ladder| ladder.iter().map(ToString::to_string).collect(),
    schema: || json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MOST_STEPS }),
    quantity: Some(Quantity::Rate),
};

fn read_ladder(table: &Reader<'_>, key: &str, node: &Node) -> Result<Vec<Rate>, Diagnostic> {
    let wrong = |what: String| {
        let allowed = "a list of bit rates, each above the one before, such as [\"300kbit\", \"1mbit\"]";
        table.error(key, Diagnostic::new(what).allowed(allowed))
    };
    let Raw::List(items) = &node.raw else { return Err(wrong("this is not a list".to_owned())) };
    if items.is_empty() || items.len() > MOST_STEPS {
        return Err(wrong(format!("these are {} bit rates", items.len())));
    }
    let mut ladder: Vec<Rate> = Vec::with_capacity(items.len());
    for node in items {
        let text = measured(node).ok_or_else(|| wrong(format!("{} is not possible", node.sort())))?;
        let rate = units::rate(&text).map_err(|error| table.document().at(error, node))?;
        if rate.as_bps() == 0 || ladder.last().is_some_and(|before| rate <= *before) {
            return Err(wrong(format!("a bit rate of {rate} is not possible here")));
        }
        ladder.push(rate);
    }
    Ok(ladder)
}

const DEFAULT_BUFFER: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(3600);
const MOST_STEPS: usize = 100;
