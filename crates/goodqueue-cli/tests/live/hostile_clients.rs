//! Slow and hostile clients of the control socket and of the metrics endpoint.

use super::control::Running;
use super::*;

/// Reads the metrics once. Returns `None` if the connection ends without an answer.
fn scrape(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.starts_with("HTTP/1.1 200").then_some(answer)
}

/// Sends one byte at a time, within the limit of each read, until the other side closes the
/// connection.
fn dribble(socket: PathBuf, byte: u8) -> std::thread::JoinHandle<()> {
    let mut stream = UnixStream::connect(socket).unwrap();
    std::thread::spawn(move || {
        while stream.write_all(&[byte]).is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    })
}

#[test]
fn slow_clients_do_not_hold_up_the_next_one_and_are_let_go_in_the_end() {
    if skipped("slow_clients_do_not_hold_up_the_next_one_and_are_let_go_in_the_end") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let metrics = folder.path().join("metrics");
    let running = Running::start(&["--metrics", metrics.to_str().unwrap()], &["cat"]);
    // Each slow client is served for some seconds. A busy machine may take longer over the next
    // one, so this is tried until the next one is answered meanwhile.
    let mut slow = Vec::new();
    wait_until("an answer while slow clients are being served", || {
        slow.extend((0..4).map(|_| dribble(metrics.clone(), b'x')));
        let body = scrape(&metrics).unwrap();
        assert!(body.contains("goodqueue_qdisc_packets_total"), "{body}");
        slow.iter().rev().take(4).all(|client| !client.is_finished())
    });
    // These are more than can be served at once. The next client waits until some of them have had
    // their time.
    let many: Vec<_> = (0..20).map(|_| dribble(metrics.clone(), b'x')).collect();
    assert!(scrape(&metrics).is_some());
    // The same happens at the control socket, in the middle of a line.
    let at_control: Vec<_> = (0..20).map(|_| dribble(running.socket.clone(), b'x')).collect();
    assert!(running.ask("stats")["goodqueue"].is_string());
    slow.into_iter().chain(many).chain(at_control).for_each(|client| client.join().unwrap());
    assert_eq!(running.end().0, 0);
}

#[test]
fn a_request_that_names_a_fifo_does_not_stop_the_packets() {
    if skipped("a_request_that_names_a_fifo_does_not_stop_the_packets") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let fifo = folder.path().join("table.dist");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let this = std::env::current_exe().unwrap();
    let program = format!("read go; {ROLE}='fetch 100000' exec {} --exact inside --quiet", this.display());
    let mut running = Running::start(&["--rate", "20mbit"], &["sh", "-c", &program]);
    let mut stuck = Vec::new();
    for _ in 0..3 {
        let mut stream = UnixStream::connect(&running.socket).unwrap();
        writeln!(stream, "qdisc down netem delay 20ms 5ms distribution {}", fifo.display()).unwrap();
        stuck.push(stream);
    }
    // Each has its own thread, beside the one that accepts clients.
    let threads = format!("/proc/{}/task", running.child.id());
    let serving = || {
        let names = std::fs::read_dir(&threads).unwrap().flatten().map(|thread| thread.path().join("comm"));
        names.filter(|name| std::fs::read_to_string(name).is_ok_and(|name| name.trim() == "control")).count()
    };
    wait_until("the threads of the three", || serving() >= 4);
    // Other clients are answered, and the program's packets are carried.
    assert!(running.ask("stats")["goodqueue"].is_string());
    running.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_table_that_a_request_names_is_read_and_used() {
    if skipped("a_table_that_a_request_names_is_read_and_used") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let table = folder.path().join("mine.dist");
    std::fs::write(&table, "-8192 0 8192\n".repeat(10)).unwrap();
    let running = Running::start(&["--rate", "20mbit"], &["cat"]);
    let line = format!("netem delay 20ms 5ms distribution {}", table.display());
    let answer = running.ask(&format!("qdisc down {line}"));
    assert!(answer["down"]["qdisc"].as_str().unwrap().contains(table.to_str().unwrap()), "{answer}");
    assert_eq!(running.end().0, 0);
}

#[test]
fn a_hostile_line_gets_one_clear_error_and_the_next_one_an_answer() {
    if skipped("a_hostile_line_gets_one_clear_error_and_the_next_one_an_answer") {
        return;
    }
    let running = Running::start(&["--rate", "20mbit"], &["cat"]);
    let deep = "[10 rate 1mbit ".repeat(4000);
    let tree = "tbf rate 1mbit burst 1540 limit 9000 [".repeat(1500);
    let looped = "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(8);
    let many = |count: u32, qdisc: &str| -> String {
        let class = |number: u32| format!(" [{number:x} rate 1mbit: {qdisc}]");
        (1..=count).map(class).collect()
    };
    let hostile: [(&str, Vec<u8>, &str); 14] = [
        ("megabytes", vec![b'x'; 5 << 20], "64 KiB"),
        ("megabytes of spaces", vec![b' '; 3 << 20], "64 KiB"),
        ("a NUL byte", b"stats\0".to_vec(), "unknown"),
        ("a NUL byte alone", b"\0".to_vec(), "unknown"),
        ("bytes that are no text", b"qdisc \xff\xfe\xc0 pie".to_vec(), "UTF-8"),
        ("half a character", b"stats \xe2\x82".to_vec(), "UTF-8"),
        ("quotes in quotes", br#"qdisc "'{"pie": "'codel'"}'""#.to_vec(), "unknown"),
        ("classes in classes", format!("qdisc htb default 10 {deep}").into(), "inside each other"),
        ("disciplines in disciplines", format!("qdisc {tree}").into(), "inside each other"),
        (
            "gigabytes of queues",
            format!("qdisc htb default 1{}", many(200, "fq_codel flows 65536")).into(),
            "at most 262144",
        ),
        (
            "thousands of disciplines",
            format!("qdisc htb default 1{}", many(2000, "cake")).into(),
            "at most 256",
        ),
        ("loops in loops", format!("qdisc {looped} pfifo").into(), "for"),
        ("a rate beyond all numbers", format!("rate {}gbit", "9".repeat(60_000)).into(), "rate"),
        ("control characters", b"qdisc \x1b[2J\x07".to_vec(), "unknown"),
    ];
    for (what, line, expected) in hostile {
        let stream = UnixStream::connect(&running.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (&stream).write_all(&line).unwrap();
        (&stream).write_all(b"\nstats\n").unwrap();
        let mut answers = BufReader::new(&stream).lines();
        let error: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        let error = error["error"].as_str().unwrap_or_else(|| panic!("{what}: {error}"));
        assert!(error.contains(expected), "{what}: {error}");
        assert!(error.len() < 2000, "{what}: {} bytes of error", error.len());
        assert!(!error.contains(|c: char| c.is_control() && c != '\n'), "{what}: {error:?}");
        let stats: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert!(stats["goodqueue"].is_string(), "{what}: {stats}");
        assert!(stats["down"]["qdisc"].as_str().unwrap().starts_with("fq_codel"), "{what}: {stats}");
    }
    assert_eq!(running.end().0, 0);
}

#[test]
fn an_error_of_the_bottleneck_is_printed_as_one_of_the_command_line() {
    if skipped("an_error_of_the_bottleneck_is_printed_as_one_of_the_command_line") {
        return;
    }
    let running = Running::start(&["--rate", "20mbit"], &["cat"]);
    let mut command = goodqueue();
    command.args(["stats", "--control", running.socket.to_str().unwrap(), "qdisc", "pie", "target", "never"]);
    let output = run(command);
    assert_eq!(output.status.code(), Some(2));
    let expected = "error: qdisc: `target`: `never` is not a time
   | pie target never
   |            ^^^^^
  allowed: a number and a unit; a bare number is microseconds
";
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    assert_eq!(running.end().0, 0);
}

#[test]
fn messages_that_nobody_reads_do_not_stop_the_packets() {
    if skipped("messages_that_nobody_reads_do_not_stop_the_packets") {
        return;
    }
    // The capture ends early, which is reported at standard error: a full pipe that nobody reads.
    let this = std::env::current_exe().unwrap();
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("control");
    let fetch = |size: u32| {
        format!("{ROLE}='fetch {size}' {} --exact inside --quiet >/dev/null 2>&1", this.display())
    };
    let program = format!("{}; echo once; read go; {}; echo done", fetch(1_000_000), fetch(100_000));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut filled = writer.try_clone().unwrap();
    fill(&mut filled);
    let mut child = goodqueue()
        .args(["shell", "--rate", "20mbit", "--pcap", "/dev/full", "--control", socket.to_str().unwrap()])
        .args(["--", "sh", "-c", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(writer)
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut said = String::new();
        answers.read_line(&mut said).unwrap();
        said
    };
    assert_eq!(line(), "once\n");
    // Troubles are reported every 250 ms, each after a step of the history.
    let steps = || control::ask(&socket, "stats")["history"]["down"]["bytes"].as_array().unwrap().len();
    let before = steps();
    wait_until("the report", || steps() > before + 1);
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(line(), "done\n");
    // Once somebody reads again, it ends normally.
    drop(filled);
    let read = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        String::from_utf8_lossy(&all).into_owned()
    });
    assert_eq!(child.wait().unwrap().code(), Some(files::INCOMPLETE));
    let said = read.join().unwrap();
    assert_eq!(said.matches("`/dev/full` ends here").count(), 1, "{}", said.trim_start_matches('x'));
}

/// Writes until the pipe is full.
fn fill(pipe: &mut std::io::PipeWriter) {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(&*pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    while pipe.write(&[b'x'; 4096]).is_ok() {}
    while pipe.write(b"x").is_ok() {}
    fcntl(&*pipe, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
}
