//! A configuration of a router.

use schemars::JsonSchema;
use serde::Serialize;

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// Short name: `tc`, `openwrt` or `networkd`.
    pub name: &'static str,
    /// For which router, and where it belongs.
    pub place: String,
    /// Commands or the contents of a file.
    pub text: String,
}
