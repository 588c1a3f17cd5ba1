//! The form of `claims.toml`, and how it is read.
//!
//! ```toml
//! name = "jk"                       # prefix of all ids
//! title = "Järvinen & Kojo 2014"    # as people cite it
//! source = "..."                    # as a bibliography does
//! cpu_s = 80                        # CPU time of all runs in seconds, as `--example estimates` measures
//!                                   # it; default: unknown
//! real = ["ns-2.35.json"]           # files with what real systems measured, see `real.rs`
//! systems = ["ns-2.35"]             # those of them that the paper ran
//! names = { codel = "CoDel" }       # the paper's names of disciplines, where labels differ
//! aqm = ["codel", "pie"]            # labels for which `{aqm}` stands in checks and figures; others can be given instead
//!
//! [measures]                        # names for what is measured, see `expression`
//! p95 = "quantile(details.sojourn_s.down, 95%) + 6ms"
//!
//! [[experiments]]
//! name = "4+4"
//! title = "4+4 flows"               # the paper's words, where the name differs
//! scenario = "download.toml"        # in the same folder
//! set = { "flows.0.count" = 4 }     # keys of the scenario
//! vary = { "link.rtt" = ["10ms", "1s"] }    # keys with several values: the runs of every combination, taken together
//!                                            # a table of keys as a value sets them all: { "link.down" = "3mbit", "tcp.iw" = 4 }
//! quick = { seeds = 100 }           # more of them, at first
//! full = { seeds = 100 }            # more of them, for claims that --full tries to decide
//! full_vary = { "link.rtt" = ["10ms", "50ms", "1s"] }    # instead of `vary`, for these
//! series = "100ms"                  # step of the time series, if any are needed
//! spikes = [10, 17]                 # packets; measures the longest time above each
//! initial_windows = true            # counts the packets of initial windows in the longest queue
//!
//! [[claims]]
//! id = "jk-fig2-median"
//! kind = "order"                    # number, order and shape count towards the score; set-up,
//!                                   # arithmetic, fitted and own are shown beside it
//! where = "§4.1, Fig. 2, p. 3"      # section, figure or table, page of the published paper
//! quote = "..."                     # the paper's words, short
//! says = "..."                      # what is checked, in words
//! check = ["..."]                   # what must hold, see `expression`; all of them
//! tolerance = { plot = "300ms" }    # the rule for a number, see `tolerance.rs`; default: 10 %
//! fitted = "..."                    # kind `fitted`: the parameter chosen from this result
//! note = "..."                      # what was tried where it does not reproduce, or what differs
//! unit = "s"                        # of a number
//! not_run = "..."                   # instead of `check`: why it cannot be tried
//!
//! [[tables]]                        # a claim for each entry; {row}, {column} and {value} are filled in
//! id = "jk-table2-{row}-{column}"
//! columns = ["1+1", "4+4"]
//! rows = { codel = [0.090, 0.170] }            # an entry may be a list of numbers and words: {value.0}, {value.1}
//!
//! [[metrics]]                       # what is listed for every discipline in every experiment
//! name = "goodput"
//! of = "mean(goodput.down)"
//! unit = "Mbit/s"
//! scale = 1e-6
//! only = ["6.2"]                    # only experiments whose names begin with this
//! table = "video"                   # the table of the report that shows it
//!
//! [[about]]                         # facts that several claims share
//! claims = ["jk-table3-*"]          # ids; `*` at the end stands for the rest
//! runs = 100                        # repetitions behind the paper's numbers, see `prediction.rs`
//! unknown = "..."                   # deciding parameter that the paper does not give
//! fitted = "..."                    # parameter chosen from these results: they do not count
//! note = "..."                      # of those claims that have none of their own
//!
//! [[figures]]                       # what the report draws, see `Figure`
//!
//! [beyond]                          # disciplines of today, shown with --beyond
//! qdiscs = ["pie", "fq_codel"]      # a scenario with such a label sets its parameters
//! ```

use std::collections::BTreeMap;

use goodqueue::Disciplines;
use goodqueue_scenario::scenario::check_depth;
use goodqueue_tc::diagnostic::{Diagnostic, Source};
use serde::Deserialize;

use super::about::ClaimNotes;
use super::claim::{Claim, ClaimKind};
use super::experiment::Experiment;
use super::factor::one;
use super::figure::Figure;
use super::given::GivenDiscipline;
use super::whole::{Metric, Paper};
use crate::reproduce::expression::{Check, Expression, checks};
use crate::reproduce::measures;
use crate::reproduce::real::Real;
use crate::reproduce::tolerance::ToleranceTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    source: String,
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    aqm: Vec<String>,
    #[serde(default)]
    measures: BTreeMap<String, String>,
    #[serde(default)]
    metrics: Vec<MetricTable>,
    #[serde(default)]
    experiments: Vec<Experiment>,
    #[serde(default)]
    claims: Vec<ClaimTable>,
    #[serde(default)]
    tables: Vec<TableTable>,
    #[serde(default)]
    figures: Vec<Figure>,
    #[serde(default)]
    beyond: Beyond,
    cpu_s: Option<f64>,
    #[serde(default)]
    systems: Vec<String>,
    #[serde(default)]
    about: Vec<ClaimNotes>,
    #[serde(default)]
    real: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricTable {
    name: String,
    of: String,
    #[serde(default)]
    unit: String,
    #[serde(default = "one")]
    scale: f64,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    table: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beyond {
    qdiscs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

impl OneOrMore {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimTable {
    id: String,
    kind: ClaimKind,
    #[serde(default, rename = "where")]
    place: String,
    #[serde(default)]
    quote: String,
    says: String,
    #[serde(default)]
    check: OneOrMore,
    #[serde(default)]
    tolerance: ToleranceTable,
    fitted: Option<String>,
    #[serde(default)]
    note: String,
    #[serde(default)]
    unit: String,
    not_run: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableTable {
    id: String,
    kind: ClaimKind,
    #[serde(default, rename = "where")]
    place: String,
    #[serde(default)]
    quote: String,
    says: String,
    #[serde(default)]
    check: OneOrMore,
    #[serde(default)]
    tolerance: ToleranceTable,
    fitted: Option<String>,
    #[serde(default)]
    unit: String,
    columns: Vec<String>,
    rows: BTreeMap<String, Vec<Entry>>,
    /// Notes of single entries, by id.
    #[serde(default)]
    notes: BTreeMap<String, String>,
    not_run: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    One(Part),
    More(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Number(f64),
    Word(String),
}

impl std::fmt::Display for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Word(word) => word.fmt(formatter),
        }
    }
}

impl Paper {
    /// Reads the text of the `claims.toml` of `folder`; `given` are disciplines asked for in place
    /// of those for which `{aqm}` stands.
    pub(super) fn read(
        folder: &str,
        text: &str,
        files: Vec<(String, String)>,
        given: Vec<GivenDiscipline>,
    ) -> Result<Self, Diagnostic> {
        let file_name = format!("{folder}/claims.toml");
        // The TOML reader recurses, so a deeply nested file would exhaust the stack.
        check_depth(&Source::new(&file_name, text))?;
        let mut file: File = toml::from_str(text).map_err(|error| {
            // A message of the TOML reader may have several lines, but a problem is shown in one.
            let problem = error.message().lines().collect::<Vec<_>>().join(", ");
            Diagnostic::new(problem).in_source(&Source::new(&file_name, text), error.span().unwrap_or(0..0))
        })?;
        let labels: Vec<&str> = match given.as_slice() {
            [] => file.aqm.iter().map(String::as_str).collect(),
            given => given.iter().map(|given| given.label.as_str()).collect(),
        };
        // `{aqm}` becomes a list in braces, which is written out like any other.
        let aqm = format!("{{{}}}", labels.join(","));
        for claim in &mut file.claims {
            claim.check = OneOrMore::More(
                claim.check.as_slice().iter().map(|check| check.replace("{aqm}", &aqm)).collect(),
            );
        }
        for cells in file.figures.iter_mut().flat_map(|figure| &mut figure.cells) {
            *cells = cells.replace("{aqm}", &aqm);
        }
        let mut claims = Vec::new();
        for table in &file.tables {
            table.claims(&mut claims).map_err(|error| error.in_file(&file_name))?;
        }
        for table in file.claims {
            claims.push(table.claim().map_err(|error| error.in_file(&file_name))?);
        }
        for about in &file.about {
            about.apply(&mut claims).map_err(|error| error.in_file(&file_name))?;
        }
        if !given.is_empty() {
            claims.iter_mut().for_each(|claim| claim.keep_what_is_about(&given));
        }
        let metrics = file.metrics.into_iter().map(|MetricTable { name, of, unit, scale, only, table }| {
            Ok(Metric { name, of: Expression::parse(&of)?, unit, scale, only, table })
        });
        let metrics: Result<_, Diagnostic> = metrics.collect();
        let measures = file.measures.iter().map(|(name, text)| Ok((name.clone(), Expression::parse(text)?)));
        let measures: Result<_, Diagnostic> = measures.collect();
        let real = file.real.iter().map(|name| real(name, &files));
        let real: Result<_, Diagnostic> = real.collect();
        let paper = Self {
            name: file.name,
            folder: folder.to_owned(),
            files,
            text: text.to_owned(),
            given,
            settings: Vec::new(),
            disciplines: Disciplines::new(),
            metrics: metrics.map_err(|error| error.in_file(&file_name))?,
            title: file.title,
            source: file.source,
            measures: measures.map_err(|error| error.in_file(&file_name))?,
            experiments: file.experiments,
            claims,
            figures: file.figures,
            beyond: file.beyond.qdiscs,
            cpu_s: file.cpu_s,
            systems: file.systems,
            names: file.names,
            real: real.map_err(|error| error.in_file(&file_name))?,
        };
        measures::check(&paper.measures).map_err(|error| error.in_file(&file_name))?;
        paper.check().map_err(|error| error.in_file(&file_name))?;
        Ok(paper)
    }
}

/// What a real system measured, in one of the paper's files.
fn real(name: &str, files: &[(String, String)]) -> Result<Real, Diagnostic> {
    let file = files.iter().find(|file| file.0 == name).ok_or_else(|| {
        Diagnostic::new(format!("`real`: there is no file `{name}`"))
            .help("put it into the folder of `claims.toml`")
    })?;
    Real::read(name, &file.1)
}

impl ClaimTable {
    fn claim(self) -> Result<Claim, Diagnostic> {
        Ok(Claim {
            checks: all_checks(&self.id, self.check.as_slice())?,
            kind: self.kind,
            place: self.place,
            quote: self.quote,
            says: self.says,
            tolerance: self.tolerance.read(&self.unit).map_err(|error| error.prefixed(&self.id))?,
            fitted: self.fitted,
            note: self.note,
            unit: self.unit,
            not_run: self.not_run,
            unknown: None,
            paper_runs: None,
            id: self.id,
        })
    }
}

impl TableTable {
    fn claims(&self, into: &mut Vec<Claim>) -> Result<(), Diagnostic> {
        for (row, entries) in &self.rows {
            if entries.len() != self.columns.len() {
                return Err(Diagnostic::new(format!(
                    "row `{row}` of `{}` has {} entries",
                    self.id,
                    entries.len()
                ))
                .allowed(format!("{}, as many as there are columns", self.columns.len())));
            }
            for (column, entry) in self.columns.iter().zip(entries) {
                let fill = |text: &str| {
                    let text = text.replace("{row}", row).replace("{column}", column);
                    match entry {
                        Entry::One(value) => text.replace("{value}", &value.to_string()),
                        Entry::More(values) => (0_u32..).zip(values).fold(text, |text, (index, value)| {
                            text.replace(&format!("{{value.{index}}}"), &value.to_string())
                        }),
                    }
                };
                let id = fill(&self.id);
                let filled: Vec<String> = self.check.as_slice().iter().map(|check| fill(check)).collect();
                into.push(Claim {
                    kind: self.kind,
                    place: self.place.clone(),
                    quote: fill(&self.quote),
                    says: fill(&self.says),
                    checks: all_checks(&id, &filled)?,
                    tolerance: self.tolerance.read(&self.unit).map_err(|error| error.prefixed(&id))?,
                    fitted: self.fitted.clone(),
                    note: self.notes.get(&id).cloned().unwrap_or_default(),
                    unit: self.unit.clone(),
                    not_run: self.not_run.clone(),
                    unknown: None,
                    paper_runs: None,
                    id,
                });
            }
        }
        Ok(())
    }
}

fn all_checks(id: &str, texts: &[String]) -> Result<Vec<Check>, Diagnostic> {
    let lists: Vec<Vec<Check>> = texts
        .iter()
        // The text of the check has its braces written out, so its positions are not those of the
        // file.
        .map(|text| checks(text).map_err(|error| error.widened().prefixed(id)))
        .collect::<Result<_, _>>()?;
    Ok(lists.into_iter().flatten().collect())
}
