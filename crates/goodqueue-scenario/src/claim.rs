//! The sweep to which a store belongs, once shards use it.
//!
//! Shards of different sweeps, or of different programs, would never fit together. The first shard
//! therefore writes a description of its sweep into the store, and every later command compares its
//! own. Values of swept keys, disciplines and seeds may be added.

use goodqueue_tc::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::ScenarioRuns;
use crate::store::Store;

/// What all shards of a sweep have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Claim {
    /// Version of the program.
    goodqueue: String,
    /// Checksum of the program.
    program: String,
    /// Swept keys.
    sweep: Vec<String>,
    /// The scenario as written, without its sweep, disciplines, seeds and texts.
    scenario: Value,
}

/// Makes the store that of this sweep, if it is not yet that of a sweep.
///
/// # Errors
/// The store belongs to another sweep or was begun by another program, or it cannot be written.
pub fn claim(store: &Store, runs: &ScenarioRuns<'_>) -> Result<(), Diagnostic> {
    if !is_own(store, runs)? {
        let text = serde_json::to_vec_pretty(&Claim::from_store(store, runs))
            .map_err(|error| store.unwritable(&error))?;
        store.place().write_lasting(FILE, &text).map_err(|error| store.unwritable(&error))?;
        // Another shard may have written its own at the same time.
        check(store, runs)?;
    }
    Ok(())
}

/// Returns an error if the store is that of another sweep. A store that no shard has used yet may
/// hold runs of any sweep.
///
/// # Errors
/// The store belongs to another sweep, or was begun by another program.
pub fn check(store: &Store, runs: &ScenarioRuns<'_>) -> Result<(), Diagnostic> {
    is_own(store, runs).map(drop)
}

/// True if the store is that of this sweep, false if it is that of none.
fn is_own(store: &Store, runs: &ScenarioRuns<'_>) -> Result<bool, Diagnostic> {
    let place = store.place();
    let text = match place.read(FILE, LARGEST) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(false),
        Err(error) => {
            return Err(Diagnostic::new(format!("`{FILE}` in `{}` cannot be read: {error}", place.shown())));
        }
    };
    let Ok(there) = serde_json::from_slice::<Claim>(&text) else {
        return Err(Diagnostic::new(format!(
            "`{FILE}` in `{}` does not describe a sweep of goodqueue",
            place.shown()
        ))
        .help(format!("remove this file if it is damaged, or choose {}", place.another())));
    };
    there.compare(&Claim::from_store(store, runs), store).map(|()| true)
}

impl Claim {
    fn from_store(store: &Store, runs: &ScenarioRuns<'_>) -> Self {
        Self {
            goodqueue: env!("CARGO_PKG_VERSION").to_owned(),
            program: format!("{:016x}", store.program()),
            sweep: runs.sweep().values().into_keys().map(str::to_owned).collect(),
            scenario: runs.sweep().base_as_written(),
        }
    }

    fn compare(&self, own: &Self, store: &Store) -> Result<(), Diagnostic> {
        let folder = store.place().shown();
        let another = store.place().another();
        if (&self.goodqueue, &self.program) != (&own.goodqueue, &own.program) {
            return Err(Diagnostic::new(format!(
                "the store `{folder}` was begun by goodqueue {} (program {}), but this is goodqueue {} (program {})",
                self.goodqueue, self.program, own.goodqueue, own.program
            ))
            .allowed("the same program file for all shards, because another one may give other results")
            .help(format!("use the program that began the store, or choose {another}; the runs in the store are kept")));
        }
        let difference = if self.sweep == own.sweep {
            first_difference("", &self.scenario, &own.scenario)
        } else {
            Some(("the sweep".to_owned(), self.sweep.join(", "), own.sweep.join(", ")))
        };
        let Some((key, there, here)) = difference else { return Ok(()) };
        Err(Diagnostic::new(format!(
            "the store `{folder}` holds the shards of another sweep: {key} is {there} there, but {here} here"
        ))
        .allowed("the same scenario, to which values of swept keys, disciplines and seeds may be added")
        .help(format!("choose {another}; the runs in the store are kept")))
    }
}

/// Returns the first key whose values differ, and both values.
fn first_difference(key: &str, there: &Value, here: &Value) -> Option<(String, String, String)> {
    if there == here {
        return None;
    }
    if let (Value::Object(one), Value::Object(other)) = (there, here) {
        let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
        // The difference that is told must not depend on the order in the files.
        keys.sort();
        let below = |name: &&String| {
            let path = if key.is_empty() { (*name).clone() } else { format!("{key}.{name}") };
            let of =
                // TOML has no null, so it can stand for a key that is absent.
                |object: &serde_json::Map<String, Value>| object.get(*name).cloned().unwrap_or(Value::Null);
            first_difference(&path, &of(one), &of(other))
        };
        return keys.iter().find_map(below);
    }
    let shown = |value: &Value| if value.is_null() { "not given".to_owned() } else { value.to_string() };
    Some((format!("`{key}`"), shown(there), shown(here)))
}

/// Name of the description.
const FILE: &str = "sweep.json";
/// Bytes of a description. A scenario has at most one megabyte.
const LARGEST: u64 = 1 << 24;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{Document, Names};
    use crate::sweep::Sweep;

    fn runs(text: &str) -> ScenarioRuns<'static> {
        let document = Document::parse("load.toml", text, Path::new("")).unwrap();
        ScenarioRuns::new(Sweep::new(&document, &Names::default()).unwrap(), None).unwrap()
    }

    const SWEEP: &str = "duration = \"1s\"\nqdiscs = \"pfifo\"\n[sweep]\n\"link.up\" = [\"1mbit\"]";

    #[test]
    fn a_sweep_may_grow_in_its_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(folder.path(), 1).unwrap();
        claim(&store, &runs(SWEEP)).unwrap();
        // Titles, seeds, disciplines and the values of swept keys do not change what an earlier run
        // did.
        let grown = "title = \"more\"\nduration = \"1s\"\nqdiscs = [\"codel\", \"pfifo\"]\nseeds = 9\n[sweep]\n\
                     link.up = [\"2mbit\", \"1mbit\"]";
        claim(&store, &runs(grown)).unwrap();
        check(&store, &runs(SWEEP)).unwrap();
    }

    #[test]
    fn another_sweep_and_another_program_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(folder.path(), 1).unwrap();
        check(&store, &runs(SWEEP)).unwrap();
        claim(&store, &runs(SWEEP)).unwrap();
        for (other, says) in [
            (SWEEP.replace("1s", "2s"), "`duration` is \"1s\" there, but \"2s\" here"),
            (SWEEP.replace("link.up", "link.down"), "the sweep is link.up there, but link.down here"),
            (format!("link.rtt = \"9ms\"\n{SWEEP}"), "`link` is not given there"),
        ] {
            let error = claim(&store, &runs(&other)).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("`--out`"), "{error}");
        }
        let rebuilt = Store::of_program(folder.path(), 2).unwrap();
        let error = check(&rebuilt, &runs(SWEEP)).unwrap_err().to_string();
        assert!(error.contains("(program 0000000000000001), but this is"), "{error}");
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(check(&store, &runs(SWEEP)).unwrap_err().to_string().contains("does not describe a sweep"));
    }
}
