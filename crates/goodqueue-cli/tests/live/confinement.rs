//! Limits of a program inside a shell.

use super::*;

/// Tries to copy every descriptor of every visible process, and to read its memory. Succeeds if all
/// attempts fail.
pub(super) fn steal_descriptors() {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
    let mut stolen = Vec::new();
    let mut others = 0;
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = process.file_name().into_string().unwrap();
        let Some(pid) = name.parse().ok().and_then(rustix::process::Pid::from_raw) else { continue };
        if pid == rustix::process::getpid() {
            continue;
        }
        others += 1;
        let Ok(target) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        for number in 0..1024 {
            if let Ok(descriptor) = pidfd_getfd(&target, number, PidfdGetfdFlags::empty()) {
                use std::os::fd::AsRawFd;
                let own = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
                stolen.push(format!("{name}: {number} -> {}", std::fs::read_link(own).unwrap().display()));
            }
        }
        if std::fs::File::open(process.path().join("mem")).is_ok() {
            stolen.push(format!("{name}: its memory"));
        }
    }
    assert!(others >= 2, "the first process and the server are there to be robbed");
    assert!(stolen.is_empty(), "{}", stolen.join("\n"));
}

#[test]
fn a_program_cannot_take_descriptors_from_the_processes_beside_it() {
    let test = "a_program_cannot_take_descriptors_from_the_processes_beside_it";
    if skipped(test) {
        return;
    }
    let options = ["--quiet", "--metrics", "127.0.0.1:0"];
    good(&run(shell(&options, "steal-descriptors")));
    // Repeats this as an unprivileged user's program, which has no fewer privileges than the
    // built-in server.
    let setpriv = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"];
    let this = std::env::current_exe().unwrap();
    let mut command = goodqueue();
    command.arg("shell").args(options).arg("--").args(setpriv).arg(this);
    command.args(["--exact", "inside", "--nocapture", "--quiet"]).env(ROLE, "steal-descriptors");
    let output = run(command);
    if output.status.code() == Some(127) {
        return tell_skipped(test, "there is no setpriv");
    }
    good(&output);
}

#[test]
fn without_a_process_namespace_the_process_that_carries_packets_is_out_of_reach() {
    let test = "without_a_process_namespace_the_process_that_carries_packets_is_out_of_reach";
    if !root_with_ip(test) {
        return;
    }
    // Inside a shell there may be no further process namespace. The program then sees all processes
    // around it.
    let script = format!(
        "echo 0 > /proc/sys/user/max_pid_namespaces || exit 9
        {ROLE}='steal-descriptors' exec {} shell --quiet --metrics 127.0.0.1:0 -- \
            {} --exact inside --quiet --nocapture",
        env!("CARGO_BIN_EXE_goodqueue"),
        std::env::current_exe().unwrap().display(),
    );
    let output = goodqueue().args(["shell", "--quiet", "--", "sh", "-c", &script]).output().unwrap();
    good(&output);
}

#[test]
fn a_program_gets_the_descriptors_of_its_caller_and_none_of_goodqueue() {
    if skipped("a_program_gets_the_descriptors_of_its_caller_and_none_of_goodqueue") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(file("given"), "from the caller").unwrap();
    // The caller opens descriptor 7 for the program, as `make` does for its jobs.
    let script = format!(
        "exec {} shell --quiet --metrics 127.0.0.1:0 --control {} --record {} --json {} -- \
            sh -c 'cat <&7; readlink /proc/$$/fd/*; true' 7<{}",
        env!("CARGO_BIN_EXE_goodqueue"),
        file("control"),
        file("run.jsonl"),
        file("stats.json"),
        file("given"),
    );
    let output = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    good(&output);
    let said = String::from_utf8_lossy(&output.stdout);
    let open = said.strip_prefix("from the caller").unwrap_or_else(|| panic!("{said}"));
    assert!(open.contains(&file("given")), "{open}");
    for ours in ["socket:", "anon_inode:", "net:", "/dev/net/tun", &file("run."), &file("control")] {
        assert!(!open.contains(ours), "{ours} is open in the program: {open}");
    }
}

/// Succeeds if root inside a shell cannot write the machine's settings, whatever it mounts. Each is
/// written with its own value, so that a failure of the test changes nothing.
const CLOSED: &str = r#"
    closed() {
        for file in kernel/hostname kernel/core_pattern vm/swappiness fs/file-max; do
            value=$(cat $1/$file) || exit 8
            if printf %s "$value" 2>/dev/null > $1/$file; then echo "$file can be written $2"; exit 9; fi
        done
        # An access is only tried: what is written here acts at once.
        for file in $1/../sysrq-trigger $1/../irq/default_smp_affinity /sys/kernel/mm/transparent_hugepage/enabled; do
            if [ -w $file ]; then echo "$file can be written $2"; exit 9; fi
        done
    }
    closed /proc/sys 'at first'
    umount /proc/sys; umount -l /proc/sys; closed /proc/sys 'without a mount'
    mount -o remount,bind,rw /proc/sys; mount -o remount,rw /proc; closed /proc/sys 'mounted again'
    place=$PWD/place; mkdir -p $place
    mount --rbind /proc $place && closed $place/sys 'at another place'
    umount -l /proc && closed /proc/sys 'below the mount'
    mount -t proc proc $place && closed $place/sys 'in another /proc'
    unshare --mount --pid --fork sh -c "mount -t proc proc $place" && { echo 'another /proc'; exit 9; }
    unshare --user --map-root-user --mount --pid --fork sh -c "mount -t proc proc $place" && { echo 'another user'; exit 9; }
    [ ! -e /proc/1/root/proc/sys ] || closed /proc/1/root/proc/sys 'through the first process'
    # Its own network and its own limits are its own.
    for file in net/ipv4/ip_forward net/ipv4/tcp_sack user/max_user_namespaces; do
        value=$(cat /proc/sys/$file) || exit 8
        printf %s "$value" > /proc/sys/$file || { echo "$file cannot be written"; exit 9; }
    done"#;

#[test]
fn root_inside_cannot_change_the_settings_of_the_machine_whatever_it_mounts() {
    let test = "root_inside_cannot_change_the_settings_of_the_machine_whatever_it_mounts";
    if !root_with_ip(test) {
        return;
    }
    let ping = "[ \"$(cat /proc/sys/net/ipv4/ping_group_range)\" = \"0\t4294967294\" ]";
    let script = format!("{CLOSED}\n{ping}");
    let folder = TempDir::new().unwrap();
    let inside = |script: &str| {
        let mut command = goodqueue();
        command.args(["shell", "--quiet", "--", "sh", "-c", script]).current_dir(folder.path());
        command.output().unwrap()
    };
    good(&inside(&script));
    // The same in a shell inside the shell, and in a third one.
    let file = folder.path().join("closed.sh");
    std::fs::write(&file, &script).unwrap();
    let shell = format!("{} shell --quiet --", env!("CARGO_BIN_EXE_goodqueue"));
    good(&inside(&format!("exec {shell} sh {}", file.display())));
    good(&inside(&format!("exec {shell} {shell} sh {}", file.display())));
}
