//! Factors between units.

/// A factor that changes nothing, the default of those in `claims.toml`.
pub(super) const fn one() -> f64 {
    1.0
}
