//! Conditions of `shell --fail-if`, and machines that are too busy for them.

use super::*;

/// Downloads 30 kB at 2 Mbit/s under these conditions, with a program that ends with this code.
fn judged(conditions: &[&str], code: u8) -> Output {
    let options = ["shell", "--quiet", "--rate", "2mbit", "--qdisc", "pfifo limit 50"];
    let script = format!(
        "exec 3<>/dev/tcp/server/80; printf 'GET /30k HTTP/1.0\\r\\n\\r\\n' >&3; wc -c <&3; exit {code}"
    );
    let mut command = goodqueue();
    command.args(options);
    for condition in conditions {
        command.args(["--fail-if", condition]);
    }
    command.args(["--", "bash", "-c", &script]);
    run(command)
}

/// As `judged`, again while the machine is too busy. Returns `None` if it always is.
fn undisturbed(test: &str, conditions: &[&str], code: u8) -> Option<Output> {
    let found = (0..20).map(|_| judged(conditions, code)).find(|output| output.status.code() != Some(3));
    if found.is_none() {
        tell_skipped(test, "this machine is too busy for a live test");
    }
    found
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const HOLDS: &str = "bottleneck.down.sojourn_s.p99 >= 0ms";
const DOES_NOT_HOLD: &str = "bottleneck.down.sojourn_s.p99 > 100s";

#[test]
fn a_condition_that_holds_is_code_1_with_the_value() {
    let test = "a_condition_that_holds_is_code_1_with_the_value";
    if skipped(test) {
        return;
    }
    let Some(output) = undisturbed(test, &[DOES_NOT_HOLD, HOLDS], 0) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("failed: {HOLDS}\n  pfifo limit 50: ")), "{}", said(&output));
    assert!(!said(&output).contains(DOES_NOT_HOLD));
    let Some(output) = undisturbed(test, &[DOES_NOT_HOLD], 0) else { return };
    assert_eq!((output.status.code(), said(&output)), (Some(0), String::new()));
}

#[test]
fn the_code_of_a_program_that_failed_comes_first() {
    if skipped("the_code_of_a_program_that_failed_comes_first") {
        return;
    }
    assert_eq!(judged(&[HOLDS], 7).status.code(), Some(7));
}

#[test]
fn a_machine_that_is_too_busy_is_code_3_whatever_the_condition() {
    if skipped("a_machine_that_is_too_busy_is_code_3_whatever_the_condition") {
        return;
    }
    for condition in [HOLDS, DOES_NOT_HOLD] {
        let mut command = shell(&["--quiet", "--rate", "2mbit", "--fail-if", condition], "fetch 200000");
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let process = Pid::from_raw(child.id().cast_signed());
        // At this rate a packet is due every 6 ms. A stopped process misses ten of them.
        while child.try_wait().unwrap().is_none() {
            for signal in [Signal::SIGSTOP, Signal::SIGCONT] {
                kill(process, signal).unwrap();
                std::thread::sleep(Duration::from_millis(60));
            }
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{condition}: {}", said(&output));
        assert!(said(&output).contains("not judged: the machine was too busy"), "{}", said(&output));
    }
}

#[test]
fn metrics_that_a_shell_does_not_measure_are_refused_before_the_program_starts() {
    for (condition, says) in [
        ("ping.p99 > 80ms", "`goodqueue shell` does not measure `probes.ping_s.p99`"),
        ("bottleneck.up.queue_share > 2%", "does not measure `bottleneck.up.queue_share`"),
        ("bottleneck.down.sojourn_s.p99", "is not a condition"),
    ] {
        let mut command = goodqueue();
        command.args(["shell", "--fail-if", condition, "--", "touch", "/nowhere"]);
        let output = run(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(says) && said(&output).contains("allowed: "), "{}", said(&output));
    }
}
