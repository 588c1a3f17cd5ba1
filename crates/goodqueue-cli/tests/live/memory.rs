//! Memory for packets: how much there is, and what is told when it is full.

use super::*;

#[test]
fn packets_that_find_no_memory_are_told_in_the_summary() {
    if skipped("packets_that_find_no_memory_are_told_in_the_summary") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [socket, stats] = ["control", "stats.json"].map(|name| folder.path().join(name));
    // A queue for more packets than there is memory, which hardly empties.
    let options =
        ["--rate", "1kbit", "--qdisc", "pfifo limit 1000000", "--control", socket.to_str().unwrap()];
    let json_file = ["--json", stats.to_str().unwrap()];
    let mut command = shell(&[&options[..], &json_file].concat(), "flood-until-told");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the control socket", || UnixStream::connect(&socket).is_ok());
    let ask = || control::ask(&socket, "stats");
    wait_until("a full memory", || ask()["process"]["out_of_memory_packets"].as_u64() > Some(100));
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    good(&output);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let discarded = json(&stats)["process"]["out_of_memory_packets"].as_u64().unwrap();
    let remark = format!("goodqueue: {discarded} packets were discarded in front of the queues");
    assert!(said.contains(&remark) && said.contains("the 64 MiB of memory for packets"), "{said}");
}

#[test]
fn a_line_that_holds_gigabytes_is_refused_before_the_program_starts() {
    if skipped("a_line_that_holds_gigabytes_is_refused_before_the_program_starts") {
        return;
    }
    let output = goodqueue()
        .args(["shell", "--rate", "1gbit", "--rtt", "20s", "--", "touch", "/nowhere/at/all"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    // Half of the round trip, 10 s, is on the way down.
    assert!(said.contains("1250 MB of packets on their way down") && said.contains("help: "), "{said}");
}
