//! `kill -9` at any moment: processes, interfaces, addresses and files are as before.

use super::*;

/// Returns a fifth of the kills of `GOODQUEUE_KILLS` (default 50).
fn a_fifth_of_the_kills() -> u32 {
    let all = std::env::var("GOODQUEUE_KILLS").map_or(50, |count| count.parse().unwrap());
    all.max(5_u32) / 5
}

fn names(folder: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_shell_that_is_killed_at_any_moment_takes_everybody_along() {
    if skipped("a_shell_that_is_killed_at_any_moment_takes_everybody_along") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let interfaces = || names(Path::new("/sys/class/net"));
    let before = interfaces();
    // This number appears on no other command line.
    let marker = format!("{}.77", 1_000_000 + std::process::id());
    let start = |script: &str| {
        let files = [
            ["--control", "q.sock"],
            ["--metrics", "./m.sock"],
            ["--record", "run.jsonl"],
            ["--pcap", "run.pcapng"],
            ["--json", "s.json"],
        ];
        // A recording replaces no file, and the killed ones have left theirs.
        for file in ["run.down.jsonl", "run.up.jsonl", "run.pcapng"] {
            let _ = std::fs::remove_file(folder.path().join(file));
        }
        let mut command = goodqueue();
        command
            .args(["shell", "--quiet", "--rate", "1mbit"])
            .args(files.concat())
            .args(["--", "sh", "-c", script]);
        command.current_dir(folder.path());
        command
    };
    for number in 0..a_fifth_of_the_kills() {
        wait_until("the end of every process", || processes(&marker).is_empty());
        let script = format!("sleep {marker} & (setsid sleep {marker} &) ; sleep {marker}");
        let mut child = start(&script).spawn().unwrap();
        // Kills from before the namespaces exist until after the program and its children run: once
        // there are some processes, and a moment later.
        let most = number as usize % 6;
        wait_until("as many processes", || processes(&marker).len() >= most);
        // The prime 7919 gives each of 50 kills in a row another delay, in no simple order.
        std::thread::sleep(Duration::from_micros(u64::from(number * 7919 % 50) * 100));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    wait_until("the end of every process", || processes(&marker).is_empty());
    // A process that ends loses its command line first and its sockets later.
    wait_until("the end of every listener", || {
        let listens = |socket| UnixStream::connect(folder.path().join(socket)).is_ok();
        !listens("q.sock") && !listens("m.sock")
    });
    assert_eq!(interfaces(), before);
    // The next run replaces the sockets that the killed ones left behind, and removes its own.
    good(&start("true").output().unwrap());
    assert_eq!(names(folder.path()), ["run.down.jsonl", "run.pcapng", "run.up.jsonl", "s.json"]);
}

#[test]
fn an_interface_that_a_killed_shape_took_over_is_given_back_each_time() {
    if !root_with_ip("an_interface_that_a_killed_shape_took_over_is_given_back_each_time") {
        return;
    }
    let mut left = a_fifth_of_the_kills();
    while left > 0 {
        // A host of the test lives for ten minutes.
        let kills = left.min(50);
        left -= kills;
        let folder = TempDir::new().unwrap();
        let script = format!(
            r#"
            state() {{ ip -o addr show dev wan0 | grep -v fe80; ip route | sort; ls /sys/class/net | grep -v gq0; }}
            state > $folder/before
            for number in $(seq {kills}); do
                $goodqueue shape --before wan0 --made gq0 --take-over --undo-file $folder/undo --rate 30mbit \
                    --control $folder/control --json $folder/stats --quiet & pid=$!
                sleep 0.$(printf %03d $((({left} + number) * 7919 % 300))); kill -9 $pid; wait $pid || true
                tries=0
                while ! state | diff $folder/before - >/dev/null || [ -e $folder/undo ] || [ -e /sys/class/net/gq0 ] \
                    || pgrep -x gq-undo >/dev/null; do
                    sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1500 ] || {{ state | diff $folder/before -; exit 1; }}
                done
            done
            $take
            $goodqueue shape --before wan0 --made gq0 --take-over --undo-file $folder/undo --rate 30mbit \
                --control $folder/control --json $folder/stats --quiet & pid=$!
            while ! $goodqueue stats --control $folder/control >/dev/null 2>&1; do sleep 0.02; done
            $take; kill $pid; wait $pid; state | diff $folder/before -"#
        );
        good(&host::on_a_host(&folder, &script));
        assert_eq!(names(folder.path()), ["before", "stats", "take"]);
    }
}
