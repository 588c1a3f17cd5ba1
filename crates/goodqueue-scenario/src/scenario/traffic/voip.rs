//! `kind = "voip"`: a voice call in one direction, and its quality.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::VoipSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::packet::read_packet;
use crate::scenario::reader::Reader;

/// A voice call one way: G.711 over RTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Voip {
    /// Time between packets.
    pub interval: Duration,
    /// IP bytes of a packet.
    pub packet: u32,
    /// Packets are ECN-capable.
    pub ecn: bool,
    /// How it is heard.
    pub hearing: Hearing,
}

/// Receiver of a call. It determines how delay and loss affect the quality, and changes nothing on
/// the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hearing {
    /// A de-jitter buffer plays each packet so much later than the fastest one would allow, and
    /// none that comes after that; `None`: every packet that arrives is played, at the mean delay.
    pub playout: Option<Duration>,
    /// Lost packets are concealed (G.711 Appendix I).
    pub concealment: bool,
}

impl Kind for Voip {
    const NAME: &'static str = "voip";
    const KEYS: &'static [&'static str] = &["interval", "packet", "ecn", "playout", "concealment"];
    const IS_ONE_WAY: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let interval = table.time("interval")?.unwrap_or(DEFAULT_INTERVAL);
        if interval < MIN_INTERVAL || interval > MAX_INTERVAL {
            let message = Diagnostic::new(format!("a packet of voice each {interval} is not possible"));
            return Err(table.error("interval", message.allowed(format!("{MIN_INTERVAL} to {MAX_INTERVAL}"))));
        }
        // 64 kbit/s are 8 bytes in a millisecond.
        let voice = u32::try_from(interval.as_nanos() * 8 / 1_000_000).unwrap_or(u32::MAX);
        let usual = voice.saturating_add(HEADERS);
        if usual > around.link.mtu && table.node("packet").is_none() {
            let mtu = around.link.mtu;
            let message = Diagnostic::new(format!(
                "the voice of {interval} is {voice} bytes, which with {HEADERS} of headers do not fit the MTU of {mtu}"
            ));
            return Err(table.error("interval", message.help("give a shorter interval, or a `packet`")));
        }
        let playout = table.time("playout")?;
        if let Some(buffer) = playout.filter(|buffer| *buffer > MAX_PLAYOUT) {
            let message = Diagnostic::new(format!("a de-jitter buffer of {buffer} is not possible"));
            return Err(table.error("playout", message.allowed(format!("at most {MAX_PLAYOUT}"))));
        }
        Ok(Self {
            interval,
            packet: read_packet(table, usual, around)?,
            ecn: table.flag("ecn", false)?,
            hearing: Hearing { playout, concealment: table.flag("concealment", true)? },
        })
    }

    fn write(&self, flow: &mut Value) {
        flow["interval"] = json!(self.interval.to_string());
        flow["packet"] = json!(self.packet);
        flow["ecn"] = json!(self.ecn);
        if let Some(buffer) = self.hearing.playout {
            flow["playout"] = json!(buffer.to_string());
        }
        flow["concealment"] = json!(self.hearing.concealment);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { interval, packet: bytes, ecn, .. } = self;
        Ok(sim::Traffic::Voip(VoipSettings { direction, interval, bytes, ecn }))
    }
}

/// RFC 3551 §4.2.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(20);
const MIN_INTERVAL: Duration = Duration::from_millis(1);
const MAX_INTERVAL: Duration = Duration::from_secs(1);
const MAX_PLAYOUT: Duration = Duration::from_secs(10);
/// RTP, UDP and IPv4.
const HEADERS: u32 = 12 + 28;
