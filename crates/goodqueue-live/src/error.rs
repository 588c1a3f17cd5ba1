//! Errors of the live path: a sentence, and advice what to do next.

use std::fmt;
use std::io;

/// An error of the live path.
#[derive(Debug)]
pub struct LiveError {
    problem: String,
    help: Option<String>,
}

impl LiveError {
    /// Creates an error. `problem` says what failed and why.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), help: None }
    }

    /// Creates an error from one of the system: `what` failed because of `why`.
    pub fn system(what: impl fmt::Display, why: impl Into<io::Error>) -> Self {
        Self::new(format!("{what}: {}", why.into()))
    }

    /// Adds advice what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns what failed and why.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns the advice what to do next.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LiveError {}
