//! Typed setters of configurations.
//!
//! A setter changes one parameter of a valid configuration and checks the result, so that a value
//! that exists is valid. The names of parameters are those of the setters without `with_`.

use crate::config::{Child, ConfigError, Configure, Link, Settings, Value};

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

/// Returns `config` with `name` set to `value`.
pub(crate) fn with<C: Configure>(config: &C, name: &'static str, value: Value) -> Result<C, ConfigError> {
    let given = Settings::new().with(name, value);
    let mut settings = config.to_settings();
    settings.retain(|other| C::stays_beside(other, &given));
    for (given_name, given_value) in given.iter() {
        settings.set(given_name, given_value);
    }
    C::from_settings(&settings, &config.link())
}

/// Returns `config` with `child` in place of the child of the same number.
pub(crate) fn with_child<C: Configure>(config: &C, child: Child) -> Result<C, ConfigError> {
    let mut settings = config.to_settings();
    settings.remove_child(child.class);
    settings.add_child(child);
    C::from_settings(&settings, &config.link())
}

/// Writes `Default` and the setters of a configuration: `with_limit(packets);` sets the parameter
/// `limit`. A parameter whose name is no Rust identifier stands behind `=`.
macro_rules! setters {
    ([$($generics:tt)*] $config:ty, $($(#[$doc:meta])* $setter:ident($unit:ident) $(= $name:literal)?;)*) => {
        impl<$($generics)*> Default for $config {
            /// Returns the defaults on an Ethernet link of 10 Mbit/s.
            fn default() -> Self {
                $crate::typed::default_of()
            }
        }

        impl<$($generics)*> $config {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// The value is out of range or contradicts another parameter.
                pub fn $setter(&self, value: $crate::typed::setters!(@type $unit)) -> Result<Self, $crate::ConfigError> {
                    const NAME: &str = $crate::typed::setters!(@name $setter $($name)?);
                    $crate::typed::with(self, NAME, $crate::typed::setters!(@value $unit, value))
                }
            )*
        }
    };
    (@variant [$($generics:tt)*] $config:ty) => {
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
    (@name $setter:ident $name:literal) => { $name };
    (@name $setter:ident) => { stringify!($setter).split_at("with_".len()).1 };
    (@type packets) => { u64 };
    (@type bytes) => { u64 };
    (@type integer) => { u64 };
    (@type signed) => { i64 };
    (@type class) => { u32 };
    (@type time) => { $crate::Duration };
    (@type rate) => { $crate::Rate };
    (@type probability) => { f64 };
    (@type flag) => { bool };
    (@type choice) => { &'static str };
    (@type priomap) => { [u8; 16] };
    (@value packets, $value:ident) => { $crate::config::Value::Packets($value) };
    (@value bytes, $value:ident) => { $crate::config::Value::Bytes($value) };
    (@value integer, $value:ident) => { $crate::config::Value::Integer($value) };
    (@value signed, $value:ident) => { $crate::config::Value::Signed($value) };
    (@value class, $value:ident) => { $crate::config::Value::Class($value) };
    (@value time, $value:ident) => { $crate::config::Value::Time($value) };
    (@value rate, $value:ident) => { $crate::config::Value::Rate($value) };
    (@value probability, $value:ident) => { $crate::config::Value::Probability($value) };
    (@value flag, $value:ident) => { $crate::config::Value::Flag($value) };
    (@value choice, $value:ident) => { $crate::config::Value::Choice($value) };
    (@value priomap, $value:ident) => { $crate::config::Value::Priomap($value) };
}
pub(crate) use setters;
