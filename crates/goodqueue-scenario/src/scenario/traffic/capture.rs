//! `kind = "capture"`: datagrams of the lengths, and in the times, of recorded packets.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use goodqueue::random::mix_64;
use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::CaptureSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::json;

use super::kind::{FlowContext, Kind};
use super::packet::MIN_PACKET;
use crate::capture::PacketCapture;
use crate::scenario::form::{Form, Maybe, Own};
use crate::scenario::keys::keys;
use crate::scenario::plain::{FILE, Flag, TEXT, number};
use crate::scenario::reader::Reader;

keys! {
    /// Datagrams with the lengths and times of recorded IP packets.
    pub struct Capture(table, around: &FlowContext<'_>) {
        /// File in the formats pcap or pcapng, a path relative to the scenario file. Required.
        file: PathBuf = "call.pcapng", FILE => or({
            let message = Diagnostic::new("a flow of kind capture needs a file");
            return Err(table.error("file", message.allowed("the path of a pcap or pcapng file")));
        });
        /// Use only packets from this address. Default: all packets.
        from: Option<IpAddr> = "192.0.2.1", Maybe(ADDRESS) => none;
        /// Speed relative to the recording.
        speed: f64 = 1.0, number("{} times the recorded speed is not possible", MIN_SPEED..=MAX_SPEED);
        /// Start again at the end of the recording.
        repeat: bool = false, Flag;
        /// Send packets as ECN-capable.
        ecn: bool = false, Flag;
    }
    with {
        /// Period after which the recording starts again; `None`: the flow ends with the recording.
        period: Option<Duration>;
        /// Time since the first, at this speed, and bytes of each IP packet.
        packets: Arc<[(Duration, u32)]>;
    }
    then {
        let recorded = table.document().files().capture(&file, from)?;
        check_packets(table, &recorded, around.link.mtu)?;
        let scaled = |time: Duration| Duration::from_nanos(scale(time.as_nanos(), speed));
        let period = match (repeat, recorded.period()) {
            (false, _) => None,
            // At a high speed a period may round to 0, and the recording would repeat without end
            // at one instant.
            (true, Some(period)) => Some(scaled(period).max(Duration::from_micros(1))),
            (true, None) => {
                let message = Diagnostic::new("all of the recording is in one instant, so it has no length");
                return Err(table.error("repeat", message.help("leave `repeat` out")));
            }
        };
        let packets = table.document().files().packets_at((&file, from, speed), || {
            // The flow sends UDP, but a recorded packet of another protocol may be shorter than a
            // UDP header allows.
            recorded.packets().iter().map(|packet| (scaled(packet.0), packet.1.max(MIN_PACKET))).collect()
        });
    }
}

/// Refuses packets that the link cannot carry.
fn check_packets(table: &Reader<'_>, recorded: &PacketCapture, mtu: u32) -> Result<(), Diagnostic> {
    let mut numbered = (1u64..).zip(recorded.packets());
    let Some((number, (_, bytes))) = numbered.find(|(_, packet)| packet.1 > mtu) else { return Ok(()) };
    let message = Diagnostic::new(format!(
        "IP packet {number} of the recording has {bytes} bytes, more than the MTU of {mtu}"
    ));
    Err(table.error("file", message.help("record with offloads off, or raise `link.mtu`")))
}

/// An address of a host.
const ADDRESS: Own<IpAddr> = Own {
    read: |table, key, node| {
        let given = TEXT.read(table, key, node)?;
        given.parse().map_err(|_| {
            let message = Diagnostic::new(format!("`{given}` is not an address"));
            table.error(key, message.allowed("such as 192.0.2.1 or 2001:db8::1"))
        })
    },
    write: |address| json!(address.to_string()),
    schema: || json!({ "type": "string" }),
    quantity: None,
};

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
    const IS_ONE_WAY: bool = true;

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
    // At the recorded speed nothing is rounded.
    if speed == 1.0 { nanos } else { (nanos as f64 / speed) as u64 }
}

const MIN_SPEED: f64 = 1e-6;
const MAX_SPEED: f64 = 1e6;
