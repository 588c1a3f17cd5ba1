//! The queues of a node, and its block-ack session for each receiver and access category.

use goodqueue::random::Random;
use goodqueue::{Count, Direction, Duration, Flow, Instant, Packet, Stats};

use super::block_ack::{Limits, Session, Taken};
use super::config::{MacConfig, RadioConfig};
use super::contention::AccessCategory;
use super::demand::Outside;
use super::driver::Driver;
use super::flight::Aggregate;
use super::fq_mac::{FqMac, Peer};
use super::phy::{DELIMITER, MAX_AMPDU_BYTES, SIFS, mpdu_bytes, subframe_bytes};
use super::sink::{Node, Sink};

/// The queues and sessions of one node.
#[derive(Clone, Debug)]
pub(super) struct Queues<P: Packet + Flow> {
    pub(super) node: Node,
    pub(super) mac: Mac<P>,
    pub(super) peers: Vec<Link<P>>,
    /// Bytes of link header in the length of packets. They are not sent over the air.
    framing: u32,
}

/// The state for sending to one receiver.
#[derive(Clone, Debug)]
pub(super) struct Link<P> {
    pub(super) radio: RadioConfig,
    limits: [Limits; 4],
    /// Of 2^32 MPDUs, the number that is lost.
    error: u64,
    pub(super) sessions: [Session<P>; 4],
}

#[derive(Clone, Debug)]
pub(super) enum Mac<P: Packet + Flow> {
    Driver(Driver<P>),
    Fq(FqMac<P>),
}

impl<P: Packet + Flow> Queues<P> {
    pub(super) fn new(
        node: Node,
        mac: &MacConfig,
        radios: &[(RadioConfig, u32)],
        framing: u32,
        seeds: (u64, u32),
    ) -> Self {
        let mac = match mac {
            MacConfig::Driver(config) => {
                Mac::Driver(Driver::new((**config).clone(), radios.len(), seeds.0, seeds.1))
            }
            MacConfig::Fq(config) => {
                let peers: Vec<Peer> = radios
                    .iter()
                    .map(|(radio, weight)| Peer { expected_bps: expected_bps(radio), weight: *weight })
                    .collect();
                Mac::Fq(FqMac::new(*config, &peers, seeds.0, seeds.1))
            }
        };
        Self { node, mac, peers: radios.iter().map(|(radio, _)| Link::new(*radio)).collect(), framing }
    }

    /// Returns the client and the direction of the radio link to this receiver.
    pub(super) const fn radio_link(&self, peer: usize) -> (usize, Direction) {
        match self.node {
            Node::AccessPoint => (peer, Direction::Down),
            Node::Client(client) => (client, Direction::Up),
        }
    }

    /// Lets the driver take packets from its discipline while it has room. Returns true if the
    /// discipline wants to be woken.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        category: AccessCategory,
        client_of: &impl Fn(&P) -> usize,
        sink: &mut impl Sink<P>,
    ) -> bool {
        let Self { node, mac: Mac::Driver(driver), peers, .. } = self else { return false };
        let before = driver.len();
        if before == 0 {
            return false;
        }
        // Packets of clients that are not on the channel were refused (`Medium::enqueue`), so the
        // bound never applies.
        let last = peers.len().saturating_sub(1);
        let peer = |packet: &P| if *node == Node::AccessPoint { client_of(packet).min(last) } else { 0 };
        // Two closures need the sink, and only one can borrow it mutably.
        let sink = std::cell::RefCell::new(sink);
        driver.pull(
            now,
            category,
            peer,
            &mut |packet: &P| sink.borrow_mut().left_queue(now, *node, packet),
            &mut |lost: P, why| sink.borrow_mut().dropped(now, *node, lost, why),
        );
        if driver.len() != before {
            sink.into_inner().queue_length(now, *node, driver.len());
        }
        driver.wake().is_some()
    }

    /// Returns true if an aggregate can be formed.
    pub(super) fn has_something(&self, category: AccessCategory) -> bool {
        let outside = |peer: usize| self.peers[peer].outside(category);
        match &self.mac {
            Mac::Driver(driver) => driver.has_ready_peer(category, outside),
            Mac::Fq(fq) => fq.has_ready_peer(category, outside),
        }
    }

    /// Forms the next aggregate, for the receiver whose turn it is.
    pub(super) fn aggregate(
        &mut self,
        now: Instant,
        category: AccessCategory,
        sink: &mut impl Sink<P>,
    ) -> Option<Aggregate<P>> {
        let Self { node, mac, peers, framing } = self;
        let length = |packet: &P| mpdu_bytes(packet.len().saturating_sub(*framing));
        loop {
            let outside = |peer: usize| peers[peer].outside(category);
            let peer = match mac {
                Mac::Driver(driver) => driver.next_peer(category, outside),
                Mac::Fq(fq) => fq.next_peer(category, outside),
            }?;
            let Link { radio, limits, sessions, .. } = &mut peers[peer];
            let before = mac.len();
            let frames = sessions[category.index()].aggregate(
                limits[category.index()],
                |packet| subframe_bytes(length(packet)),
                || match mac {
                    Mac::Driver(driver) => driver.take(category, peer),
                    Mac::Fq(fq) => {
                        let packet = fq.take(now, category, peer, &mut |lost: P, why| {
                            sink.dropped(now, *node, lost, why);
                        });
                        if let Some(packet) = &packet {
                            sink.left_queue(now, *node, packet);
                        }
                        // Only a driver's order asks for the position.
                        packet.map(|packet| Taken { position: 0, packet })
                    }
                },
            );
            if mac.len() != before {
                sink.queue_length(now, *node, mac.len());
            }
            // CoDel may have dropped everything that was queued.
            if frames.is_empty() {
                continue;
            }
            // A frame alone is sent without delimiter and padding, and answered by an ACK.
            let alone = frames.len() == 1;
            let mut bytes = 0;
            let ends = frames.iter().map(|frame| {
                let frame = length(&frame.packet);
                // The delimiter is in front of a frame, and the padding behind it.
                let end = bytes + if alone { frame } else { DELIMITER + frame };
                bytes += if alone { frame } else { subframe_bytes(frame) };
                radio.modulation.until(end)
            });
            let ends = ends.collect();
            let aggregate = Aggregate {
                peer,
                category,
                ends,
                ppdu: radio.modulation.ppdu(bytes),
                answer: radio.modulation.answer(!alone),
                frames,
            };
            if let Mac::Fq(fq) = mac {
                fq.prepared(peer, aggregate.exchange());
            }
            return Some(aggregate);
        }
    }
}

impl<P> Link<P> {
    fn new(radio: RadioConfig) -> Self {
        let limits = AccessCategory::ALL.map(|category| {
            let longest = category.edca().txop.unwrap_or(Duration::MAX).min(radio.longest);
            // The window of a block-ack session has 64 numbers.
            let most = radio.aggregate.clamp(1, MAX_AGGREGATE) as usize;
            Limits {
                // Linux begins no aggregation for voice (`minstrel_aggr_check()`).
                subframes: if category == AccessCategory::Vo { 1 } else { most },
                bytes: radio.modulation.bytes_within(longest).min(MAX_AMPDU_BYTES),
            }
        });
        Self {
            radio,
            limits,
            error: probability_of_2_32(radio.error),
            sessions: std::array::from_fn(|_| Session::default()),
        }
    }

    /// Describes the packets of this access category that have left the queue.
    fn outside(&self, category: AccessCategory) -> Outside {
        let session = &self.sessions[category.index()];
        Outside { waiting: session.waiting(), may_send: session.may_send() }
    }

    /// Draws the lost MPDUs of a PPDU with `count` of them, as a bit set by their index.
    pub(super) fn losses(&self, count: usize, random: &mut impl Random) -> u64 {
        if self.error == 0 {
            return 0;
        }
        // As 64 bits, so that a probability of 1 (2^32) loses every MPDU.
        (0..count).fold(0, |lost, place| lost | u64::from(u64::from(random.next_u32()) < self.error) << place)
    }
}

impl<P: Packet + Flow> Mac<P> {
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Driver(driver) => driver.len(),
            Self::Fq(mac) => mac.len(),
        }
    }

    pub(super) fn queued(&self) -> Count {
        match self {
            Self::Driver(driver) => driver.queued(),
            Self::Fq(mac) => mac.queued(),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        match self {
            Self::Driver(driver) => driver.stats(),
            Self::Fq(mac) => mac.stats(),
        }
    }
}

/// Returns the throughput, in bits per second, of a station alone on the channel with full
/// aggregates of 1500-byte packets.
fn expected_bps(radio: &RadioConfig) -> u64 {
    let frame = mpdu_bytes(FULL_PACKET);
    let most = radio.modulation.bytes_within(radio.longest).min(MAX_AMPDU_BYTES) / subframe_bytes(frame);
    let count = most.clamp(1, radio.aggregate.max(1));
    // A single MPDU is sent as it is: only aggregates have delimiters and padding.
    let bytes = if count == 1 { frame } else { count * subframe_bytes(frame) };
    // AIFS of best effort, which is 16 µs and three slots of 9 µs, and its mean back-off of 7.5
    // slots: half of the smallest contention window of 15.
    let access = Duration::from_nanos(43_000 + 67_500);
    let time = access + radio.modulation.ppdu(bytes) + SIFS + radio.modulation.answer(count > 1);
    u64::from(count) * u64::from(FULL_PACKET) * 8_000_000_000 / time.as_nanos().max(1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the product is within 0 and 2^32"
)]
fn probability_of_2_32(probability: f64) -> u64 {
    (probability.clamp(0.0, 1.0) * 4_294_967_296.0) as u64
}

const FULL_PACKET: u32 = 1500;
/// Size of the block-ack window.
const MAX_AGGREGATE: u32 = 64;
