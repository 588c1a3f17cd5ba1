//! One finding of the check, in words.

use crate::error::LiveError;

/// A command, or a group of commands, with the same needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// `shell` and `compare --live`.
    Shell,
    /// `shell --nat`.
    Nat,
    /// `shape`.
    Shape,
}

/// Whether something is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It is there.
    Present,
    /// It is missing or limited. The command works without it, in the way that the advice tells.
    Limited,
    /// It is missing, and the command does not work without it.
    Missing,
}

/// One thing that a command needs or can use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The command.
    pub purpose: Purpose,
    /// Name of the thing.
    pub name: &'static str,
    /// Whether it is there.
    pub state: State,
    /// Finding in words.
    pub found: String,
    /// Advice, or the difference that its absence makes.
    pub advice: Option<String>,
}

impl Finding {
    pub(super) fn present(purpose: Purpose, name: &'static str, found: impl Into<String>) -> Self {
        Self { purpose, name, state: State::Present, found: found.into(), advice: None }
    }

    pub(super) fn limited(
        purpose: Purpose,
        name: &'static str,
        found: impl Into<String>,
        advice: &str,
    ) -> Self {
        Self { purpose, name, state: State::Limited, found: found.into(), advice: Some(advice.to_owned()) }
    }

    pub(super) fn missing(purpose: Purpose, name: &'static str, error: &LiveError) -> Self {
        let advice = error.advice().map(str::to_owned);
        Self { purpose, name, state: State::Missing, found: error.problem().to_owned(), advice }
    }
}
