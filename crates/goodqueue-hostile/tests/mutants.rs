//! Mutations of the committed inputs of every kind: no panic, no stack overflow, at most 1 GiB of
//! memory, and no endless loop.
//!
//! Each kind is tested in its own process, so that even a crash is reported with the number of the
//! mutant and its bytes. `MUTANTS=10000` tests more mutants of each; `make mutants` does so.

use std::alloc::System;
use std::process::{Command, Stdio};

use cap::Cap;
use goodqueue_hostile::mutation::Mutator;
use goodqueue_hostile::{TARGETS, Target, inputs_of, seeds_of};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Memory limit of an input in bytes. A larger request fails, which ends the process.
const MOST_MEMORY: usize = 1 << 30;
/// CPU time limit of an input in seconds, which finds endless loops.
const MOST_SECONDS: u64 = 60;
/// Mutants of each kind in every test run.
const FEW: u64 = 100;
/// Finds of one kind after which its test ends.
const MOST_FINDS: usize = 10;
/// Variable that tells the process which kind to test, and the range of mutants.
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
    link_operations,
    tc_line,
    scenario,
    trace,
    recording,
    capture,
    claims,
    verdicts,
    netem_table,
    tcp_segments,
    wasm_policy,
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
    let mut finds = Vec::new();
    let mut next = 0;
    let mut report = String::new();
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

/// Describes a find, and keeps its input in `fuzz/artifacts`.
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
    let target = target(name);
    let seeds = seeds(name);
    let mutator = mutator(name, &seeds);
    ALLOCATOR.set_limit(MOST_MEMORY).expect("so little is in use");
    let mut slowest = (std::time::Duration::ZERO, 0);
    for number in from.parse().expect("a number")..to.parse().expect("a number") {
        println!("mutant {number}");
        let before = cpu_time();
        #[cfg(unix)]
        // The limit is in whole seconds and covers the whole process, so the time used so far is
        // rounded up.
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

/// Limits the CPU time of the process in seconds.
#[cfg(unix)]
fn limit_seconds(seconds: u64) {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_CPU).expect("a limit that every system has");
    setrlimit(Resource::RLIMIT_CPU, seconds.min(hard), hard).expect("a limit may be lowered");
    // A find must not leave a core file.
    setrlimit(Resource::RLIMIT_CORE, 0, 0).expect("a limit may be lowered");
}
