//! Every packet of the bottleneck, written during the run: as a table (CSV, Parquet), as packets
//! for Wireshark (pcapng), as qlog, or as recordings for `goodqueue replay`.
//!
//! A file contains one run, including the warm-up. Memory use does not grow with the duration,
//! because only queued packets are held.

pub mod csv;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pcapng;
pub mod qlog;
pub mod recording;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

use goodqueue::Instant;
use goodqueue_sim::observer::{Fate, Observer, Visit};
use goodqueue_sim::{Capacity, Direction, UNLIMITED};
use goodqueue_tc::diagnostic::Diagnostic;

use self::writer::PacketWriter;
use super::names::{names_of, without_parquet};
use crate::files::StreamedFile;
use crate::run::{PacketFile, RunSpec, Runs as _, ScenarioRuns};

/// A format, chosen by the ending of the file name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `.csv`: a row for each packet.
    Csv,
    /// `.parquet`: the same table.
    Parquet,
    /// `.pcapng`: for Wireshark and tshark.
    Pcapng,
    /// `.sqlog`: qlog as a JSON text sequence.
    Qlog,
    /// `.jsonl` or `.jsonl.gz`: for `goodqueue replay`; a file for each direction.
    Recording,
}

impl Format {
    /// Returns the format for the ending of `path`, and the ending as written.
    ///
    /// # Errors
    /// An unknown ending, or a format that this build cannot write.
    pub fn from_path(path: &Path) -> Result<(Self, &'static str), Diagnostic> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        // A name that is nothing but an ending has no format.
        match ENDS.into_iter().find(|(_, end)| name.len() > end.len() && name.ends_with(end)) {
            Some((Self::Parquet, _)) if cfg!(not(feature = "parquet")) => Err(without_parquet()),
            Some(found) => Ok(found),
            None => Err(Diagnostic::new("the end of the name does not say in which format to write packets")
                .allowed("a name that ends with .csv, .parquet, .pcapng, .sqlog, .jsonl or .jsonl.gz")),
        }
    }
}

const ENDS: [(Format, &str); 6] = [
    (Format::Csv, ".csv"),
    (Format::Parquet, ".parquet"),
    (Format::Pcapng, ".pcapng"),
    (Format::Qlog, ".sqlog"),
    (Format::Recording, ".jsonl"),
    (Format::Recording, ".jsonl.gz"),
];

/// Requests that the packets of `runs` are written to `path`, and returns the files. With several
/// runs, each has its own file with the discipline, the sweep point and the seed in its name.
///
/// # Errors
/// An unknown ending, or a link that a recording cannot describe.
pub fn request(path: &Path, runs: &mut ScenarioRuns<'_>) -> Result<Vec<PathBuf>, Diagnostic> {
    let (format, end) = Format::from_path(path)?;
    if format == Format::Recording {
        (0..runs.count()).try_for_each(|number| has_one_rate(&*runs.spec(number)?))?;
    }
    let named = names_of(path, end, runs)?;
    let files = named.iter().flat_map(|name| match format {
        Format::Recording => Direction::BOTH.map(|direction| recording::file(name, end, direction)).to_vec(),
        _ => vec![name.clone()],
    });
    let files = files.collect();
    runs.write_packets(named);
    Ok(files)
}

fn has_one_rate(run: &RunSpec) -> Result<(), Diagnostic> {
    for (direction, link) in Direction::BOTH.iter().zip(&run.config.links) {
        let why = match &link.capacity {
            Capacity::Constant(rate) if *rate == UNLIMITED || rate.as_bps() == 0 => "has no rate",
            Capacity::Schedule(_) => "changes its rate",
            Capacity::Trace(_) => "is a trace",
            Capacity::Constant(_) if link.driver.is_some() => "has a queue in its device",
            Capacity::Constant(_) if link.grants.is_some() => "waits for grants",
            Capacity::Constant(_) => continue,
        };
        let direction = direction.name();
        return Err(Diagnostic::new(format!("the link {direction} {why}: a replay could not know")).help(
            "write .csv, .parquet, .pcapng or .sqlog, which hold the same packets, or give the link one rate",
        ));
    }
    Ok(())
}

/// The unfinished files of one run.
pub(crate) struct PacketLog {
    files: Vec<(PathBuf, Box<dyn PacketWriter>)>,
    failed: Option<Diagnostic>,
}

impl PacketLog {
    /// Creates the files that `run` requests.
    pub(crate) fn create(run: &RunSpec) -> Result<Self, Diagnostic> {
        let mut files = Vec::new();
        for PacketFile { path, existing } in &run.packets {
            let (format, end) = Format::from_path(path)?;
            let file = || StreamedFile::create(path, *existing);
            let writer: io::Result<Box<dyn PacketWriter>> = match format {
                Format::Csv => file().and_then(csv::Table::begin).map(|table| Box::new(table) as _),
                #[cfg(feature = "parquet")]
                Format::Parquet => {
                    file().and_then(|new| parquet::Table::begin(new, run)).map(|table| Box::new(table) as _)
                }
                #[cfg(not(feature = "parquet"))]
                Format::Parquet => return Err(without_parquet()),
                Format::Pcapng => file()
                    .and_then(|new| pcapng::Capture::begin(new, run))
                    .map(|capture| Box::new(capture) as _),
                Format::Qlog => {
                    file().and_then(|new| qlog::Log::begin(new, run)).map(|log| Box::new(log) as _)
                }
                Format::Recording => {
                    recording::Recordings::create(path, end, run).map(|both| Box::new(both) as _)
                }
            };
            files.push((path.clone(), writer.map_err(|error| cannot_write(path, &error))?));
        }
        Ok(Self { files, failed: None })
    }

    /// Gives the finished files their names.
    pub(crate) fn finish(self) -> Result<(), Diagnostic> {
        match self.failed {
            Some(failed) => Err(failed),
            None => self
                .files
                .into_iter()
                .try_for_each(|(path, file)| file.finish().map_err(|error| cannot_write(&path, &error))),
        }
    }

    // An observer cannot return an error. It stops the run, and `finish` returns the error.
    fn write(&mut self, one: impl Fn(&mut dyn PacketWriter) -> io::Result<()>) {
        for (path, file) in &mut self.files {
            if self.failed.is_none()
                && let Err(error) = one(&mut **file)
            {
                self.failed = Some(cannot_write(path, &error));
            }
        }
    }
}

impl Observer for PacketLog {
    fn arrived(&mut self, visit: &Visit) {
        self.write(|file| file.arrived(visit));
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        self.write(|file| file.ended(visit, at, fate));
    }

    fn goes_on(&self) -> bool {
        self.failed.is_none()
    }
}

fn cannot_write(path: &Path, why: &io::Error) -> Diagnostic {
    let path = path.display().to_string();
    Diagnostic::new(format!("`{path}` cannot be written: {why}")).in_argument("--packets", &path)
}
