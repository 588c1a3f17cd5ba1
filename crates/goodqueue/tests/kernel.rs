//! Every recording of the Linux kernel's disciplines, alone and in trees, and of ns-2's RED: the
//! same fate for each packet, at the same nanosecond.

use std::path::{Path, PathBuf};

use goodqueue_testkit::kernel::{Recording, variables};

#[test]
fn every_recorded_packet_has_the_fate_that_the_kernel_gave_it() {
    compare_all(Recording::all().unwrap());
}

#[test]
fn every_packet_recorded_on_linux_7_3_has_the_fate_that_the_kernel_gave_it() {
    let paths = Recording::all_of_linux73().unwrap();
    assert_eq!(paths.len(), 112);
    compare_all(paths);
}

#[test]
fn with_its_random_numbers_red_drops_what_ns_2_drops() {
    compare_all(Recording::all_of_ns2().unwrap());
}

fn compare_all(paths: Vec<PathBuf>) {
    let mut failures = Vec::new();
    let mut recordings = 0;
    for path in paths {
        recordings += 1;
        match compared(&path) {
            Ok(packets) => println!("{}: {packets} packets equal", path.display()),
            Err(difference) => failures.push(difference),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(recordings > 0, "there are recordings");
}

/// Compares a recording, and returns its packets or the first difference.
fn compared(path: &Path) -> Result<u64, String> {
    Recording::read(path)?
        .compare(variables)
        .map_err(|difference| format!("{}: {difference}", path.display()))
}
