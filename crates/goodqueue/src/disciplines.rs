//! The disciplines that a line or a scenario may name: the built-in ones and those of other crates.

use alloc::vec::Vec;

use crate::aqm::{Aqm, AqmQueue};
use crate::config::{Kind, Owner, Settings};
use crate::own::{Registrable, StandIn, owner};
use crate::registry::{KINDS, PRESETS};

/// The built-in disciplines, and your own.
///
/// Everything that reads `tc` lines takes such a list: `goodqueue_tc::parse_among`, scenarios, and
/// the whole command line (`goodqueue_cli::main_with`).
///
/// ```
/// use goodqueue::aqm::{Aqm, Seen};
/// use goodqueue::config::{Configure, Declaration, Kind, Parameter, Value};
/// use goodqueue::random::Source;
/// use goodqueue::{AnyConfig, ConfigError, Disciplines, Duration, Link, Settings, Verdict};
///
/// /// Marks, or drops, packets that have waited for longer than `target`.
/// #[derive(Clone, Debug)]
/// struct Step {
///     target: Duration,
/// }
///
/// const TARGET: Parameter = Declaration::time("target")
///     .default(Duration::from_millis(1))
///     .meaning("sojourn time above which packets are marked");
///
/// impl Configure for Step {
///     const KIND: Kind =
///         Kind::new("step", "Marks every packet above a sojourn time").with_parameters(&[TARGET]);
///
///     fn from_checked(settings: &Settings, _: &Link) -> Result<Self, ConfigError> {
///         Ok(Self { target: TARGET.read(settings)? })
///     }
///
///     fn to_settings(&self) -> Settings {
///         Settings::new().and(&TARGET, self.target)
///     }
/// }
///
/// impl Aqm for Step {
///     type State = ();
///
///     fn on_dequeue(&self, _: &mut (), seen: &Seen, _: &mut Source) -> Verdict {
///         if seen.sojourn > self.target { Verdict::Mark } else { Verdict::Pass }
///     }
/// }
///
/// let disciplines = Disciplines::new().with_aqm::<Step>();
/// let settings = disciplines.settings("step").with("target", Value::Time(Duration::from_millis(3)));
/// let config = AnyConfig::from_settings("step", &settings, &Link::default()).unwrap()?;
/// assert_eq!(config.to_settings().time("target"), Some(Duration::from_millis(3)));
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Disciplines {
    own: Vec<Owner>,
}

impl Disciplines {
    /// Returns the built-in disciplines.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Vec::new() }
    }

    /// Returns the same disciplines and the AQM `A`. It replaces one of yours with the same name;
    /// the name of a built-in discipline does not compile.
    #[must_use]
    pub fn with_aqm<A>(self) -> Self
    where
        A: Aqm<State: Send + Sync + 'static> + core::fmt::Debug + Send + Sync + 'static,
    {
        self.with_qdisc::<AqmQueue<StandIn, A>>()
    }

    /// Returns the same disciplines and `Q`, which is generic over its packets and queues
    /// [`StandIn`]s here: `with_qdisc::<MyScheduler<StandIn>>()`. It replaces one of yours with the
    /// same name; the name of a built-in discipline does not compile.
    #[must_use]
    pub fn with_qdisc<Q: Registrable>(mut self) -> Self {
        const { assert!(!is_built_in(owner::<Q>().kind().name), "a built-in discipline has this name") };
        let new = owner::<Q>();
        // Owners are equal if their names are.
        self.own.retain(|known| *known != new);
        self.own.push(new);
        self
    }

    /// Returns the descriptions of all disciplines: the built-in ones, then your own.
    pub fn kinds(&self) -> impl Iterator<Item = &'static Kind> + Clone + '_ {
        KINDS.iter().chain(self.own())
    }

    /// Returns the descriptions of your own disciplines.
    pub fn own(&self) -> impl Iterator<Item = &'static Kind> + Clone + '_ {
        self.own.iter().map(Owner::kind)
    }

    /// Returns the description of the discipline called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Kind> {
        self.kinds().find(|kind| kind.name == name)
    }

    /// Returns empty settings for the discipline called `name`.
    #[must_use]
    pub fn settings(&self, name: &str) -> Settings {
        self.claim(name, Settings::new())
    }

    /// Returns `settings` as those of the discipline called `name`. A configuration is then found
    /// by them, also inside another discipline.
    #[must_use]
    pub fn claim(&self, name: &str, settings: Settings) -> Settings {
        match self.own.iter().find(|own| own.kind().name == name) {
            Some(own) => settings.with_owner(*own),
            None => settings,
        }
    }
}

/// Returns true if a built-in discipline or a preset has this name.
const fn is_built_in(name: &str) -> bool {
    let mut index = 0;
    // A `for` loop is not constant yet.
    while index < KINDS.len() {
        if is_equal(KINDS[index].name, name) {
            return true;
        }
        index += 1;
    }
    index = 0;
    while index < PRESETS.len() {
        if is_equal(PRESETS[index].name, name) {
            return true;
        }
        index += 1;
    }
    false
}

/// Compares two names. `==` of strings is not constant yet.
const fn is_equal(a: &str, b: &str) -> bool {
    let a = a.as_bytes();
    let b = b.as_bytes();
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}
