//! Advice for a line: the answer of `goodqueue advise`, in a page.

use std::cell::RefCell;

use goodqueue_advise::{First, FlentLine, Measurement, Observe, Question, advise, html, read_flent};
use goodqueue_scenario::session::Watch;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use js_sys::Function;
use serde::Deserialize;
use wasm_bindgen::JsValue;

/// A question, in the words of the command's options.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Asked {
    /// Both rates, such as `40mbit/10mbit`. They may be left out with a measurement by Flent.
    rates: Option<String>,
    /// Kind of line.
    link: String,
    /// Base round-trip time.
    rtt: Option<String>,
    /// Pings without and with load, such as `18ms,310ms`.
    ping: Option<String>,
    /// Most seeds of the verification.
    seeds: Option<u64>,
}

impl Asked {
    fn question(&self, flent: Option<(&str, &[u8])>) -> Result<Question, Diagnostic> {
        let measured = flent.map(|(name, bytes)| read_flent(name, bytes)).transpose()?;
        let mut question = match (&self.rates, &measured) {
            (Some(rates), _) => Question::new(rates, &self.link)?,
            (None, Some(line)) => Question::new(&line.rates(&self.link)?, &self.link)?,
            (None, None) => return Err(Diagnostic::new("the rates of the line are missing")),
        };
        if let Some(FlentLine { measured, .. }) = measured {
            question = question.with_measurement(measured)?;
        }
        if let Some(text) = &self.ping {
            let measured =
                Measurement::parse(text).map_err(|error| error.in_argument("the two pings", text))?;
            question = question.with_measurement(measured)?;
        }
        if let Some(text) = &self.rtt {
            // A round-trip time that is given wins over that of a measurement, so it is set last.
            let asked = units::time(text).and_then(|rtt| question.with_rtt(rtt));
            question = asked.map_err(|error| error.in_argument("the round-trip time", text))?;
        }
        if let Some(seeds) = self.seeds {
            // Without a seed there would be no verification.
            question.effort.seeds = seeds.clamp(1, MOST_SEEDS);
        }
        Ok(question)
    }
}

/// Returns the bytes that `goodqueue advise ... --json FILE` writes for the same question, or an
/// empty string if the observer cancels. The page of `observer` gets the answer as HTML.
pub(crate) fn advice_on(
    asked: &str,
    flent: Option<(&str, &[u8])>,
    observer: &Page,
) -> Result<String, Diagnostic> {
    let asked: Asked = serde_json::from_str(asked)
        .map_err(|error| Diagnostic::new(format!("the question cannot be read: {error}")))?;
    // One thread: a page has no others.
    let Some(advice) = advise(&asked.question(flent)?, 1, observer)? else { return Ok(String::new()) };
    let mut text = serde_json::to_string_pretty(&advice)
        .map_err(|error| Diagnostic::new(format!("the advice cannot be written as JSON: {error}")))?;
    text.push('\n');
    observer.shows(&html(&advice));
    Ok(text)
}

/// Tells the page how far a search has come.
///
/// The functions of a page belong to its thread, but an observer may be shared between threads. So
/// they are kept beside it.
pub(crate) struct Page;

struct Listener {
    first: Function,
    came: Function,
    page: Function,
}

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

impl Page {
    pub(crate) fn new(first: Function, came: Function, page: Function) -> Self {
        LISTENER.with_borrow_mut(|listener| *listener = Some(Listener { first, came, page }));
        Self
    }

    fn shows(&self, html: &str) {
        LISTENER.with_borrow(|listener| {
            listener.as_ref().map(|listener| listener.page.call1(&JsValue::NULL, &html.into()))
        });
    }
}

impl Watch for Page {}

impl Observe for Page {
    fn first(&self, answer: &First) {
        // Numbers and texts can always be written, and a page that throws has its own error.
        let json = serde_json::to_string(answer).unwrap_or_default();
        LISTENER.with_borrow(|listener| {
            listener.as_ref().map(|listener| listener.first.call1(&JsValue::NULL, &json.into()))
        });
    }

    fn came(&self, fraction: f64) {
        LISTENER.with_borrow(|listener| {
            listener.as_ref().map(|listener| listener.came.call1(&JsValue::NULL, &fraction.into()))
        });
    }
}

/// More seeds than anybody waits for.
const MOST_SEEDS: u64 = 10;
