//! Advice for access lines: the shaper and the queue discipline that a router needs, so that the
//! line stays responsive under load.
//!
//! The model has two queues in series, as homes have. The modem (towards the Internet) and the head
//! end (towards the home) hold a large tail-drop buffer each. The router in front of the modem has
//! a faster port, so its own queue is empty unless it shapes. [`advise`] simulates what happens
//! today, searches the settings of the router, and verifies the best with other seeds and other
//! traffic.
//!
//! ```
//! use goodqueue_advise::{Question, advise};
//! use goodqueue_scenario::session::NoWatch;
//!
//! let mut question = Question::new("4mbit/1mbit", "cable")?;
//! question.effort.seeds = 1;
//! let advice = advise(&question, 0, &NoWatch)?.unwrap();
//! assert!(advice.advised.latency_s.mean < advice.today.latency_s.mean / 4.0);
//! assert!(advice.settings.iter().any(|setting| setting.text.contains("bandwidth")));
//! # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
//! ```

#![forbid(unsafe_code)]

mod advice;
mod answer;
mod asking;
mod before;
mod bottleneck;
mod cell;
mod decided;
mod encapsulation;
mod fitted;
mod flent;
mod judge;
mod kind;
mod kinds;
mod known;
mod manager;
mod managers;
mod mix;
mod model;
mod notation;
mod observe;
mod page;
mod page_chart;
mod place;
mod places;
mod port;
mod port_rate;
mod question;
mod rule;
mod search;
mod setting;
mod settings;
mod setup;
mod shares;
mod simulated;
mod span;
mod variation;
mod verification;
mod words;
mod written;

pub use advice::{Advice, Measured, Spread, Tried};
pub use flent::{FlentLine, read_flent};
pub use kind::{Buffer, LinkKind};
pub use kinds::{ALIASES, KINDS, kind};
pub use observe::{First, Observe};
pub use page::{CSS, JS, html};
pub use question::{Effort, Measurement, Question, Traces};
pub use search::advise;
pub use setting::{Form, Setting};
pub use settings::routers;
pub use words::{first_words, heading, words};
