//! The quantities of keys, for programs that give their values as numbers.
//!
//! A scenario file has a unit at each time and rate, so it refuses bare numbers. A program that
//! has numbers in SI base units adds the unit that [`Quantity::of_key`] names.

/// The quantity of a value with a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Seconds, as in `link.rtt`.
    Time,
    /// Bits per second, as in `link.up`.
    Rate,
}
