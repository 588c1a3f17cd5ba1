//! The simulator as a WebAssembly module for the playground.
//!
//! This crate converts only: a request becomes a scenario as the command `compare` reads it, and
//! what happens in the simulator becomes numbers that a page can draw. The page has the same
//! results as the command, to the last byte.

#![forbid(unsafe_code)]

mod advice;
mod catalogue;
mod column;
mod limits;
mod log;
mod path;
mod request;
mod results;
mod show;

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

pub use catalogue::Catalogue;
pub use goodqueue_scenario::request::Request;
pub use results::results_of;
pub use show::Show;

/// Returns the version of goodqueue.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Returns what a page can offer, as JSON: see [`Catalogue`].
///
/// # Errors
/// None that a user can cause.
#[wasm_bindgen]
pub fn catalogue() -> Result<String, JsError> {
    Ok(serde_json::to_string(&Catalogue::of_everything())?)
}

/// Returns the results of a request (see [`Request`]): the bytes that `goodqueue compare ... --json
/// FILE` writes.
///
/// # Errors
/// What the command prints.
#[wasm_bindgen]
pub fn simulate(request: &str) -> Result<String, JsError> {
    results_of(request).map_err(|error| JsError::new(&error.to_string()))
}

/// Returns the advice for a line: the bytes that `goodqueue advise ... --json FILE` writes. `flent`
/// is the content of a file of Flent with the name `name`, or empty. `first` is called with the
/// first answer as JSON, `came` with the progress from 0 to 1, and `page` with the answer as HTML.
///
/// # Errors
/// What the command prints.
#[wasm_bindgen]
pub fn advise(
    asked: &str,
    name: &str,
    flent: &[u8],
    first: js_sys::Function,
    came: js_sys::Function,
    page: js_sys::Function,
) -> Result<String, JsError> {
    let file = (!flent.is_empty()).then_some((name, flent));
    advice::advice_on(asked, file, &advice::Page::new(first, came, page))
        .map_err(|error| JsError::new(&error.to_string()))
}
