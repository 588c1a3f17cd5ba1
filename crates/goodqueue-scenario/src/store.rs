//! Results that are kept, one file per run, so that an interrupted sweep resumes.
//!
//! A run is identified by everything that determines it: its key, and the program that
//! made it. A program that was built anew may decide otherwise under the same version, so it never
//! takes the results of another.
//!
//! The first line of a file is the result. Each further line is a part that not every reader needs:
//! the time series in one step. The first line begins with a checksum of all that follows, so a
//! file that was damaged later is recognized. A file appears whole or not at all, under a name that
//! follows from the key. Several processes, also on several machines, may therefore share the
//! [`Place`] of the files without locks: two that make the same run write the same bytes.

mod checksum;
mod folder;
mod place;
mod program;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use goodqueue::random::mix_64;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::checksum::Checksum;
use self::folder::Folder;
pub use self::place::{Place, PlaceName, built_without_objects};

/// Finished runs, by their key and the program that made them.
#[derive(Clone, Debug)]
pub struct Store {
    place: Arc<dyn Place>,
    /// Checksum of the program.
    program: u64,
}

/// What a store has of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum StoredRun<T> {
    /// The run.
    Whole(T),
    /// Nothing, or not the time series that are wanted.
    Absent,
    /// A file that cannot be used. A new result replaces it.
    Damaged(DamagedFile),
}

/// A file of a store that cannot be used. Its text names the file and the problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DamagedFile {
    file: String,
    why: String,
}

#[derive(Serialize, Deserialize)]
struct Entry<R> {
    key: String,
    run: R,
}

/// A part of a result beside its metrics.
#[derive(Serialize, Deserialize)]
struct Part<S> {
    /// Step of the time series in nanoseconds.
    step_ns: u64,
    series: S,
}

/// A part without its contents.
#[derive(Deserialize)]
struct Step {
    step_ns: u64,
}

impl<T> StoredRun<T> {
    /// Returns the run, if it is there and whole.
    #[must_use]
    pub fn whole(self) -> Option<T> {
        match self {
            Self::Whole(run) => Some(run),
            Self::Absent | Self::Damaged(_) => None,
        }
    }

    /// Returns the damage of the run's file, if it has any.
    pub(crate) const fn damage(&self) -> Option<&DamagedFile> {
        match self {
            Self::Damaged(damaged) => Some(damaged),
            Self::Whole(_) | Self::Absent => None,
        }
    }

    /// Takes what `wanted` finds in the run.
    pub(crate) fn and_then<U>(self, wanted: impl FnOnce(T) -> Option<U>) -> StoredRun<U> {
        match self {
            Self::Whole(run) => wanted(run).map_or(StoredRun::Absent, StoredRun::Whole),
            Self::Absent => StoredRun::Absent,
            Self::Damaged(damaged) => StoredRun::Damaged(damaged),
        }
    }
}

impl std::fmt::Display for DamagedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.file, self.why)
    }
}

impl Store {
    /// The store in `folder`, which is made if it is not there. Errors name `--out`.
    ///
    /// # Errors
    /// The folder cannot be made, or the file of this program cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Diagnostic> {
        Self::of_program(folder, this_program()?)
    }

    /// As [`open`](Self::open), for a folder that another option named.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_for(folder: &Path, option: &'static str) -> Result<Self, Diagnostic> {
        Self::at(Arc::new(Folder::open(folder, option)?))
    }

    /// The store at this place.
    ///
    /// # Errors
    /// The file of this program cannot be read.
    pub fn at(place: Arc<dyn Place>) -> Result<Self, Diagnostic> {
        Ok(Self { place, program: this_program()? })
    }

    /// The store in `folder` for results of the program with this checksum, for programs that are
    /// not started from a file of their own.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn of_program(folder: &Path, program: u64) -> Result<Self, Diagnostic> {
        Ok(Self { place: Arc::new(Folder::open(folder, "--out")?), program })
    }

    /// Where the files are.
    #[must_use]
    pub fn place(&self) -> &dyn Place {
        &*self.place
    }

    /// Checksum of the program whose results these are.
    #[must_use]
    pub const fn program(&self) -> u64 {
        self.program
    }

    /// The run with this key.
    ///
    /// # Errors
    /// The place cannot be reached.
    pub fn load<R: DeserializeOwned>(&self, key: &str) -> Result<StoredRun<R>, Diagnostic> {
        let key = self.whole(key);
        Ok(self.read(&key)?.and_then(|text| parse(&key, lines(&text).next()?)))
    }

    /// True if the run with this key is there and whole.
    ///
    /// # Errors
    /// The place cannot be reached.
    pub fn has(&self, key: &str) -> Result<bool, Diagnostic> {
        let key = self.whole(key);
        Ok(self.read(&key)?.whole().is_some_and(|text| has_key(&key, &text)))
    }

    /// The run with this key and its time series: those in steps of `step_ns`, or else, with
    /// `any_step`, those that were kept.
    ///
    /// # Errors
    /// The place cannot be reached.
    pub fn load_with_series<R: DeserializeOwned, S: DeserializeOwned>(
        &self,
        key: &str,
        step_ns: u64,
        any_step: bool,
    ) -> Result<StoredRun<(R, S)>, Diagnostic> {
        let key = self.whole(key);
        Ok(self.read(&key)?.and_then(|text| with_series(&key, &text, step_ns, any_step)))
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save<R: Serialize>(&self, key: &str, run: &R) -> Result<(), Diagnostic> {
        self.write(&self.whole(key), run, Vec::new())
    }

    /// Keeps a run and its time series in steps of `step_ns`, beside series in other steps that are
    /// there already.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_with_series<R: Serialize, S: Serialize>(
        &self,
        key: &str,
        run: &R,
        step_ns: u64,
        series: &S,
    ) -> Result<(), Diagnostic> {
        let key = self.whole(key);
        let part = serde_json::to_vec(&Part { step_ns, series }).map_err(|error| self.unwritable(&error))?;
        let mut parts = vec![(step_ns, part)];
        if let Some(text) = self.read(&key)?.whole().filter(|text| has_key(&key, text)) {
            // The first line has the checksum and the metrics.
            let known = lines(&text).skip(1).filter_map(|part| Some((step_of(part)?, part.to_vec())));
            // If another process adds a step meanwhile, one of the two is lost and simulated again
            // when it is wanted.
            parts.extend(known.filter(|known| known.0 != step_ns));
        }
        // A file has the same bytes whatever the order in which its parts were kept. No two parts
        // have the same step.
        parts.sort_unstable_by_key(|part| part.0);
        self.write(&key, run, parts.into_iter().map(|part| part.1).collect())
    }

    /// Reads the file of a run, and checks that it is as it was written.
    fn read(&self, key: &str) -> Result<StoredRun<Vec<u8>>, Diagnostic> {
        let name = file_name(key);
        let why = match self.place.read(&name, LARGEST_RUN) {
            Ok(None) => return Ok(StoredRun::Absent),
            Ok(Some(text)) => match problem(&text) {
                None => return Ok(StoredRun::Whole(text)),
                Some(why) => why.to_owned(),
            },
            // A failed read over a network tells nothing about the file, so the command ends and
            // can be repeated.
            Err(error) if !self.place.is_remote() || error.kind() == ErrorKind::FileTooLarge => {
                error.to_string()
            }
            Err(error) => return Err(self.unreadable(&error)),
        };
        Ok(StoredRun::Damaged(DamagedFile { file: format!("{}/{name}", self.place.shown()), why }))
    }

    fn write<R: Serialize>(&self, key: &str, run: &R, parts: Vec<Vec<u8>>) -> Result<(), Diagnostic> {
        let entry = Entry { key: key.to_owned(), run };
        // The brace is that of the object, before which the checksum is put.
        let mut text = vec![0; PREFIX_BYTES - 1];
        serde_json::to_writer(&mut text, &entry).map_err(|error| self.unwritable(&error))?;
        for part in parts {
            text.push(b'\n');
            text.extend(part);
        }
        if text.len() as u64 > LARGEST_RUN {
            return Err(Diagnostic::new(format!("the result of a run has {} MiB", text.len() >> 20))
                .allowed(format!("at most {} MiB of a run in a store", LARGEST_RUN >> 20))
                .help("choose a longer step with `--series`"));
        }
        let prefix = prefix(Checksum::of_bytes(&text[PREFIX_BYTES..]));
        text[..PREFIX_BYTES].copy_from_slice(prefix.as_bytes());
        self.place.write(&file_name(key), &text).map_err(|error| self.unwritable(&error))
    }

    fn unreadable(&self, why: &std::io::Error) -> Diagnostic {
        Diagnostic::new(format!("the store `{}` cannot be read: {why}", self.place.shown()))
            .help("repeat the command: runs kept so far are not simulated again")
    }

    /// The error that nothing can be kept here.
    pub(crate) fn unwritable(&self, why: &impl std::fmt::Display) -> Diagnostic {
        let [allowed, remedy] = self.place.needed();
        Diagnostic::new(format!("the store `{}` cannot be written: {why}", self.place.shown()))
            .allowed(allowed)
            .help(format!("{remedy}, then repeat the command: runs kept so far are not simulated again"))
    }

    fn whole(&self, key: &str) -> String {
        format!("{:016x} | {key}", self.program)
    }
}

/// Returns the checksum of this program, under which results are kept.
///
/// # Errors
/// The file of this program cannot be read.
pub fn this_program() -> Result<u64, Diagnostic> {
    program::checksum().map_err(|error| {
        Diagnostic::new(format!(
            "the file of this program cannot be read: {error}; results are kept under its checksum"
        ))
        .help("start it again if it was replaced just now")
    })
}

/// Returns the name of the file of the run with this key.
fn file_name(key: &str) -> String {
    // Two digests that start apart make 128 bits, in which no two runs meet by chance.
    let digest = [*b"one!", *b"two!"]
        .map(|start| u64::from(u32::from_be_bytes(start)))
        .map(|start| key.bytes().fold(start, |digest, byte| mix_64(digest ^ u64::from(byte))));
    format!("{:016x}{:016x}.json", digest[0], digest[1])
}

/// Returns the beginning of a file with this checksum of all that follows.
fn prefix(checksum: u64) -> String {
    format!("{{\"checksum\":\"{checksum:016x}\",")
}

/// Returns how the text of a file differs from what was written.
fn problem(text: &[u8]) -> Option<&'static str> {
    // The whole beginning is compared, so that a damaged digit of the checksum is seen, too.
    match text.split_at_checked(PREFIX_BYTES) {
        Some((begin, rest)) if begin == prefix(Checksum::of_bytes(rest)).as_bytes() => None,
        Some((begin, _)) if begin.starts_with(PREFIX) => Some("its checksum does not fit its contents"),
        _ if text.is_empty() => Some("it is empty"),
        _ => Some("it has no checksum"),
    }
}

fn with_series<R: DeserializeOwned, S: DeserializeOwned>(
    key: &str,
    text: &[u8],
    step_ns: u64,
    any_step: bool,
) -> Option<(R, S)> {
    // The first line has the checksum and the metrics.
    let parts = || lines(text).skip(1);
    let part = parts()
        .find(|part| step_of(part) == Some(step_ns))
        // The parts ascend by their steps, so the first one is the finest.
        .or_else(|| parts().next().filter(|_| any_step))?;
    let part: Part<S> = serde_json::from_slice(part).ok()?;
    Some((parse(key, lines(text).next()?)?, part.series))
}

/// Reads a result, if it is that of `key`: two keys may share a file name, however unlikely.
fn parse<R: DeserializeOwned>(key: &str, line: &[u8]) -> Option<R> {
    let entry: Entry<R> = serde_json::from_slice(line).ok()?;
    (entry.key == key).then_some(entry.run)
}

fn has_key(key: &str, text: &[u8]) -> bool {
    lines(text).next().and_then(|line| parse::<serde::de::IgnoredAny>(key, line)).is_some()
}

fn step_of(part: &[u8]) -> Option<u64> {
    serde_json::from_slice(part).ok().map(|Step { step_ns }| step_ns)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

const PREFIX: &[u8] = b"{\"checksum\":\"";
/// The prefix, 16 digits, a quotation mark and a comma.
const PREFIX_BYTES: usize = PREFIX.len() + 18;
/// Bytes of a result. One with a time series of a million steps takes less.
const LARGEST_RUN: u64 = 1 << 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_built_anew_does_not_take_the_results_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let [before, after] = [1, 2].map(|program| Store::of_program(folder.path(), program).unwrap());
        before.save("codel, seed 1", &1.5).unwrap();
        assert_eq!(before.load("codel, seed 1"), Ok(StoredRun::Whole(1.5)));
        assert_eq!(after.load::<f64>("codel, seed 1"), Ok(StoredRun::Absent));
        after.save("codel, seed 1", &2.5).unwrap();
        assert_eq!(
            (before.load("codel, seed 1"), after.load("codel, seed 1")),
            (Ok(StoredRun::Whole(1.5)), Ok(StoredRun::Whole(2.5)))
        );
    }

    /// Returns the only file in a folder.
    fn only_file(folder: &Path) -> std::path::PathBuf {
        let mut files = std::fs::read_dir(folder).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file
    }

    #[test]
    fn a_file_that_was_changed_counts_as_damaged_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(folder.path(), 1).unwrap();
        store.save_with_series("codel, seed 1", &1.5, 100, &[1, 2]).unwrap();
        let file = only_file(folder.path());
        let whole = std::fs::read_to_string(&file).unwrap();
        let first = whole.lines().next().unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(first).is_ok(), "lines of JSON: {whole}");
        for (damaged, says) in [
            (String::new(), "it is empty"),
            (whole.replace("1.5", "9.5"), "its checksum does not fit its contents"),
            (whole.replace("[1,2]", "[1,3]"), "its checksum does not fit its contents"),
            (whole[..whole.len() - 1].to_owned(), "its checksum does not fit its contents"),
            (first.to_owned(), "its checksum does not fit its contents"),
            (whole.replace("checksum", "checkers"), "it has no checksum"),
            ("{\"key\":\"0000000000000001 | codel, seed 1\",\"run\":9.5}".to_owned(), "it has no checksum"),
        ] {
            std::fs::write(&file, damaged).unwrap();
            let Ok(StoredRun::Damaged(what)) = store.load::<f64>("codel, seed 1") else { panic!("{says}") };
            assert_eq!(what.to_string(), format!("`{}`: {says}", file.display()));
            assert_eq!(store.has("codel, seed 1"), Ok(false));
        }
        store.save_with_series("codel, seed 1", &1.5, 100, &[1, 2]).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    }

    #[cfg(unix)]
    #[test]
    fn what_another_user_left_in_place_of_a_run_is_neither_read_nor_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(&folder.path().join("runs"), 1).unwrap();
        store.save("codel, seed 1", &1.5).unwrap();
        let file = only_file(&folder.path().join("runs"));
        let victim = folder.path().join("victim");
        std::fs::rename(&file, &victim).unwrap();
        for target in [victim.as_path(), Path::new("/dev/zero"), Path::new("/nowhere")] {
            std::os::unix::fs::symlink(target, &file).unwrap();
            let found = store.load::<f64>("codel, seed 1").unwrap();
            assert!(
                matches!(&found, StoredRun::Damaged(what) if what.to_string().contains("regular file")),
                "{found:?}"
            );
            store.save("codel, seed 1", &2.5).unwrap();
            assert_eq!(store.load("codel, seed 1"), Ok(StoredRun::Whole(2.5)));
            std::fs::remove_file(&file).unwrap();
        }
        assert!(std::fs::read_to_string(&victim).unwrap().contains("1.5"));
        let all = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, all, 0).unwrap();
        assert!(matches!(store.load::<f64>("codel, seed 1"), Ok(StoredRun::Damaged(_))));
        store.save("codel, seed 1", &2.5).unwrap();
        assert_eq!(store.load("codel, seed 1"), Ok(StoredRun::Whole(2.5)));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_no_run_can_have_is_damaged_without_being_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(folder.path(), 1).unwrap();
        store.save("codel, seed 1", &1.5).unwrap();
        let file = std::fs::File::options().write(true).open(only_file(folder.path())).unwrap();
        // A hole takes no space on the disk.
        file.set_len(1 << 40).unwrap();
        let found = store.load::<f64>("codel, seed 1").unwrap();
        assert!(
            matches!(&found, StoredRun::Damaged(what) if what.to_string().contains("larger than 256 MiB")),
            "{found:?}"
        );
    }

    #[test]
    fn runs_that_a_killed_program_began_to_write_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".goodqueue-0123456789abcdef"), "half").unwrap();
        Store::of_program(folder.path(), 1).unwrap().save("codel, seed 1", &1.5).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn time_series_lie_beside_the_metrics_and_each_step_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(folder.path(), 1).unwrap();
        store.save_with_series("codel", &1.5, 100, &[1, 2]).unwrap();
        assert_eq!(store.load("codel"), Ok(StoredRun::Whole(1.5)));
        let series = |step, any| store.load_with_series::<f64, Vec<i32>>("codel", step, any).unwrap().whole();
        assert_eq!(series(100, false), Some((1.5, vec![1, 2])));
        assert_eq!(series(10, false), None);
        assert_eq!(series(10, true), Some((1.5, vec![1, 2])));
        store.save_with_series("codel", &1.5, 10, &[3]).unwrap();
        assert_eq!(series(100, false), Some((1.5, vec![1, 2])));
        assert_eq!(series(10, false), Some((1.5, vec![3])));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_order_of_steps_does_not_change_the_file() {
        let bytes = [[10, 100], [100, 10]].map(|steps| {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::of_program(folder.path(), 1).unwrap();
            for step in steps {
                store.save_with_series("codel", &1.5, step, &step).unwrap();
            }
            std::fs::read(std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path()).unwrap()
        });
        assert_eq!(bytes[0], bytes[1]);
    }

    #[test]
    fn a_store_without_space_or_permission_says_where_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_program(&folder.path().join("runs"), 1).unwrap();
        std::fs::remove_dir(folder.path().join("runs")).unwrap();
        std::fs::write(folder.path().join("runs"), "").unwrap();
        let error = store.save("codel, seed 1", &1.5).unwrap_err().to_string();
        for part in ["the store `", "runs` cannot be written", "allowed: ", "repeat the command"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_same_program_finds_its_results_again() {
        let folder = tempfile::tempdir().unwrap();
        Store::open(folder.path()).unwrap().save("codel, seed 1", &1.5).unwrap();
        assert_eq!(Store::open(folder.path()).unwrap().load("codel, seed 1"), Ok(StoredRun::Whole(1.5)));
    }
}
