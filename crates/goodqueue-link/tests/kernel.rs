//! Every recording of the Linux kernel's disciplines and of ns-2's, fed through a line: each packet
//! has the same fate at the same nanosecond.

use std::path::PathBuf;

use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Instant};
use goodqueue_link::capacity::Capacity;
use goodqueue_link::line::{Line, LineConfig};
use goodqueue_link::watch::Watch;
use goodqueue_tc::replay::{Arrival, Fate};
use goodqueue_testkit::kernel::{RecordedLink, Recording, variables};

#[test]
fn a_line_decides_about_every_packet_as_linux_6_1_did() {
    compare_all(Recording::all().unwrap());
}

#[test]
fn a_line_decides_about_every_packet_as_linux_7_3_did() {
    compare_all(Recording::all_of_linux73().unwrap());
}

#[test]
fn a_line_decides_about_every_packet_as_ns_2_did() {
    compare_all(Recording::all_of_ns2().unwrap());
}

fn compare_all(paths: Vec<PathBuf>) {
    assert!(!paths.is_empty(), "there are recordings");
    let failures: Vec<String> = paths.iter().filter_map(|path| compared(path.clone()).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn compared(path: PathBuf) -> Result<(), String> {
    let recording = Recording::read(&path)?;
    let config = LineConfig {
        capacity: Capacity::Constant(recording.rate()),
        qdisc: recording.config.clone(),
        path: None,
        delay: Duration::ZERO,
        framing: 0,
        salt: 0,
        seed: 0,
    };
    let line = Line::with_qdisc(config, recording.qdisc()).with_timer_slack();
    let mut line = OnLine { line, origin: recording.origin() };
    let packets = recording
        .compare_on(&mut line, variables)
        .map_err(|difference| format!("{}: {difference}", path.display()))?;
    assert!(packets > 0, "{} has packets", path.display());
    Ok(())
}

/// A line whose clock is that of the recording kernel.
struct OnLine {
    line: Line<Arrival>,
    origin: Duration,
}

impl RecordedLink for OnLine {
    fn arrive(&mut self, arrival: Arrival, report: &mut impl FnMut(Fate)) {
        let mut watch = Fates { origin: self.origin, report };
        self.line.arrive(arrival.at + self.origin, arrival, &mut watch);
        while self.line.poll(arrival.at + self.origin, &mut watch).is_some() {}
    }

    fn run_until(&mut self, end: Instant, report: &mut impl FnMut(Fate)) {
        self.line.catch_up(end + self.origin, &mut Fates { origin: self.origin, report });
    }

    fn reconfigure(&mut self, now: Instant, config: AnyConfig, report: &mut impl FnMut(Fate)) {
        let mut watch = Fates { origin: self.origin, report };
        self.line.reconfigure_quietly(now + self.origin, config, &mut watch);
    }

    fn qdisc_mut(&mut self) -> &mut AnyQdisc<Arrival> {
        self.line.qdisc_mut()
    }
}

/// Reports departures and drops at the times of the rows.
struct Fates<'a, F> {
    origin: Duration,
    report: &'a mut F,
}

impl<F: FnMut(Fate)> Watch<Arrival> for Fates<'_, F> {
    fn sent(&mut self, at: Instant, packet: &Arrival) {
        let at = at - self.origin;
        (self.report)(Fate::Sent { at, seq: packet.seq, bytes: packet.bytes, tos: packet.tos });
    }

    fn dropped(&mut self, at: Instant, packet: Arrival, why: DropReason) {
        (self.report)(Fate::Dropped { at: at - self.origin, seq: packet.seq, why });
    }
}
