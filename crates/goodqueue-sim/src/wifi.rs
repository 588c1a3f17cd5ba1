//! WiFi: an access point and its clients on one channel of IEEE 802.11n.
//!
//! # What it does
//! * **Queueing.** Each node has a queue per receiver and access category. It is either a queue
//!   discipline with a driver's buffer below it ([`driver`]), or part of the MAC ([`fq_mac`],
//!   [`airtime`]).
//! * **Aggregation.** Packets are joined to A-MPDUs, ahead of channel access or at channel access
//!   ([`forming`]).
//! * **Contention.** Aggregates contend for the channel ([`contention`]).
//! * **Retransmission.** Block acknowledgement retransmits and reorders ([`block_ack`]).
//! * **Airtime** is exact to the microsecond ([`phy`]).
//!
//! # Reference
//! IEEE 802.11-2012 §9 and §20; Bianchi, "Performance Analysis of the IEEE 802.11 Distributed
//! Coordination Function", IEEE JSAC 18(3), 2000; Heusse et al., "Performance Anomaly of 802.11b",
//! INFOCOM 2003; Høiland-Jørgensen et al., "Ending the Anomaly", USENIX ATC 2017.
//!
//! Later editions of the standard have other TXOP limits ([`contention::Edca`]) and reset the
//! contention window one failure later ([`contention::SHORT_RETRY_LIMIT`]). The time for which a
//! sender waits for an answer is that of the 2016 edition ([`phy::ANSWER_TIMEOUT`]). Where the
//! hardware decides, the defaults are those of ath9k: [`forming::Forming`], [`order::Order`],
//! [`RadioConfig::new`].
//!
//! # Assumptions
//! * All nodes hear each other, and no other network uses the channel. There are no hidden nodes,
//!   no RTS/CTS and no capture.
//! * MPDUs are lost independently, with a probability given for each client and direction. Answers
//!   are never lost. Beacons and management frames are not sent.
//! * The modulation of each client and direction is fixed; there is no rate control.
//! * A transmission opportunity is one PPDU within the TXOP limit of its access category.
//! * The receiver delivers an MPDU with the symbol that carries its last bit, once all earlier
//!   MPDUs have been delivered (IEEE 802.11-2012 §9.21.7.6).
//! * After a collision every other node waits EIFS, because it could read none of the frames. In
//!   ns-3 such nodes detect no preamble if the frames are equally strong, and wait AIFS.
//! * A packet counts against a small queue ([`MediumConfig::small_queue`]) until it arrives, not
//!   until its answer arrives.
//! * The access category follows from the DSCP. Voice is never aggregated, as with minstrel_ht.
//! * Clients communicate with hosts behind the access point, not with each other.
//!
//! # Contract
//! [`Medium::enqueue`] and [`Medium::advance`] receive the time. [`Medium::next_event`] returns the
//! time of the next necessary call of `advance`. A late call catches up. Equal calls give equal
//! outcomes.

pub mod airtime;
pub mod block_ack;
pub mod config;
pub mod contention;
mod demand;
pub mod driver;
mod flight;
pub mod forming;
pub mod fq_mac;
mod hop;
mod medium;
pub mod order;
pub mod phy;
mod queues;
mod sink;
mod station;
mod supply;

pub use config::{ClientConfig, MacConfig, MediumConfig, RadioConfig};
pub(crate) use hop::WifiHop;
pub use hop::WifiOutcome;
pub use medium::Medium;
pub use sink::{Node, RadioStats, Sink};
