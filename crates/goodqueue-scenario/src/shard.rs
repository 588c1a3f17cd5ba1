//! Shards: parts of a sweep that several machines run.
//!
//! A hash of a run's swept values, discipline and seed selects its shard. A run therefore stays in
//! its shard when values, disciplines or seeds are added to the sweep. All shards keep their runs
//! in one [`Store`](crate::store::Store), from which a session returns them as if one command had
//! made them.

use goodqueue::random::mix_64;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};

use crate::run::RunSpec;

/// A part of the runs of a sweep: the i-th of n.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 1 to `count`.
    index: u32,
    count: u32,
}

impl Shard {
    /// Reads a shard such as `3/16`.
    ///
    /// # Errors
    /// Anything else, or a shard that is not one of 1 to n.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let form = "i/n, the i-th of n shards: 1/4, 2/4, 3/4 and 4/4 are all shards of a sweep";
        let parts = text.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?)));
        let Some((index, count)) = parts else {
            return Err(Diagnostic::new(format!("`{}` is not a shard", shortened(text))).allowed(form));
        };
        // A sweep has at most 100,000 runs (`MAX_RUNS`), so further shards would have none.
        if count == 0 || count > MOST_SHARDS {
            return Err(Diagnostic::new(format!("a sweep cannot have {count} shards"))
                .allowed(format!("1 to {MOST_SHARDS} shards, as in 1/4")));
        }
        if index == 0 || index > count {
            return Err(Diagnostic::new(format!("there is no shard {index} of {count}"))
                .allowed(format!("1/{count} to {count}/{count}"))
                .help("the first shard has the number 1"));
        }
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Self { index: narrow(index), count: narrow(count) })
    }

    /// True if the run is in this shard.
    #[must_use]
    pub fn has(&self, run: &RunSpec) -> bool {
        identity(run) % u64::from(self.count) == u64::from(self.index - 1)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Returns a hash of the swept values, the discipline and the seed of a run.
fn identity(run: &RunSpec) -> u64 {
    let RunSpec { labels, config, .. } = run;
    // In JSON, neighbouring values cannot run into each other.
    let text = serde_json::json!([labels.sweep, labels.qdisc, config.seed]).to_string();
    text.bytes().fold(FIRST, |hash, byte| mix_64(hash ^ u64::from(byte)))
}

/// Digits and nothing else.
fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number above 64 bits is refused as too large, and not as no number.
    is_plain.then(|| text.parse().unwrap_or(u64::MAX))
}

/// The hash of nothing. It differs from those of other uses of the same bytes.
const FIRST: u64 = u64::from_be_bytes(*b"shard__!");
const MOST_SHARDS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::Runs as _;
    use crate::scenario::Document;
    use crate::session::Session;

    fn session(sweep: &str) -> Session {
        let text = format!("qdiscs = [\"pfifo\", \"codel\"]\nduration = \"1s\"\n{sweep}");
        let document = Document::parse("load.toml", &text, Path::new("")).unwrap();
        Session::new(&document).unwrap()
    }

    fn shards_of(runs: &Session, count: u32) -> Vec<u32> {
        let of = |number| {
            let run = runs.spec(number).unwrap();
            (1..=count).filter(|index| Shard { index: *index, count }.has(&run)).collect::<Vec<_>>()
        };
        (0..runs.count())
            .map(|number| match of(number)[..] {
                [one] => one,
                ref several => panic!("run {number} is in the shards {several:?}"),
            })
            .collect()
    }

    #[test]
    fn each_run_is_in_one_shard_and_shards_are_about_equal() {
        let runs = session("seeds = 100\n[sweep]\n\"link.rtt\" = [\"10ms\", \"20ms\"]");
        let shards = shards_of(&runs, 4);
        for index in 1..=4 {
            let size = shards.iter().filter(|shard| **shard == index).count();
            // 100 each, with a standard deviation of 9.
            assert!((70..130).contains(&size), "shard {index} of 4 has {size} of 400 runs");
            assert_eq!(runs.shard(Shard { index, count: 4 }).unwrap().count(), size);
        }
    }

    #[test]
    fn a_run_stays_in_its_shard_when_the_sweep_grows() {
        let by_run = |sweep: &str| -> std::collections::BTreeMap<String, u32> {
            let runs = session(sweep);
            let name = |number| {
                let run = runs.spec(number).unwrap();
                format!("{:?} {} {}", run.labels.sweep, run.labels.qdisc, run.config.seed)
            };
            (0..runs.count()).map(name).zip(shards_of(&runs, 7)).collect()
        };
        let before = by_run("seeds = 2\n[sweep]\n\"link.rtt\" = [\"10ms\", \"20ms\"]");
        let after = by_run("seeds = 5\n[sweep]\n\"link.rtt\" = [\"5ms\", \"20ms\", \"10ms\", \"40ms\"]");
        // Two disciplines times 2 seeds times 2 values, and times 5 times 4.
        assert_eq!((before.len(), after.len()), (8, 40));
        assert!(before.iter().all(|(name, shard)| after.get(name) == Some(shard)));
    }

    #[test]
    fn a_shard_that_does_not_exist_is_refused_with_those_that_do() {
        for (text, says) in [
            ("0/4", "there is no shard 0 of 4"),
            ("5/4", "there is no shard 5 of 4"),
            ("1/0", "a sweep cannot have 0 shards"),
            ("1/99999999999999999999", "a sweep cannot have 18446744073709551615 shards"),
            ("half", "`half` is not a shard"),
            ("1", "`1` is not a shard"),
            ("-1/4", "`-1/4` is not a shard"),
            ("1/4/2", "`1/4/2` is not a shard"),
            ("", "`` is not a shard"),
        ] {
            let error = Shard::parse(text).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("allowed: "), "{text}: {error}");
        }
        assert_eq!(Shard::parse("3/16").map(|shard| shard.to_string()), Ok("3/16".to_owned()));
    }
}
