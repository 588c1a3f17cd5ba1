//! The papers, as their folders have them: `claims.toml` says what each claims, in which
//! experiments that shows, and how it is measured; [`file`] knows the form of it.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use goodqueue::{Disciplines, Duration};
use goodqueue_scenario::scenario::{Document, Names, Scenario};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::input;
use goodqueue_tc::units;
use serde::{Deserialize, Serialize};

use super::expression::{Cell, Check, Expression, Statement, expand};
use super::real::Real;
use super::tolerance::{self, Tolerance};

/// A paper and its files, as they come along.
#[derive(Clone, Copy, Debug)]
struct Folder {
    name: &'static str,
    claims: &'static str,
    scenarios: &'static [(&'static str, &'static str)],
}

/// Takes the folders of `papers` in. A paper, or a scenario of one, is added in this list.
macro_rules! folders {
    ($($name:literal: [$($scenario:literal),* $(,)?]),+ $(,)?) => {
        const FOLDERS: &[Folder] = &[$(Folder {
            name: $name,
            claims: include_str!(concat!("../../papers/", $name, "/claims.toml")),
            scenarios: &[$((
                $scenario,
                include_str!(concat!("../../papers/", $name, "/", $scenario)),
            )),*],
        }),+];
    };
}

folders! {
    "gbw": [
        "rrul-100-100.toml", "rrul-10-10.toml", "rrul-10-1.toml",
        "voip-one-100-100.toml", "voip-one-10-10.toml", "voip-one-10-1.toml",
        "voip-rrul-100-100.toml", "voip-rrul-10-10.toml", "voip-rrul-10-1.toml",
        "rtt-fairness-100.toml", "rtt-fairness-10.toml", "rtt-fairness-1.toml",
        "rrul-wifi.toml", "voip-one-wifi.toml", "voip-rrul-wifi.toml",
        "levels.toml", "overload.toml",
    ],
    "gong": ["simulation.toml", "heterogeneous.toml", "testbed.toml", "internet.toml"],
    "jk": ["download.toml"],
    "nj": [
        "window.toml", "serial.toml", "static.toml", "settings.toml", "web.toml", "dynamic.toml", "edge.toml", "modem.toml",
    ],
    "rfc7928": ["dumbbell.toml"],
}

/// What a paper claims.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Prefix of its ids.
    pub name: String,
    /// Where its files are, for messages.
    folder: String,
    /// Its scenario files, with their texts.
    files: Vec<(String, String)>,
    /// Its `claims.toml`.
    text: String,
    /// Disciplines given instead of those for which `{aqm}` stands.
    given: Vec<Given>,
    /// Disciplines that may be given.
    disciplines: Disciplines,
    /// What is listed for every discipline in every experiment.
    pub metrics: Vec<Metric>,
    /// As people cite it.
    pub title: String,
    /// As a bibliography does.
    pub source: String,
    /// Names for what is measured.
    pub measures: BTreeMap<String, Expression>,
    /// The runs that its claims are about.
    pub experiments: Vec<Experiment>,
    /// All claims, in the paper's order.
    pub claims: Vec<Claim>,
    /// What the report draws.
    pub figures: Vec<Figure>,
    /// Disciplines that the report puts beside those of the paper, if asked to.
    pub beyond: Vec<String>,
    /// The paper's names of disciplines, by label.
    pub names: BTreeMap<String, String>,
    /// What real systems measured in the same set-ups.
    pub(super) real: Vec<Real>,
}

/// A discipline that was given, and what cells call it.
#[derive(Clone, Debug)]
struct Given {
    label: String,
    line: String,
}

/// Something that is listed for every discipline in every experiment.
#[derive(Clone, Debug)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// What is measured.
    pub of: Expression,
    /// Its unit.
    pub unit: String,
    /// Factor to get that unit.
    pub scale: f64,
    /// Beginnings of the names of the experiments that have it; empty: all.
    pub only: Vec<String>,
    /// What is in one table with it: metrics of the same experiments, and of the same word here.
    pub table: String,
}

/// Runs that claims are about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// How cells call it.
    pub name: String,
    /// The paper's words for it; default: its name.
    pub title: Option<String>,
    /// File in the paper's folder.
    pub scenario: String,
    /// Keys of the scenario that are different here.
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    /// Keys with several values each; every combination is run, and all of them are the
    /// experiment's repetitions.
    #[serde(default)]
    vary: BTreeMap<String, Vec<toml::Value>>,
    /// The same with `--full`, if that varies more.
    #[serde(default)]
    full_vary: BTreeMap<String, Vec<toml::Value>>,
    #[serde(default)]
    quick: BTreeMap<String, toml::Value>,
    #[serde(default)]
    full: BTreeMap<String, toml::Value>,
    #[serde(default)]
    series: Option<String>,
    /// Packets in the queue down; the longest time above each is measured.
    #[serde(default)]
    pub spikes: Vec<u64>,
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Enough to see whether the claim holds, in minutes.
    Quick,
    /// The repetitions and durations of the paper.
    Full,
}

/// What a claim is. Only numbers, orders and shapes count towards the score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// The value of a table or of a figure.
    Number,
    /// Which is above which.
    Order,
    /// A trend, or a bound in words.
    Shape,
    /// Our scenario is set up as the paper says.
    SetUp,
    /// It follows from other numbers of the paper.
    Arithmetic,
    /// We chose a parameter by looking at this very result.
    Fitted,
    /// Our own check, which the paper does not state.
    Own,
}

impl ClaimKind {
    /// All kinds; those that count first.
    pub const ALL: &'static [Self] =
        &[Self::Number, Self::Order, Self::Shape, Self::SetUp, Self::Arithmetic, Self::Fitted, Self::Own];

    /// True if claims of this kind count towards the score.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Number | Self::Order | Self::Shape)
    }

    /// True if the tolerance of a number follows from a rule; otherwise the check states it.
    #[must_use]
    pub const fn has_rule(self) -> bool {
        self.counts() || matches!(self, Self::Fitted)
    }

    /// As `claims.toml` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Order => "order",
            Self::Shape => "shape",
            Self::SetUp => "set-up",
            Self::Arithmetic => "arithmetic",
            Self::Fitted => "fitted",
            Self::Own => "own",
        }
    }
}

/// One claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its id, which begins with the paper's name.
    pub id: String,
    /// What it is.
    pub kind: ClaimKind,
    /// Section, figure or table, and page of the paper.
    pub place: String,
    /// The paper's own words; empty if the claim is our own.
    pub quote: String,
    /// What is checked, in words.
    pub says: String,
    /// What must hold; none if it cannot be tried.
    pub checks: Vec<Check>,
    /// How far a number may be from the paper's.
    pub tolerance: Tolerance,
    /// The parameter that we chose by looking at this result.
    pub fitted: Option<String>,
    /// What was tried where it does not reproduce, or what differs.
    pub note: String,
    /// Unit of the number.
    pub unit: String,
    /// What real systems did.
    pub real: Vec<Reference>,
    /// Why it cannot be tried.
    pub not_run: Option<String>,
}

/// What a real system did on the same set-up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reference {
    /// Which system.
    pub of: String,
    /// Its number.
    pub value: f64,
}

/// A picture in the paper's own form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its number in the paper.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub form: FigureForm,
    /// The runs, as cells with braces; drawn in this order.
    #[serde(default)]
    pub cells: Vec<String>,
    /// What is drawn: a path of samples (CDF, box, medians), of a series, two for ellipses (x and
    /// y), or expressions (bars, parallel).
    #[serde(default)]
    pub of: Vec<String>,
    /// What the entries of `of` are, where there are several: a group of bars for each, or an
    /// axis. Of stacked shares the names of the `[[flows]]`.
    #[serde(default)]
    pub names: Vec<String>,
    /// Names of the axes, x and y; of boxes, medians and bars that of the values comes first.
    #[serde(default)]
    pub axes: [String; 2],
    /// Range of the first axis in the paper. What lies outside is drawn beside it.
    pub x: Option<(f64, f64)>,
    /// Range of the second axis in the paper; of parallel axes, of all of them.
    pub y: Option<(f64, f64)>,
    /// True if the axis of the values is logarithmic: x of a CDF, y of a series.
    #[serde(default)]
    pub log: bool,
    /// Rows of a timeline: names with years.
    #[serde(default)]
    pub events: BTreeMap<String, Vec<(String, u16)>>,
    /// Factor of the values, to get the unit that the axis names.
    #[serde(default = "one")]
    pub scale: f64,
    /// Added to the values of samples, in that unit.
    #[serde(default)]
    pub plus: f64,
    /// True if a series is drawn as its integral over time: bits per second become bits.
    #[serde(default)]
    pub cumulative: bool,
    /// How far x is drawn, of a series in seconds, of a CDF in the unit of the axis; default: all.
    pub until: Option<f64>,
    /// What the paper has, in the units of the axes, by cell.
    #[serde(default)]
    pub paper: BTreeMap<String, Marks>,
}

/// What a paper has of one cell of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Marks {
    /// A value (box, bars).
    Value(f64),
    /// Points of a line (CDF, series).
    Points(Vec<(f64, f64)>),
}

impl Marks {
    /// As points, a value as x with y = 0.
    #[must_use]
    pub fn points(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Value(value) => vec![(*value, 0.0)],
            Self::Points(points) => points.clone(),
        }
    }
}

fn one() -> f64 {
    1.0
}

/// How a figure is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureForm {
    /// Distribution functions.
    Cdf,
    /// Boxes from quartile to quartile.
    Box,
    /// Bars up to the median, with the quartiles as error bars.
    Medians,
    /// One-sigma ellipses, the x axis reversed.
    Ellipse,
    /// Means over the repetitions, step by step.
    Series,
    /// Bars with the interval of the resampled values.
    Bars,
    /// Parallel coordinates: a line for each cell over several axes.
    Parallel,
    /// Shares of the flows over time, stacked, of the first repetition.
    Stacked,
    /// Years of algorithms; no runs.
    Timeline,
}

/// All papers, in the order of their names.
///
/// # Errors
/// A file of theirs is wrong, which no version that passes its tests has.
pub fn papers() -> Result<Vec<Paper>, Diagnostic> {
    FOLDERS
        .iter()
        .map(|folder| {
            let files = folder.scenarios.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            Paper::read(&format!("papers/{}", folder.name), folder.claims, files.collect(), Vec::new())
        })
        .collect()
}

/// The papers in the folders below `folder`, each with its `claims.toml`, in the order of their
/// names.
///
/// # Errors
/// There is none, or a file is wrong or cannot be read.
pub fn papers_in(folder: &Path) -> Result<Vec<Paper>, Diagnostic> {
    let shown = folder.display().to_string();
    let cannot = |error: std::io::Error| {
        Diagnostic::new(format!("it cannot be read: {error}")).in_argument("--papers", &shown)
    };
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(cannot)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("claims.toml").exists())
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(Diagnostic::new(format!("no folder below `{shown}` has a file `claims.toml`"))
            .in_argument("--papers", &shown));
    }
    let mut left = LARGEST_FOLDER;
    let too_much = || {
        Diagnostic::new(format!("its files are larger than {} MiB together", LARGEST_FOLDER >> 20))
            .help("give a folder that holds papers only")
            .in_argument("--papers", &shown)
    };
    let unreadable = |file: &Path, error: &std::io::Error| {
        Diagnostic::new(format!("it cannot be read: {error}")).in_file(&file.display().to_string())
    };
    let read = |path: &PathBuf| -> Result<Paper, Diagnostic> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path).map_err(cannot)? {
            let file = entry.map_err(cannot)?.path();
            if file.extension().is_some_and(|ending| ending == "toml") {
                let name =
                    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let text = input::text(&file, LARGEST_FILE).map_err(|error| unreadable(&file, &error))?;
                left = left.checked_sub(text.len()).ok_or_else(too_much)?;
                files.push((name, text));
            }
        }
        Paper::of_files(&path.display().to_string(), files)
    };
    found.iter().map(read).collect()
}

impl Paper {
    /// The paper in these files, names and texts, of which one is `claims.toml`; `folder` stands
    /// for where they are in messages, and ends with the paper's name.
    ///
    /// # Errors
    /// There is no `claims.toml`, or something is wrong with it.
    pub fn of_files(folder: &str, files: Vec<(String, String)>) -> Result<Self, Diagnostic> {
        let text = files.iter().find(|file| file.0 == "claims.toml").map(|file| file.1.clone());
        Self::read(folder, &text.unwrap_or_default(), files, Vec::new())
    }

    /// The same asked of these disciplines, as tc writes them, instead of those for which `{aqm}`
    /// stands. The lines may name all of `disciplines`.
    ///
    /// # Errors
    /// The paper does not ask the same of all its disciplines.
    pub fn asked_of(&self, lines: &[String], disciplines: &Disciplines) -> Result<Self, Diagnostic> {
        if !self.text.contains("{aqm}") {
            return Err(Diagnostic::new(format!(
                "the claims of `{}` are about the disciplines of the paper; others cannot be given",
                self.name
            ))
            .help("ask `rfc7928`, whose scenarios are for any discipline"));
        }
        // The brackets of a discipline in a discipline mean something else in a check.
        let label =
            |line: &String| line.replace(['[', '{'], "(").replace([']', '}'], ")").replace([',', '@'], " ");
        let given = lines.iter().map(|line| Given { label: label(line), line: line.clone() });
        let asked = Self::read(&self.folder, &self.text, self.files.clone(), given.collect())?;
        Ok(Self { disciplines: disciplines.clone(), ..asked })
    }

    fn check(&self) -> Result<(), Diagnostic> {
        if !Path::new(&self.folder).ends_with(&self.name) {
            return Err(Diagnostic::new(format!("the name `{}` is not that of the folder", self.name)));
        }
        let mut seen = BTreeSet::new();
        for claim in &self.claims {
            if !claim.id.starts_with(&format!("{}-", self.name)) || !seen.insert(&claim.id) {
                let problem =
                    format!("the id `{}` is there twice, or has not the prefix of the paper", claim.id);
                return Err(Diagnostic::new(problem));
            }
            claim.check().map_err(|error| error.prefixed(&claim.id))?;
            if let Some(cell) = claim.cells().iter().find(|cell| self.experiment(&cell.experiment).is_none())
            {
                return Err(Diagnostic::new(format!("`{}`: there is no experiment for `{cell}`", claim.id)));
            }
        }
        if let Some(name) = self.measures.keys().find(|name| tolerance::word(name).is_some()) {
            let problem = format!("`{name}` has one meaning in all papers, and cannot be a measure");
            return Err(Diagnostic::new(problem));
        }
        for (measure, cell) in self.real.iter().flat_map(Real::known) {
            if !self.measures.contains_key(measure) || self.experiment(&cell.experiment).is_none() {
                let problem =
                    format!("`real`: there is no measure `{measure}`, or no experiment for `{cell}`");
                return Err(Diagnostic::new(problem));
            }
        }
        Ok(())
    }

    /// True if this labels one of the disciplines that the paper does not have.
    #[must_use]
    pub fn is_beyond(&self, label: &str) -> bool {
        self.beyond.iter().any(|line| line == label)
    }

    /// The figures that show any runs of these claims, all of them if these are all claims, and the
    /// cells that they show: those of the paper, and with `beyond` those of today's disciplines.
    ///
    /// # Errors
    /// A figure's cells are not cells.
    pub fn figures_of(
        &self,
        claims: &[&Claim],
        beyond: bool,
    ) -> Result<(Vec<&Figure>, BTreeSet<Cell>), Diagnostic> {
        let asked: BTreeSet<Cell> = claims.iter().flat_map(|claim| claim.cells()).collect();
        let (mut figures, mut cells) = (Vec::new(), BTreeSet::new());
        for figure in &self.figures {
            let shown = if beyond { self.cells_of(figure)? } else { figure.expanded_cells()? };
            if claims.len() == self.claims.len() || shown.iter().any(|cell| asked.contains(cell)) {
                figures.push(figure);
                cells.extend(shown);
            }
        }
        Ok((figures, cells))
    }

    /// The cells that a figure shows, with the disciplines of today beside those of the paper,
    /// experiment by experiment.
    ///
    /// # Errors
    /// The figure's cells are not cells.
    pub fn cells_of(&self, figure: &Figure) -> Result<Vec<Cell>, Diagnostic> {
        let own = figure.expanded_cells()?;
        let mut experiments: Vec<&str> = Vec::new();
        for cell in &own {
            if !experiments.contains(&cell.experiment.as_str()) {
                experiments.push(&cell.experiment);
            }
        }
        let mut cells = Vec::new();
        for experiment in experiments {
            let begun = cells.len();
            cells.extend(own.iter().filter(|cell| cell.experiment == experiment).cloned());
            for label in &self.beyond {
                let cell = Cell { label: label.clone(), experiment: experiment.to_owned() };
                if !cells[begun..].contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        Ok(cells)
    }

    /// The experiment of this name.
    #[must_use]
    pub fn experiment(&self, name: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|experiment| experiment.name == name)
    }

    /// The scenarios of an experiment, one for each combination of what it varies, with those of
    /// its disciplines that are labelled so.
    ///
    /// # Errors
    /// There is none, one does not resolve, or a label is not in it.
    pub fn scenarios(
        &self,
        experiment: &Experiment,
        effort: Effort,
        labels: &BTreeSet<&str>,
    ) -> Result<Vec<Scenario>, Diagnostic> {
        let combinations = experiment.combinations(effort)?;
        combinations.iter().map(|varied| self.scenario(experiment, effort, labels, varied)).collect()
    }

    fn scenario(
        &self,
        experiment: &Experiment,
        effort: Effort,
        labels: &BTreeSet<&str>,
        varied: &[(&String, &toml::Value)],
    ) -> Result<Scenario, Diagnostic> {
        let text =
            self.files.iter().find(|file| file.0 == experiment.scenario).map(|file| &file.1).ok_or_else(
                || {
                    Diagnostic::new(format!(
                        "`{}` is not among the files of `{}`",
                        experiment.scenario, self.name
                    ))
                },
            )?;
        let file = format!("{}/{}", self.folder, experiment.scenario);
        let document = Document::parse(&file, text, Path::new(""))?;
        let mut document = document.with_disciplines(self.disciplines.clone());
        let more = match effort {
            Effort::Quick => &experiment.quick,
            Effort::Full => &experiment.full,
        };
        document.add_qdiscs(self.beyond.iter().map(|line| (line.as_str(), line.as_str())))?;
        document.add_qdiscs(self.given.iter().map(|given| (given.label.as_str(), given.line.as_str())))?;
        let varied = varied.iter().copied().flat_map(keys_of);
        for (key, value) in experiment.set.iter().chain(varied).chain(more) {
            document.set(&format!("experiment {}", experiment.name), key, &value.to_string())?;
        }
        let mut scenario = document.resolve(&Names::default())?;
        let missing =
            labels.iter().find(|label| scenario.qdiscs.iter().all(|choice| choice.label != **label));
        if let Some(label) = missing {
            let known: Vec<&str> = scenario.qdiscs.iter().map(|choice| choice.label.as_str()).collect();
            return Err(Diagnostic::new(format!("no discipline is labelled `{label}`"))
                .one_of(label, &known)
                .in_file(&file));
        }
        scenario.qdiscs.retain(|choice| labels.contains(choice.label.as_str()));
        Ok(scenario)
    }
}

/// The keys that a varied value sets: its own, or, if it is a table of keys of the scenario, these
/// together.
fn keys_of<'v>((key, value): (&'v String, &'v toml::Value)) -> Vec<(&'v String, &'v toml::Value)> {
    match value.as_table() {
        Some(table) if !table.is_empty() && table.iter().all(|entry| entry.0.contains('.')) => {
            table.iter().collect()
        }
        _ => vec![(key, value)],
    }
}

impl Experiment {
    /// Every combination of the values that it varies; a single empty one if it varies nothing.
    fn combinations(&self, effort: Effort) -> Result<Vec<Vec<(&String, &toml::Value)>>, Diagnostic> {
        let varied = match effort {
            Effort::Full if !self.full_vary.is_empty() => &self.full_vary,
            _ => &self.vary,
        };
        let mut all = vec![Vec::new()];
        for (key, values) in varied {
            let count = all.len().saturating_mul(values.len());
            if count == 0 || count > MOST_COMBINATIONS {
                return Err(Diagnostic::new(format!("`vary` of {} makes {count} combinations", self.name))
                    .allowed(format!("1 to {MOST_COMBINATIONS}")));
            }
            let mut longer = Vec::with_capacity(count);
            for begun in &all {
                longer.extend(values.iter().map(|value| [begun.as_slice(), &[(key, value)]].concat()));
            }
            all = longer;
        }
        Ok(all)
    }

    /// Step of the time series that are kept, if any are.
    ///
    /// # Errors
    /// It is not a time.
    pub fn series_step(&self) -> Result<Option<Duration>, Diagnostic> {
        self.series.as_deref().map(units::time).transpose()
    }
}

impl Claim {
    /// The cells that its checks are about.
    #[must_use]
    pub fn cells(&self) -> BTreeSet<Cell> {
        let mut cells = BTreeSet::new();
        for check in &self.checks {
            for expression in check.statement.expressions() {
                expression.cells(&mut cells);
            }
        }
        cells
    }
}

impl Claim {
    fn check(&self) -> Result<(), Diagnostic> {
        if self.checks.is_empty() != self.not_run.is_some() {
            return Err(Diagnostic::new("a claim must have either `check` or `not_run`"));
        }
        if self.fitted.is_some() != (self.kind == ClaimKind::Fitted) {
            return Err(Diagnostic::new("`fitted` names the parameter of a claim of the kind `fitted`"));
        }
        let own_tolerance =
            |check: &Check| matches!(check.statement, Statement::Equal { within: Some(_), .. });
        if let Some(check) = self.checks.iter().find(|check| self.kind.has_rule() && own_tolerance(check)) {
            let problem = format!("`{}`: the tolerance follows from a rule, and has no `+-`", check.text);
            return Err(Diagnostic::new(problem).help("see `tolerance`"));
        }
        self.checks.iter().try_for_each(|check| self.tolerance.check(&check.statement))
    }

    /// Forgets checks that are not about these disciplines.
    fn keep_what_is_about(&mut self, given: &[Given]) {
        self.checks.retain(|check| {
            let mut cells = BTreeSet::new();
            check.statement.expressions().iter().for_each(|expression| expression.cells(&mut cells));
            cells.iter().any(|cell| given.iter().any(|given| given.label == cell.label))
        });
        if self.checks.is_empty() && self.not_run.is_none() {
            self.not_run = Some("it is about other disciplines than those given".to_owned());
        }
    }
}

impl Figure {
    /// Its cells, braces expanded.
    ///
    /// # Errors
    /// One is not of the form `label@experiment`.
    pub fn expanded_cells(&self) -> Result<Vec<Cell>, Diagnostic> {
        let texts: Vec<Vec<String>> =
            self.cells.iter().map(|cells| expand(cells)).collect::<Result<_, _>>()?;
        texts
            .into_iter()
            .flatten()
            .map(|text| match text.split_once('@') {
                Some((label, experiment)) => {
                    Ok(Cell { label: label.trim().to_owned(), experiment: experiment.trim().to_owned() })
                }
                None => Err(Diagnostic::new(format!("`{text}` is no cell such as `codel@4+4`"))),
            })
            .collect()
    }
}

/// Bytes of a file of a paper. The largest that comes with goodqueue has 67 kB.
const LARGEST_FILE: u64 = 4 << 20;
/// Bytes of all files of all papers in a folder.
const LARGEST_FOLDER: usize = 64 << 20;
/// More are a slip of the pen.
const MOST_COMBINATIONS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_reads_and_every_experiment_resolves_with_all_disciplines_asked_for() {
        for paper in papers().unwrap() {
            for experiment in &paper.experiments {
                let mut cells = BTreeSet::new();
                paper.claims.iter().for_each(|claim| cells.extend(claim.cells()));
                cells.extend(paper.figures_of(&paper.claims.iter().collect::<Vec<_>>(), true).unwrap().1);
                let labels: BTreeSet<&str> = cells
                    .iter()
                    .filter(|cell| cell.experiment == experiment.name)
                    .map(|cell| cell.label.as_str())
                    .collect();
                assert!(!labels.is_empty(), "{} {} is used by no claim", paper.name, experiment.name);
                for effort in [Effort::Quick, Effort::Full] {
                    if let Err(error) = paper.scenarios(experiment, effort, &labels) {
                        panic!("{} {}: {error}", paper.name, experiment.name);
                    }
                }
                experiment.series_step().unwrap();
            }
        }
    }

    #[test]
    fn single_claims_have_the_figures_that_show_their_runs() {
        let papers = papers().unwrap();
        let jk = papers.iter().find(|paper| paper.name == "jk").unwrap();
        let ids = |wanted: &dyn Fn(&Claim) -> bool| -> Vec<&str> {
            let claims: Vec<&Claim> = jk.claims.iter().filter(|claim| wanted(claim)).collect();
            jk.figures_of(&claims, false).unwrap().0.iter().map(|figure| figure.id.as_str()).collect()
        };
        let one = ids(&|claim| claim.id == "jk-table3-codel-4+4");
        assert!(one.contains(&"Table III") && !one.contains(&"Fig. 9"), "{one:?}");
        assert_eq!(ids(&|_| true).len(), jk.figures.len());
    }

    #[test]
    fn what_an_experiment_varies_is_run_in_every_combination_and_its_repetitions_go_together() {
        let text = r#"
            name = "x"
            title = "X"
            source = "X"
            [[experiments]]
            name = "loads"
            scenario = "x.toml"
            vary = { "link.rtt" = ["10ms", "1s"], size = [{ "flows.0.count" = 1, "link.down" = "1mbit" }, { "flows.0.count" = 5 }, { "flows.0.count" = 50 }] }
            [[claims]]
            id = "x-1"
            kind = "order"
            says = "delay"
            check = "mean(bottleneck.down.sojourn_s.p50)[codel@loads] < 1s"
        "#;
        let scenario = "qdiscs = [\"codel\"]\nseeds = 2\n[[flows]]\n".to_owned();
        let paper = Paper::read("x", text, vec![("x.toml".to_owned(), scenario)], Vec::new()).unwrap();
        let plan =
            super::super::Plan::new(&paper, paper.claims.iter().collect(), &BTreeSet::new(), Effort::Quick);
        assert_eq!(plan.unwrap().runs(), 2 * 3 * 2);
        let all = paper.scenarios(&paper.experiments[0], Effort::Quick, &BTreeSet::from(["codel"])).unwrap();
        let of_one = all.iter().filter(|scenario| scenario.flows[0].count == 1);
        assert_eq!(
            of_one.map(|one| one.link.down.rate.nominal().as_bps()).collect::<Vec<_>>(),
            [1_000_000; 2]
        );
        let nothing = text.replace("\"10ms\", \"1s\"", "");
        let paper = Paper::read("x", &nothing, paper.files.clone(), Vec::new()).unwrap();
        let refused =
            paper.scenarios(&paper.experiments[0], Effort::Quick, &BTreeSet::new()).unwrap_err().to_string();
        assert!(refused.contains("makes 0 combinations"), "{refused}");
    }

    #[test]
    fn what_a_claims_file_may_not_have_is_shown_where_it_stands() {
        let refused =
            |text: &str| Paper::read("mine/x", text, Vec::new(), Vec::new()).unwrap_err().to_string();
        let unknown = refused("name = \"x\"\n[[claims]]\nid = \"x-1\"\nplace = \"Fig. 1\"\n");
        assert!(unknown.starts_with("mine/x/claims.toml:4:1: unknown field `place`, expected"), "{unknown}");
        assert!(unknown.contains("\n  4 | place = \"Fig. 1\"\n"), "{unknown}");
        let other = refused("name = \"y\"\ntitle = \"\"\nsource = \"\"\n");
        assert_eq!(other, "mine/x/claims.toml: the name `y` is not that of the folder");
    }

    #[test]
    fn every_claim_says_what_is_checked_and_a_paper_s_claim_has_its_words_and_place() {
        for paper in papers().unwrap() {
            for claim in &paper.claims {
                assert!(!claim.says.is_empty(), "{}", claim.id);
                let of_paper = claim.kind != ClaimKind::Own;
                assert!(!of_paper || !claim.quote.is_empty(), "{}: what does the paper say?", claim.id);
                assert!(!of_paper || !claim.place.is_empty(), "{}: where does it say so?", claim.id);
            }
        }
    }
}
