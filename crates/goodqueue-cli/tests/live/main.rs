//! Real programs behind the bottleneck: the guarantees of `goodqueue shell`, and its behaviour
//! under faults.
//!
//! The programs are this file itself: a test runs itself again inside, in the role of a client
//! (`ROLE`). Where namespaces or TUN devices are missing, each test prints a message and passes.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use self::clients::{GARBAGE, echo, echo_segments, echo_stream, fetch, fetch_many, flood, garbage, told};

mod clients;
mod confinement;
mod control;
mod faults;
mod files;
mod host;
mod hostile_clients;
mod judged;
mod killed;
mod memory;
mod requirements;
mod terminal;

const ROLE: &str = "GOODQUEUE_TEST_ROLE";

fn goodqueue() -> Command {
    Command::new(env!("CARGO_BIN_EXE_goodqueue"))
}

/// The reason why live tests cannot run here, if any.
static MISSING: LazyLock<Option<String>> = LazyLock::new(|| {
    let tried = goodqueue().args(["shell", "--quiet", "--", "true"]).output().expect("goodqueue runs");
    (!tried.status.success()).then(|| String::from_utf8_lossy(&tried.stderr).trim().to_owned())
});

/// Returns true and prints a message if live tests cannot run here.
fn skipped(test: &str) -> bool {
    if let Some(why) = MISSING.as_ref() {
        tell_skipped(test, why);
    }
    MISSING.is_some()
}

/// Prints a message past the test harness, which would capture it.
#[expect(clippy::disallowed_methods, reason = "the message is the test's own")]
fn tell_skipped(test: &str, why: &str) {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::SeqCst) + 1;
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why} ({count} skipped so far)");
}

/// Returns `goodqueue shell` with these options and this role inside.
fn shell(options: &[&str], role: &str) -> Command {
    let this = std::env::current_exe().expect("tests have a path");
    let mut command = goodqueue();
    command.arg("shell").args(options).arg("--");
    command.arg(this).args(["--exact", "inside", "--nocapture", "--quiet"]).env(ROLE, role);
    command
}

fn run(mut command: Command) -> Output {
    command.output().expect("goodqueue runs")
}

fn good(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("it was written")).expect("it is JSON")
}

/// The program inside: not a test of its own.
#[test]
fn inside() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (role, argument) = role.split_once(' ').unwrap_or((&role, ""));
    match role {
        "fetch" => {
            let size: u64 = argument.parse().unwrap();
            assert_eq!(fetch(size).unwrap(), size);
        }
        "fetch-many" => fetch_many(argument.parse().unwrap()),
        "fetch-many-until-told" => {
            let told = told();
            while !told.is_finished() {
                fetch_many(argument.parse().unwrap());
            }
        }
        "echo" => echo(argument.parse().unwrap()),
        "no-echo" => {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.connect("198.18.0.2:7").unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            (0..5).for_each(|number| assert_eq!(socket.send(&[number; 100]).unwrap(), 100));
            assert!(socket.recv(&mut [0; 200]).is_err(), "an answer came through");
        }
        "echo-stream" => echo_stream(argument.parse().unwrap()),
        "echo-segments" => echo_segments(),
        "flood-until-told" => {
            let told = told();
            while !told.is_finished() {
                flood(&[0; 36]);
            }
        }
        "flood-fragments" => flood(&[0; 4000]),
        "headers" => {
            println!("\nodd: {}", faults::odd_headers());
            fetch(1).unwrap();
            garbage();
        }
        "steal-descriptors" => confinement::steal_descriptors(),
        "nest" => {
            let inner = run(shell(&["--rate", "2mbit", "--quiet"], "fetch 20000"));
            good(&inner);
        }
        "serve" => {
            let listener = std::net::TcpListener::bind((argument, 5001)).unwrap();
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(&[7; 1_000_000]).unwrap();
        }
        "serve-all" => {
            let listener = std::net::TcpListener::bind((argument, 5001)).unwrap();
            for client in listener.incoming() {
                let _ = client.unwrap().write_all(&[7; 1_000_000]);
            }
        }
        "garbage" => garbage(),
        "take" => {
            let mut tries = 0..1000;
            let stream = loop {
                match TcpStream::connect((argument, 5001)) {
                    Ok(stream) => break stream,
                    Err(error) if tries.next().is_none() => panic!("{error}"),
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            };
            assert_eq!(std::io::copy(&mut &stream, &mut std::io::sink()).unwrap(), 1_000_000);
        }
        other => panic!("there is no role {other}"),
    }
}

#[test]
fn a_program_needs_no_dashes_in_front_and_keeps_its_own_options() {
    if skipped("a_program_needs_no_dashes_in_front_and_keeps_its_own_options") {
        return;
    }
    let output = goodqueue()
        .args(["shell", "--rate", "10mbit", "--quiet", "sh", "-c", "echo $#", "sh", "--quiet"])
        .output()
        .unwrap();
    good(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n");
}

#[test]
fn the_exit_code_is_that_of_the_program() {
    if skipped("the_exit_code_is_that_of_the_program") {
        return;
    }
    // A shell reports a signal as 128 and its number.
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        let output = run({
            let mut command = goodqueue();
            command.args(["shell", "--quiet", "--", "sh", "-c", script]);
            command
        });
        assert_eq!(output.status.code(), Some(code), "{script}");
    }
    let absent = goodqueue().args(["shell", "--quiet", "--", "/does/not/exist"]).output().unwrap();
    // Shells have this code for a program that does not exist.
    assert_eq!(absent.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("`/does/not/exist` cannot be run"));
}

#[test]
fn a_recorded_run_replays_packet_by_packet() {
    if skipped("a_recorded_run_replays_packet_by_packet") {
        return;
    }
    let qdiscs = [
        "fq_codel",
        "fq_codel flows 4",
        "pie",
        "red",
        "pfifo limit 20",
        "prio",
        "cake dual-dsthost ack-filter",
        "cake bandwidth 3mbit triple-isolate",
    ];
    for qdisc in qdiscs {
        let folder = TempDir::new().unwrap();
        let record = folder.path().join("run.jsonl");
        let options =
            ["--quiet", "--rate", "4mbit", "--up", "1mbit", "--rtt", "10ms", "--qdisc", qdisc, "--record"];
        good(&run(shell(&[&options[..], &[record.to_str().unwrap()]].concat(), "fetch-many 40000")));
        let files = ["down", "up"].map(|side| folder.path().join(format!("run.{side}.jsonl")));
        let compared = goodqueue().arg("replay").args(&files).arg("--compare").output().unwrap();
        good(&compared);
        let text = String::from_utf8_lossy(&compared.stdout).into_owned();
        assert!(text.contains("2 of 2 recordings equal"), "{qdisc}: {text}");
        let packets = std::fs::read_to_string(&files[0]).unwrap().matches("[\"A\"").count();
        assert!(packets > 100, "{packets} packets of 160 kB at least came");
    }
}

#[test]
fn a_capture_holds_every_packet_with_its_fate() {
    if skipped("a_capture_holds_every_packet_with_its_fate") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [pcap, stats] = ["run.pcapng", "stats.json"].map(|name| folder.path().join(name));
    let options = ["--quiet", "--rate", "2mbit", "--rtt", "10ms", "--qdisc", "pfifo limit 5", "--pcap"];
    let files = [pcap.to_str().unwrap(), "--json", stats.to_str().unwrap()];
    good(&run(shell(&[&options[..], &files].concat(), "fetch 100000")));
    let stats = json(&stats);

    let mut reader = pcap_file::pcapng::PcapNgReader::new(std::fs::File::open(&pcap).unwrap()).unwrap();
    let mut counts = [0_u64; 6];
    let mut comments = 0;
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
            counts[packet.interface_id as usize] += 1;
            comments += u64::from(!packet.options.is_empty());
            assert!(matches!(packet.data[0] >> 4, 4 | 6));
        }
    }
    for (side, first) in [("down", 0), ("up", 3)] {
        let packets = &stats[side]["packets"];
        assert_eq!(packets["offered"], counts[first], "{side}");
        assert_eq!(packets["dequeued"], counts[first + 1], "{side}");
        assert_eq!(packets["dropped"], counts[first + 2], "{side}");
    }
    assert!(counts[2] > 0 && comments == counts[2] + counts[5], "each drop says why: {counts:?}");
    assert_eq!(blocks(&std::fs::read(&pcap).unwrap()), counts, "block by block, without a library");
}

/// Counts the packets of each interface of a pcapng file (draft-ietf-opsawg-pcapng), read by hand.
/// Checks that block lengths match, interfaces have names and nanosecond timestamps, and packets
/// fit their blocks and have a time.
fn blocks(file: &[u8]) -> [u64; 6] {
    let mut rest = file;
    let mut interfaces = 0_u32;
    let mut packets = [0; 6];
    let mut last = 0;
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    while !rest.is_empty() {
        let kind = word(rest, 0);
        let length = word(rest, 4) as usize;
        assert!(length >= 12 && length.is_multiple_of(4) && length <= rest.len(), "{length} bytes");
        assert_eq!(word(rest, length - 4) as usize, length);
        let body = &rest[8..length - 4];
        match kind {
            // A Section Header Block, with its byte-order magic.
            0x0a0d_0d0a => {
                assert_eq!((word(body, 0), rest.len()), (0x1a2b_3c4d, file.len()), "first, little-endian")
            }
            // An Interface Description Block.
            1 => {
                interfaces += 1;
                let linktype = word(body, 0) & 0xffff;
                assert_eq!(linktype, 101, "LINKTYPE_RAW");
                // if_name is option 2; if_tsresol is option 9 with one byte for nanoseconds.
                assert_eq!(word(body, 8) & 0xffff, 2);
                assert!(body.windows(5).any(|option| option == [9, 0, 1, 0, 9]), "{body:?}");
            }
            // An Enhanced Packet Block.
            6 => {
                let interface = word(body, 0);
                assert!(interface < interfaces);
                let time = u64::from(word(body, 4)) << 32 | u64::from(word(body, 8));
                // Packets of one queue are in order. A late wake-up may write older packets of the
                // other direction.
                // 1.6 · 10^18 ns are September 2020.
                assert!(time + 10_000_000_000 > last && time > 1_600_000_000_000_000_000, "{time} ns");
                last = last.max(time);
                let captured = word(body, 12) as usize;
                assert_eq!(captured, word(body, 16) as usize, "whole packets");
                assert!(20 + captured <= body.len());
                packets[interface as usize] += 1;
            }
            other => panic!("a block of type {other:#x}"),
        }
        rest = &rest[length..];
    }
    assert_eq!(interfaces, 6);
    packets
}

#[test]
fn marked_packets_arrive_with_correct_checksums() {
    if skipped("marked_packets_arrive_with_correct_checksums") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let stats = folder.path().join("stats.json");
    // Every packet that waits more than a millisecond is marked. The kernel would drop a packet
    // with a wrong checksum.
    let qdisc = "codel limit 1000 interval 100s ce_threshold 1ms ecn";
    // At this rate a packet takes 16 ms, so a queue builds up even behind a sender that is often
    // interrupted. With this interval nothing is dropped.
    let options = ["--quiet", "--rate", "500kbit", "--qdisc", qdisc, "--json", stats.to_str().unwrap()];
    good(&run(shell(&options, "echo 40")));
    let stats = json(&stats);
    assert!(stats["up"]["packets"]["marked"].as_u64() > Some(10), "{stats}");
    assert_eq!(stats["up"]["packets"]["dropped"], 0);
}

#[test]
fn what_is_sent_arrives_byte_for_byte() {
    if skipped("what_is_sent_arrives_byte_for_byte") {
        return;
    }
    // Without a limit as super-packets; with a limit one by one; with losses, marks and reordering
    // on the path.
    for options in [
        &[][..],
        &["--rate", "300mbit", "--qdisc", "fq_codel"],
        &["--rate", "50mbit", "--rtt", "4ms", "--loss", "1%", "--qdisc", "codel ce_threshold 1ms"],
    ] {
        good(&run(shell(&[&["--quiet"], options].concat(), "echo-stream 3000000")));
    }
}

#[test]
fn each_direction_may_lose_packets_of_its_own() {
    if skipped("each_direction_may_lose_packets_of_its_own") {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let script = format!("{ROLE}=no-echo {} --exact inside --quiet || echo failed >&2; cat", this.display());
    // Packets of a direction that went into the lossy path behind its queue.
    let sent = |losses: &[&str], direction: &str| {
        let running = control::Running::start(losses, &["sh", "-c", &script]);
        wait_until("five datagrams", || {
            running.ask("stats")[direction]["packets"]["dequeued"].as_u64() >= Some(5)
        });
        let stats = running.ask("stats");
        assert_eq!(running.end(), (0, String::new()));
        ["up", "down"].map(|direction| stats[direction]["packets"]["dequeued"].as_u64().unwrap() >= 5)
    };
    // Either the server hears nothing, or its answers are lost.
    assert_eq!(sent(&["--loss-up", "100%"], "up"), [true, false]);
    assert_eq!(sent(&["--loss", "0%", "--loss-down", "100%"], "down"), [true, true]);
}

#[test]
fn datagrams_sent_in_one_call_are_packets_of_their_own() {
    if skipped("datagrams_sent_in_one_call_are_packets_of_their_own") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let stats = folder.path().join("stats.json");
    good(&run(shell(&["--quiet", "--rate", "20mbit", "--json", stats.to_str().unwrap()], "echo-segments")));
    let stats = json(&stats);
    assert!(stats["up"]["packets"]["offered"].as_u64() >= Some(20), "{stats}");
    assert!(stats["down"]["packets"]["offered"].as_u64() >= Some(20), "{stats}");
}

#[test]
fn a_shell_runs_inside_a_shell() {
    if skipped("a_shell_runs_inside_a_shell") {
        return;
    }
    good(&run(shell(&["--rate", "5mbit", "--quiet"], "nest")));
}

#[test]
fn the_server_that_somebody_brings_is_waited_for_and_ends_with_the_program() {
    if skipped("the_server_that_somebody_brings_is_waited_for_and_ends_with_the_program") {
        return;
    }
    // The server starts late, records that it was asked to end, and would otherwise run for ever.
    let folder = TempDir::new().unwrap();
    let ended = folder.path().join("ended");
    let serve = format!("trap 'touch {}; exit' TERM; sleep 300 & wait", ended.display());
    let output = goodqueue().args(["shell", "--quiet", "--serve", &serve, "--", "true"]).output().unwrap();
    good(&output);
    assert!(ended.exists());
}

/// Returns the processes whose command line contains `marker`.
fn processes(marker: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let running = entries.filter(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
    });
    running.map(|entry| entry.path()).collect()
}

/// Waits for a condition. The time is that after which a test fails; on a machine under any load it
/// is long enough.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} did not happen in 120 s");
}

#[test]
fn asked_to_end_it_ends_with_its_program() {
    if skipped("asked_to_end_it_ends_with_its_program") {
        return;
    }
    let marker = format!("{}.78", 1_000_000 + std::process::id());
    let mut child = goodqueue().args(["shell", "--quiet", "--", "sleep", &marker]).spawn().unwrap();
    wait_until("the start of the program", || processes(&marker).len() > 1);
    // Its first process exists before the program does.
    wait_until("the program itself", || {
        processes(&marker)
            .iter()
            .any(|path| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "sleep"))
    });
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    wait_until("the end of every process", || processes(&marker).is_empty());
}

#[test]
fn a_full_disk_ends_the_capture_and_not_the_traffic() {
    if skipped("a_full_disk_ends_the_capture_and_not_the_traffic") {
        return;
    }
    let output = run(shell(&["--rate", "20mbit", "--pcap", "/dev/full"], "fetch 1000000"));
    assert_eq!(output.status.code(), Some(files::INCOMPLETE), "the program did not fail");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`/dev/full` ends here") && said.contains("packets are still forwarded"), "{said}");
}

/// True if network tools work inside, which needs root.
fn root_with_ip(test: &str) -> bool {
    if skipped(test) {
        return false;
    }
    let able = goodqueue().args(["shell", "--quiet", "--", "ip", "link", "set", "lo", "up"]).output();
    let able = able.is_ok_and(|output| output.status.success());
    if !able {
        tell_skipped(test, "`ip link` cannot be used inside: it takes root and iproute2");
    }
    able
}

#[test]
fn a_device_that_is_deleted_underneath_ends_it_with_a_sentence() {
    if !root_with_ip("a_device_that_is_deleted_underneath_ends_it_with_a_sentence") {
        return;
    }
    let output = goodqueue()
        .args(["shell", "--quiet", "--", "sh", "-c", "ip link delete goodqueue; sleep 300"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the interface `goodqueue` was deleted during the run"), "{said}");
}

#[test]
fn a_device_that_goes_down_and_comes_back_is_waited_for() {
    if !root_with_ip("a_device_that_goes_down_and_comes_back_is_waited_for") {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "ip link set goodqueue down; sleep 0.2; ip link set goodqueue name renamed; ip addr flush dev renamed; \
         ip addr add 198.18.0.1/24 dev renamed; ip link set renamed up mtu 9000; ip route add default dev renamed; \
         exec {} --exact inside --quiet --nocapture",
        this.display()
    );
    let output = goodqueue()
        .args(["shell", "--quiet", "--rate", "50mbit", "--", "sh", "-c", &script])
        .env(ROLE, "fetch 200000")
        .output()
        .unwrap();
    good(&output);
}

#[test]
fn garbage_is_carried_like_anything_else() {
    if !root_with_ip("garbage_is_carried_like_anything_else") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let stats = folder.path().join("stats.json");
    good(&run(shell(&["--quiet", "--rate", "100mbit", "--json", stats.to_str().unwrap()], "garbage")));
    let stats = json(&stats);
    assert_eq!(stats["client"]["interface_dropped"], 0, "{stats}");
    assert!(stats["up"]["packets"]["offered"].as_u64() > Some(GARBAGE), "{stats}");
}

#[test]
fn without_user_namespaces_it_says_so_in_one_sentence() {
    if skipped("without_user_namespaces_it_says_so_in_one_sentence") {
        return;
    }
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec {} shell --quiet -- true",
        env!("CARGO_BIN_EXE_goodqueue")
    );
    let output = goodqueue().args(["shell", "--quiet", "--", "sh", "-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Permission denied") {
        tell_skipped(
            "without_user_namespaces_it_says_so_in_one_sentence",
            "only root can take user namespaces away",
        );
        return;
    }
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("user namespaces cannot be used"), "{said}");
    assert!(said.contains("help: "), "{said}");
}

#[test]
fn compare_runs_the_kernel_s_tcp_live_and_beside_the_simulated_one() {
    if skipped("compare_runs_the_kernel_s_tcp_live_and_beside_the_simulated_one") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [scenario, results] = ["mix.toml", "results.json"].map(|name| folder.path().join(name));
    let mix = r#"
        duration = "6s"
        qdiscs = ["fq_codel", "pfifo limit 50"]
        link = { down = "8mbit", up = "4mbit", rtt = "20ms" }
        flows = [
            { kind = "tcp", size = "200kb", cc = "reno" },
            { kind = "tcp", direction = "up", start = "1s" },
            { kind = "ping", interval = "50ms" },
            { kind = "cbr", rate = "400kbit", packet = 500 },
            { kind = "transfers", size = "30kb", think = "100ms" },
            { kind = "voip", direction = "up" },
            # Before the upload fills the queue: a lost SYN costs one second, and the next one two more.
            { kind = "web", page = { objects = [8000, 4000, 3000, 2000, 1000] }, connections = 4, interval = "300ms" },
        ]
    "#;
    std::fs::write(&scenario, mix).unwrap();
    let output =
        goodqueue().arg("compare").arg(&scenario).args(["--both", "--json"]).arg(&results).output().unwrap();
    good(&output);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for heading in ["live less simulated", "page fetch", "voice"] {
        assert!(table.contains(heading), "{table}");
    }
    let results = json(&results);
    let runs = results["runs"].as_array().unwrap();
    let labels: Vec<_> = runs.iter().map(|run| run["qdisc"].as_str().unwrap()).collect();
    let expected =
        ["fq_codel, simulated", "fq_codel, live", "pfifo limit 50, simulated", "pfifo limit 50, live"];
    assert_eq!(labels, expected);
    for run in runs {
        let kinds: Vec<_> = run["flows"].as_array().unwrap().iter().map(|flow| &flow["kind"]).collect();
        assert_eq!(kinds, ["tcp", "tcp", "ping", "cbr", "transfers", "voip", "web"]);
        for flow in run["flows"].as_array().unwrap() {
            assert!(flow["bytes_delivered"].as_u64() > Some(0), "{}: {flow}", run["qdisc"]);
        }
        assert!(run["flows"][0]["fct_s"].is_number(), "200 kB are through in 6 s: {}", run["flows"][0]);
        assert!(run["probes"]["ping_s"]["count"].as_u64() > Some(20));
        let web = &run["probes"]["web"];
        assert!(web["completed"].as_u64() > Some(0), "{}: {web}", run["qdisc"]);
        assert!(
            run["probes"]["web"]["page_fetch_s"]["p50"].as_f64() > Some(0.06),
            "three round trips at least"
        );
        assert!(run["probes"]["voip"]["mos"].as_f64() > Some(1.0), "{}", run["probes"]["voip"]);
        for side in ["down", "up"] {
            let packets = &run["bottleneck"][side]["packets"];
            assert!(packets["dequeued"].as_u64() > Some(50), "{}: {packets}", run["qdisc"]);
        }
    }
}

#[test]
fn a_comparison_of_both_reports_and_exports_both() {
    if skipped("a_comparison_of_both_reports_and_exports_both") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [report, table, tc] = ["r.html", "series.csv", "tc.json"].map(|name| folder.path().join(name));
    let output = goodqueue()
        .args(["compare", "--both", "--time", "1s", "--qdisc", "pfifo", "--flows", "1"])
        .arg("--report")
        .arg(&report)
        .arg("--export")
        .arg(&table)
        .arg("--tc-stats")
        .arg(&tc)
        .output()
        .unwrap();
    good(&output);
    let rows = std::fs::read_to_string(&table).unwrap();
    let of = |label: &str| rows.lines().filter(|row| row.contains(label)).count();
    assert!(of("pfifo, live") > 0, "{}", &rows[..500]);
    assert_eq!(of("pfifo, simulated"), of("pfifo, live"), "{}", &rows[..500]);
    let report = std::fs::read_to_string(&report).unwrap();
    for label in ["pfifo, simulated", "pfifo, live"] {
        assert!(report.contains(label), "{label}");
    }
    let runs: Vec<_> = json(&tc)
        .as_array()
        .unwrap()
        .iter()
        .map(|qdisc| qdisc["goodqueue"]["run"]["qdisc"].clone())
        .collect();
    assert!(runs.contains(&"pfifo, simulated".into()) && runs.contains(&"pfifo, live".into()), "{runs:?}");
}

#[test]
fn a_live_run_says_which_congestion_controls_the_kernel_has() {
    if skipped("a_live_run_says_which_congestion_controls_the_kernel_has") {
        return;
    }
    let output = goodqueue()
        .args(["compare", "--live", "--time", "1s", "--set", "tcp.cc=nice", "--qdisc", "codel"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("congestion control `nice`") && said.contains("cubic"), "{said}");
}

#[test]
fn shape_stands_between_two_interfaces_and_leaves_them_as_they_were() {
    if !root_with_ip("shape_stands_between_two_interfaces_and_leaves_them_as_they_were") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [socket, changes, stats] = ["control", "changes", "stats.json"].map(|name| folder.path().join(name));
    std::fs::write(&changes, "# at the start\nqdisc down codel target 9ms\n").unwrap();
    // Two hosts, each in a network namespace, and a box with an interface to each. All offloads are
    // on.
    let script = format!(
        r#"set -e
        host() {{
            unshare --net sleep 600 & pid=$!
            while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.02; done
            ip link add $1 type veth peer name peer0; ip link set peer0 netns $pid; ip link set $1 up
            nsenter -t $pid --net ip addr add $2/24 dev peer0; nsenter -t $pid --net ip link set peer0 up
        }}
        host lan0 10.1.1.1; client=$pid
        host wan0 10.1.1.2; server=$pid
        {goodqueue} shape --between lan0 wan0 --rate 20mbit --qdisc fq_codel --control {socket} --config {changes} \
            --json {stats} --quiet 2> {said} & shape=$!
        while ! {goodqueue} stats --control {socket} >/dev/null 2>&1; do sleep 0.02; done
        ip -d link show lan0 | grep -q 'promiscuity 1'
        {ROLE}='serve 10.1.1.2' nsenter -t $server --net {this} --exact inside --quiet &
        {ROLE}='take 10.1.1.2' nsenter -t $client --net {this} --exact inside --quiet --nocapture
        echo 'nonsense' > {changes}; kill -HUP $shape
        while ! grep -q 'nothing was changed' {said}; do sleep 0.02; done
        echo 'rate up 7mbit' > {changes}; kill -HUP $shape
        while ! {goodqueue} stats --control {socket} | grep -q '"rate_bps": 7000000'; do sleep 0.02; done
        grep -q 'CapPrm:.*0000000000000000' /proc/$shape/status
        kill $shape; wait $shape
        ip -d link show lan0 | grep -q 'promiscuity 0'
        kill $client $server"#,
        goodqueue = env!("CARGO_BIN_EXE_goodqueue"),
        socket = socket.display(),
        changes = changes.display(),
        stats = stats.display(),
        said = folder.path().join("said").display(),
        this = std::env::current_exe().unwrap().display(),
    );
    let output = goodqueue().args(["shell", "--quiet", "--", "sh", "-c", &script]).output().unwrap();
    good(&output);
    let stats = json(&stats);
    assert!(stats["down"]["qdisc"].as_str().unwrap().starts_with("codel limit 1000p target 9ms"), "{stats}");
    // Packets are cut to the MTU: a million bytes are at least 691 packets.
    assert!(stats["down"]["packets"]["dequeued"].as_u64() > Some(690), "{}", stats["down"]["packets"]);
}

#[test]
fn shape_says_what_it_lacks() {
    let absent = goodqueue().args(["shape", "--between", "nolan0", "nowan0"]).output().unwrap();
    assert_eq!(absent.status.code(), Some(2));
    let said = String::from_utf8_lossy(&absent.stderr);
    assert!(said.contains("there is no interface `nolan0`"), "{said}");
    let twice = goodqueue().args(["shape", "--between", "lo", "lo"]).output().unwrap();
    assert!(String::from_utf8_lossy(&twice.stderr).contains("cannot be both ends"));
}
