//! Typed setters of configurations.
//!
//! A setter changes one parameter of a valid configuration and checks the result, so that a value
//! that exists is valid.

use crate::config::{Child, ConfigError, Configure, Link, Parameter, Setting, Settings, Value};

/// Returns the configuration with every parameter at its default.
///
/// A test creates every discipline with its defaults.
pub(crate) fn default_of<C: Configure>() -> C {
    #[expect(clippy::expect_used, reason = "constant, and a test covers every discipline")]
    C::from_settings(&Settings::new(), &Link::default()).expect("defaults are valid")
}

/// Returns the configuration of `variant`, everything else at its default.
pub(crate) fn variant_of<C: Configure>(variant: &'static str) -> Result<C, ConfigError> {
    C::from_settings(&Settings::new().with("variant", Value::Choice(variant)), &Link::default())
}

/// Returns `config` with `parameter` set to `value`.
pub(crate) fn with<C: Configure>(
    config: &C,
    parameter: &Parameter,
    value: impl Setting,
) -> Result<C, ConfigError> {
    let given = Settings::new().and(parameter, value);
    let mut settings = config.to_settings();
    settings.retain(|other| C::stays_beside(other, &given));
    for (given_name, given_value) in given.iter() {
        settings.set(given_name, given_value);
    }
    C::from_settings(&settings, &config.link())
}

/// Returns `config` with `child` in place of the child of the same number. The class above it is no
/// leaf any more, and so has no discipline from then on.
pub(crate) fn with_child<C: Configure>(config: &C, child: Child) -> Result<C, ConfigError> {
    let mut settings = config.to_settings();
    settings.remove_child(child.class);
    // No class has the number 0, which stands for the root.
    if let Some(above) = settings.children().iter().find(|other| other.class == child.parent).cloned() {
        settings.remove_child(above.class);
        settings.add_child(Child { qdisc: None, ..above });
    }
    settings.add_child(child);
    C::from_settings(&settings, &config.link())
}

/// Declares the parameters of a discipline, each of them once.
///
/// An entry has the meaning of a parameter as its doc comment, then the name of a constant, the
/// unit, the word in a line, the setter, and values for methods of [`Declaration`]:
///
/// ```text
/// parameters! {
///     PARAMETERS of [] FqCodelConfig;
///     /// packets that all queues together hold
///     LIMIT: packets "limit", with_limit { default: 10_240, range: 1..=16_777_216, source: "RFC 8290 §5.2.3" };
///     TARGET: time, with_target;
/// }
/// ```
///
/// The first entry writes
///
/// * `const LIMIT: Parameter`, with which `from_checked` reads the value of a configuration
///   (`limit: LIMIT.read(settings)?`) and `to_settings` writes it (`.and(&LIMIT, self.limit)`),
/// * the checked setter `FqCodelConfig::with_limit(&self, u64)`, documented with all that is
///   declared.
///
/// The second entry names a parameter that another module declares, and writes the setter only. The
/// constant `PARAMETERS` lists all entries in their order, for [`Kind::parameters`]. `Default` of
/// the configuration has every parameter at its default. Parameters of classes have no setters:
/// their list starts with `PARAMETERS;`.
///
/// [`Declaration`]: crate::config::Declaration
/// [`Kind::parameters`]: crate::config::Kind::parameters
macro_rules! parameters {
    (
        $visible:vis $table:ident of [$($generics:tt)*] $config:ty;
        $(
            $(#[doc = $doc:literal])*
            $vis:vis $constant:ident: $unit:ident $($word:literal)?, $setter:ident
            $({ $($key:ident: $value:expr),+ $(,)? })?;
        )+
    ) => {
        $crate::typed::parameters! {
            $visible $table;
            $($(#[doc = $doc])* $vis $constant: $unit $($word)? $({ $($key: $value),+ })?;)+
        }

        impl<$($generics)*> Default for $config {
            /// Returns the defaults on an Ethernet link of 10 Mbit/s.
            fn default() -> Self {
                $crate::typed::default_of()
            }
        }

        impl<$($generics)*> $config {
            $($crate::typed::parameters! {
                @setter $setter $constant $unit [$($word)?] [$($doc)*] [$($($key: $value),+)?]
            })+
        }
    };
    (
        $visible:vis $table:ident;
        $(
            $(#[doc = $doc:literal])*
            $vis:vis $constant:ident: $unit:ident $($word:literal)? $({ $($key:ident: $value:expr),+ $(,)? })?;
        )+
    ) => {
        $($crate::typed::parameters! {
            @constant $vis $constant $unit [$($word)?] [$($doc)*] [$($($key: $value),+)?]
        })+
        $visible const $table: &[$crate::config::Parameter] = &[$($constant),+];
    };
    (
        @constant $vis:vis $constant:ident $unit:ident
        [$word:literal] [$($doc:literal)+] [$($key:ident: $value:expr),+]
    ) => {
        #[doc = concat!("The parameter `", $word, "`:", $($doc,)+ ".")]
        $vis const $constant: $crate::config::Parameter =
            $crate::config::Declaration::$unit($word)$(.$key($value))+.meaning(concat!($($doc),+));
    };
    // Another module declares it.
    (@constant $vis:vis $constant:ident $unit:ident [] [] []) => {};
    (
        @setter $setter:ident $constant:ident $unit:ident
        [$word:literal] [$($doc:literal)+] [$($key:ident: $value:expr),+]
    ) => {
        #[doc = concat!("Sets `", $word, "`:", $($doc,)+ ".")]
        #[doc = ""]
        $(#[doc = concat!("* ", stringify!($key), ": `", stringify!($value), "`")])+
        ///
        /// # Errors
        /// The value is out of range or contradicts another parameter.
        pub fn $setter(&self, value: $crate::typed::parameters!(@type $unit)) -> Result<Self, $crate::ConfigError> {
            $crate::typed::with(self, &$constant, value)
        }
    };
    (@setter $setter:ident $constant:ident $unit:ident [] [] []) => {
        /// Sets the parameter of this name, which the table of the module describes.
        ///
        /// # Errors
        /// The value is out of range or contradicts another parameter.
        pub fn $setter(&self, value: $crate::typed::parameters!(@type $unit)) -> Result<Self, $crate::ConfigError> {
            $crate::typed::with(self, &$constant, value)
        }
    };
    (@type packets) => { u64 };
    (@type bytes) => { u64 };
    (@type integer) => { u64 };
    (@type class) => { u32 };
    (@type signed) => { i64 };
    (@type time) => { $crate::Duration };
    (@type seconds) => { $crate::Duration };
    (@type rate) => { $crate::Rate };
    (@type probability) => { f64 };
    (@type percentage) => { f64 };
    (@type flag) => { bool };
    (@type choice) => { &'static str };
    (@type table) => { &'static str };
    (@type priomap) => { [u8; 16] };
}
pub(crate) use parameters;

/// Writes the constructor of a configuration that has variants.
macro_rules! in_variants {
    ([$($generics:tt)*] $config:ty) => {
        impl<$($generics)*> $config {
            /// Returns the defaults of the variant called `name`: whose behaviour it has.
            ///
            /// # Errors
            /// There is no variant of this name.
            pub fn variant_named(name: &'static str) -> Result<Self, $crate::ConfigError> {
                $crate::typed::variant_of(name)
            }
        }
    };
}
pub(crate) use in_variants;

/// Declares an enum whose values are words in a line: a choice, or the variants of a discipline.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $name:ident { $($(#[doc = $doc:literal])+ $case:ident = $word:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name {
            $($(#[doc = $doc])+ $case,)+
        }

        impl $name {
            /// Returns the word.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)+
                }
            }
        }

        impl $crate::config::Setting for $name {
            fn from_value(value: &$crate::config::Value) -> Option<Self> {
                match value {
                    $($crate::config::Value::Choice($word) => Some(Self::$case),)+
                    _ => None,
                }
            }

            fn into_value(self, _: $crate::config::Unit) -> $crate::config::Value {
                $crate::config::Value::Choice(self.name())
            }
        }
    };
}
pub(crate) use words;
