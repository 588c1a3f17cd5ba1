//! Results in the formats of other programs: Flent's data files, Parquet, CSV; and every packet,
//! see [`packets`].
//!
//! A file of Flent holds the time series of one run, so several runs become several files. A
//! Parquet or CSV file holds all runs: as a table with a row for each run ([`runs`]), or their time
//! series as one long table ([`samples`]). The name of the file selects the table and the format.

pub mod csv;
pub mod flent;
pub mod frame;
mod names;
pub mod packets;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod runs;
pub mod samples;
pub mod swept;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use goodqueue_tc::diagnostic::Diagnostic;

use self::names::{FLENT_END, Label, names, names_of, without_parquet};
use crate::files::Existing;
use crate::results::Results;
use crate::run::ScenarioRuns;

/// A format, known by the name of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `.flent.gz`: time series for `flent -i` and `flent-gui`.
    Flent,
    /// `.parquet`: a table for polars, pandas, DuckDB and R.
    Parquet(Table),
    /// `.csv`: the same table as text.
    Csv(Table),
}

/// The contents of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// A row for each run.
    Runs,
    /// A row for each sample of the time series. The file is called `series.csv`,
    /// `NAME.series.csv`, `series.parquet` or `NAME.series.parquet`.
    Series,
}

/// Writes the contents of a file to where it is given, piece by piece.
pub type Contents<'c> = dyn FnMut(&mut (dyn Write + Send)) -> io::Result<()> + 'c;

/// Makes a file: receives its path, what happens to a file of this name, and its contents.
pub type MakeFile<'p> = dyn FnMut(&Path, Existing, &mut Contents<'_>) -> Result<(), Diagnostic> + 'p;

impl Format {
    /// The format that the name of `path` ends with.
    ///
    /// # Errors
    /// A name that says none of them, or one that this build cannot write.
    pub fn from_path(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        // A name that is only an ending, such as `.csv`, is that of a hidden file.
        let stem = |end: &str| name.strip_suffix(end).filter(|stem| !stem.is_empty());
        let table = |stem: &str| match stem.rsplit('.').next() {
            Some("series") => Table::Series,
            _ => Table::Runs,
        };
        if stem(FLENT_END).is_some() {
            return Ok(Self::Flent);
        }
        if let Some(stem) = stem(".csv") {
            return Ok(Self::Csv(table(stem)));
        }
        if let Some(stem) = stem(".parquet") {
            return if cfg!(feature = "parquet") {
                Ok(Self::Parquet(table(stem)))
            } else {
                Err(without_parquet())
            };
        }
        Err(if packets::Format::from_path(path).is_ok() {
            Diagnostic::new("neither runs nor time series are exported in this format")
                .allowed(ENDS)
                .help("`--packets FILE` writes every packet")
        } else {
            Diagnostic::new("the end of the name does not say in which format to export").allowed(ENDS)
        })
    }

    /// True if the export consists of time series.
    #[must_use]
    pub const fn needs_series(self) -> bool {
        !matches!(self, Self::Parquet(Table::Runs) | Self::Csv(Table::Runs))
    }

    /// The files that [`Self::write`] will make of `runs`.
    ///
    /// # Errors
    /// A run that cannot be made.
    pub fn names(self, path: &Path, runs: &ScenarioRuns<'_>) -> Result<Vec<PathBuf>, Diagnostic> {
        match self {
            Self::Flent => names_of(path, FLENT_END, runs),
            Self::Parquet(_) | Self::Csv(_) => Ok(vec![path.to_owned()]),
        }
    }

    /// Writes the files that hold `results`: `path` itself, or of several runs in Flent's format a
    /// file beside it for each. Returns their names. Memory holds the contents of one run at a
    /// time, or the columns of a table of runs.
    ///
    /// # Errors
    /// Results without the series that are to be exported, or an error of `place`.
    pub fn write(
        self,
        path: &Path,
        results: &Results,
        place: &mut MakeFile<'_>,
    ) -> Result<Vec<PathBuf>, Diagnostic> {
        if self.needs_series() && results.runs.iter().all(|run| run.series.is_none()) {
            return Err(Diagnostic::new("there are no time series to export"));
        }
        let mut alone = |contents: &mut Contents<'_>| {
            place(path, Existing::Used, contents)?;
            Ok(vec![path.to_owned()])
        };
        match self {
            Self::Flent => flent_files(path, results, place),
            #[cfg(feature = "parquet")]
            Self::Parquet(Table::Runs) => {
                alone(&mut |file| parquet::write_frame(file, &runs::frame(results), results))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(Table::Series) => alone(&mut |file| parquet::write_series(file, results)),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet(_) => Err(without_parquet()),
            Self::Csv(Table::Runs) => alone(&mut |file| csv::write_frame(file, &runs::frame(results))),
            Self::Csv(Table::Series) => alone(&mut |file| csv::write_series(file, results)),
        }
    }
}

/// Writes a file for each run that has time series.
fn flent_files(path: &Path, results: &Results, place: &mut MakeFile<'_>) -> Result<Vec<PathBuf>, Diagnostic> {
    // Runs are named before those without series are left out, as in `names`.
    let labels: Vec<Label<'_>> = results.runs.iter().map(Label::from_run).collect();
    let named: Vec<_> = names(path, FLENT_END, &labels)
        .into_iter()
        .zip(&results.runs)
        .filter(|(_, run)| run.series.is_some())
        .collect();
    // The names of several files follow from the one that the user typed.
    let existing = if named.len() > 1 { Existing::Replaced } else { Existing::Used };
    for (name, run) in &named {
        place(name, existing, &mut |file| flent::write(file, results, run))?;
    }
    Ok(named.into_iter().map(|(name, _)| name).collect())
}

const ENDS: &str = "a name that ends with .csv or .parquet (a row for each run), .series.csv or .series.parquet (time \
                    series), or .flent.gz (time series for Flent)";

#[cfg(test)]
pub(crate) mod tests {
    use goodqueue_sim::Direction;

    use super::*;
    use crate::results::{
        FlowKind, FlowResult, FlowSeries, PerDirection, QueueSeries, Run, ScenarioRecord, Series,
    };

    /// Two steps of a run with a download, an upload and a ping.
    pub(crate) fn run(qdisc: &str, seed: u64) -> Run {
        let queue = QueueSeries {
            sojourn_mean_s: vec![Some(0.004), None],
            sojourn_max_s: vec![Some(0.005), None],
            queue_packets: vec![3.0, 0.0],
            throughput_bps: vec![9.5e6, 0.0],
            drops: vec![1, 0],
        };
        let flow = |id, kind, cc: Option<&str>, direction| FlowResult {
            id,
            kind,
            cc: cc.map(str::to_owned),
            direction,
            rtt_s: 0.05,
            ..FlowResult::default()
        };
        let goodput = |id| FlowSeries { id, values: vec![4e6, 5e6] };
        Run {
            qdisc: qdisc.to_owned(),
            seed,
            duration_s: 0.2,
            flows: vec![
                flow(0, FlowKind::Tcp, Some("cubic"), Direction::Down),
                flow(1, FlowKind::Tcp, Some("cubic"), Direction::Up),
                flow(2, FlowKind::Ping, None, Direction::Up),
            ],
            series: Some(Series {
                step_s: 0.1,
                queues: PerDirection { down: queue.clone(), up: queue },
                goodput_bps: vec![goodput(0), goodput(1)],
                pings: vec![(0.0, Some(0.0625)), (0.05, None), (0.1, Some(0.075))],
                ..Series::default()
            }),
            ..Run::default()
        }
    }

    pub(crate) fn results(runs: Vec<Run>) -> Results {
        Results {
            goodqueue: "0.1.0".to_owned(),
            scenario: ScenarioRecord::from_json(serde_json::json!({"name": "test", "duration": "200ms"})),
            runs,
            ..Results::default()
        }
    }

    #[test]
    fn the_name_tells_the_format() {
        assert_eq!(Format::from_path(Path::new("a/b.flent.gz")), Ok(Format::Flent));
        for runs in ["B.CSV", "runs.csv", "link-series.csv", "series.1.csv"] {
            assert_eq!(Format::from_path(Path::new(runs)), Ok(Format::Csv(Table::Runs)), "{runs}");
        }
        for series in ["series.csv", "a.series.csv", "a.b.Series.CSV"] {
            assert_eq!(Format::from_path(Path::new(series)), Ok(Format::Csv(Table::Series)), "{series}");
        }
        for wrong in ["x", "x.json", ".csv", "x.gz", "", "/"] {
            let error = Format::from_path(Path::new(wrong)).unwrap_err().to_string();
            assert!(error.contains(".csv or .parquet (a row for each run)"), "{error}");
        }
    }

    #[test]
    fn results_without_series_are_told_of() {
        let bare = results(vec![Run { series: None, ..run("pie", 1) }]);
        let to_nothing = &mut |_: &Path, _, contents: &mut Contents<'_>| {
            contents(&mut io::sink()).map_err(|error| Diagnostic::new(error.to_string()))
        };
        assert!(Format::Csv(Table::Series).write(Path::new("x.series.csv"), &bare, to_nothing).is_err());
        let written = Format::Csv(Table::Runs).write(Path::new("x.csv"), &bare, to_nothing);
        assert_eq!(written, Ok(vec!["x.csv".into()]));
    }
}
