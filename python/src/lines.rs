//! Lines for agents: many environments that one call steps in threads, without the GIL.
//!
//! Arrays cross the boundary as bytes in the machine's order, so the package needs no array library
//! to compile.

use goodqueue::{Disciplines, Duration, Link, Rate};
use goodqueue_agents::{
    AqmControl, AqmEnvironment, AqmRanges, AqmSettings, Channel, CongestionEnvironment, CongestionRanges,
    CongestionSettings, Environment, Lines, SenderControl, Split, Step,
};
use goodqueue_scenario::scenario::Quantity;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::unknown;
use goodqueue_tc::units;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Error, guarded, raised, warn_of};
use crate::quantity;

/// Observations, rewards, and whether each episode is over.
type Stepped<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);
/// Names of channels and what they are.
type Channels = Vec<(&'static str, &'static str)>;
/// The bounds of a range: texts with units, or numbers in SI base units.
type Bounds<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Lines whose AQM is an agent.
#[pyclass(module = "goodqueue._goodqueue")]
pub(crate) struct AqmLines(Core<AqmEnvironment>);

/// Lines on which an agent is the congestion control of a flow.
#[pyclass(module = "goodqueue._goodqueue")]
pub(crate) struct CongestionLines(Core<CongestionEnvironment>);

struct Core<E> {
    lines: Lines<E>,
    steps: Vec<Step>,
    observations: Vec<f32>,
}

#[pymethods]
impl AqmLines {
    #[new]
    #[pyo3(signature = (count, *, threads, split, control, qdisc, interval, duration, rate, rtt, flows, ecn))]
    #[expect(clippy::too_many_arguments, reason = "Python names each of them")]
    fn new(
        py: Python<'_>,
        count: usize,
        threads: usize,
        split: &str,
        control: &str,
        qdisc: Option<&str>,
        interval: &Bound<'_, PyAny>,
        duration: &Bound<'_, PyAny>,
        rate: Option<Bounds<'_>>,
        rtt: Option<Bounds<'_>>,
        flows: Option<[u32; 2]>,
        ecn: Option<f64>,
    ) -> PyResult<Self> {
        let all = AqmRanges::default();
        let ranges = AqmRanges {
            rate: rates("rate", rate, all.rate)?,
            rtt: times("rtt", rtt, all.rtt)?,
            flows: flows.unwrap_or(all.flows),
            ecn: ecn.unwrap_or(all.ecn),
        };
        let control = match (control, qdisc) {
            (_, Some(line)) => {
                let config = tc::parse(line, &Link::default());
                let config = config.map_err(|error| raised(&error.in_argument("qdisc", line)))?;
                let remarks = tc::remarks(&Disciplines::new(), line).into_iter();
                warn_of(py, &remarks.map(|remark| remark.in_argument("qdisc", line)).collect::<Vec<_>>())?;
                AqmControl::Qdisc(Box::new(config))
            }
            ("probability", None) => AqmControl::Probability,
            ("target", None) => AqmControl::Target,
            (other, None) => return Err(raised(&unknown("control", other, &["probability", "target"]))),
        };
        let (split, interval, duration) = common(split, interval, duration)?;
        let settings = AqmSettings { ranges, split, control, interval, duration };
        Core::new(count, threads, || AqmEnvironment::new(settings.clone())).map(Self)
    }

    /// Begins an episode on every line. Returns the observations.
    fn begin<'py>(&mut self, py: Python<'py>, seeds: Vec<u64>) -> PyResult<Bound<'py, PyBytes>> {
        self.0.begin(py, &seeds)
    }

    /// Steps every line with its action.
    fn step<'py>(&mut self, py: Python<'py>, actions: &[u8]) -> PyResult<Stepped<'py>> {
        self.0.step(py, actions)
    }

    /// Returns the measured values of the last step in SI units.
    fn measured<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.0.measured(py)
    }

    /// Returns the number of packets that all bottlenecks have sent.
    fn packets(&mut self) -> u64 {
        self.0.lines.packets()
    }

    #[classattr]
    const ACTIONS: [f64; 2] = AqmEnvironment::ACTIONS;

    #[classattr]
    #[pyo3(name = "OBSERVED")]
    fn observed() -> Channels {
        named(AqmEnvironment::OBSERVED)
    }

    #[classattr]
    #[pyo3(name = "MEASURED")]
    fn measured_channels() -> Channels {
        named(AqmEnvironment::MEASURED)
    }
}

#[pymethods]
impl CongestionLines {
    #[new]
    #[pyo3(signature = (count, *, threads, split, control, congestion_control, interval, duration, rate, rtt, buffer, cross))]
    #[expect(clippy::too_many_arguments, reason = "Python names each of them")]
    fn new(
        count: usize,
        threads: usize,
        split: &str,
        control: &str,
        congestion_control: Option<String>,
        interval: &Bound<'_, PyAny>,
        duration: &Bound<'_, PyAny>,
        rate: Option<Bounds<'_>>,
        rtt: Option<Bounds<'_>>,
        buffer: Option<[f64; 2]>,
        cross: Option<[f64; 2]>,
    ) -> PyResult<Self> {
        let all = CongestionRanges::default();
        let ranges = CongestionRanges {
            rate: rates("rate", rate, all.rate)?,
            rtt: times("rtt", rtt, all.rtt)?,
            buffer: buffer.unwrap_or(all.buffer),
            cross: cross.unwrap_or(all.cross),
        };
        let control = match (control, congestion_control) {
            (_, Some(name)) => SenderControl::Named(name),
            ("window", None) => SenderControl::Window,
            ("rate", None) => SenderControl::Rate,
            (other, None) => return Err(raised(&unknown("control", other, &["window", "rate"]))),
        };
        let (split, interval, duration) = common(split, interval, duration)?;
        let settings = CongestionSettings { ranges, split, control, interval, duration };
        Core::new(count, threads, || CongestionEnvironment::new(settings.clone())).map(Self)
    }

    /// Begins an episode on every line. Returns the observations.
    fn begin<'py>(&mut self, py: Python<'py>, seeds: Vec<u64>) -> PyResult<Bound<'py, PyBytes>> {
        self.0.begin(py, &seeds)
    }

    /// Steps every line with its action.
    fn step<'py>(&mut self, py: Python<'py>, actions: &[u8]) -> PyResult<Stepped<'py>> {
        self.0.step(py, actions)
    }

    /// Returns the measured values of the last step in SI units.
    fn measured<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.0.measured(py)
    }

    /// Returns the number of packets that all bottlenecks have sent.
    fn packets(&mut self) -> u64 {
        self.0.lines.packets()
    }

    #[classattr]
    const ACTIONS: [f64; 2] = CongestionEnvironment::ACTIONS;

    #[classattr]
    #[pyo3(name = "OBSERVED")]
    fn observed() -> Channels {
        named(CongestionEnvironment::OBSERVED)
    }

    #[classattr]
    #[pyo3(name = "MEASURED")]
    fn measured_channels() -> Channels {
        named(CongestionEnvironment::MEASURED)
    }
}

impl<E: Environment> Core<E> {
    /// Returns `count` lines, after one of them was tried: bad settings are found at once.
    fn new(count: usize, threads: usize, make: impl Fn() -> E) -> PyResult<Self> {
        make().begin(0).map_err(|error| raised(&error))?;
        let lines = Lines::new(count, threads, make).map_err(|error| raised(&error))?;
        let steps = vec![Step { reward: 0.0, is_over: false }; count];
        Ok(Self { lines, steps, observations: vec![0.0; count * E::OBSERVED.len()] })
    }

    fn begin<'py>(&mut self, py: Python<'py>, seeds: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
        let Self { lines, observations, .. } = self;
        guarded(|| py.detach(|| lines.begin(seeds, observations)).map_err(|error| raised(&error)))?;
        Ok(self.observations(py))
    }

    fn step<'py>(&mut self, py: Python<'py>, actions: &[u8]) -> PyResult<Stepped<'py>> {
        let (numbers, rest) = actions.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Error::new_err(format!(
                "{} bytes of actions are no whole numbers of 8 bytes\n  help: pass an array of float64",
                actions.len()
            )));
        }
        let actions: Vec<f64> = numbers.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect();
        let Self { lines, steps, observations } = self;
        guarded(|| py.detach(|| lines.step(&actions, observations, steps)).map_err(|error| raised(&error)))?;
        let rewards: Vec<u8> = self.steps.iter().flat_map(|step| step.reward.to_ne_bytes()).collect();
        let over: Vec<u8> = self.steps.iter().map(|step| u8::from(step.is_over)).collect();
        Ok((self.observations(py), PyBytes::new(py, &rewards), PyBytes::new(py, &over)))
    }

    fn measured<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut values = vec![0.0; self.lines.count() * E::MEASURED.len()];
        self.lines.measure(&mut values).map_err(|error| raised(&error))?;
        let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_ne_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    fn observations<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = self.observations.iter().flat_map(|number| number.to_ne_bytes()).collect();
        PyBytes::new(py, &bytes)
    }
}

fn named(channels: &[Channel]) -> Channels {
    channels.iter().map(|channel| (channel.name, channel.doc)).collect()
}

fn common(
    split: &str,
    interval: &Bound<'_, PyAny>,
    duration: &Bound<'_, PyAny>,
) -> PyResult<(Split, Duration, Duration)> {
    let split = Split::by_name(split).map_err(|error| raised(&error))?;
    Ok((split, time("interval", interval)?, time("duration", duration)?))
}

fn time(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let text = quantity::text(name, Quantity::Time, given)?;
    units::time(&text).map_err(|error| raised(&error.in_argument(name, &text)))
}

fn rate(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Rate> {
    let text = quantity::text(name, Quantity::Rate, given)?;
    units::rate(&text).map_err(|error| raised(&error.in_argument(name, &text)))
}

fn times(name: &str, given: Option<Bounds<'_>>, default: [Duration; 2]) -> PyResult<[Duration; 2]> {
    given.map_or(Ok(default), |(low, high)| Ok([time(name, &low)?, time(name, &high)?]))
}

fn rates(name: &str, given: Option<Bounds<'_>>, default: [Rate; 2]) -> PyResult<[Rate; 2]> {
    given.map_or(Ok(default), |(low, high)| Ok([rate(name, &low)?, rate(name, &high)?]))
}
