//! Several disciplines on one clock.

use goodqueue::Instant;
use goodqueue_scenario::request::Request;
use goodqueue_scenario::results::ScenarioRecord;
use goodqueue_scenario::run::Runs as _;
use goodqueue_scenario::scenario::{Overrides, QdiscChoice};
use goodqueue_scenario::session::Session;
use goodqueue_sim::witness::Story;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::Serialize;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::column::Column;
use crate::limits;
use crate::log::nanos;
use crate::path::{Path, Place};
use crate::request::{outline, session};
use crate::results::written;

/// The runs of a request on one clock, one column for each discipline.
///
/// Of a sweep the first point is shown, of several seeds the first one.
#[wasm_bindgen]
pub struct Show {
    session: Session,
    columns: Vec<Column>,
    about: String,
}

/// The fixed facts of a show.
#[derive(Serialize)]
struct About<'s> {
    /// The resolved scenario.
    scenario: ScenarioRecord,
    /// Simulated time in nanoseconds.
    duration: u64,
    columns: Vec<ColumnInfo<'s>>,
    flows: Vec<FlowInfo<'s>>,
    /// The places at which packets wait, by their numbers in records.
    places: &'s [Place],
    /// Numbers of the places from the servers to the clients.
    order: &'s [usize],
    /// True if the results of the command have runs that no column shows.
    is_part: bool,
}

#[derive(Serialize)]
struct ColumnInfo<'s> {
    label: &'s str,
    /// The discipline as `--qdisc` takes it: the label, if that is such a line.
    line: String,
    /// Names of the disciplines: down, up.
    kinds: [&'static str; 2],
}

#[derive(Serialize)]
struct FlowInfo<'s> {
    kind: &'static str,
    direction: &'static str,
    label: Option<&'s str>,
    cc: Option<&'s str>,
    /// Round-trip time without queueing, in nanoseconds.
    rtt: u64,
}

/// A story in the words of the command.
#[derive(Serialize)]
struct StoryText {
    sentences: Vec<String>,
    /// Name, value before the decision, value after it, meaning.
    state: Vec<[String; 4]>,
}

impl StoryText {
    fn from_story(story: &Story) -> Self {
        let state = story.values().into_iter().map(|value| {
            let after = value.after.map_or_else(String::new, |after| after.to_string());
            [value.name.to_owned(), value.before.to_string(), after, value.doc.to_owned()]
        });
        Self { sentences: story.sentences(), state: state.collect() }
    }
}

impl Show {
    /// Returns the show of a request at its beginning.
    ///
    /// # Errors
    /// What the command prints, or more than a page can show.
    pub fn from_request(request: &str) -> Result<Self, Diagnostic> {
        let request = Request::from_json(request)?;
        let outline = outline(&request)?;
        limits::check(&outline)?;
        let session = session(outline)?;
        let first = session.scenario();
        // Runs are ordered by point, discipline and seed, so those of the first point come first.
        let disciplines = first.qdiscs.len();
        let seeds = first.seeds as usize;
        let path = Path::from_run(first, session.spec(0)?.as_ref());
        // The runs of a discipline stand next to each other, that of the first seed first.
        let columns: Result<Vec<Column>, Diagnostic> = (0..disciplines)
            .map(|number| Column::new(session.spec(number * seeds)?.into_owned(), &path))
            .collect();
        let columns = columns?;
        let about = about(&request, &session, &columns, &path)?;
        Ok(Self { session, columns, about })
    }

    /// Plays all columns up to this time, or to the end.
    ///
    /// # Errors
    /// A run holds too many packets.
    pub fn play(&mut self, to: Instant) -> Result<(), Diagnostic> {
        self.columns.iter_mut().try_for_each(|column| column.advance(to))
    }

    /// Returns the story of a packet of a column, as JSON.
    ///
    /// # Errors
    /// There is no such packet, or it is still queued at the end of the run.
    pub fn story_of(&self, column: usize, number: f64) -> Result<String, Diagnostic> {
        let story = self.columns.get(column).map(|column| column.story(integer(number)));
        let story = story.ok_or_else(|| Diagnostic::new(format!("there is no column {column}")))?;
        let story = story.map_err(|why| Diagnostic::new(why.to_string()))?;
        serde_json::to_string(&StoryText::from_story(&story))
            .map_err(|error| Diagnostic::new(format!("the story cannot be written as JSON: {error}")))
    }

    /// Ends the show, and returns the results of its columns as the command writes them.
    ///
    /// # Errors
    /// None that a user can cause.
    pub fn results(self) -> Result<String, Diagnostic> {
        written(&self.session, self.columns.into_iter().map(Column::finish).collect())
    }
}

#[wasm_bindgen]
impl Show {
    /// Returns the show of a request at its beginning. See [`Request`].
    ///
    /// # Errors
    /// What the command prints.
    #[wasm_bindgen(constructor)]
    pub fn new(request: &str) -> Result<Self, JsError> {
        Self::from_request(request).map_err(|error| shown(&error))
    }

    /// Returns the fixed facts of the show, as JSON.
    #[must_use]
    pub fn about(&self) -> String {
        self.about.clone()
    }

    /// Plays all columns up to this time in nanoseconds, or to the end.
    ///
    /// # Errors
    /// A run holds too many packets.
    pub fn advance(&mut self, to: f64) -> Result<(), JsError> {
        self.play(instant(to)).map_err(|error| shown(&error))
    }

    /// Returns the time up to which all columns have been played, in nanoseconds.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.columns.first().map_or(0.0, |column| nanos(column.now()))
    }

    /// Returns true at the end of the runs.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.columns.iter().all(Column::is_over)
    }

    /// Returns the records of packets of a column since the last call.
    #[must_use]
    pub fn packets(&mut self, column: usize) -> Vec<f64> {
        // A panic would end the whole module, so a number without a column has no packets.
        self.columns.get_mut(column).map(Column::packets).unwrap_or_default()
    }

    /// Returns the probes of a column that were answered since the last call.
    #[must_use]
    pub fn answers(&mut self, column: usize) -> Vec<f64> {
        self.columns.get_mut(column).map(Column::answers).unwrap_or_default()
    }

    /// Returns the state of all flows of a column.
    #[must_use]
    pub fn flows(&self, column: usize) -> Vec<f64> {
        self.columns.get(column).map(Column::flows).unwrap_or_default()
    }

    /// Returns the story of a packet of a column, as JSON: the sentences and the state that
    /// `goodqueue compare --explain` prints. The packet must have left its queue.
    ///
    /// # Errors
    /// There is no such packet, or it is still queued at the end of the run.
    pub fn story(&self, column: usize, number: f64) -> Result<String, JsError> {
        self.story_of(column, number).map_err(|error| shown(&error))
    }

    /// Ends the show, and returns the results of its columns as the command writes them.
    ///
    /// # Errors
    /// None that a user can cause.
    pub fn finish(self) -> Result<String, JsError> {
        self.results().map_err(|error| shown(&error))
    }
}

fn about(
    request: &Request,
    session: &Session,
    columns: &[Column],
    path: &Path,
) -> Result<String, Diagnostic> {
    let Some(run) = columns.first().map(Column::spec) else {
        return Err(Diagnostic::new("there is no discipline to show"));
    };
    let labels = run.labels.flows.iter().flat_map(|table| (0..table.count).map(move |_| table));
    let scenario = session.scenario();
    let about = About {
        scenario: session.record(),
        duration: run.config.duration.as_nanos(),
        columns: columns
            .iter()
            .zip(&scenario.qdiscs)
            .map(|(column, choice)| ColumnInfo {
                label: &column.spec().labels.qdisc,
                line: line(request, choice),
                kinds: [0, 1].map(|direction| column.spec().config.links[direction].qdisc.kind().name),
            })
            .collect(),
        flows: (run.config.flows.iter().zip(labels))
            .map(|(flow, label)| FlowInfo {
                kind: flow.traffic.kind(),
                direction: flow.traffic.direction().name(),
                label: label.label.as_deref(),
                cc: label.cc.as_deref(),
                rtt: flow.rtt.as_nanos(),
            })
            .collect(),
        places: &path.places,
        order: &path.order,
        is_part: columns.len() < session.count(),
    };
    serde_json::to_string(&about)
        .map_err(|error| Diagnostic::new(format!("the scenario cannot be written as JSON: {error}")))
}

/// Returns a discipline as `--qdisc` takes it. A scenario may give it a label that is no such line,
/// or a short line as its label, as the scenario of a result does.
fn line(request: &Request, choice: &QdiscChoice) -> String {
    let options = Overrides { qdiscs: vec![choice.label.clone()], ..request.options.clone() };
    let labelled = Request { options, ..request.clone() };
    let is_line = outline(&labelled).and_then(session).is_ok_and(|session| {
        let read = session.scenario().qdiscs.first();
        read.is_some_and(|read| read.down.config == choice.down.config && read.up.config == choice.up.config)
    });
    match (&choice.down.given, &choice.up.given) {
        _ if is_line => choice.label.clone(),
        (down, up) if down == up => down.clone(),
        (down, up) => format!("{down} / {up}"),
    }
}

/// Reads a time from JavaScript.
const fn instant(nanos: f64) -> Instant {
    Instant::from_nanos(integer(nanos))
}

/// Reads a whole number from JavaScript: negative numbers and NaN are 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
const fn integer(number: f64) -> u64 {
    number as u64
}

fn shown(error: &Diagnostic) -> JsError {
    JsError::new(&error.to_string())
}
