//! What the host offers: clock, memory, privileges, settings.

use std::fs;
use std::time::Duration as SystemDuration;

use caps::{CapSet, Capability};
use goodqueue::Duration;
use goodqueue_tc::units::show_time;
use nix::time::{ClockId, clock_getres};

use super::finding::{Finding, Purpose};
use crate::bottleneck::{DEFAULT_MEMORY, MOST_MEMORY};
use crate::clock::Clock;
use crate::error::LiveError;

/// Returns whether timers are precise, and how late this machine wakes a process up now.
pub(super) fn clock() -> Vec<Finding> {
    const NAME: &str = "clock and timers";
    let resolution = clock_getres(ClockId::CLOCK_MONOTONIC)
        // An unknown resolution counts as coarse.
        .map_or(i64::MAX, |resolution| resolution.tv_sec() * 1_000_000_000 + resolution.tv_nsec());
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.as_deref().unwrap_or("unknown clock source");
    let timers = if resolution > FINE_NS {
        let found = format!("timers have steps of {} ms", resolution / 1_000_000);
        let advice =
            "packets leave in bursts; use a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS)";
        Finding::limited(Purpose::Shell, NAME, found, advice)
    } else if SLOW_SOURCES.contains(&source) {
        let advice = "reading the time is slow, which limits the rate; boot with `clocksource=tsc` if the processor's counter is reliable";
        Finding::limited(
            Purpose::Shell,
            NAME,
            format!("high resolution, but the clock source {source}"),
            advice,
        )
    } else {
        Finding::present(Purpose::Shell, NAME, format!("high resolution, {source}"))
    };
    vec![timers, punctuality()]
}

/// Measures the latest of many wake-ups.
fn punctuality() -> Finding {
    const NAME: &str = "punctual wake-ups";
    let clock = Clock::start();
    // As for the loop that carries packets.
    let _ = nix::sys::prctl::set_timerslack(1);
    let span = Duration::from_millis(1);
    let mut latest = Duration::ZERO;
    for _ in 0..WAKE_UPS {
        let due = clock.now() + span;
        std::thread::sleep(SystemDuration::from_nanos(span.as_nanos()));
        latest = latest.max(clock.now().since(due));
    }
    let found = format!("at most {} late in {WAKE_UPS} sleeps", show_time(latest));
    if latest > LATE {
        let advice =
            "delays are too long by that much; end other programs, or give this machine more processors";
        Finding::limited(Purpose::Shell, NAME, found, advice)
    } else {
        Finding::present(Purpose::Shell, NAME, found)
    }
}

/// Returns the memory and the descriptors that this process may have.
pub(super) fn memory() -> Vec<Finding> {
    const NAME: &str = "memory for packets";
    let available = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:").map(str::to_owned))?;
        // The kernel writes kB and means 1024 bytes (proc_meminfo(5)).
        Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
    });
    // The word `max` means no limit.
    let of_group = read("/sys/fs/cgroup/memory.max").and_then(|text| text.parse::<u64>().ok());
    let of_process = limit("Max address space");
    let least = [available, of_group, of_process].into_iter().flatten().min();
    let Some(bytes) = least else {
        return vec![Finding::present(Purpose::Shell, NAME, "no limit found")];
    };
    let found = format!("{} MiB", bytes >> 20);
    let memory = if bytes < DEFAULT_MEMORY as u64 + OWN_MEMORY {
        let error = LiveError::new(format!(
            "{found}, but a bottleneck needs {} MiB",
            (DEFAULT_MEMORY as u64 + OWN_MEMORY) >> 20
        ))
        .help("end other programs, or raise the limit (`ulimit -v`, or that of the container)");
        Finding::missing(Purpose::Shell, NAME, &error)
    } else if bytes < MOST_MEMORY as u64 + OWN_MEMORY {
        let advice = format!("a fast line with a long delay may use up to {} MiB", MOST_MEMORY >> 20);
        Finding::limited(Purpose::Shell, NAME, found, &advice)
    } else {
        Finding::present(Purpose::Shell, NAME, found)
    };
    let descriptors = limit("Max open files");
    let files = match descriptors {
        Some(number) if number < DESCRIPTORS => {
            let error = LiveError::new(format!(
                "{number} open files are allowed, but up to {DESCRIPTORS} are needed"
            ))
            .help(format!("run `ulimit -n {DESCRIPTORS}`"));
            Finding::missing(Purpose::Shell, "open files", &error)
        }
        Some(number) => Finding::present(Purpose::Shell, "open files", format!("{number} allowed")),
        None => Finding::present(Purpose::Shell, "open files", "no limit"),
    };
    vec![memory, files]
}

/// Returns the congestion controls of the kernel, for `compare --live`.
pub(super) fn congestion_controls() -> Vec<Finding> {
    let all = read("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let advice = "`compare --live` has only these; `modprobe tcp_bbr` adds one";
    vec![if all.split_whitespace().count() > 1 {
        Finding::present(Purpose::Shell, "congestion controls", all)
    } else {
        Finding::limited(Purpose::Shell, "congestion controls", all, advice)
    }]
}

/// Returns what `shell --nat` needs from the host.
pub(super) fn nat() -> Vec<Finding> {
    let mut all = vec![privilege(Purpose::Nat, Capability::CAP_NET_ADMIN)];
    all.push(match read("/proc/sys/net/ipv4/ip_forward").as_deref() {
        Some("1") => Finding::present(Purpose::Nat, "IPv4 forwarding", "enabled"),
        Some(_) if !is_writable("/proc/sys/net/ipv4/ip_forward") => {
            let error = LiveError::new("disabled, and this process cannot enable it")
                .help("run `sysctl net.ipv4.ip_forward=1`, or run goodqueue with sudo; in a container, make /proc/sys writable");
            Finding::missing(Purpose::Nat, "IPv4 forwarding", &error)
        }
        Some(_) => Finding::present(Purpose::Nat, "IPv4 forwarding", "disabled; enabled during a run"),
        None => {
            let error = LiveError::new("its setting cannot be read").help("/proc must be mounted");
            Finding::missing(Purpose::Nat, "IPv4 forwarding", &error)
        }
    });
    all.push(match read("/proc/sys/net/ipv6/conf/all/forwarding").as_deref() {
        Some("1") => Finding::present(Purpose::Nat, "IPv6 forwarding", "enabled"),
        _ => Finding::limited(
            Purpose::Nat,
            "IPv6 forwarding",
            "disabled",
            "programs reach the host's networks by IPv4 only; `sysctl net.ipv6.conf.all.forwarding=1` enables it, and this host then ignores router advertisements",
        ),
    });
    all
}

/// Returns what `shape` needs from the host.
pub(super) fn shape() -> Vec<Finding> {
    vec![
        privilege(Purpose::Shape, Capability::CAP_NET_ADMIN),
        privilege(Purpose::Shape, Capability::CAP_NET_RAW),
    ]
}

fn privilege(purpose: Purpose, capability: Capability) -> Finding {
    let name = if capability == Capability::CAP_NET_RAW { "CAP_NET_RAW" } else { "CAP_NET_ADMIN" };
    if caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false) {
        return Finding::present(purpose, name, "granted");
    }
    let advice =
        "run it with sudo; in a container, add the capability (`--cap-add NET_ADMIN --cap-add NET_RAW`)";
    Finding::missing(purpose, name, &LiveError::new("not granted").help(advice))
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Returns a soft limit of this process; `None` if it is unlimited.
fn limit(name: &str) -> Option<u64> {
    let limits = read("/proc/self/limits")?;
    let line = limits.lines().find(|line| line.starts_with(name))?;
    line.get(name.len()..)?.split_whitespace().next()?.parse().ok()
}

fn is_writable(path: &str) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

/// Resolution of high-resolution timers in nanoseconds, with some room.
const FINE_NS: i64 = 1_000;
const WAKE_UPS: u32 = 50;
/// Lateness at which `--fail-if` judges nothing.
const LATE: Duration = Duration::from_millis(20);
// Reading the time from these takes a system call, because they have no vDSO.
const SLOW_SOURCES: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
/// Memory of the process besides packets.
const OWN_MEMORY: u64 = 64 << 20;
/// Open files of a process with all its outputs and clients.
const DESCRIPTORS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn limits_of_this_process_are_read() {
        assert!(limit("Max open files").is_none_or(|number| number > 2));
        assert_eq!(limit("Max nonsense"), None);
    }

    #[test]
    fn every_finding_that_is_not_there_tells_what_to_do() {
        let all = [clock(), memory(), congestion_controls(), nat(), shape()].concat();
        assert!(all.len() > 8);
        for finding in all {
            assert_eq!(finding.advice.is_some(), finding.state != State::Present, "{finding:?}");
            assert!(!finding.found.is_empty() || finding.state != State::Present, "{finding:?}");
        }
    }
}
