//! The options of a request as their declarations describe them, with the names that they have in
//! Python.

use std::cmp::Reverse;
use std::sync::LazyLock;

use goodqueue_scenario::request::{DescribedOption, described_options};
use pyo3::prelude::*;

/// All options of a request.
pub(crate) static OPTIONS: LazyLock<Vec<DescribedOption>> = LazyLock::new(described_options);

/// Returns the name, the form and the meaning of each option of a request.
#[pyfunction]
pub(crate) fn options() -> Vec<(&'static str, &'static str, String)> {
    OPTIONS
        .iter()
        .map(|option| (option.name.as_str(), option.form.as_str(), in_words_of_python(&option.meaning)))
        .collect()
}

/// Returns the text with the names that options of the command have here.
pub(crate) fn in_words_of_python(text: &str) -> String {
    ARGUMENTS.iter().fold(text.to_owned(), |text, option| text.replace(&option.argument, &option.name))
}

/// The options. A longer name comes before one that it begins with.
static ARGUMENTS: LazyLock<Vec<&DescribedOption>> = LazyLock::new(|| {
    let mut all: Vec<_> = OPTIONS.iter().collect();
    all.sort_by_key(|option| Reverse(option.argument.len()));
    all
});
