//! A link as an object, for the tests of a transport.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use goodqueue::{Datagram, DropReason, Duration, Instant};
use goodqueue_link::event::Event as Fate;
use goodqueue_link::{Link as Inner, LinkBuilder};
use goodqueue_scenario::scenario::Quantity;
use goodqueue_tc::units;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::clock::{self, seconds};
use crate::errors::{Error, guarded, raised};
use crate::qdisc::{Packet, datagram};
use crate::quantity;

/// The fate of a packet on a link: `"arrived"`, `"dropped"` by the discipline, or `"lost"` on the
/// path.
#[pyclass(module = "goodqueue", frozen)]
pub(crate) struct Event {
    #[pyo3(get)]
    fate: &'static str,
    #[pyo3(get)]
    time: f64,
    #[pyo3(get)]
    packet: Py<Packet>,
    #[pyo3(get)]
    reason: Option<&'static str>,
}

#[pymethods]
impl Event {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let packet = self.packet.bind(py).repr()?;
        let reason = self.reason.map_or_else(String::new, |reason| format!(", reason={reason:?}"));
        Ok(format!("Event(fate={:?}, time={}, packet={packet}{reason})", self.fate, self.time))
    }
}

/// One direction of a bottleneck as a text, such as `"20mbit delay 25ms [fq_codel]"`. Time is in
/// seconds and passes only by the arguments of the methods. A time before that of an earlier call
/// counts as equal to it.
#[pyclass(module = "goodqueue")]
pub(crate) struct Link {
    link: Inner<Datagram<Py<Packet>>>,
    text: String,
}

#[pymethods]
impl Link {
    #[new]
    #[pyo3(signature = (text, seed = 1))]
    fn new(text: &str, seed: u64) -> PyResult<Self> {
        guarded(|| {
            let builder: LinkBuilder = text.parse().map_err(|error| raised(&error))?;
            let link = builder.seed(seed).build().map_err(|error| Error::new_err(error.to_string()))?;
            Ok(Self { link, text: text.to_owned() })
        })
    }

    /// Offers a packet to the queue at `time`.
    fn send(&mut self, py: Python<'_>, time: f64, packet: Py<Packet>) -> PyResult<()> {
        let now = clock::instant(time)?;
        let datagram = datagram(py, packet)?;
        guarded(|| {
            self.link.send(now, datagram);
            Ok(())
        })
    }

    /// Returns the next event until `time`, or `None` if there is none left.
    fn poll(&mut self, py: Python<'_>, time: f64) -> PyResult<Option<Event>> {
        let now = clock::instant(time)?;
        guarded(|| Ok(self.link.poll(now)))?.map(|event| event_of(py, event)).transpose()
    }

    /// Returns the time in seconds at which `poll` has something to do next, or `None`.
    fn next_event(&self) -> Option<f64> {
        self.link.next_event().map(seconds)
    }

    /// Changes the rate at `time`. The packet in transmission keeps the old rate.
    fn set_rate(&mut self, time: f64, rate: &Bound<'_, PyAny>) -> PyResult<()> {
        let now = clock::instant(time)?;
        let text = quantity::text("rate", Quantity::Rate, rate)?;
        let rate = units::rate(&text).map_err(|error| raised(&error.in_argument("rate", &text)))?;
        guarded(|| {
            self.link.set_rate(now, rate);
            Ok(())
        })
    }

    /// Sends nothing from `time` to `until`, as a radio during a hand-over.
    fn gap(&mut self, time: f64, until: f64) -> PyResult<()> {
        let now = clock::instant(time)?;
        let until = clock::instant(until)?;
        guarded(|| {
            self.link.gap(now, until);
            Ok(())
        })
    }

    /// Writes every packet from now on to a file for `goodqueue replay`.
    fn record(&mut self, path: PathBuf) -> PyResult<()> {
        let failed = |error| Error::new_err(format!("`{}` cannot be written: {error}", path.display()));
        let file = File::create(&path).map_err(failed)?;
        self.link.record(BufWriter::new(file)).map_err(failed)
    }

    /// Ends the recording.
    fn stop_recording(&mut self) -> PyResult<()> {
        match self.link.stop_observing() {
            None => Ok(()),
            Some(trouble) => Err(Error::new_err(format!("the recording is incomplete: {trouble}"))),
        }
    }

    /// Returns packets by fate, and quantiles of the time in the queue.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let measured = self.link.stats();
        let counts = [
            ("packets.sent", measured.sent.packets),
            ("packets.arrived", measured.arrived.packets),
            ("packets.dropped", measured.queue.dropped().packets),
            ("packets.marked", measured.queue.marked.packets),
            ("packets.lost", measured.lost.packets),
            ("queue.longest", measured.longest as u64),
        ];
        let sojourn = measured.sojourn;
        let times = [
            ("sojourn_s.p50", sojourn.p50()),
            ("sojourn_s.p95", sojourn.p95()),
            ("sojourn_s.p99", sojourn.p99()),
            ("sojourn_s.max", sojourn.max()),
        ];
        let statistics = PyDict::new(py);
        counts.iter().try_for_each(|(name, count)| statistics.set_item(name, count))?;
        times.iter().try_for_each(|(name, time)| statistics.set_item(name, measured_time(*time)))?;
        Ok(statistics)
    }

    fn __repr__(&self) -> String {
        format!("Link({:?})", self.text)
    }
}

fn event_of(py: Python<'_>, event: Fate<Datagram<Py<Packet>>>) -> PyResult<Event> {
    let of = |fate, at, datagram: Datagram<Py<Packet>>, reason: Option<DropReason>| {
        datagram.content.try_borrow_mut(py)?.set_ecn(datagram.ecn);
        Ok(Event { fate, time: seconds(at), packet: datagram.content, reason: reason.map(DropReason::name) })
    };
    match event {
        Fate::Arrived { at, packet } => of("arrived", at, packet, None),
        Fate::Dropped { at, packet, why } => of("dropped", at, packet, Some(why)),
        Fate::Lost { at, packet, why } => of("lost", at, packet, Some(why)),
    }
}

/// Returns a quantile. Without a packet it is infinite, so that an upper bound fails.
fn measured_time(time: Duration) -> f64 {
    if time == Duration::MAX { f64::INFINITY } else { seconds(Instant::ZERO + time) }
}
