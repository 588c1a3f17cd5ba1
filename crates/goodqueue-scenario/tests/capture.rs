//! Recorded packets as traffic, from the file to the result.

use std::fs;
use std::path::Path;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_scenario::sweep;
use goodqueue_tc::diagnostic::Diagnostic;

/// A pcap file of IPv4 headers: seconds, length, last byte of the sender's address.
fn pcap(packets: &[(u32, u16, u8)]) -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 101, 0, 0, 0]);
    for &(seconds, bytes, host) in packets {
        for field in [seconds, 0, 20, u32::from(bytes)] {
            file.extend(field.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend(bytes.to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, host, 10, 0, 0, 99]);
    }
    file
}

fn run(folder: &Path, keys: &str) -> Result<Run, Diagnostic> {
    let text = format!(
        "duration = \"100s\"\nqdiscs = [\"pfifo\"]\n[link]\ndown = \"10mbit\"\nframing = 0\n\
         [[flows]]\nkind = \"capture\"\ndirection = \"up\"\n{keys}"
    );
    let file = folder.join("load.toml");
    fs::write(&file, text).expect("a temporary folder");
    let document = Document::load(&file)?;
    let points = sweep::expand(&document, &Names::default())?;
    let json = points[0].1.to_json();
    let again = Document::from_json(&json)?.resolve(&Names::default())?;
    assert_eq!(again.to_json(), json, "the resolved scenario can be run again");
    let finished = Session::from_runs(runs_of(&points, None)?).threads(1).run(&NoWatch)?;
    Ok(finished.runs().remove(0))
}

#[test]
fn a_recording_is_sent_as_it_was_faster_in_part_and_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("call.pcap"), pcap(&[(3, 100, 1), (4, 1500, 2), (7, 200, 1)]))
        .expect("written");
    let sent = |keys: &str| {
        let run = run(folder.path(), &format!("file = \"call.pcap\"\n{keys}")).expect("valid");
        (run.flows[0].packets_sent, run.flows[0].bytes_delivered)
    };
    // Of each packet, 28 bytes are headers of IPv4 and UDP.
    assert_eq!(sent(""), (3, 1800 - 3 * 28));
    assert_eq!(sent("from = \"10.0.0.1\""), (2, 300 - 2 * 28));
    // Four seconds and one mean gap of two: a repetition each six seconds.
    assert_eq!(sent("repeat = true").0, 16 * 3 + 2, "the last repetition begins at 96 s");
    assert_eq!(sent("repeat = true\nspeed = 2.0").0, 33 * 3 + 2, "at 99 and 99.5 s");
    assert_eq!(sent("speed = 0.01").0, 1, "100 s lie between the first two");
}

#[test]
fn a_recording_that_cannot_be_sent_is_refused_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
    let good = pcap(&[(1, 9000, 1), (1, 60, 1)]);
    write("jumbo.pcap", &good);
    write("cut.pcap", &good[..good.len() - 3]);
    write("once.pcap", &pcap(&[(1, 60, 1), (1, 60, 1)]));
    for (keys, expected) in [
        ("", "load.toml:6:1: `file`: a flow of kind capture needs a file"),
        ("file = \"none.pcap\"", "none.pcap: the recording cannot be opened"),
        ("file = \"cut.pcap\"", "cut.pcap: the recording is cut behind packet 1"),
        ("file = \"jumbo.pcap\"", "IP packet 1 of the recording has 9000 bytes, more than the MTU of 1500"),
        ("file = \"once.pcap\"\nrepeat = true", "`repeat`: all of the recording is in one instant"),
        ("file = \"once.pcap\"\nspeed = 0", "`speed`: 0 times the recorded speed is not possible"),
        ("file = \"once.pcap\"\nfrom = \"me\"", "`from`: `me` is not an address"),
    ] {
        let message = run(folder.path(), keys).expect_err("refused").to_string();
        assert!(message.contains(expected), "{keys}: {message}");
    }
}
