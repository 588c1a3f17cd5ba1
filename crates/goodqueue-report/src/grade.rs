//! The letter for latency under load, over several seeds.

use goodqueue_scenario::results::Run;

/// Best first.
const LETTERS: [&str; 6] = ["A+", "A", "B", "C", "D", "F"];

/// The grades of some runs: the best and the worst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grades {
    best: usize,
    worst: usize,
}

impl Grades {
    /// Of the runs that have one.
    pub(crate) fn of(runs: &[&Run]) -> Option<Self> {
        let letters = || {
            runs.iter()
                .filter_map(|r| r.grade.as_deref())
                .filter_map(|g| LETTERS.iter().position(|l| *l == g))
        };
        Some(Self { best: letters().min()?, worst: letters().max()? })
    }

    /// `A`, or `A–C` if seeds differ.
    pub(crate) fn text(self) -> String {
        if self.best == self.worst {
            LETTERS[self.best].to_owned()
        } else {
            format!("{}–{}", LETTERS[self.best], LETTERS[self.worst])
        }
    }

    /// Style class, by the worst.
    pub(crate) fn class(self) -> &'static str {
        ["g-aa", "g-a", "g-b", "g-c", "g-d", "g-f"][self.worst]
    }
}
