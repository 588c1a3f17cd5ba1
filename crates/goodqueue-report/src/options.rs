//! The options of a report.

/// Properties of a report that the results do not contain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Title of the page; `None` for the scenario's name.
    pub title: Option<String>,
    /// Command that reproduces the results; `None` for the scenario's `command`, if it has one.
    pub command: Option<String>,
    /// Address of the playground in which the page offers to open its scenario; `None` for no such
    /// offer.
    pub playground: Option<String>,
}

impl Options {
    /// Sets the title of the page.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the command that reproduces the results.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Sets the address of the playground: its `index.html`, or the folder of it.
    #[must_use]
    pub fn playground(mut self, address: impl Into<String>) -> Self {
        self.playground = Some(address.into());
        self
    }
}
