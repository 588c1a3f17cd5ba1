//! The two directions of a link.

/// The direction in which a packet travels, as seen from the client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Direction {
    /// From the server to the client: a download's data.
    #[default]
    Down,
    /// From the client to the server: an upload's data, a download's acknowledgements.
    Up,
}

impl Direction {
    /// Both directions, in the order of their indices.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// Returns the opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// Returns 0 for down and 1 for up.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the word used in results: `down` or `up`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}
