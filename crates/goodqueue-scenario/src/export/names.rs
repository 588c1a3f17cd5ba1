//! The names of exported files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use crate::results::Run;
use crate::run::{Runs as _, ScenarioRuns};

/// The properties that distinguish a run from the others.
#[derive(Clone, Copy)]
pub(super) struct Label<'r> {
    qdisc: &'r str,
    sweep: &'r BTreeMap<String, Value>,
    seed: u64,
}

impl<'r> Label<'r> {
    pub(super) fn from_run(run: &'r Run) -> Self {
        Self { qdisc: &run.qdisc, sweep: &run.sweep, seed: run.seed }
    }
}

/// A name for each of `runs`.
pub(super) fn names_of(path: &Path, end: &str, runs: &ScenarioRuns<'_>) -> Result<Vec<PathBuf>, Diagnostic> {
    let own = |number: usize| {
        let run = runs.spec(number)?;
        Ok((run.labels.qdisc.clone(), run.labels.sweep.clone(), run.config.seed))
    };
    let all: Vec<_> = (0..runs.count()).map(own).collect::<Result<_, Diagnostic>>()?;
    let labels = all.iter().map(|(qdisc, sweep, seed)| Label { qdisc, sweep, seed: *seed });
    Ok(names(path, end, &labels.collect::<Vec<_>>()))
}

/// A name for each run: `path`, which ends with `end`, or if there are several with discipline,
/// point of the sweep and seed in it.
pub(super) fn names(path: &Path, end: &str, runs: &[Label<'_>]) -> Vec<PathBuf> {
    if runs.len() < 2 {
        return runs.iter().map(|_| path.to_owned()).collect();
    }
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = &file[..file.len().saturating_sub(end.len())];
    let several_seeds = runs.iter().any(|run| run.seed != runs[0].seed);
    let mut taken = BTreeSet::new();
    let mut name = |run: &Label<'_>| {
        let mut words = vec![plain(run.qdisc)];
        words.extend(run.sweep.iter().map(|(key, value)| plain(&format!("{key}={value}"))));
        words.extend(several_seeds.then(|| format!("seed{}", run.seed)));
        let name = format!("{stem}.{}", words.join("."));
        let mut numbered = name.clone();
        // Two runs may have the same name once it is shortened.
        for number in 2.. {
            if taken.insert(numbered.clone()) {
                break;
            }
            numbered = format!("{name}.{number}");
        }
        path.with_file_name(numbered + end)
    };
    runs.iter().map(&mut name).collect()
}

/// Returns a short text of characters that every file system allows.
fn plain(text: &str) -> String {
    let mut short = String::new();
    for c in text.chars() {
        match c {
            // Values are JSON. The quotes of a text would only lengthen the name.
            '"' => {}
            c if c.is_ascii_alphanumeric() || "=-".contains(c) => short.push(c),
            // Dots separate the words of the name.
            '.' => short.push('-'),
            _ if short.ends_with('_') => {}
            _ => short.push('_'),
        }
    }
    // All characters are ASCII, so the cut is between two of them.
    short.truncate(LONGEST_WORD);
    short.trim_end_matches('_').to_owned()
}

pub(super) fn without_parquet() -> Diagnostic {
    Diagnostic::new("this build of goodqueue does not write Parquet")
        .help("write a .csv file, which holds the same table")
}

pub(super) const FLENT_END: &str = ".flent.gz";

/// Characters of a discipline, or of a swept key, in the name of a file.
const LONGEST_WORD: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;

    #[test]
    fn several_runs_of_flent_have_names_of_their_own() {
        let mut swept = run("pie target 5ms", 2);
        swept.sweep.insert("link.up".to_owned(), "1mbit".into());
        let all = [run("pie target 5ms", 1), swept.clone(), swept];
        let all: Vec<Label<'_>> = all.iter().map(Label::from_run).collect();
        let named = names(Path::new("out/x.flent.gz"), FLENT_END, &all);
        let expected = [
            "out/x.pie_target_5ms.seed1.flent.gz",
            "out/x.pie_target_5ms.link-up=1mbit.seed2.flent.gz",
            "out/x.pie_target_5ms.link-up=1mbit.seed2.2.flent.gz",
        ];
        assert_eq!(named, expected.map(PathBuf::from));
        assert_eq!(names(Path::new("x.flent.gz"), FLENT_END, &all[..1]), [PathBuf::from("x.flent.gz")]);
    }
}
