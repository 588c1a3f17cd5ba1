//! Every recording of the Linux kernel whose qdisc exists here: the same fate for each packet, at the same nanosecond.

use goodqueue::{AnyQdisc, Instant};
use goodqueue_testkit::kernel::{RecordedPacket, Recording};

#[test]
fn every_recorded_packet_has_the_fate_that_the_kernel_gave_it() {
    let mut failures = Vec::new();
    for path in Recording::all().unwrap() {
        let recording = Recording::read(&path).unwrap();
        let Some(qdisc) = recording.qdisc() else { continue };
        match qdisc.and_then(|qdisc| recording.compare(qdisc, variables)) {
            Ok(packets) => println!("{}: {packets} packets equal", recording.name),
            Err(difference) => {
                failures.push(format!("{} ({}): {difference}", recording.name, recording.qdisc))
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What the kernel's log shows after each periodic update.
fn variables(qdisc: &mut AnyQdisc<RecordedPacket>, now: Instant) -> Option<(u64, u64)> {
    match qdisc {
        AnyQdisc::Pie(pie) => {
            pie.update(now);
            Some(pie.raw())
        }
        AnyQdisc::Red(red) => {
            red.update(now);
            red.raw()
        }
        _ => None,
    }
}
