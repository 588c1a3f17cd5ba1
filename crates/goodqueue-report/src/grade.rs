//! The letter grade for latency under load, over several seeds.

use goodqueue_scenario::results::Run;

/// The grades, best first.
const LETTERS: [&str; 6] = ["A+", "A", "B", "C", "D", "F"];

/// The best and the worst grade of several runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grades {
    best: usize,
    worst: usize,
}

impl Grades {
    /// Returns the grades of the runs that have one; `None` if no run has one.
    pub(crate) fn of(runs: &[&Run]) -> Option<Self> {
        let letters = || {
            runs.iter()
                .filter_map(|r| r.grade.as_deref())
                .filter_map(|g| LETTERS.iter().position(|l| *l == g))
        };
        Some(Self { best: letters().min()?, worst: letters().max()? })
    }

    /// Returns `A`, or `A–C` if the grades differ.
    pub(crate) fn text(self) -> String {
        if self.best == self.worst {
            LETTERS[self.best].to_owned()
        } else {
            format!("{}–{}", LETTERS[self.best], LETTERS[self.worst])
        }
    }

    /// Returns the CSS class of the worst grade.
    pub(crate) fn class(self) -> &'static str {
        ["g-aa", "g-a", "g-b", "g-c", "g-d", "g-f"][self.worst]
    }
}
