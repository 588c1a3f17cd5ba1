//! The steps of `shell`, tried one after another in a child process.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Uid;

use super::finding::{Finding, Purpose, State};
use crate::error::LiveError;
use crate::namespace::{self, Network, default_ends};
use crate::nftables::{Chain, Family, HOOK_POSTROUTING, PRIORITY_SOURCE_NAT, Rule, Rules};
use crate::process::{self, Forked};
use crate::settings;

/// Tries everything that `shell` does before it starts the program.
pub(super) fn namespaces() -> Result<Vec<Finding>, LiveError> {
    let failed = |why: std::io::Error| LiveError::system("the check cannot be started", why);
    let (mut read, write) = std::io::pipe().map_err(failed)?;
    let child = match process::fork_together().map_err(|errno| failed(errno.into()))? {
        Forked::Child => {
            drop(read);
            let mut told = String::new();
            attempt(&mut |step, outcome| told.push_str(&line(step, &outcome)));
            let _ = File::from(OwnedFd::from(write)).write_all(told.as_bytes());
            process::leave(0)
        }
        Forked::Parent(child) => child,
    };
    // The read below ends only when every end for writing is closed.
    drop(write);
    let mut told = String::new();
    read.read_to_string(&mut told).map_err(failed)?;
    let _ = waitpid(child, None);
    Ok(STEPS.iter().map(|step| step.finding(&told)).collect())
}

/// A step, and what its failure means.
struct Step {
    name: &'static str,
    purpose: Purpose,
    /// What is different without it; `None` if nothing works without it.
    without: Option<&'static str>,
}

const USER: Step = Step { name: "user namespaces", purpose: Purpose::Shell, without: None };
const NETWORK: Step = Step { name: "network namespaces", purpose: Purpose::Shell, without: None };
const TUN: Step = Step { name: "TUN devices", purpose: Purpose::Shell, without: None };
const SETTINGS: Step = Step { name: "settings protected from root", purpose: Purpose::Shell, without: None };
const V6: Step = Step {
    name: "IPv6",
    purpose: Purpose::Shell,
    without: Some(
        "programs use IPv4 only; `sysctl net.ipv6.conf.all.disable_ipv6` shows whether it is switched off",
    ),
};
const PROCESSES: Step = Step {
    name: "process namespace",
    purpose: Purpose::Shell,
    without: Some("processes that a program leaves behind outlive the run"),
};
const PROC: Step = Step {
    name: "own /proc and /etc/hosts",
    purpose: Purpose::Shell,
    without: Some(
        "programs see the processes of this machine, and reach the other side only as $GOODQUEUE_SERVER; \
         a container that covers parts of /proc forbids another one",
    ),
};
const PRIORITY: Step = Step {
    name: "real-time priority",
    purpose: Purpose::Shell,
    without: Some(
        "packets leave late while the machine is busy; root, or a limit for it (`ulimit -r`), gives the priority",
    ),
};
const NFTABLES: Step = Step { name: "nftables", purpose: Purpose::Nat, without: None };
const STEPS: [Step; 9] = [USER, NETWORK, TUN, SETTINGS, V6, PROCESSES, PROC, PRIORITY, NFTABLES];

impl Step {
    /// Returns the finding from the lines that the child wrote.
    fn finding(&self, told: &str) -> Finding {
        let line = told.lines().find_map(|line| line.strip_prefix(self.name)?.strip_prefix('\t'));
        let mut fields = line.unwrap_or(NOT_TRIED).split('\t');
        let is_present = fields.next() == Some(PRESENT);
        let found = fields.next().unwrap_or_default().to_owned();
        let own_advice = fields.next().filter(|advice| !advice.is_empty());
        let state = match self.without {
            _ if is_present => State::Present,
            Some(_) => State::Limited,
            None => State::Missing,
        };
        let advice = if is_present { None } else { self.without.or(own_advice).map(str::to_owned) };
        Finding { purpose: self.purpose, name: self.name, state, found, advice }
    }
}

const NOT_TRIED: &str = "absent\tnot tried, because an earlier step failed";
const PRESENT: &str = "present";

/// Writes an outcome as a line of fields.
fn line(step: &Step, outcome: &Result<String, LiveError>) -> String {
    // Messages of the system have neither tabs nor newlines.
    match outcome {
        Ok(found) => format!("{}\t{PRESENT}\t{found}\n", step.name),
        Err(error) => {
            format!("{}\tabsent\t{}\t{}\n", step.name, error.problem(), error.advice().unwrap_or_default())
        }
    }
}

/// Tries the steps in their order, and stops at one without which the next ones fail.
fn attempt(tell: &mut dyn FnMut(&Step, Result<String, LiveError>)) {
    // First, as in `shell`: root may do this only outside of the user namespace.
    let priority = process::run_promptly();
    tell(&PRIORITY, present_if(priority, "granted", "not granted"));
    let entered = namespace::enter_user_namespace();
    let is_entered = entered.is_ok();
    tell(&USER, entered.map(|()| "allowed".to_owned()));
    if !is_entered {
        return;
    }
    processes(tell);
    if Uid::effective().is_root() {
        let protected = unshare(CloneFlags::CLONE_NEWNS)
            .map_err(|errno| LiveError::system("mount namespaces cannot be used", errno))
            .and_then(|()| settings::protect())
            .and_then(|()| namespace::enter_user_namespace())
            .and_then(|()| {
                unshare(CloneFlags::CLONE_NEWNS)
                    .map_err(|errno| LiveError::system("mount namespaces cannot be used", errno))
            });
        let is_protected = protected.is_ok();
        tell(&SETTINGS, protected.map(|()| "/proc/sys can be made read-only".to_owned()));
        if !is_protected {
            return;
        }
    } else {
        tell(&SETTINGS, Ok("you are not root, so the kernel protects them".to_owned()));
    }
    let network = Network::create();
    let has_network = network.is_ok();
    tell(&NETWORK, network.map(|_| "allowed".to_owned()));
    if !has_network {
        return;
    }
    let [end, _] = default_ends(1500);
    let device = end.create();
    tell(&TUN, device.as_ref().map(|_| "a device can be created".to_owned()).map_err(copy));
    if device.is_ok() {
        let addresses = fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
        // 2001:2::1, as `default_ends` gives it.
        let has_v6 = addresses.lines().any(|line| line.starts_with("20010002"));
        tell(&V6, present_if(has_v6, "an address can be set", "no address can be set"));
    }
    tell(&NFTABLES, rules());
}

/// Tries a process namespace with its own /proc.
fn processes(tell: &mut dyn FnMut(&Step, Result<String, LiveError>)) {
    let forked = match process::fork_into_namespace() {
        Ok(Forked::Child) => {
            let none: Option<&str> = None;
            let own = std::process::id() == 1;
            let mounted = unshare(CloneFlags::CLONE_NEWNS).is_ok()
                && mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).is_ok()
                && mount(
                    Some("goodqueue"),
                    "/proc",
                    Some("proc"),
                    MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
                    none,
                )
                .is_ok();
            // The exit code carries both answers.
            process::leave(i32::from(own) + 2 * i32::from(mounted))
        }
        Ok(Forked::Parent(child)) => waitpid(child, None),
        Err(errno) => Err(errno),
    };
    let code = if let Ok(WaitStatus::Exited(_, code)) = forked { code } else { 0 };
    tell(&PROCESSES, present_if(code & 1 != 0, "allowed", "not allowed"));
    tell(&PROC, present_if(code & 2 != 0, "can be mounted", "cannot be mounted"));
}

/// Tries masquerading in the network namespace of this process.
fn rules() -> Result<String, LiveError> {
    let out = [Rule::default().source_in(std::net::Ipv4Addr::LOCALHOST.into()).masquerade()];
    let chain = Chain {
        name: "out",
        kind: "nat",
        hook: HOOK_POSTROUTING,
        priority: PRIORITY_SOURCE_NAT,
        device: None,
        rules: &out,
    };
    Rules::create(Family::Ipv4, "goodqueue-check", &[chain]).map(|_| "masquerading works".to_owned())
}

fn present_if(is_so: bool, found: &str, otherwise: &str) -> Result<String, LiveError> {
    if is_so { Ok(found.to_owned()) } else { Err(LiveError::new(otherwise)) }
}

fn copy(error: &LiveError) -> LiveError {
    let problem = LiveError::new(error.problem());
    match error.advice() {
        Some(advice) => problem.help(advice),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_was_not_reached_is_missing_and_an_optional_one_is_limited() {
        let told = line(&USER, &Err(LiveError::new("not allowed").help("run `sysctl x=1`")));
        let user = USER.finding(&told);
        assert_eq!((user.state, user.advice.as_deref()), (State::Missing, Some("run `sysctl x=1`")));
        let tun = TUN.finding(&told);
        assert_eq!(
            (tun.state, tun.found.as_str()),
            (State::Missing, "not tried, because an earlier step failed")
        );
        assert_eq!(V6.finding(&told).state, State::Limited);
        assert_eq!(V6.finding(&line(&V6, &Ok("x".to_owned()))).state, State::Present);
    }
}
