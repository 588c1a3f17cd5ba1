//! A check of this machine for everything that the live part needs or can use. Each thing is tried
//! in a child process, which changes nothing of the host.

mod host;
mod trial;

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
    fn present(purpose: Purpose, name: &'static str, found: impl Into<String>) -> Self {
        Self { purpose, name, state: State::Present, found: found.into(), advice: None }
    }

    fn limited(purpose: Purpose, name: &'static str, found: impl Into<String>, advice: &str) -> Self {
        Self { purpose, name, state: State::Limited, found: found.into(), advice: Some(advice.to_owned()) }
    }

    fn missing(purpose: Purpose, name: &'static str, error: &LiveError) -> Self {
        let advice = error.advice().map(str::to_owned);
        Self { purpose, name, state: State::Missing, found: error.problem().to_owned(), advice }
    }
}

/// Checks this machine. The findings are in the order of the commands. The process must have one
/// thread only.
///
/// # Errors
/// The child process cannot be started.
pub fn findings() -> Result<Vec<Finding>, LiveError> {
    let mut all = trial::namespaces()?;
    all.extend(host::clock());
    all.extend(host::memory());
    all.extend(host::congestion_controls());
    all.extend(host::nat());
    all.extend(host::shape());
    // The sort is stable.
    all.sort_by_key(|finding| finding.purpose);
    Ok(all)
}
