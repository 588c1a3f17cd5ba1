//! `kind = "capture"`: datagrams of the lengths, and in the times, of recorded packets.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodqueue::random::mix_64;
use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::CaptureSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::show_number;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::packet::MIN_PACKET;
use crate::scenario::document::Origin;
use crate::scenario::reader::Reader;

/// Datagrams as recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    /// The file that they were read from.
    pub file: PathBuf,
    /// Only packets from this address; `None`: all.
    pub from: Option<IpAddr>,
    /// So many times as fast as recorded.
    pub speed: f64,
    /// Period after which the recording starts again; `None`: the flow ends with the recording.
    pub period: Option<Duration>,
    /// Time since the first, at this speed, and bytes of each IP packet.
    pub packets: Arc<[(Duration, u32)]>,
    /// Packets are ECN-capable.
    pub ecn: bool,
}

impl Capture {
    /// Equal packets have equal sums: the file may change between two runs.
    pub(crate) fn checksum(&self) -> u64 {
        let of = |sum: u64, packet: &(Duration, u32)| {
            mix_64(mix_64(sum ^ packet.0.as_nanos()) ^ u64::from(packet.1))
        };
        self.packets.iter().fold(0, of)
    }
}

impl Kind for Capture {
    const NAME: &'static str = "capture";
    const KEYS: &'static [&'static str] = &["file", "from", "speed", "repeat", "ecn"];
    const IS_ONE_WAY: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let (Some(given), Some(node)) = (table.text("file")?, table.node("file")) else {
            let message = Diagnostic::new("a flow of kind capture needs a file");
            return Err(table.error("file", message.allowed("the path of a pcap or pcapng file")));
        };
        let file = match node.origin {
            Origin::File(_) => table.document().folder().join(given),
            _ => Path::new(given).to_owned(),
        };
        let from = match table.text("from")? {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| {
                let message = Diagnostic::new(format!("`{text}` is not an address"));
                table.error("from", message.allowed("such as 192.0.2.1 or 2001:db8::1"))
            })?),
        };
        let speed = table.number("speed")?.unwrap_or(1.0);
        if !(MIN_SPEED..=MAX_SPEED).contains(&speed) {
            let message =
                Diagnostic::new(format!("{} times the recorded speed is not possible", show_number(speed)));
            return Err(table.error("speed", message.allowed(format!("{MIN_SPEED} to {MAX_SPEED}"))));
        }
        let recorded = table.document().files().capture(&file, from)?;
        let mtu = around.link.mtu;
        if let Some((number, packet)) = (1..).zip(recorded.packets()).find(|(_, packet)| packet.1 > mtu) {
            let number: u64 = number;
            let message = Diagnostic::new(format!(
                "IP packet {number} of the recording has {} bytes, more than the MTU of {mtu}",
                packet.1
            ));
            return Err(table.error("file", message.help("record with offloads off, or raise `link.mtu`")));
        }
        let scaled = |time: Duration| Duration::from_nanos(scale(time.as_nanos(), speed));
        let period = match (table.flag("repeat", false)?, recorded.period()) {
            (false, _) => None,
            (true, Some(period)) => Some(scaled(period).max(Duration::from_micros(1))),
            (true, None) => {
                let message = Diagnostic::new("all of the recording is in one instant, so it has no length");
                return Err(table.error("repeat", message.help("leave `repeat` out")));
            }
        };
        let packets = table.document().files().packets_at((&file, from, speed), || {
            recorded.packets().iter().map(|packet| (scaled(packet.0), packet.1.max(MIN_PACKET))).collect()
        });
        Ok(Self { file, from, speed, period, packets, ecn: table.flag("ecn", false)? })
    }

    fn write(&self, flow: &mut Value) {
        flow["file"] = json!(self.file.to_string_lossy());
        if let Some(from) = self.from {
            flow["from"] = json!(from.to_string());
        }
        flow["speed"] = json!(self.speed);
        flow["repeat"] = json!(self.period.is_some());
        flow["ecn"] = json!(self.ecn);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { period, ecn, .. } = self;
        let packets = Arc::clone(&self.packets);
        Ok(sim::Traffic::Capture(CaptureSettings { direction, packets, period, ecn }))
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds of a recording; what is rounded is below the resolution of its clock"
)]
fn scale(nanos: u64, speed: f64) -> u64 {
    if speed == 1.0 { nanos } else { (nanos as f64 / speed) as u64 }
}

const MIN_SPEED: f64 = 1e-6;
const MAX_SPEED: f64 = 1e6;
