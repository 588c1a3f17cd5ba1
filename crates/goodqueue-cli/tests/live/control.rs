//! Questions and changes while a shell runs.

use super::*;

/// Sends a line to a control socket and returns the answer.
pub(super) fn ask(socket: &Path, line: &str) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    writeln!(stream, "{line}").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// A running shell with a control socket. Its program waits for the end of standard input.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) socket: PathBuf,
    _folder: TempDir,
}

impl Running {
    pub(super) fn start(options: &[&str], program: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("control");
        let child = goodqueue()
            .args(["shell", "--quiet", "--control", socket.to_str().unwrap()])
            .args(options)
            .arg("--")
            .args(program)
            .env(ROLE, "")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let running = Self { child, socket, _folder: folder };
        wait_until("the control socket", || UnixStream::connect(&running.socket).is_ok());
        running
    }

    pub(super) fn ask(&self, line: &str) -> Value {
        ask(&self.socket, line)
    }

    pub(super) fn end(mut self) -> (i32, String) {
        drop(self.child.stdin.take());
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

#[test]
fn the_discipline_is_changed_while_it_runs_and_a_bad_one_changes_nothing() {
    if skipped("the_discipline_is_changed_while_it_runs_and_a_bad_one_changes_nothing") {
        return;
    }
    let running = Running::start(&["--rate", "5mbit", "--qdisc", "pfifo limit 50"], &["cat"]);
    let answer = running.ask("qdisc down codel target 7ms");
    assert!(answer["down"]["qdisc"].as_str().unwrap().contains("codel limit 1000p target 7ms"), "{answer}");
    assert_eq!(answer["up"]["qdisc"], "pfifo limit 50p");
    let refused = running.ask("qdisc pie target never");
    assert!(refused["error"].as_str().unwrap().contains("never"), "{refused}");
    assert_eq!(running.ask("rate up 700kbit")["up"]["rate_bps"], 700_000);
    let stats = running.ask("stats");
    assert!(stats["down"]["qdisc"].as_str().unwrap().starts_with("codel"));
    assert!(
        running.ask("nonsense")["error"].as_str().unwrap().contains("stats, tc-json, metrics, qdisc, rate")
    );
    assert_eq!(running.end().0, 0);
}

#[test]
fn a_recorded_run_replays_through_changes_of_its_discipline() {
    if skipped("a_recorded_run_replays_through_changes_of_its_discipline") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let [record, socket] = ["run.jsonl", "control"].map(|name| folder.path().join(name));
    let options = ["--quiet", "--rate", "4mbit", "--up", "1mbit", "--rtt", "10ms", "--qdisc", "fq_codel"];
    let files = ["--record", record.to_str().unwrap(), "--control", socket.to_str().unwrap()];
    let mut command = shell(&[&options[..], &files].concat(), "fetch-many-until-told 60000");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the control socket", || UnixStream::connect(&socket).is_ok());
    for limit in [20, 3, 200] {
        let answer = ask(&socket, &format!("qdisc down fq_codel limit {limit} target 2ms"));
        assert!(answer.to_string().contains(&format!("fq_codel limit {limit}p ")), "{answer}");
        let sent = || ask(&socket, "stats")["down"]["packets"]["dequeued"].as_u64().unwrap();
        let before = sent();
        wait_until("packets under this limit", || sent() > before + 20);
    }
    good(&child.wait_with_output().unwrap());
    let files = ["down", "up"].map(|side| folder.path().join(format!("run.{side}.jsonl")));
    let compared = goodqueue().arg("replay").args(&files).arg("--compare").output().unwrap();
    good(&compared);
    let text = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(text.contains("2 of 2 recordings equal"), "{text}");
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap().matches("[\"C\"").count(), 3);
}

#[test]
fn a_recording_that_ends_at_a_change_of_discipline_or_rate_is_no_difference() {
    if skipped("a_recording_that_ends_at_a_change_of_discipline_or_rate_is_no_difference") {
        return;
    }
    for (change, end) in [("qdisc pie", "one discipline"), ("rate 3mbit", "one rate")] {
        let folder = TempDir::new().unwrap();
        let [record, socket] = ["run.jsonl", "control"].map(|name| folder.path().join(name));
        let options = ["--rate", "4mbit", "--up", "1mbit", "--rtt", "10ms", "--qdisc", "pfifo limit 40"];
        let files = ["--record", record.to_str().unwrap(), "--control", socket.to_str().unwrap()];
        let mut command = shell(&[&options[..], &files].concat(), "fetch-many-until-told 60000");
        let child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the control socket", || UnixStream::connect(&socket).is_ok());
        let ask = |line: &str| ask(&socket, line);
        wait_until("a queue", || ask("stats")["down"]["queued"]["packets"].as_u64() > Some(10));
        assert!(ask(change)["down"].is_object());
        // Each packet is counted once, whichever discipline held it, and each drop has a reason.
        for side in ["down", "up"] {
            let side = &ask("stats")[side];
            let number = |value: &Value| value.as_u64().unwrap();
            let packets = &side["packets"];
            let gone = number(&packets["dequeued"]) + number(&packets["dropped"]);
            assert_eq!(number(&packets["offered"]), gone + number(&side["queued"]["packets"]), "{side}");
            let reasons: u64 = side["drops"].as_object().unwrap().values().map(number).sum();
            assert_eq!(number(&packets["dropped"]), reasons, "{side}");
        }
        let output = child.wait_with_output().unwrap();
        good(&output);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the recording of `down` ends at") && said.contains(end), "{said}");
        let files = ["down", "up"].map(|side| folder.path().join(format!("run.{side}.jsonl")));
        let compared = goodqueue().arg("replay").args(&files).arg("--compare").output().unwrap();
        let text = String::from_utf8_lossy(&compared.stdout).into_owned();
        assert!(compared.status.success() && text.contains("2 of 2 recordings equal"), "{change}: {text}");
        let rows = std::fs::read_to_string(&files[0]).unwrap();
        assert_eq!(rows.lines().filter(|row| row.starts_with("[\"E\"")).count(), 1, "{change}");
    }
}

#[test]
fn garbage_on_the_control_socket_is_in_nobodys_way() {
    if skipped("garbage_on_the_control_socket_is_in_nobodys_way") {
        return;
    }
    let running = Running::start(&[], &["cat"]);
    for garbage in [&b"\0\xff\xfe\n"[..], b"\n", &[b'x'; 100_000], b"stats"] {
        let mut stream = UnixStream::connect(&running.socket).unwrap();
        let _ = stream.write_all(garbage);
    }
    for _ in 0..200 {
        drop(UnixStream::connect(&running.socket).unwrap());
    }
    // One client asks and never reads, another one says nothing.
    let mut deaf = UnixStream::connect(&running.socket).unwrap();
    let _ = deaf.write_all(&b"stats\n".repeat(50));
    let _silent = UnixStream::connect(&running.socket).unwrap();
    assert!(running.ask("stats")["goodqueue"].is_string());
    assert_eq!(running.end().0, 0);
}

#[test]
fn a_flood_of_small_packets_leaves_memory_bounded_and_control_answering() {
    if skipped("a_flood_of_small_packets_leaves_memory_bounded_and_control_answering") {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let flood = format!("{ROLE}=flood-until-told exec {} --exact inside --quiet", this.display());
    let running = Running::start(&["--rate", "1mbit", "--qdisc", "pfifo limit 1000"], &["sh", "-c", &flood]);
    let process = format!("/proc/{}", running.child.id());
    wait_until("the flood", || running.ask("stats")["up"]["packets"]["offered"].as_u64() > Some(2000));
    let memory = faults::resident(&process);
    wait_until("more of the flood", || {
        running.ask("stats")["up"]["packets"]["offered"].as_u64() > Some(20_000)
    });
    let stats = running.ask("stats");
    assert!(
        faults::resident(&process) < memory + (4 << 20),
        "{} bytes, {memory} before",
        faults::resident(&process)
    );
    assert!(stats["up"]["queued"]["packets"].as_u64() <= Some(1000));
    // A thousand packets are queued and one is on the link; none propagate, because there is no
    // delay.
    // Each has a buffer of 2048 bytes (`SLAB` of goodqueue-live).
    assert!(stats["process"]["memory_max_bytes"].as_u64() < Some(1100 * 2048), "{stats}");
    assert_eq!(running.end().0, 0);
}

#[test]
fn stopped_and_continued_it_goes_on() {
    if skipped("stopped_and_continued_it_goes_on") {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let fetch = format!("{ROLE}='fetch 500000' exec {} --exact inside --quiet", this.display());
    let running = Running::start(&["--rate", "4mbit", "--rtt", "20ms"], &["sh", "-c", &fetch]);
    let process = Pid::from_raw(running.child.id().cast_signed());
    wait_until("the transfer", || running.ask("stats")["down"]["packets"]["dequeued"].as_u64() > Some(10));
    kill(process, Signal::SIGSTOP).unwrap();
    // The length of the stop is not waited for: it is what the test does.
    std::thread::sleep(Duration::from_secs(2));
    kill(process, Signal::SIGCONT).unwrap();
    assert_eq!(running.end().0, 0);
}

#[test]
fn statistics_are_had_in_every_format_while_it_runs() {
    if skipped("statistics_are_had_in_every_format_while_it_runs") {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let program = format!("{ROLE}='fetch 50000' {} --exact inside --quiet; cat", this.display());
    let running = Running::start(&["--rate", "20mbit"], &["sh", "-c", &program]);
    let ask = |arguments: &[&str]| {
        let socket = running.socket.to_str().unwrap();
        let output =
            goodqueue().args([arguments[0], "--control", socket]).args(&arguments[1..]).output().unwrap();
        good(&output);
        String::from_utf8(output.stdout).unwrap()
    };
    wait_until("the transfer", || {
        let stats: Value = serde_json::from_str(&ask(&["stats"])).unwrap();
        stats["down"]["packets"]["dequeued"].as_u64() > Some(30)
    });
    let tc: Value = serde_json::from_str(&ask(&["stats", "--format", "tc-json"])).unwrap();
    assert_eq!((&tc[0]["kind"], &tc[0]["dev"]), (&Value::from("fq_codel"), &Value::from("down")));
    assert!(tc[0]["bytes"].as_u64() > Some(50_000), "{tc}");
    let metrics = ask(&["stats", "--format", "metrics"]);
    assert!(
        metrics.contains("goodqueue_qdisc_packets_total{direction=\"down\",kind=\"fq_codel\"}"),
        "{metrics}"
    );
    let page = ask(&["top", "--once"]);
    assert!(page.contains("down: fq_codel") && page.contains("sojourn  p50"), "{page}");
    assert_eq!(running.end().0, 0);
}
