//! Hostile and unlucky inputs H80 to H99 of the live path: the answer to each, and its tests.

use super::control::Running;
use super::*;

#[test]
fn every_hostile_input_has_a_test_or_a_reason() {
    let sources = [
        include_str!("main.rs"),
        include_str!("control.rs"),
        include_str!("faults.rs"),
        include_str!("host.rs"),
        include_str!("hostile_clients.rs"),
        include_str!("killed.rs"),
        include_str!("memory.rs"),
        include_str!("requirements.rs"),
        include_str!("terminal.rs"),
        include_str!("../../../goodqueue-live/src/gso/tests.rs"),
        include_str!("../../../goodqueue-live/src/packet/tests.rs"),
        include_str!("../../../goodqueue-live/src/link/tests.rs"),
        include_str!("../../../goodqueue-live/src/interface_name.rs"),
    ]
    .join("\n");
    assert!(FAULTS.iter().map(|fault| fault.id).eq(80..=99));
    for Fault { id, input, answer, tests } in FAULTS {
        assert!(!input.is_empty() && !answer.is_empty(), "H{id}");
        for name in *tests {
            assert!(sources.contains(&format!("fn {name}()")), "H{id}: there is no test {name}");
        }
    }
}

/// A hostile or unlucky input, and the answer of the live path.
struct Fault {
    /// Number of the input.
    id: u32,
    input: &'static str,
    /// The behaviour, or the reason why the input cannot occur.
    answer: &'static str,
    /// The tests that show the behaviour; none if the input cannot occur.
    tests: &'static [&'static str],
}

const FAULTS: &[Fault] = &[
    Fault {
        id: 80,
        input: "EAGAIN, EINTR, EIO, EBADFD, ENOBUFS, EINVAL from a device",
        answer: "retried and counted (`not_written_packets`); a deleted device ends the run with a \
            message",
        tests: &[
            "a_device_that_goes_down_and_comes_back_is_waited_for",
            "a_device_that_is_deleted_underneath_ends_it_with_a_sentence",
        ],
    },
    Fault {
        id: 81,
        input: "empty reads, long packets, packet-information and offload headers",
        answer: "the offload header is requested, and used only as far as it fits the packet; packets \
            up to 128 KiB are read completely; an empty packet belongs to a flow",
        tests: &[
            "headers_that_contradict_each_other_give_nothing_and_harm_nothing",
            "whatever_bytes_come_they_belong_to_a_flow_and_are_never_read_beyond",
            "headers_without_end_and_headers_cut_short_are_carried",
        ],
    },
    Fault {
        id: 82,
        input: "MTU changed, address removed, device renamed or deleted",
        answer: "a new MTU allows longer packets; a name is looked up once; deletion ends the run",
        tests: &[
            "a_device_that_goes_down_and_comes_back_is_waited_for",
            "a_device_that_is_deleted_underneath_ends_it_with_a_sentence",
        ],
    },
    Fault {
        id: 83,
        input: "two on one name, bad names",
        answer: "refused with a message",
        tests: &["two_cannot_have_one_name", "names_that_the_kernel_would_refuse_or_change_are_refused"],
    },
    Fault {
        id: 84,
        input: "kill -9, stop and continue, a clock that jumps",
        answer: "nothing is left; the run resumes; the clock is monotonic, and links compute in \
            packet time",
        tests: &[
            "a_shell_that_is_killed_at_any_moment_takes_everybody_along",
            "a_comparison_that_is_killed_leaves_no_process_behind",
            "stopped_and_continued_it_goes_on",
            "a_stopped_process_resumes_as_if_it_had_not_stopped",
        ],
    },
    Fault {
        id: 85,
        input: "set-up that fails half way",
        answer: "all earlier steps end with descriptors and namespaces of this process, or are in an \
            undo file",
        tests: &[
            "a_shell_that_is_killed_at_any_moment_takes_everybody_along",
            "without_tun_devices_it_says_so_in_one_sentence",
            "nat_leads_to_the_host_s_network_and_leaves_the_host_as_it_was",
        ],
    },
    Fault {
        id: 86,
        input: "disk full while recording",
        answer: "the file ends with a message; packets are still forwarded",
        tests: &[
            "a_full_disk_ends_the_recording_and_not_the_traffic",
            "a_full_disk_ends_the_capture_and_not_the_traffic",
        ],
    },
    Fault {
        id: 87,
        input: "floods of small packets, fragments, ICMP",
        answer: "a fixed budget of memory, bounded batches, a remark on packets that found no memory; \
            the bottleneck sends no ICMP",
        tests: &[
            "packets_that_find_no_memory_are_told_in_the_summary",
            "a_flood_of_small_packets_leaves_memory_bounded_and_control_answering",
            "a_flood_of_fragments_is_carried_like_any_other",
        ],
    },
    Fault {
        id: 88,
        input: "our own packets coming back",
        answer: "a TUN device does not return packets; packets of an outside loop are limited by the \
            rate and the queue",
        tests: &["frames_that_go_round_for_ever_leave_memory_bounded_and_control_answering"],
    },
    Fault {
        id: 89,
        input: "partial checksums",
        answer: "carried unchanged, and completed in captures; the IP checksum is updated as in RFC \
            1624",
        tests: &[
            "a_checksum_left_to_the_hardware_is_completed",
            "marking_leaves_a_correct_checksum_whatever_the_header_says",
            "marked_packets_arrive_with_correct_checksums",
            "wireshark_reads_a_capture_and_finds_nothing_wrong",
        ],
    },
    Fault {
        id: 90,
        input: "a flow on two queues of a device",
        answer: "devices have one queue, and no option asks for more",
        tests: &[],
    },
    Fault {
        id: 91,
        input: "peers that never read",
        answer: "devices never block; a client has 2 s for a line, and its own thread; another thread \
            writes messages",
        tests: &[
            "garbage_on_the_control_socket_is_in_nobodys_way",
            "messages_that_nobody_reads_do_not_stop_the_packets",
        ],
    },
    Fault {
        id: 92,
        input: "control clients that send garbage, never read, connect for ever",
        answer: "16 clients at a time, bounded lines, deadlines, mode 0600; the loop receives valid \
            orders only",
        tests: &[
            "garbage_on_the_control_socket_is_in_nobodys_way",
            "thousands_of_askers_leave_no_descriptor_open",
            "slow_clients_do_not_hold_up_the_next_one_and_are_let_go_in_the_end",
            "a_hostile_line_gets_one_clear_error_and_the_next_one_an_answer",
            "a_request_that_names_a_fifo_does_not_stop_the_packets",
        ],
    },
    Fault {
        id: 93,
        input: "a bad configuration at SIGHUP",
        answer: "the complete file is read before anything is changed",
        tests: &[
            "shape_stands_between_two_interfaces_and_leaves_them_as_they_were",
            "the_discipline_is_changed_while_it_runs_and_a_bad_one_changes_nothing",
        ],
    },
    Fault {
        id: 94,
        input: "clocks that differ between threads",
        answer: "there is one monotonic clock, and the loop is one thread",
        tests: &[],
    },
    Fault {
        id: 95,
        input: "32-bit kernel counters that wrap",
        answer: "the 64-bit ones are read (`IFLA_STATS64`)",
        tests: &[],
    },
    Fault {
        id: 96,
        input: "no IPv6, no namespaces, no TUN, seccomp, AppArmor",
        answer: "IPv6 is optional; a message for each of the others",
        tests: &[
            "without_user_namespaces_it_says_so_in_one_sentence",
            "without_tun_devices_it_says_so_in_one_sentence",
            "a_tun_device_that_only_root_may_open_has_advice_about_its_mode",
            "where_there_is_no_ipv6_ipv4_is_enough",
        ],
    },
    Fault {
        id: 97,
        input: "shutdown while something is pending; a second signal; a terminal that hangs up",
        answer: "the first SIGTERM asks the program to end, the second kills it; after a hangup it is \
            killed 5 s later; writes never wait",
        tests: &[
            "a_shell_ends_with_its_terminal_and_takes_everybody_along",
            "a_program_that_ignores_the_hangup_is_killed_in_the_end",
            "asked_to_end_it_ends_with_its_program",
            "asked_twice_it_ends_a_program_that_does_not_listen",
        ],
    },
    Fault {
        id: 98,
        input: "the operator's own connection in the shaped path",
        answer: "only `--take-over` moves addresses and routes; it is undone unless confirmed",
        tests: &["shape_takes_over_an_interface_and_gives_it_back_however_it_ends"],
    },
    Fault {
        id: 99,
        input: "24 hours",
        answer: "memory is a bounded pool, descriptors are opened at the start, the rate follows from \
            packet times; a test cannot take a day",
        tests: &[
            "a_flood_of_small_packets_leaves_memory_bounded_and_control_answering",
            "thousands_of_askers_leave_no_descriptor_open",
            "being_told_late_changes_no_departure",
        ],
    },
];

/// Runs `sh -c script` inside a shell as root. Sets `$goodqueue`, `$this` and `$folder`.
fn as_root_inside(folder: &TempDir, script: &str) -> Output {
    goodqueue()
        .args(["shell", "--quiet", "--", "sh", "-c", script])
        .env("goodqueue", env!("CARGO_BIN_EXE_goodqueue"))
        .env("this", std::env::current_exe().unwrap())
        .env("folder", folder.path())
        .output()
        .unwrap()
}

#[test]
fn sudo_is_refused_where_nothing_needs_it() {
    if skipped("sudo_is_refused_where_nothing_needs_it") {
        return;
    }
    let with_sudo =
        |arguments: &[&str]| goodqueue().args(arguments).env("SUDO_UID", "1000").output().unwrap();
    let shell = with_sudo(&["shell", "--quiet", "--", "true"]);
    if !nix::unistd::Uid::effective().is_root() {
        return tell_skipped("sudo_is_refused_where_nothing_needs_it", "only root can have come from sudo");
    }
    let compare = with_sudo(&["compare", "--live", "--time", "1s", "--qdisc", "pfifo"]);
    for refused in [shell, compare] {
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("needs no root") && said.contains("--allow-root"), "{said}");
    }
    good(&with_sudo(&["shell", "--quiet", "--allow-root", "--", "true"]));
}

#[test]
fn a_comparison_that_is_killed_leaves_no_process_behind() {
    if skipped("a_comparison_that_is_killed_leaves_no_process_behind") {
        return;
    }
    // This rate appears on no other command line.
    let rate = format!("{}kbit", 10_000 + std::process::id() % 10_000);
    let threads = || {
        let tasks = processes(&rate).into_iter().map(|process| std::fs::read_dir(process.join("task")));
        tasks.flatten().map(Iterator::count).sum::<usize>()
    };
    // From the first process over the process of the run to that with the threads of all flows, and
    // to packets that flow.
    for most in [0, 1, 2, 3, 8, 12] {
        let mut child = goodqueue()
            .args(["compare", "--live", "--time", "60s", "--qdisc", "pfifo", "--rate", &rate])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("as many threads", || threads() >= most);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    wait_until("the end of every process", || processes(&rate).is_empty());
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_traffic() {
    if !root_with_ip("a_full_disk_ends_the_recording_and_not_the_traffic") {
        return;
    }
    let folder = TempDir::new().unwrap();
    // Two megabytes of packets make a record of more than 64 kB.
    let script = format!(
        "mount -t tmpfs -o size=64k none $folder || exit 9
        {ROLE}='fetch 2000000' $goodqueue shell --rate 50mbit --record $folder/run.jsonl -- \
            $this --exact inside --quiet --nocapture"
    );
    let output = as_root_inside(&folder, &script);
    assert_eq!(output.status.code(), Some(files::INCOMPLETE), "the program did not fail");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("run.down.jsonl` ends here: No space left on device"), "{said}");
    assert!(said.contains("packets are still forwarded"), "{said}");
}

#[test]
fn headers_without_end_and_headers_cut_short_are_carried() {
    if !root_with_ip("headers_without_end_and_headers_cut_short_are_carried") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let stats = folder.path().join("stats.json");
    let options = ["--quiet", "--rate", "100mbit", "--qdisc", "cake", "--json", stats.to_str().unwrap()];
    let output = run(shell(&options, "headers"));
    good(&output);
    let said = String::from_utf8_lossy(&output.stdout);
    let sent: u64 = said.lines().find_map(|line| line.strip_prefix("odd: ")).unwrap().parse().unwrap();
    let stats = json(&stats);
    assert_eq!(stats["client"]["interface_dropped"], 0, "{stats}");
    assert!(stats["up"]["packets"]["offered"].as_u64() > Some(sent + GARBAGE), "{stats}");
}

/// Sends IPv6 packets with a hundred extension headers, and with headers that end too early.
/// Returns their number: none where there is no IPv6.
pub(super) fn odd_headers() -> usize {
    use nix::sys::socket::{
        AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn6, sendto, socket,
    };
    use std::os::fd::AsRawFd;
    let Ok(raw) = socket(AddressFamily::Inet6, SockType::Raw, SockFlag::empty(), SockProtocol::Raw) else {
        return 0;
    };
    let server: std::net::Ipv6Addr = "2001:2::2".parse().unwrap();
    let client: std::net::Ipv6Addr = "2001:2::1".parse().unwrap();
    let to = SockaddrIn6::from(std::net::SocketAddrV6::new(server, 0, 0, 0));
    let header = |next: u8, length: usize| {
        // Version 6 with neither class nor label; the last byte is the hop limit.
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        bytes[4..6].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        bytes.extend(client.octets());
        bytes.extend(server.octets());
        bytes
    };
    // Destination options, routing, hop by hop: each has 8 bytes and names the next.
    let packets = [60_u8, 43, 0].into_iter().flat_map(|kind| {
        // Behind the length of 0, which means 8 bytes, is a PadN option of 6 bytes (RFC 8200 §4.2).
        let chain = [kind, 0, 1, 4, 0, 0, 0, 0].repeat(100);
        let packet = [header(kind, chain.len()), chain].concat();
        // Cuts the chain, the header and its length field at every place.
        let cut: Vec<_> = (40..80).map(|length| packet[..length].to_vec()).collect();
        [vec![packet], cut].concat()
    });
    packets.filter(|packet| sendto(raw.as_raw_fd(), packet, &to, MsgFlags::empty()).is_ok()).count()
}

#[test]
fn a_flood_of_fragments_is_carried_like_any_other() {
    if skipped("a_flood_of_fragments_is_carried_like_any_other") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let stats = folder.path().join("stats.json");
    let options = ["--quiet", "--rate", "20mbit", "--qdisc", "fq_codel", "--json", stats.to_str().unwrap()];
    good(&run(shell(&options, "flood-fragments")));
    let packets = &json(&stats)["up"]["packets"];
    let offered = packets["offered"].as_u64();
    let gone = packets["dequeued"].as_u64().zip(packets["dropped"].as_u64());
    assert!(offered > Some(100), "{packets}");
    assert_eq!(offered, gone.map(|(sent, dropped)| sent + dropped), "every fragment has a fate");
}

#[test]
fn frames_that_go_round_for_ever_leave_memory_bounded_and_control_answering() {
    if !root_with_ip("frames_that_go_round_for_ever_leave_memory_bounded_and_control_answering") {
        return;
    }
    // Two bottlenecks between the same two cables: packets through one come back through the other.
    let folder = TempDir::new().unwrap();
    let script = r#"set -e
        ip link add a0 type veth peer name a1; ip link add b0 type veth peer name b1
        for name in a0 a1 b0 b1; do ip link set $name up; done
        shape="$goodqueue shape --quiet --rate 50mbit --qdisc"
        $shape 'pfifo limit 200' --between a0 b0 --control $folder/control & one=$!
        $shape 'pfifo limit 200' --between b1 a1 & other=$!
        while ! $goodqueue stats --control $folder/control >/dev/null 2>&1; do sleep 0.02; done
        # Addresses that the kernel announces, and questions for one that is not there.
        ip addr add 10.9.9.1/24 dev a0; (timeout 1 sh -c 'while :; do echo > /dev/udp/10.9.9.7/9; done' 2>/dev/null || true)
        bash -c 'for n in $(seq 20); do echo x > /dev/udp/10.9.9.7/9; done' || true
        tries=0; while ! $goodqueue stats --control $folder/control | tee $folder/stats | grep -q '"dequeued": [0-9]\{3,\}'; do
            sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done
        kill $one $other; wait $one; wait $other"#;
    good(&as_root_inside(&folder, script));
    let stats = json(&folder.path().join("stats"));
    let sent = |side: &str| stats[side]["packets"]["dequeued"].as_u64().unwrap();
    assert!(sent("down") + sent("up") >= 100, "something goes round: {stats}");
    assert!(stats["process"]["memory_max_bytes"].as_u64() < Some(2 * 300 * 2048), "{stats}");
}

#[test]
fn two_cannot_have_one_name() {
    if !root_with_ip("two_cannot_have_one_name") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = r#"
        ip link add wan0 type veth peer name peer0; ip link set wan0 up
        $goodqueue shape --before wan0 --made gq0 --quiet --control $folder/control & one=$!
        while ! $goodqueue stats --control $folder/control >/dev/null 2>&1; do sleep 0.02; done
        $goodqueue shape --before wan0 --made gq0 --quiet 2>$folder/name
        $goodqueue shape --before wan0 --made gq1 --quiet --control $folder/control 2>$folder/socket
        kill $one; wait $one"#;
    good(&as_root_inside(&folder, script));
    let said = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    assert!(said("name").contains("there is an interface `gq0` already"), "{}", said("name"));
    assert!(said("socket").contains("another program listens at"), "{}", said("socket"));
}

#[test]
fn without_tun_devices_it_says_so_in_one_sentence() {
    if !root_with_ip("without_tun_devices_it_says_so_in_one_sentence") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = "mount -t tmpfs none /dev/net || exit 9; exec $goodqueue shell --quiet -- true";
    let output = as_root_inside(&folder, script);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/dev/net/tun cannot be opened") && said.contains("modprobe tun"), "{said}");
}

#[test]
fn where_there_is_no_ipv6_ipv4_is_enough() {
    if skipped("where_there_is_no_ipv6_ipv4_is_enough") {
        return;
    }
    // IPv6 needs an MTU of 1280 bytes (RFC 8200 §5).
    good(&run(shell(&["--quiet", "--rate", "20mbit", "--set", "link.mtu=1000"], "fetch 50000")));
}

#[test]
fn asked_twice_it_ends_a_program_that_does_not_listen() {
    if skipped("asked_twice_it_ends_a_program_that_does_not_listen") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [ready, asked] = ["ready", "asked"].map(|name| folder.path().join(name));
    let script = format!(
        "trap 'touch {}' TERM; touch {}; while :; do sleep 0.1; done",
        asked.display(),
        ready.display()
    );
    let mut child = goodqueue().args(["shell", "--quiet", "--", "sh", "-c", &script]).spawn().unwrap();
    wait_until("the program", || ready.exists());
    let process = Pid::from_raw(child.id().cast_signed());
    kill(process, Signal::SIGTERM).unwrap();
    wait_until("the question to the program", || asked.exists());
    assert!(child.try_wait().unwrap().is_none(), "the program was asked, and does not listen");
    kill(process, Signal::SIGTERM).unwrap();
    // A shell gives 128 and the number of the signal: SIGKILL is 9.
    assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
}

#[test]
fn thousands_of_askers_leave_no_descriptor_open() {
    if skipped("thousands_of_askers_leave_no_descriptor_open") {
        return;
    }
    let running = Running::start(&["--rate", "5mbit"], &["cat"]);
    let process = format!("/proc/{}", running.child.id());
    let descriptors = || std::fs::read_dir(format!("{process}/fd")).unwrap().count();
    running.ask("stats");
    let before = descriptors();
    let memory = resident(&process);
    for number in 0..3000 {
        let stream = UnixStream::connect(&running.socket).unwrap();
        if number % 10 == 0 {
            let _ = (&stream).write_all(b"stats\n");
        }
    }
    running.ask("stats");
    wait_until("the closing of all", || descriptors() <= before + 1);
    assert!(resident(&process) < memory + (8 << 20), "{} bytes, {memory} before", resident(&process));
    assert_eq!(running.end().0, 0);
}

/// Returns the resident memory of a process in bytes.
pub(super) fn resident(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    // The unit of VmRSS is KiB, although the kernel writes `kB`.
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn wireshark_reads_a_capture_and_finds_nothing_wrong() {
    if skipped("wireshark_reads_a_capture_and_finds_nothing_wrong") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [pcap, stats] = ["run.pcapng", "stats.json"].map(|name| folder.path().join(name));
    let options = ["--quiet", "--rate", "2mbit", "--rtt", "10ms", "--qdisc", "pfifo limit 5", "--pcap"];
    let files = [pcap.to_str().unwrap(), "--json", stats.to_str().unwrap()];
    good(&run(shell(&[&options[..], &files].concat(), "fetch 100000")));
    let fields = [
        "frame.interface_name",
        "frame.comment",
        "frame.verdict.ebpf_tc",
        "ip.checksum.status",
        "tcp.checksum.status",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&pcap).args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-T",
        "fields",
    ]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = match tshark.output() {
        Ok(output) => output,
        Err(error) => {
            return tell_skipped(
                "wireshark_reads_a_capture_and_finds_nothing_wrong",
                &format!("tshark: {error}"),
            );
        }
    };
    good(&output);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let stats = json(&stats);
    for side in ["down", "up"] {
        for (point, counter) in [("ingress", "offered"), ("egress", "dequeued"), ("drops", "dropped")] {
            let name = format!("{side} {point}");
            let seen: Vec<_> = lines.iter().filter(|line| line[0] == name).collect();
            assert_eq!(stats[side]["packets"][counter], seen.len(), "{name}");
            if point == "drops" {
                assert!(
                    // The verdict 2 is TC_ACT_SHOT of Linux.
                    seen.iter().all(|line| line[1].contains("overlimit") && line[2].contains('2')),
                    "{seen:?}"
                );
            }
        }
    }
    assert!(
        lines.iter().all(|line| line[3..].iter().all(|status| ["", "1", "Good"].contains(status))),
        "{text}"
    );
    assert!(
        lines.iter().filter(|line| line[4] == "1" || line[4] == "Good").count() > 100,
        "TCP checksums are right"
    );
}
