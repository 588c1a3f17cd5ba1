//! All that a paper's folder says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use goodqueue::Disciplines;
use goodqueue_scenario::scenario::label_of_line;
use goodqueue_tc::diagnostic::Diagnostic;

use super::claim::Claim;
use super::experiment::Experiment;
use super::figure::Figure;
use super::given::GivenDiscipline;
use super::setting::Setting;
use crate::reproduce::expression::Expression;
use crate::reproduce::real::Real;
use crate::reproduce::tolerance;

/// What a paper claims.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Prefix of its ids.
    pub name: String,
    /// Where its files are, for messages.
    pub(super) folder: String,
    /// Its scenarios, and runs of real systems: names and texts of files.
    pub(super) files: Vec<(String, String)>,
    /// Its `claims.toml`.
    pub(super) text: String,
    /// Disciplines given instead of those for which `{aqm}` stands.
    pub(super) given: Vec<GivenDiscipline>,
    /// Changes to the experiments that have their tables.
    pub(super) settings: Vec<Setting>,
    /// Disciplines that may be given.
    pub(super) disciplines: Disciplines,
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
    /// Measured CPU time of all runs in seconds, without `--full`; `None`: unknown.
    pub cpu_s: Option<f64>,
    /// The systems that the paper ran, as references call them.
    pub systems: Vec<String>,
    /// The paper's names of disciplines, by label.
    pub names: BTreeMap<String, String>,
    /// What real systems measured in the same set-ups.
    pub(crate) real: Vec<Real>,
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

impl Paper {
    /// The paper in these files, names and texts, of which one is `claims.toml`; `folder` stands
    /// for where they are in messages, and ends with the paper's name.
    ///
    /// # Errors
    /// There is no `claims.toml`, or something is wrong with it.
    pub fn of_files(folder: &str, files: Vec<(String, String)>) -> Result<Self, Diagnostic> {
        let text = files.iter().find(|file| file.0 == "claims.toml").map(|file| file.1.clone());
        // An empty text is refused, because its name is missing.
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
        let label = |line: &String| {
            // These characters have a meaning in the checks of claims.
            label_of_line(line).replace(['[', '{'], "(").replace([']', '}'], ")").replace([',', '@'], " ")
        };
        let given = lines.iter().map(|line| GivenDiscipline { label: label(line), line: line.clone() });
        let asked = Self::read(&self.folder, &self.text, self.files.clone(), given.collect())?;
        Ok(Self { disciplines: disciplines.clone(), settings: self.settings.clone(), ..asked })
    }

    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        if !Path::new(&self.folder).ends_with(&self.name) {
            return Err(Diagnostic::new(format!("the name `{}` is not that of the folder", self.name)));
        }
        let mut seen = BTreeSet::new();
        for claim in &self.claims {
            // Ids select claims of all papers, so that of a paper begins with its name.
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
        self.real.iter().try_for_each(|real| {
            real.check(|name| self.measures.contains_key(name), |name| self.experiment(name).is_some())
        })
    }

    /// True if this labels one of the disciplines that the paper does not have.
    #[must_use]
    pub fn is_beyond(&self, label: &str) -> bool {
        self.beyond.iter().any(|line| line == label)
    }

    /// The experiment of this name.
    #[must_use]
    pub fn experiment(&self, name: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|experiment| experiment.name == name)
    }
}
