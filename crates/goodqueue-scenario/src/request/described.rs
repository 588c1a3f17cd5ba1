//! The options of a request, as their declarations describe them.

use clap::{Args as _, Command};

use crate::scenario::Overrides;

/// An option of a request, for front ends that are not written in Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescribedOption {
    /// Name of the field and of the key in JSON, such as `qdiscs`.
    pub name: String,
    /// Name on the command line, such as `--qdisc`. Messages name this one.
    pub argument: String,
    /// Form of the value, such as `RATE`.
    pub form: String,
    /// Meaning, with the default, as the help of the command has it.
    pub meaning: String,
}

/// Returns all options of a request, in the order of their declaration.
#[must_use]
pub fn described_options() -> Vec<DescribedOption> {
    let command = Overrides::augment_args(Command::new("request"));
    let described = command.get_arguments().map(|argument| DescribedOption {
        name: argument.get_id().to_string(),
        argument: argument.get_long().map(|long| format!("--{long}")).unwrap_or_default(),
        form: argument
            .get_value_names()
            .and_then(|names| names.first())
            .map(ToString::to_string)
            .unwrap_or_default(),
        meaning: argument.get_help().map(ToString::to_string).unwrap_or_default(),
    });
    described.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_a_request_is_described_with_a_form_and_a_meaning() {
        let options = described_options();
        let keys = serde_json::to_value(Overrides::default()).unwrap();
        let keys: Vec<&String> = keys.as_object().unwrap().keys().collect();
        assert_eq!(options.iter().map(|option| &option.name).collect::<Vec<_>>(), keys);
        for option in &options {
            assert!(option.argument.starts_with("--"), "{option:?}");
            assert!(!option.form.is_empty() && option.meaning.len() > 10, "{option:?}");
        }
    }
}
