//! goodqueue behind HTTP: a request in JSON, and its results as server-sent events.
//!
//! `POST /runs` makes the runs of a request. Its body has the keys of
//! [`Request::from_json`]. The answer is a stream of events: `progress`, `run` with the result of
//! one run as soon as it is known, and at the end `results` or `error`. A client that goes away
//! ends its runs. `GET /runs` returns the number of requests whose runs are being made.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream::{Stream, unfold};
use goodqueue_scenario::Extensions;
use goodqueue_scenario::request::Request;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::session::{Progress, Session, Watch};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Sender, channel};

/// Number of requests whose runs are being made.
type Running = Arc<AtomicUsize>;

/// Returns the server.
pub fn app() -> Router {
    Router::new().route("/runs", post(runs).get(running)).with_state(Running::default())
}

/// An error of the request, in the words of the command.
type Refused = (StatusCode, String);

async fn runs(
    State(running): State<Running>,
    Json(body): Json<Value>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let session = session(&body.to_string()).map_err(|why| (StatusCode::BAD_REQUEST, why.to_string()))?;
    let (client, events) = channel(QUEUED_EVENTS);
    running.fetch_add(1, Ordering::Relaxed);
    tokio::task::spawn_blocking(move || {
        let client = Client(client);
        let last = match session.run(&client) {
            Ok(finished) => event("results", &json!(session.results(finished.runs()))),
            Err(why) => event("error", &json!(why.to_string())),
        };
        running.fetch_sub(1, Ordering::Relaxed);
        // A client that has gone away wants no results.
        let _ = client.0.blocking_send(last);
    });
    Ok(Sse::new(unfold(events, async |mut events| Some((Ok(events.recv().await?), events)))))
}

async fn running(State(running): State<Running>) -> String {
    running.load(Ordering::Relaxed).to_string()
}

fn session(request: &str) -> Result<Session, Diagnostic> {
    Session::new(&Request::from_json(request)?.document(&Extensions::new())?)
}

/// Sends what happens to the client.
struct Client(Sender<Event>);

impl Watch for Client {
    fn finished(&self, number: usize, result: &Run, _: bool) {
        let _ = self.0.blocking_send(event("run", &json!({ "number": number, "result": result })));
    }

    fn progressed(&self, progress: Progress) {
        // A slow client gets fewer of these events.
        let _ = self.0.try_send(event("progress", &json!(progress.share())));
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_closed()
    }
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

/// Events that wait for a slow client.
const QUEUED_EVENTS: usize = 64;
