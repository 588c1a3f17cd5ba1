//! A discipline as an object, for teaching and for tests.

use goodqueue::config::Link;
use goodqueue::random::{Random as _, Source};
use goodqueue::{AnyQdisc, Datagram, Disciplines, DropReason, Ecn, FlowKey, Qdisc as _};
use goodqueue_scenario::scenario::Quantity;
use goodqueue_tc as tc;
use goodqueue_tc::units;
use pyo3::prelude::*;

use crate::clock::{Clock, seconds};
use crate::errors::{Error, guarded, raised, warn_of};
use crate::quantity;

/// A packet: its length on the link in bytes, the number of its flow, its ECN field (`"not_ect"`,
/// `"ect0"`, `"ect1"` or `"ce"`), its code point, and anything that it carries.
#[pyclass(module = "goodqueue")]
pub(crate) struct Packet {
    #[pyo3(get)]
    bytes: u32,
    #[pyo3(get)]
    flow: u16,
    ecn: Ecn,
    #[pyo3(get)]
    dscp: u8,
    #[pyo3(get)]
    content: Option<Py<PyAny>>,
}

#[pymethods]
impl Packet {
    #[new]
    #[pyo3(signature = (bytes = 1514, flow = 0, ecn = "not_ect", dscp = 0, content = None))]
    fn new(bytes: u32, flow: u16, ecn: &str, dscp: u8, content: Option<Py<PyAny>>) -> PyResult<Self> {
        let Some((_, ecn)) = ECN.into_iter().find(|(name, _)| *name == ecn) else {
            let names = ECN.map(|(name, _)| name).join(", ");
            return Err(Error::new_err(format!(
                "`{ecn}` is not a value of the ECN field\n  allowed: {names}"
            )));
        };
        if dscp > MOST_DSCP {
            return Err(Error::new_err(format!(
                "a code point of {dscp} is not possible\n  allowed: 0 to 63"
            )));
        }
        Ok(Self { bytes, flow, ecn, dscp, content })
    }

    /// The ECN field; `"ce"` after a mark.
    #[getter]
    fn ecn(&self) -> &'static str {
        ecn_name(self.ecn)
    }

    fn __repr__(&self) -> String {
        format!("Packet(bytes={}, flow={}, ecn={:?}, dscp={})", self.bytes, self.flow, self.ecn(), self.dscp)
    }
}

impl Packet {
    pub(crate) fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
}

/// A discipline in `tc`'s grammar. Time is in seconds and passes only by the arguments of the
/// methods. Threads may share it: each call is made as a whole, under Python's lock.
#[pyclass(module = "goodqueue")]
pub(crate) struct Qdisc {
    queue: AnyQdisc<Datagram<Py<Packet>>>,
    clock: Clock,
    dropped: Vec<(Py<Packet>, DropReason)>,
}

#[pymethods]
impl Qdisc {
    #[new]
    #[pyo3(signature = (line, rate = None, seed = 1))]
    fn new(py: Python<'_>, line: &str, rate: Option<&Bound<'_, PyAny>>, seed: u64) -> PyResult<Self> {
        let mut link = Link::default();
        if let Some(rate) = quantity::option("rate", Quantity::Rate, rate)? {
            link.rate = units::rate(&rate).map_err(|error| raised(&error.in_argument("rate", &rate)))?;
        }
        let made = guarded(|| {
            let config = tc::parse(line, &link).map_err(|error| raised(&error.in_argument("line", line)))?;
            let mut random = Source::seeded(seed);
            let salt = salt(&mut random);
            Ok(Self { queue: AnyQdisc::new(config, salt, random), clock: Clock::START, dropped: Vec::new() })
        })?;
        let remarks = tc::remarks(&Disciplines::new(), line).into_iter();
        warn_of(py, &remarks.map(|remark| remark.in_argument("line", line)).collect::<Vec<_>>())?;
        Ok(made)
    }

    /// A packet arrives at `time`. Dropped packets are in `take_drops`.
    fn enqueue(&mut self, py: Python<'_>, time: f64, packet: Py<Packet>) -> PyResult<()> {
        let now = self.clock.advance(time)?;
        let datagram = datagram(py, packet)?;
        let dropped = &mut self.dropped;
        let mut lost = |datagram: Datagram<Py<Packet>>, why| dropped.push((datagram.content, why));
        guarded(|| {
            self.queue.enqueue(now, datagram, &mut lost);
            Ok(())
        })
    }

    /// Returns the packet to send at `time`, or `None` if no packet may leave.
    fn dequeue(&mut self, py: Python<'_>, time: f64) -> PyResult<Option<Py<Packet>>> {
        let now = self.clock.advance(time)?;
        let dropped = &mut self.dropped;
        let mut lost = |datagram: Datagram<Py<Packet>>, why| dropped.push((datagram.content, why));
        let datagram = guarded(|| Ok(self.queue.dequeue(now, &mut lost)))?;
        datagram
            .map(|datagram| {
                datagram.content.try_borrow_mut(py)?.ecn = datagram.ecn;
                Ok(datagram.content)
            })
            .transpose()
    }

    /// Returns the packets dropped since the last call, each with the reason.
    fn take_drops(&mut self) -> Vec<(Py<Packet>, &'static str)> {
        self.dropped.drain(..).map(|(packet, why)| (packet, why.name())).collect()
    }

    /// The time in seconds at which a shaper wants to be asked again, or `None`.
    fn next_event(&self) -> Option<f64> {
        self.queue.next_event(self.clock.now()).map(seconds)
    }

    /// Bytes in the queue.
    #[getter]
    fn backlog(&self) -> u64 {
        self.queue.backlog()
    }

    fn __len__(&self) -> usize {
        self.queue.len()
    }

    fn __repr__(&self) -> String {
        format!("Qdisc({:?})", tc::to_tc(&self.queue.config()))
    }
}

/// Returns the name of a value of the ECN field.
pub(crate) fn ecn_name(ecn: Ecn) -> &'static str {
    ECN.into_iter().find(|(_, value)| *value == ecn).map_or("not_ect", |(name, _)| name)
}

/// Returns what a queue knows of a packet, with the packet.
pub(crate) fn datagram(py: Python<'_>, packet: Py<Packet>) -> PyResult<Datagram<Py<Packet>>> {
    let about = packet.try_borrow(py)?;
    let datagram = Datagram {
        ecn: about.ecn,
        dscp: about.dscp,
        ..Datagram::new(key(about.flow), about.bytes, packet.clone_ref(py))
    };
    Ok(datagram)
}

/// Returns the addresses of a flow: each flow has a client and a port of its own.
fn key(flow: u16) -> FlowKey {
    let [high, low] = flow.to_be_bytes();
    // 198.18.0.0/15 is reserved for benchmarks (RFC 2544, appendix C.2.2).
    let server = std::net::SocketAddr::from(([198, 19, 0, 1], 443));
    let client = std::net::SocketAddr::from(([198, 18, high, low], 10_000));
    FlowKey::new(server, client, FlowKey::UDP)
}

fn salt(random: &mut Source) -> u32 {
    random.next_u32()
}

const ECN: [(&str, Ecn); 4] =
    [("not_ect", Ecn::NotEct), ("ect1", Ecn::Ect1), ("ect0", Ecn::Ect0), ("ce", Ecn::Ce)];

/// Largest Differentiated Services code point.
const MOST_DSCP: u8 = 63;
