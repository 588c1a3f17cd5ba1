//! Reads what is asked.

use std::path::PathBuf;

use goodqueue::{Duration, Rate};
use goodqueue_scenario::trace::Trace;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use crate::kinds::kind;
use crate::places::place;
use crate::question::{Effort, Measurement, Question, Traces};

impl Measurement {
    /// Reads two pings, without and with load, written `IDLE,LOADED`.
    ///
    /// # Errors
    /// One of them is missing, or is no time.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let Some((idle, loaded)) = text.split_once(',') else {
            return Err(Diagnostic::new("two times are needed").allowed("IDLE,LOADED, such as 20ms,300ms"));
        };
        Ok(Self { idle: units::time(idle.trim())?, loaded: units::time(loaded.trim())? })
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
            diffserv: false,
            nat: true,
            effort: Effort::default(),
        };
        place(kind.bottleneck).check(&question).map_err(|error| error.in_argument("--link", link))?;
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
        place(question.kind.bottleneck)
            .check(&question)
            .map_err(|error| error.in_argument("--link", link))?;
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

/// Reads `DOWN/UP`.
fn read_rates(text: &str) -> Result<[Rate; 2], Diagnostic> {
    let Some((down, up)) = text.split_once('/') else {
        // A rate that cannot be read is the first thing to say.
        units::rate(text.trim()).map_err(|error| error.in_argument("RATES", text))?;
        return Err(Diagnostic::new("the rate of the upload is missing")
            .allowed("DOWN/UP, such as 40mbit/10mbit or 40mbit 10mbit")
            .help(format!("if the line is as fast up as down, type {text}/{text}"))
            .in_argument("RATES", text));
    };
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
