//! What is asked: the line, what was measured on it, and how much effort to make.

use std::path::PathBuf;

use goodqueue::{Duration, Rate};
use goodqueue_scenario::trace::Trace;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use crate::kind::LinkKind;
use crate::kinds::kind;

/// A line that needs advice.
#[derive(Clone, Debug)]
pub struct Question {
    /// Kind of line.
    pub kind: &'static LinkKind,
    /// Rates towards the home and towards the Internet.
    pub rates: [Rate; 2],
    /// Base round-trip time.
    pub rtt: Duration,
    /// Recorded rates, instead of the kind's model.
    pub traces: Option<Traces>,
    /// Round-trip times on the real line; its buffers follow from them.
    pub measured: Option<Measurement>,
    /// Network interface of the router towards the bottleneck.
    pub device: String,
    /// How much to simulate.
    pub effort: Effort,
}

/// Recordings of a line in Mahimahi's format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traces {
    /// Towards the home.
    pub down: PathBuf,
    /// Towards the Internet.
    pub up: PathBuf,
}

/// Round-trip times that somebody measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// Without load.
    pub idle: Duration,
    /// Mean, with downloads and uploads.
    pub loaded: Duration,
}

/// How much to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Seeds with which the advice is verified, for each traffic mix.
    pub seeds: u64,
    /// True if the results of the verification are to have time series, for a report.
    pub series: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seeds: 3, series: false }
    }
}

impl Question {
    /// Asks about a line of these rates, written `DOWN/UP`, and this kind (see
    /// [`KINDS`](crate::KINDS)).
    ///
    /// # Errors
    /// A rate that cannot be read or is out of range, or an unknown kind.
    pub fn new(rates: &str, link: &str) -> Result<Self, Diagnostic> {
        let rates = read_rates(rates)?;
        let kind = kind(link, rates[0])?;
        let question = Self {
            kind,
            rates,
            rtt: kind.rtt,
            traces: None,
            measured: None,
            device: kind.device().to_owned(),
            effort: Effort::default(),
        };
        kind.place.check(&question).map_err(|error| error.in_argument("--link", link))?;
        Ok(question)
    }

    /// Asks about a recorded line: its rates are the means of the recordings.
    ///
    /// # Errors
    /// A recording that cannot be read, or an unknown kind.
    pub fn recorded(traces: Traces, link: &str) -> Result<Self, Diagnostic> {
        let mean = |path: &PathBuf| Ok::<_, Diagnostic>(Trace::load(path)?.mean_rate().to_string());
        let rates = format!("{}/{}", mean(&traces.down)?, mean(&traces.up)?);
        let question = Self { traces: Some(traces), ..Self::new(&rates, link)? };
        question.kind.place.check(&question).map_err(|error| error.in_argument("--link", link))?;
        Ok(question)
    }

    /// Sets the round-trip times that were measured, and the base round-trip time with them.
    ///
    /// # Errors
    /// The loaded time is below the idle one.
    pub fn with_measurement(mut self, measured: Measurement) -> Result<Self, Diagnostic> {
        if measured.loaded < measured.idle {
            return Err(Diagnostic::new(format!(
                "the loaded ping of {} is below the idle ping of {}",
                units::show_time(measured.loaded),
                units::show_time(measured.idle)
            ))
            .allowed("IDLE,LOADED, such as 20ms,300ms"));
        }
        if measured.idle.is_zero() || measured.loaded > LONGEST_PING {
            return Err(Diagnostic::new("no line has such pings")
                .allowed(format!("times above 0 and up to {}", units::show_time(LONGEST_PING))));
        }
        self.rtt = measured.idle;
        self.measured = Some(measured);
        Ok(self)
    }
}

/// Reads `DOWN/UP`, or one rate for both.
fn read_rates(text: &str) -> Result<[Rate; 2], Diagnostic> {
    let (down, up) = text.split_once('/').unwrap_or((text, text));
    let read = |part: &str| {
        let rate = units::rate(part.trim())?;
        if rate < SLOWEST || rate > FASTEST {
            let (least, most) = (units::show_rate(SLOWEST), units::show_rate(FASTEST));
            return Err(Diagnostic::new(format!(
                "advice for a line of {} is not possible",
                units::show_rate(rate)
            ))
            .allowed(format!("{least} to {most}")));
        }
        Ok(rate)
    };
    match (read(down), read(up)) {
        (Ok(down), Ok(up)) => Ok([down, up]),
        (Err(error), _) => Err(error.in_argument("RATES", text)),
        (_, Err(error)) => Err(error.shifted(text.len() - up.len()).in_argument("RATES", text)),
    }
}

/// Below this rate one packet takes a tenth of a second.
const SLOWEST: Rate = Rate::from_bps(128_000);
/// Above this rate the simulation takes minutes, and the line is hardly ever full.
const FASTEST: Rate = Rate::from_bps(2_500_000_000);
const LONGEST_PING: Duration = Duration::from_millis(60_000);
