//! Measurements of pings, calls, browsers and video.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::Summary;

/// Measurements of the probes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Probes {
    /// Round-trip time of the pings.
    pub ping_s: Summary,
    /// Number of pings sent.
    pub ping_sent: u64,
    /// Number of pings without an answer.
    pub ping_lost: u64,
    /// Responsiveness in round trips per minute; `null` without an answered ping.
    #[serde(default)]
    pub responsiveness_rpm: Option<f64>,
    /// All voice calls together; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voip: Option<Box<VoipResult>>,
    /// Page fetches of all browsers; absent without browsers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Box<WebProbe>>,
    /// All viewers of adaptive video together; absent without video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Box<VideoResult>>,
}

/// Adaptive video, in the time measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct VideoResult {
    /// Segments that were asked for and are complete.
    pub segments: u64,
    /// Their bit rate, mean.
    pub bitrate_bps: Option<f64>,
    /// Segments of another bit rate than the one before.
    pub switches: u64,
    /// Times that the buffer was empty, after showing had begun.
    pub stalls: u64,
    /// Length of all of them together.
    pub stalled_s: f64,
    /// From the start of the flow until showing began, whenever that was; `null` if it did not.
    pub shown_after_s: Option<f64>,
}

/// Voice calls. Packets that may still have been on their way when the run ended count nowhere.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct VoipResult {
    /// Packets sent.
    pub sent: u64,
    /// Packets that never arrived.
    pub lost: u64,
    /// Their share.
    pub loss: Option<f64>,
    /// Packets that arrived too late for the de-jitter buffer; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Whether packets were lost one by one or in a row.
    pub loss_pattern: LossPattern,
    /// Time from end to end.
    pub one_way_delay_s: Summary,
    /// The same less that of the fastest packet of the call (packet delay variation, RFC 5481
    /// §4.2).
    pub delay_variation_s: Summary,
    /// Interarrival jitter (RFC 3550 §6.4.1), mean over the packets.
    pub jitter_s: Option<f64>,
    /// Mean opinion score by the E-model (ITU-T G.107) for G.711, 1 to 4.5: of the mean delay one
    /// way and the loss, or, with a de-jitter buffer, of that buffer's delay and of all packets
    /// that are lost or late. Time to encode and to collect a packet is not added.
    pub mos: Option<f64>,
}

/// How losses follow each other (RFC 3357).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LossPattern {
    /// Runs of packets lost in a row; a single loss is a run of 1.
    pub runs: u64,
    /// Their mean length in packets.
    pub mean_run: Option<f64>,
    /// The longest.
    pub longest_run: u64,
    /// Packets from the beginning of a run to that of the next, in the mean.
    pub mean_distance: Option<f64>,
}

/// Page fetches of browsers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WebProbe {
    /// Page fetches begun in the time measured.
    pub pages: u64,
    /// Number of them that are complete at the end of the run.
    pub completed: u64,
    /// Requests of the complete ones: one for each object.
    #[serde(default)]
    pub requests: u64,
    /// Payload of their objects in bytes.
    #[serde(default)]
    pub bytes: u64,
    /// Time of the complete ones, from the query for the name to the last byte of the last object.
    pub page_fetch_s: Summary,
}
