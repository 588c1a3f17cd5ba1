//! Sources of other crates among those of this one: [`Traffic::Own`] and [`AnySource::Own`].
//!
//! [`Traffic::Own`]: super::Traffic::Own
//! [`AnySource::Own`]: super::AnySource::Own

use crate::id::FlowId;
use std::fmt::{self, Debug};
use std::sync::Arc;

use goodqueue::config::Kind;
use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Settings};

use super::source::{self, Source};
use crate::transport::Transport;

/// A source of another crate: both end points of a flow, with a name and parameters.
///
/// ```
/// use goodqueue::config::{Declaration, Kind, Parameter};
/// use goodqueue::{ConfigError, Direction, Instant, Settings};
/// use goodqueue_sim::network::Network;
/// use goodqueue_sim::packet::Packet;
/// use goodqueue_sim::traffic::{Datagrams, KnownSource, Named, OwnFlow, Source, Tally};
///
/// /// Sends some datagrams at once.
/// #[derive(Debug)]
/// struct Volley {
///     count: u64,
///     datagrams: Datagrams,
/// }
///
/// const COUNT: Parameter = Declaration::packets("count").default(10).meaning("packets to send");
///
/// impl Named for Volley {
///     const KIND: Kind = Kind::new("volley", "Datagrams all at once").with_parameters(&[COUNT]);
///
///     fn new(flow: OwnFlow, settings: &Settings) -> Result<Self, ConfigError> {
///         let datagrams = Datagrams::new(flow.number, flow.direction, false);
///         Ok(Self { count: COUNT.read(settings)?, datagrams })
///     }
/// }
///
/// impl Source for Volley {
///     fn start(&mut self, now: Instant, network: &mut Network) {
///         for _ in 0..self.count {
///             self.datagrams.send(now, 1000, network);
///         }
///     }
///
///     fn stop(&mut self, _now: Instant) {}
///
/// fn on_packet(&mut self, _now: Instant, packet: &Packet, _: Direction, network: &mut Network) {
/// self.datagrams.on_packet(packet, network); }
///
///     fn on_wake(&mut self, _now: Instant, _network: &mut Network) {}
///
///     fn delivered(&self) -> u64 {
///         self.datagrams.delivered()
///     }
///
///     fn tally(&self) -> Tally {
///         self.datagrams.tally()
///     }
/// }
///
/// let traffic = KnownSource::new::<Volley>().traffic(Direction::Down, Settings::new())?;
/// assert_eq!(traffic.kind(), "volley");
/// # Ok::<(), ConfigError>(())
/// ```
pub trait Named: Source + Debug + Send + Sync + 'static {
    /// The word for such a flow, its description and its parameters.
    const KIND: Kind;

    /// True if packets go in the direction of the data only: nothing answers.
    const IS_ONE_WAY: bool = true;

    /// Returns the source of a flow. `settings` were checked against the parameters.
    ///
    /// # Errors
    /// A value contradicts another one.
    fn new(flow: OwnFlow, settings: &Settings) -> Result<Self, ConfigError>
    where
        Self: Sized;
}

/// The flow for which a source of another crate is made.
#[derive(Debug)]
pub struct OwnFlow {
    /// Number of the flow, under which its packets and wake-ups are known.
    pub number: FlowId,
    /// Direction of the flow's data.
    pub direction: Direction,
    /// Random stream of the flow.
    pub random: Xoshiro256PlusPlus,
}

/// The type of a source of another crate.
#[derive(Clone, Copy)]
pub struct KnownSource(&'static Maker);

struct Maker {
    kind: Kind,
    is_one_way: bool,
    new: New,
}

/// A function that makes a source.
type New = fn(OwnFlow, &Settings) -> Result<Box<dyn OwnSource>, ConfigError>;

impl KnownSource {
    /// Returns the source `S`.
    #[must_use]
    pub const fn new<S: Named>() -> Self {
        Self(
            const {
                // A constant lives as long as the program, so no registry has to hold it.
                &Maker {
                    kind: S::KIND,
                    is_one_way: S::IS_ONE_WAY,
                    new: |flow, settings| Ok(Box::new(S::new(flow, settings)?)),
                }
            },
        )
    }

    /// Returns the word for such a flow, its description and its parameters.
    #[must_use]
    pub const fn kind(&self) -> &'static Kind {
        &self.0.kind
    }

    /// Returns true if packets go in the direction of the data only.
    #[must_use]
    pub const fn is_one_way(&self) -> bool {
        self.0.is_one_way
    }

    /// Returns the traffic of a flow with these settings.
    ///
    /// # Errors
    /// A name is no parameter of the source, or a value is out of range or contradicts another one.
    pub fn traffic(self, direction: Direction, settings: Settings) -> Result<OwnSettings, ConfigError> {
        self.0.kind.check(&settings)?;
        let declared = Declared { known: self, direction, settings };
        // A source that is thrown away finds contradictions now, and not when a run begins.
        declared.source(FlowId::default(), Xoshiro256PlusPlus::new(0))?;
        Ok(OwnSettings {
            kind: self.0.kind.name,
            transport: Transport::Datagrams,
            direction,
            congestion_control: None,
            is_of_pieces: false,
            maker: Arc::new(declared),
        })
    }
}

/// Two are equal if they have the same name.
impl PartialEq for KnownSource {
    fn eq(&self, other: &Self) -> bool {
        self.0.kind.name == other.0.kind.name
    }
}

impl Eq for KnownSource {}

/// Prints the name.
impl Debug for KnownSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind.name)
    }
}

/// The settings of a source of another crate with a type of their own, for a kind of traffic whose
/// keys the scenario knows. [`Named`] is for all other sources: it declares its keys itself.
pub trait OwnTraffic: source::Settings + Debug + Send + Sync + 'static {
    /// Returns the source of flow number `flow`. All its randomness comes from `random`.
    ///
    /// # Errors
    /// A value contradicts another one.
    fn source(&self, flow: FlowId, random: Xoshiro256PlusPlus) -> Result<Box<dyn OwnSource>, ConfigError>;
}

/// The settings of any source of another crate.
#[derive(Clone, Debug)]
pub struct OwnSettings {
    kind: &'static str,
    transport: Transport,
    direction: Direction,
    congestion_control: Option<&'static str>,
    is_of_pieces: bool,
    maker: Arc<dyn MakesSource>,
}

impl OwnSettings {
    /// Returns the traffic of a flow with these settings.
    #[must_use]
    pub fn from_settings<S: OwnTraffic>(settings: S) -> Self {
        Self {
            kind: S::KIND,
            transport: S::TRANSPORT,
            direction: settings.direction(),
            congestion_control: settings.congestion_control(),
            is_of_pieces: S::IS_OF_PIECES,
            maker: Arc::new(settings),
        }
    }

    /// Returns the word for such a flow in results.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the transport protocol of the flow.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the direction of the flow's data.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the congestion control of the flow, if it has any.
    #[must_use]
    pub const fn congestion_control(&self) -> Option<&'static str> {
        self.congestion_control
    }

    /// Returns true if the flow makes several transfers and counts them.
    #[must_use]
    pub const fn is_of_pieces(&self) -> bool {
        self.is_of_pieces
    }

    pub(super) fn source(
        &self,
        number: FlowId,
        random: Xoshiro256PlusPlus,
    ) -> Result<Box<dyn OwnSource>, ConfigError> {
        self.maker.source(number, random)
    }
}

/// Settings of any type.
trait MakesSource: Debug + Send + Sync {
    fn source(&self, number: FlowId, random: Xoshiro256PlusPlus) -> Result<Box<dyn OwnSource>, ConfigError>;
}

impl<S: OwnTraffic> MakesSource for S {
    fn source(&self, number: FlowId, random: Xoshiro256PlusPlus) -> Result<Box<dyn OwnSource>, ConfigError> {
        OwnTraffic::source(self, number, random)
    }
}

/// The settings of a [`KnownSource`].
#[derive(Debug)]
struct Declared {
    known: KnownSource,
    direction: Direction,
    settings: Settings,
}

impl MakesSource for Declared {
    fn source(&self, number: FlowId, random: Xoshiro256PlusPlus) -> Result<Box<dyn OwnSource>, ConfigError> {
        (self.known.0.new)(OwnFlow { number, direction: self.direction, random }, &self.settings)
    }
}

/// A [`Source`] behind a pointer.
pub trait OwnSource: Source + Debug + Send + Sync {}

impl<S: Source + Debug + Send + Sync> OwnSource for S {}
