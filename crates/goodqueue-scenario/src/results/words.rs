//! Values of results that are words.

use std::fmt;

use goodqueue_sim::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The word for a direction: `down` or `up`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Direction", rename_all = "lowercase")]
#[schemars(rename = "Direction")]
pub(super) enum DirectionWord {
    /// From the server to the client: a download's data.
    Down,
    /// From the client to the server: an upload's data, a download's acknowledgements.
    Up,
}

/// A letter for the latency under load, the best first. Each is given below a mean induced latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Grade {
    /// 5 ms.
    #[serde(rename = "A+")]
    APlus,
    /// 30 ms.
    A,
    /// 60 ms.
    B,
    /// 200 ms.
    C,
    /// 400 ms.
    D,
    /// Any other.
    F,
}

impl Grade {
    /// All grades, the best first.
    pub const ALL: [Self; 6] = [Self::APlus, Self::A, Self::B, Self::C, Self::D, Self::F];

    /// Returns the letter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` obeys the width of a column, which `write_str` does not.
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_are_written_and_read_as_their_letters() {
        for grade in Grade::ALL {
            let json = serde_json::to_string(&grade).unwrap();
            assert_eq!(json, format!("\"{grade}\""));
            assert_eq!(serde_json::from_str::<Grade>(&json).unwrap(), grade);
        }
        assert!(Grade::ALL.is_sorted());
    }
}
