//! Reads what is asked: rates, pings, and data files of Flent.

use std::io::Read as _;
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use goodqueue::{Duration, Rate};
use goodqueue_scenario::trace::Trace;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde_json::Value;

use crate::kind::LinkKind;
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
            rtt: kind.line.rtt,
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
    /// The loaded time is below the idle one, no line has such times, or as
    /// [`with_rtt`](Self::with_rtt).
    pub fn with_measurement(self, measured: Measurement) -> Result<Self, Diagnostic> {
        measured.check()?;
        Ok(Self { measured: Some(measured), ..self.with_rtt(measured.idle)? })
    }

    /// Sets the base round-trip time.
    ///
    /// # Errors
    /// It is so long that pings would not be answered within the runs.
    pub fn with_rtt(self, rtt: Duration) -> Result<Self, Diagnostic> {
        if rtt > LONGEST_RTT {
            let message =
                format!("advice for a base round-trip time of {} is not possible", units::show_time(rtt));
            return Err(Diagnostic::new(message).allowed(format!("up to {}", units::show_time(LONGEST_RTT))));
        }
        Ok(Self { rtt, ..self })
    }
}

impl Measurement {
    /// Refuses times that no line has.
    pub(crate) fn check(self) -> Result<(), Diagnostic> {
        let Self { idle, loaded } = self;
        if loaded < idle {
            return Err(Diagnostic::new(format!(
                "the loaded ping of {} is below the idle ping of {}",
                units::show_time(loaded),
                units::show_time(idle)
            ))
            .allowed("IDLE,LOADED, such as 20ms,300ms"));
        }
        if idle.is_zero() || loaded > LONGEST_PING {
            return Err(Diagnostic::new("no line has such pings")
                .allowed(format!("times above 0 and up to {}", units::show_time(LONGEST_PING))));
        }
        Ok(())
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
            let least = units::show_rate(SLOWEST);
            let most = units::show_rate(FASTEST);
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
        // The place in the error counts from the beginning of the second rate.
        (_, Err(error)) => Err(error.shifted(text.len() - up.len()).in_argument("RATES", text)),
    }
}

/// Below this rate one packet takes a tenth of a second.
const SLOWEST: Rate = Rate::from_bps(128_000);
/// Above this rate the simulation takes minutes, and the line is hardly ever full.
const FASTEST: Rate = Rate::from_bps(2_500_000_000);
/// Twice the time over two geostationary satellites. Pings and their wait in the queues must end
/// within the shortest runs, which measure for ten seconds.
const LONGEST_RTT: Duration = Duration::from_millis(3_000);
const LONGEST_PING: Duration = Duration::from_millis(60_000);

/// What a data file of Flent says about a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlentLine {
    /// Idle and loaded pings.
    pub measured: Measurement,
    /// Goodput of all TCP streams towards the home and the Internet in bit/s; `None` without
    /// streams in this direction.
    pub goodput_bps: [Option<f64>; 2],
}

impl FlentLine {
    /// Bytes of a data file, packed and unpacked. A measurement of an hour has some MB.
    pub const MAX_FILE_BYTES: u64 = 64 << 20;

    /// Returns the rate of a line of this kind that carries the measured goodput in `direction` (0:
    /// towards the home, 1: towards the Internet), in whole kbit/s.
    #[must_use]
    pub fn rate(&self, kind: &LinkKind, direction: usize) -> Option<Rate> {
        let payload = f64::from(kind.line.mtu - IP_AND_TCP);
        let of_line = f64::from(kind.line.encapsulation.on_line(kind.line.mtu));
        let bps = (*self.goodput_bps.get(direction)?)? * of_line / payload;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of a line")]
        let kbit = (bps / 1e3) as u64;
        Some(Rate::from_bps(kbit * 1000))
    }

    /// Returns the rates of a line of the kind `link` that carried the measured goodput, as
    /// `DOWN/UP`.
    ///
    /// # Errors
    /// There is no such kind, or the measurement has no streams in one direction.
    pub fn rates(&self, link: &str) -> Result<String, Diagnostic> {
        // The kind of DSL depends on the rate; the overhead of any kind is near enough to choose
        // it.
        let goodput = self.goodput_bps[0].unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of a line")]
        let kind = kind(link, Rate::from_bps((goodput * GOODPUT_TO_RATE) as u64))?;
        match [0, 1].map(|direction| self.rate(kind, direction)) {
            [Some(down), Some(up)] => Ok(format!("{down}/{up}")),
            _ => Err(Diagnostic::new("the measurement has no TCP streams in one direction")
                .help("give the rates as well, such as 40mbit/10mbit")),
        }
    }
}

/// About the share of headers and cells.
const GOODPUT_TO_RATE: f64 = 1.1;

/// Reads a data file of Flent (`.flent` or `.flent.gz`). `name` is for errors.
///
/// # Errors
/// It is no such file, or it has no pings during the load.
pub fn read_flent(name: &str, bytes: &[u8]) -> Result<FlentLine, Diagnostic> {
    let wrong = |what: &str| {
        Diagnostic::new(format!("this is no measurement of a line by Flent: {what}"))
            .allowed("a data file (.flent or .flent.gz) of a test with pings and TCP streams, such as rrul")
            .in_argument("--flent", name)
    };
    let text = unpacked(bytes).map_err(|error| wrong(&format!("it cannot be unpacked: {error}")))?;
    let file: Value = serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    let times: Vec<f64> = numbers(&file["x_values"]).into_iter().flatten().collect();
    let results = file["results"].as_object().ok_or_else(|| wrong("`results` is missing"))?;
    let length = file["metadata"]["LENGTH"].as_f64().ok_or_else(|| wrong("`LENGTH` is missing"))?;
    let total = file["metadata"]["TOTAL_LENGTH"].as_f64().unwrap_or(length + 2.0 * DELAY_S);
    // A file may state a total below the length of its load.
    let begins = (total - length).max(0.0) / 2.0;
    let is_loaded = |time: f64| time >= begins + SLOW_START_S && time < begins + length;
    let values = |series: &Value, keep: &dyn Fn(f64) -> bool| -> Vec<f64> {
        let samples = times.iter().zip(numbers(series));
        samples.filter_map(|(time, value)| value.filter(|value| keep(*time) && *value >= 0.0)).collect()
    };
    // No answer takes no time. A stream, however, can carry nothing for a while.
    let pings = |series: &Value, keep: &dyn Fn(f64) -> bool| -> Vec<f64> {
        values(series, keep).into_iter().filter(|ping| *ping > 0.0).collect()
    };
    let ping = results
        .get("Ping (ms) ICMP")
        .or_else(|| results.iter().find(|(key, _)| key.starts_with("Ping (ms)")).map(|(_, series)| series))
        .ok_or_else(|| wrong("it has no pings"))?;
    // A simulated run has no pings before its load. Its shortest one waited in no queue.
    let shortest = || pings(ping, &|_| true).into_iter().reduce(f64::min);
    let idle = median(pings(ping, &|time| time < begins))
        .or_else(shortest)
        .ok_or_else(|| wrong("it has no pings before or during the load"))?;
    let loaded = mean(&pings(ping, &is_loaded)).ok_or_else(|| wrong("it has no pings during the load"))?;
    let goodput = |direction: &str| {
        let streams = results.iter().filter(|(key, _)| {
            key.strip_prefix(direction).is_some_and(|rest| !DERIVED.contains(&rest.trim()))
        });
        streams
            .filter_map(|(_, series)| mean(&values(series, &is_loaded)))
            .reduce(|sum, stream| sum + stream)
            .map(|mbit| mbit * 1e6)
    };
    // On a line without a queue, chance may put the loaded ping below the idle one, which
    // `with_measurement` refuses.
    let measured = Measurement { idle: milliseconds(idle), loaded: milliseconds(loaded.max(idle)) };
    Ok(FlentLine { measured, goodput_bps: [goodput("TCP download"), goodput("TCP upload")] })
}

/// Returns the text of a file that may be compressed.
fn unpacked(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    // The magic number of gzip (RFC 1952, section 2.3.1).
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return Ok(bytes.to_vec());
    }
    let mut text = Vec::new();
    // One byte more than is allowed tells a larger file from one that just fits.
    MultiGzDecoder::new(bytes).take(FlentLine::MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > FlentLine::MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!(
            "it is larger than {} MiB",
            FlentLine::MAX_FILE_BYTES >> 20
        )));
    }
    Ok(text)
}

fn numbers(list: &Value) -> Vec<Option<f64>> {
    list.as_array().map(|list| list.iter().map(Value::as_f64).collect()).unwrap_or_default()
}

fn mean(values: &[f64]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "samples of a measurement")]
    let count = values.len() as f64;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn milliseconds(value: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let nanos = (value * 1e6) as u64;
    Duration::from_nanos(nanos)
}

/// Series that Flent computes from the streams.
const DERIVED: &[&str] = &["avg", "sum", "fairness"];
/// Time without load at both ends of Flent's tests.
const DELAY_S: f64 = 5.0;
/// Time in which streams start.
const SLOW_START_S: f64 = 2.0;
/// Headers of IPv4 and TCP with timestamps.
const IP_AND_TCP: u32 = 52;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file() -> Value {
        let times: Vec<f64> = (0..100).map(|step| f64::from(step) * 0.2).collect();
        let series = |idle: Option<f64>, loaded: f64| -> Vec<Option<f64>> {
            times.iter().map(|time| if (5.0..15.0).contains(time) { Some(loaded) } else { idle }).collect()
        };
        json!({
            "version": 4,
            "x_values": times,
            "results": {
                "Ping (ms) ICMP": series(Some(20.0), 320.0),
                "TCP download BE": series(None, 9.0),
                "TCP download BK": series(None, 9.0),
                "TCP download avg": series(None, 9.0),
                "TCP upload BE": series(None, 0.5),
            },
            "metadata": { "LENGTH": 10, "TOTAL_LENGTH": 20 },
        })
    }

    #[test]
    fn pings_and_rates_are_read() {
        let line = read_flent("a.flent", file().to_string().as_bytes()).unwrap();
        assert_eq!(line.measured.idle, Duration::from_millis(20));
        assert_eq!(line.measured.loaded, Duration::from_millis(320));
        // Two downloads with 9 Mbit/s each. Their average, `TCP download avg`, is no third one.
        assert_eq!(line.goodput_bps, [Some(18e6), Some(0.5e6)]);
        // 1440 of 1492 bytes are payload, and the packet takes 32 cells.
        let adsl = kind("adsl", Rate::from_bps(1)).unwrap();
        assert_eq!(line.rate(adsl, 0), Some(Rate::from_bps(21_200_000)));
    }

    /// Uploads at a few packets per second have samples of zero, as Flent writes them.
    #[test]
    fn samples_of_zero_count_and_missing_samples_do_not() {
        let mut measured = file();
        let series = measured["results"]["TCP upload BE"].as_array_mut().unwrap();
        for (number, sample) in series.iter_mut().enumerate() {
            match number % 4 {
                0 => *sample = json!(0.0),
                1 => *sample = Value::Null,
                _ => {}
            }
        }
        let line = read_flent("a.flent", measured.to_string().as_bytes()).unwrap();
        // In 40 samples of the load, 10 are 0, 10 are missing, and 20 are 0.5.
        assert!((line.goodput_bps[1].unwrap() - 0.5e6 * 20.0 / 30.0).abs() < 1.0, "{line:?}");
        measured["results"]["Ping (ms) ICMP"][50] = json!(0.0);
        let pings = read_flent("a.flent", measured.to_string().as_bytes()).unwrap().measured;
        assert_eq!(pings, line.measured, "a ping of 0 is no ping");
    }

    #[test]
    fn other_files_are_refused_with_what_is_missing() {
        for (bytes, missing) in [
            (b"not json".to_vec(), "expected ident"),
            (b"{}".to_vec(), "`results` is missing"),
            (b"\x1f\x8bxx".to_vec(), "cannot be unpacked"),
            (
                json!({ "x_values": [], "results": {}, "metadata": { "LENGTH": 1 } })
                    .to_string()
                    .into_bytes(),
                "no pings",
            ),
        ] {
            let refused = read_flent("a.flent", &bytes).unwrap_err().to_string();
            assert!(refused.contains(missing) && refused.contains("--flent"), "{refused}");
        }
    }
}
