//! The configuration of a channel and its nodes.

use goodqueue::Duration;

use super::driver::DriverConfig;
use super::forming::Forming;
use super::fq_mac::FqMacConfig;
use super::phy::Modulation;

/// The configuration of a channel and its nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct MediumConfig {
    /// Queueing at the access point.
    pub access_point: MacConfig,
    /// The clients.
    pub clients: Vec<ClientConfig>,
    /// Aggregation at the access point and at the clients.
    pub forming: [Forming; 2],
    /// Bytes of a TCP flow, headers included, that may wait at its client, those in the air
    /// included (TCP small queues). Above this limit the client's TCP waits. `None` for no limit.
    pub small_queue: Option<u32>,
    /// Bytes of link header in the length of packets. They are not sent over the air.
    pub framing: u32,
    /// Seed of back-offs, losses and disciplines.
    pub seed: u64,
    /// Changes to the hash salts of the access point and of the clients, as
    /// [`crate::LinkConfig::hash_key`].
    pub hash_keys: [u32; 2],
}

/// A client.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientConfig {
    /// Queueing at the client.
    pub mac: MacConfig,
    /// Radio link from the access point to the client and back, by [`crate::Direction::index`].
    pub radio: [RadioConfig; 2],
    /// Weight in the access point's airtime; [`super::airtime::DEFAULT_WEIGHT`] is usual.
    pub weight: u32,
}

/// One direction of the radio link between the access point and a client.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RadioConfig {
    /// Modulation of the data.
    pub modulation: Modulation,
    /// Largest number of MPDUs in an aggregate, 1 to 64; 1 for no aggregation.
    pub aggregate: u32,
    /// Longest PPDU of more than one MPDU (ath9k: 4 ms; the standard: [`super::phy::MAX_PPDU`]).
    pub longest: Duration,
    /// Probability that an MPDU is lost.
    pub error: f64,
    /// Largest number of transmissions of an MPDU.
    pub attempts: u32,
}

impl RadioConfig {
    /// Returns an error-free radio link with ath9k's limits: 32 MPDUs, 4 ms
    /// (`ATH_AMPDU_SUBFRAME_DEFAULT`), 30 attempts (`ATH_MAX_SW_RETRIES`).
    #[must_use]
    pub const fn new(modulation: Modulation) -> Self {
        Self { modulation, aggregate: 32, longest: Duration::from_millis(4), error: 0.0, attempts: 30 }
    }
}

/// Queueing at a node.
#[derive(Clone, PartialEq, Debug)]
pub enum MacConfig {
    /// A queue discipline above a driver with a buffer of its own.
    Driver(Box<DriverConfig>),
    /// Flow queueing and airtime fairness in the MAC, without a discipline.
    Fq(FqMacConfig),
}
