//! What can go wrong with the system: a sentence, and what to do next.

use std::fmt;
use std::io;

/// Why something live could not be done.
#[derive(Debug)]
pub struct LiveError {
    problem: String,
    help: Option<String>,
}

impl LiveError {
    /// `problem` says what was tried and why it failed.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), help: None }
    }

    /// `what` was tried, and the system said `why`.
    pub fn system(what: impl fmt::Display, why: impl Into<io::Error>) -> Self {
        Self::new(format!("{what}: {}", why.into()))
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What to do next.
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
