//! What a scenario may name: disciplines, TCP stacks, congestion controllers and traffic sources.

use goodqueue::Disciplines;
use goodqueue::aqm::Aqm;
use goodqueue::own::Registrable;
use goodqueue_sim::traffic::{KnownSource, Named};
use goodqueue_tcp::congestion::Controller;
use goodqueue_tcp::stack::Listed;
use goodqueue_tcp::{Catalogue, Profile};

/// The disciplines, TCP stacks, congestion controllers and traffic sources that scenarios and lines
/// may name: the built-in ones, and your own.
///
/// There is no global registry. A [`Document`](crate::scenario::Document) holds the extensions that
/// it may name, and the command receives them as an argument.
///
/// ```
/// use goodqueue_scenario::{Extensions, scenario::Document};
/// # use goodqueue_tcp::CongestionControl;
/// use goodqueue_tcp::congestion::{About, Ack, Congestion, Controller};
///
/// /// Keeps a window of ten segments.
/// #[derive(Clone, Debug, Default)]
/// struct Ten;
///
/// impl CongestionControl for Ten {
///     fn on_ack(&mut self, ack: &mut Ack, _cwnd: u64) -> u64 {
///         10 * u64::from(ack.mss)
///     }
///
///     fn on_congestion(&mut self, event: &Congestion) -> u64 {
///         10 * u64::from(event.mss)
///     }
/// }
///
/// impl Controller for Ten {
///     const ABOUT: About = About { name: "ten", summary: "ten segments", ..About::PLAIN };
/// }
///
/// let extensions = Extensions::new().with_controller::<Ten>();
/// let mut document = Document::default().with_extensions(extensions);
/// document.set("--set", "tcp.cc", "ten")?;
/// assert_eq!(document.resolve(&Default::default())?.tcp.cc, "ten");
/// # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Extensions {
    disciplines: Disciplines,
    tcp: Catalogue,
    sources: Vec<KnownSource>,
}

impl Default for Extensions {
    fn default() -> Self {
        Self::new()
    }
}

impl Extensions {
    /// Returns everything that comes with goodqueue. The historic TCP stacks and controllers are
    /// added here, as yours are.
    #[must_use]
    pub fn new() -> Self {
        let tcp = goodqueue_tcp_historic::add_to(Catalogue::new());
        Self { disciplines: Disciplines::new(), tcp, sources: Vec::new() }
    }

    /// Returns the same and the AQM `A`. It replaces one of yours with the same name; the name of a
    /// built-in discipline does not compile.
    #[must_use]
    pub fn with_aqm<A>(mut self) -> Self
    where
        A: Aqm<State: Send + Sync + 'static> + std::fmt::Debug + Send + Sync + 'static,
    {
        self.disciplines = self.disciplines.with_aqm::<A>();
        self
    }

    /// Returns the same and the discipline `Q`, which queues [`StandIn`](goodqueue::own::StandIn)s
    /// here: `with_qdisc::<MyScheduler<StandIn>>()`. It replaces one of yours with the same name;
    /// the name of a built-in discipline does not compile.
    #[must_use]
    pub fn with_qdisc<Q: Registrable>(mut self) -> Self {
        self.disciplines = self.disciplines.with_qdisc::<Q>();
        self
    }

    /// Returns the same with other disciplines.
    #[must_use]
    pub fn with_disciplines(mut self, disciplines: Disciplines) -> Self {
        self.disciplines = disciplines;
        self
    }

    /// Returns the same and the congestion controller `C`, a value of `cc`. It replaces one of
    /// yours with the same name; the name of a built-in controller does not compile.
    #[must_use]
    pub fn with_controller<C: Controller>(mut self) -> Self {
        self.tcp = self.tcp.with_controller::<C>();
        self
    }

    /// Returns the same and the TCP stack `S`, whose profiles are values of `profile`. It replaces
    /// one of yours with the same name; the name of a built-in stack does not compile.
    #[must_use]
    pub fn with_stack<S: Listed>(mut self) -> Self {
        self.tcp = self.tcp.with_stack::<S>();
        self
    }

    /// Returns the same and the traffic source `S`, a value of `kind` in `[[flows]]`. It replaces
    /// one of yours with the same name. A built-in source with this name is found first.
    #[must_use]
    pub fn with_source<S: Named>(mut self) -> Self {
        let new = KnownSource::new::<S>();
        // A source that is added again would be found twice.
        self.sources.retain(|known| *known != new);
        self.sources.push(new);
        self
    }

    /// Returns the disciplines.
    #[must_use]
    pub const fn disciplines(&self) -> &Disciplines {
        &self.disciplines
    }

    /// Returns the TCP stacks, profiles and congestion controllers.
    #[must_use]
    pub const fn tcp(&self) -> &Catalogue {
        &self.tcp
    }

    /// Returns your own traffic sources.
    #[must_use]
    pub fn sources(&self) -> &[KnownSource] {
        &self.sources
    }

    /// Returns the names of all congestion controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.tcp.controllers().map(|about| about.name)
    }

    /// Returns the TCP profiles of all stacks.
    pub fn profiles(&self) -> impl Iterator<Item = &'static Profile> + Clone + '_ {
        self.tcp.profiles()
    }
}

impl From<Disciplines> for Extensions {
    fn from(disciplines: Disciplines) -> Self {
        Self::new().with_disciplines(disciplines)
    }
}
