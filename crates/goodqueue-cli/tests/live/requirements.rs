//! `shell --check`: its findings on machines that have everything, and on others.

use super::*;

fn check(script: &str, folder: &TempDir) -> Output {
    goodqueue()
        .args(["shell", "--quiet", "--", "sh", "-c", script])
        .env("goodqueue", env!("CARGO_BIN_EXE_goodqueue"))
        .env("folder", folder.path())
        .output()
        .unwrap()
}

#[test]
fn a_machine_on_which_a_shell_runs_passes_its_check() {
    if skipped("a_machine_on_which_a_shell_runs_passes_its_check") {
        return;
    }
    let output = goodqueue().args(["shell", "--check"]).output().unwrap();
    good(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("goodqueue shell, goodqueue compare --live: ready\n"), "{text}");
    for name in
        ["user namespaces", "TUN devices", "IPv6", "clock and timers", "IPv4 forwarding", "CAP_NET_RAW"]
    {
        assert!(text.contains(name), "{name}: {text}");
    }
    let output = goodqueue().args(["shell", "--check", "--json", "-"]).output().unwrap();
    good(&output);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tun = all.as_array().unwrap().iter().find(|one| one["name"] == "TUN devices").unwrap();
    assert_eq!(
        (&tun["command"], &tun["state"], &tun["advice"]),
        (&"shell".into(), &"present".into(), &Value::Null)
    );
}

#[test]
fn a_tun_device_that_only_root_may_open_has_advice_about_its_mode() {
    let test = "a_tun_device_that_only_root_may_open_has_advice_about_its_mode";
    if !root_with_ip(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    // A file in place of the device has the permissions of a device that only root may open.
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let script = format!(
        "command -v setpriv >/dev/null || exit 77
        cp $goodqueue $folder/goodqueue; chmod 755 $folder $folder/goodqueue; touch $folder/tun; chmod 600 $folder/tun
        mount --bind $folder/tun /dev/net/tun || exit 9
        {nobody} $folder/goodqueue shell --quiet -- true; echo code $?
        {nobody} $folder/goodqueue shell --check; echo code $?"
    );
    let output = check(&script, &folder);
    if output.status.code() == Some(77) {
        return tell_skipped(test, "there is no setpriv");
    }
    good(&output);
    let advice = "its mode is 0600: run `sudo chmod 0666 /dev/net/tun`";
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/dev/net/tun cannot be opened: Permission denied"), "{said}");
    assert!(said.contains(advice) && !said.contains("modprobe"), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("code 2\n") && text.ends_with("code 1\n"), "{text}");
    assert!(text.contains("MISSING  TUN devices") && text.contains(advice), "{text}");
}

#[test]
fn without_user_namespaces_the_check_says_what_to_do() {
    let test = "without_user_namespaces_the_check_says_what_to_do";
    if !root_with_ip(test) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let output = check("echo 0 > /proc/sys/user/max_user_namespaces; exec $goodqueue shell --check", &folder);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("MISSING  user namespaces"), "{text}");
    assert!(text.contains("sysctl user.max_user_namespaces=10000"), "{text}");
    assert!(text.contains("not tried, because an earlier step failed"), "{text}");
}
