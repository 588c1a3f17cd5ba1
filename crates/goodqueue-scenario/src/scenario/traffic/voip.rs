//! `kind = "voip"`: a voice call in one direction, and its quality.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::VoipSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::packet::check_packet;
use crate::scenario::form::Maybe;
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, SIZE, time};
use crate::scenario::reader::Reader;

keys! {
    /// A voice call in one direction, G.711 over RTP, judged by the E-model (ITU-T G.107).
    pub struct Voip(table, around: &FlowContext<'_>) {
        /// Time between packets (RFC 3551 §4.2).
        interval: Duration = "20ms",
            time("a packet of voice each {} is not possible", MIN_INTERVAL..=MAX_INTERVAL);
        /// IP bytes of a packet. Default: 64 kbit/s of voice and 40 bytes of headers.
        packet: u32 = 200, SIZE => or(usual_packet(table, interval, around)?);
        /// Send packets as ECN-capable.
        ecn: bool = false, Flag;
        /// Length of a de-jitter buffer: a packet that arrives later than the fastest packet by
        /// more than this is lost. Default: no buffer; every packet that arrives is heard, at the
        /// mean delay.
        playout: Option<Duration> = "60ms",
            Maybe(time("a de-jitter buffer of {} is not possible", Duration::ZERO..=MAX_PLAYOUT)) => none;
        /// The decoder conceals lost packets (G.711 Appendix I).
        concealment: bool = true, Flag;
    }
    then { check_packet(table, packet, around)?; }
}

/// Receiver of a call. It determines how delay and loss affect the quality, and changes nothing on
/// the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallReceiver {
    /// Length of the de-jitter buffer; `None`: every packet that arrives is heard, at the mean
    /// delay.
    pub playout: Option<Duration>,
    /// The decoder conceals lost packets.
    pub concealment: bool,
}

impl Voip {
    /// Returns how the call is heard.
    #[must_use]
    pub const fn hearing(&self) -> CallReceiver {
        CallReceiver { playout: self.playout, concealment: self.concealment }
    }
}

fn usual_packet(table: &Reader<'_>, interval: Duration, around: &FlowContext<'_>) -> Result<u32, Diagnostic> {
    // 64 kbit/s are 8 bytes in a millisecond.
    let voice = u32::try_from(interval.as_nanos() * 8 / 1_000_000).unwrap_or(u32::MAX);
    let usual = voice.saturating_add(HEADERS);
    let mtu = around.link.mtu;
    if usual <= mtu {
        return Ok(usual);
    }
    let message = Diagnostic::new(format!(
        "the voice of {interval} is {voice} bytes, which with {HEADERS} of headers do not fit the MTU of {mtu}"
    ));
    Err(table.error("interval", message.help("give a shorter interval, or a `packet`")))
}

impl Kind for Voip {
    const NAME: &'static str = "voip";
    const IS_ONE_WAY: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { interval, packet: bytes, ecn, .. } = self;
        Ok(sim::Traffic::Voip(VoipSettings { direction, interval, bytes, ecn }))
    }
}

const MIN_INTERVAL: Duration = Duration::from_millis(1);
const MAX_INTERVAL: Duration = Duration::from_secs(1);
const MAX_PLAYOUT: Duration = Duration::from_secs(10);
/// RTP, UDP and IPv4.
const HEADERS: u32 = 12 + 28;
