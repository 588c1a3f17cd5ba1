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
mod asking;
mod encapsulation;
mod judge;
mod kind;
mod kinds;
mod managers;
mod model;
mod page;
mod places;
mod question;
mod search;
mod setting;
mod settings;
mod simulated;
mod verification;
mod words;

pub use advice::{Advice, Measured, Spread, Tried};
pub use advice::{First, Observe};
pub use asking::{FlentLine, read_flent};
pub use kind::LinkKind;
pub use kinds::{ALIASES, KINDS, kind};
pub use page::{CSS, JS, html};
pub use question::{Effort, Measurement, Question, Traces};
pub use search::advise;
pub use setting::{Form, Setting};
pub use settings::routers;
pub use words::{first_words, heading, words};
