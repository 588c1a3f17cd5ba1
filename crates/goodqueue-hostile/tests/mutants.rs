//! Mutations of the committed inputs of every kind: no panic, no overflow of the stack, at most 1 GiB of memory, and an end.
//!
//! Each kind is tried in a process of its own, so that whatever it dies of is told with the number of the mutant and its
//! bytes. `MUTANTS=10000` tries more of each; `make mutants` does, with a release build.

use std::alloc::System;
use std::process::{Command, Stdio};

use cap::Cap;
use goodqueue_hostile::mutation::Mutator;
use goodqueue_hostile::{TARGETS, Target, inputs_of, seeds_of};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What an input may take. A request for more fails, which ends the process.
const MOST_MEMORY: usize = 1 << 30;
/// CPU time that no input needs, in seconds: a loop without end is found by it.
const MOST_SECONDS: u64 = 60;
/// Mutants of each kind that every test run tries.
const FEW: u64 = 100;
/// After so many finds the rest of a kind is left for the next time.
const MOST_FINDS: usize = 10;
/// Says which kind the process is to try, and from which number to which.
const ORDER: &str = "GOODQUEUE_MUTANTS";

macro_rules! kinds {
    ($($(#[$attribute:meta])* $name:ident),+ $(,)?) => {
        mod mutants_neither_panic_nor_exhaust_memory {
            $($(#[$attribute])* #[test] fn $name() { super::try_kind(stringify!($name)); })+
        }

        const KINDS: &[&str] = &[$($(#[$attribute])* stringify!($name)),+];
    };
}

kinds! {
    operations,
    tc_line,
    scenario,
    trace,
    recording,
    capture,
    claims,
    verdicts,
    netem_table,
    tcp_segments,
    #[cfg(target_os = "linux")]
    control_line,
    #[cfg(target_os = "linux")]
    undo_file,
    #[cfg(target_os = "linux")]
    live_packets,
}

#[test]
fn every_kind_is_tried() {
    assert_eq!(KINDS, TARGETS.iter().map(|target| target.name).collect::<Vec<_>>());
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a kind of input")
}

fn mutator<'s>(name: &str, seeds: &'s [Vec<u8>]) -> Mutator<'s> {
    Mutator::new(seeds, target(name).longest)
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    inputs_of(name).into_iter().map(|input| input.1).collect()
}

fn try_kind(name: &str) {
    let count = std::env::var("MUTANTS").map_or(FEW, |count| count.parse().expect("MUTANTS is a number"));
    let (mut finds, mut next, mut report) = (Vec::new(), 0, String::new());
    while next < count && finds.len() < MOST_FINDS {
        let this = std::env::current_exe().expect("this program has a path");
        let output = Command::new(this)
            .args(["the_mutants_that_are_asked_for", "--exact", "--ignored", "--nocapture"])
            .env(ORDER, format!("{name} {next} {count}"))
            .stdin(Stdio::null())
            .output()
            .expect("this program can be started");
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            report = said.lines().find_map(|line| line.strip_prefix("report ")).expect("a report").to_owned();
            break;
        }
        let last = said.lines().rev().find_map(|line| line.strip_prefix("mutant "));
        let number: u64 = last.expect("it died before the first mutant").parse().expect("a number");
        finds.push(describe(name, number, &output));
        next = number + 1;
    }
    println!("{name}: {count} mutants, {} finds, {report}", finds.len());
    assert!(finds.is_empty(), "{}", finds.join("\n"));
}

/// What happened, with the input in `fuzz/artifacts`.
fn describe(name: &str, number: u64, output: &std::process::Output) -> String {
    let folder = seeds_of("../artifacts").join(name);
    let path = folder.join(format!("mutant_{number}"));
    std::fs::create_dir_all(&folder).expect("a folder for what was found");
    std::fs::write(&path, mutator(name, &seeds(name)).mutant(number)).expect("what was found can be kept");
    let words = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).take(12).collect();
    format!(
        "mutant {number} of {name} ({}), kept as fuzz/artifacts/{name}/mutant_{number}:\n  {}",
        output.status,
        words.join("\n  ")
    )
}

#[test]
#[ignore = "the other tests start it, each for a kind of input"]
fn the_mutants_that_are_asked_for() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let words: Vec<&str> = order.split(' ').collect();
    let [name, from, to] = words.as_slice() else { panic!("{ORDER}: {order}") };
    let (target, seeds) = (target(name), seeds(name));
    let mutator = mutator(name, &seeds);
    ALLOCATOR.set_limit(MOST_MEMORY).expect("so little is in use");
    let mut slowest = (std::time::Duration::ZERO, 0);
    for number in from.parse().expect("a number")..to.parse().expect("a number") {
        println!("mutant {number}");
        let before = cpu_time();
        #[cfg(unix)]
        limit_seconds(before.as_secs() + 1 + MOST_SECONDS);
        (target.run)(&mutator.mutant(number));
        slowest = slowest.max((cpu_time().saturating_sub(before), number));
    }
    let megabytes = ALLOCATOR.max_allocated() >> 20;
    println!(
        "report at most {megabytes} MiB of memory and {} ms of CPU (mutant {})",
        slowest.0.as_millis(),
        slowest.1
    );
}

fn cpu_time() -> std::time::Duration {
    cpu_time::ProcessTime::now().as_duration()
}

/// The process ends when it has had so much CPU time in all.
#[cfg(unix)]
fn limit_seconds(seconds: u64) {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_CPU).expect("a limit that every system has");
    setrlimit(Resource::RLIMIT_CPU, seconds.min(hard), hard).expect("a limit may be lowered");
    // No core file for each find.
    setrlimit(Resource::RLIMIT_CORE, 0, 0).expect("a limit may be lowered");
}
