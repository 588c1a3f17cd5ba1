//! A configuration of a router.

use schemars::JsonSchema;
use serde::Serialize;

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// Short name, one of [`routers`](crate::routers).
    pub name: &'static str,
    /// For which router, and where it belongs.
    pub place: String,
    /// Form of `text`.
    pub form: Form,
    /// True if the text of the advice shows it. The others are listed there.
    pub is_common: bool,
    /// Steps before it on this router.
    pub before: Vec<String>,
    /// Commands, the contents of a file, or the fields of a page.
    pub text: String,
    /// Commands that take it back; empty if the router's pages do.
    pub undo: Vec<String>,
    /// Remarks: what this router cannot express, what was done instead, and which version it needs.
    pub remarks: Vec<String>,
}

/// The form of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Commands for a shell.
    Commands,
    /// A file.
    File,
    /// Fields of a page or an app, for people.
    Page,
}

impl Setting {
    /// Returns the text with the remarks and the way back, as comments that its format allows.
    #[must_use]
    pub fn words(&self) -> String {
        let mark = match self.form {
            Form::Commands | Form::File => "# ",
            Form::Page => "",
        };
        let mut words = self.text.clone();
        for remark in &self.remarks {
            for line in wrapped(remark, COLUMNS - mark.len()) {
                words += &format!("{mark}{line}\n");
            }
        }
        if !self.undo.is_empty() {
            words += &format!("{mark}Undo:\n");
            words.extend(self.undo.iter().map(|command| format!("{mark}{command}\n")));
        }
        words
    }
}

/// Returns lines of at most `columns` bytes, if the words allow.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Width of remarks.
const COLUMNS: usize = 100;
