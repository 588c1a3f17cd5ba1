//! QUIC flows beside TCP, as users see them.

use serde_json::Value;

use crate::{folder, goodqueue, stdout};

#[test]
fn quic_flows_are_in_results_captures_and_stories() {
    let folder = folder();
    let shortened = ["--set", "duration=4s", "--set", "warmup=1s", "--seeds", "1", "--qdisc", "fq_codel"];
    let wanted = ["--json", "-", "--packets", "a.pcapng", "--packets", "a.sqlog", "--quiet"];
    let args = [&["run", "quic-beside-tcp"][..], &shortened, &wanted].concat();
    let output = goodqueue(folder.path(), &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let flow = &results["runs"][0]["flows"][0];
    assert_eq!([&flow["kind"], &flow["cc"], &flow["label"]], ["quic", "cubic", "QUIC"]);
    let goodput = |flow: usize| results["runs"][0]["flows"][flow]["goodput_bps"].as_f64().expect("a rate");
    // fq_codel gives each of two greedy flows half of 20 Mbit/s, of which some is headers.
    assert!((0..2).all(|flow| goodput(flow) > 7e6 && goodput(flow) < 10e6), "{} {}", goodput(0), goodput(1));
    assert!(results["runs"][0]["fairness"]["jain_goodput"].as_f64().expect("two flows") > 0.95);

    // Headers of IPv4 with the number of UDP: the length of UDP is that of IP without its header.
    let capture = std::fs::read(folder.path().join("a.pcapng")).expect("written");
    // An IPv4 header without options has 20 bytes, and that of UDP 8. Each IPv4 header of a capture
    // says "do not fragment", with a TTL of 64.
    let headers = capture.windows(28).filter(|bytes| bytes[0] == 0x45 && bytes[6..9] == [0x40, 0, 64]);
    // Protocol 17 is UDP. The addresses of a capture begin with 198.18 (RFC 2544).
    let udp: Vec<&[u8]> = headers.filter(|bytes| bytes[9] == 17 && bytes[12] == 198).collect();
    assert!(udp.len() > 1000, "{}", udp.len());
    for header in udp {
        let [total, length] = [2, 24].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        assert_eq!(length + 20, total);
    }

    let log = std::fs::read_to_string(folder.path().join("a.sqlog")).expect("written");
    let mut records = log.lines().map(|line| {
        serde_json::from_str::<Value>(line.strip_prefix('\u{1e}').expect("a record separator")).expect("JSON")
    });
    assert_eq!(records.next().expect("a header")["title"], "fq_codel, seed 1");
    let mut counts = [0_u64; 3];
    for record in records {
        let names = ["enqueued", "dequeued", "dropped"].map(|name| format!("goodqueue:packet_{name}"));
        let name = record["name"].as_str().expect("a name");
        counts[names.iter().position(|known| known == name).expect("a known event")] += 1;
        assert_eq!(record["data"]["reason"].is_string(), name.ends_with("dropped"), "{record}");
    }
    let [enqueued, dequeued, dropped] = counts;
    assert!(dropped > 0 && enqueued >= dequeued + dropped, "{counts:?}");

    std::fs::write(folder.path().join("alone.toml"), "duration = \"5s\"\n[[flows]]\nkind = \"quic\"")
        .expect("written");
    let args = ["compare", "alone.toml", "--qdisc", "codel", "--explain", "drop"];
    let told = stdout(&goodqueue(folder.path(), &args));
    assert!(told.contains("QUIC datagram") && told.contains("codel"), "{told}");
}

#[test]
fn a_user_over_quic_has_transfers_in_results_as_one_over_tcp() {
    let folder = folder();
    let user = |kind: &str| format!("[[flows]]\nkind = \"{kind}\"\nsize = \"50kb\"\nthink = \"500ms\"\n");
    let scenario = format!("duration = \"10s\"\n{}{}", user("quic_transfers"), user("transfers"));
    std::fs::write(folder.path().join("users.toml"), scenario).expect("written");
    let output =
        goodqueue(folder.path(), &["compare", "users.toml", "--qdisc", "fq_codel", "--json", "-", "--quiet"]);
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let flows = &results["runs"][0]["flows"];
    assert_eq!([&flows[0]["kind"], &flows[1]["kind"]], ["quic_transfers", "transfers"]);
    let completed = |flow: usize| flows[flow]["transfers"]["completed"].as_u64().expect("counted");
    // A fetch takes some round trips of 50 ms, and then the user thinks for half a second.
    assert!((8..20).contains(&completed(0)) && (8..20).contains(&completed(1)), "{flows}");
}
