//! The scored problem: the table of disciplines, and policies good and bad.

use std::path::Path;
use std::{env, fs};

use goodqueue_agents::problem::TABLE;
use goodqueue_agents::{AqmSeen, Candidate, Policy, PolicyMaker, Problem, Score, Split, WasmPolicy};
use goodqueue_tc::diagnostic::Diagnostic;

fn problem() -> Problem {
    Problem::by_name("aqm-v1").expect("exists")
}

/// Marks 5 % of the packets while the sojourn time is above 15 ms.
fn threshold() -> impl Policy {
    |seen: &AqmSeen| if seen.sojourn > 0.015 { 0.05 } else { 0.0 }
}

/// The same policy as a module.
const THRESHOLD: &str = r#"(module (func (export "decide")
    (param $backlog f64) (param $sojourn f64) (param f64 f64 f64 f64 f64 f64 f64) (result f64)
    (select (f64.const 0.05) (f64.const 0) (f64.gt (local.get $sojourn) (f64.const 0.015)))))"#;

/// A module whose `decide` has this body.
fn module(head: &str, body: &str) -> String {
    format!(
        "(module {head} (func (export \"decide\") \
         (param f64 f64 f64 f64 f64 f64 f64 f64 f64) (result f64) {body}))"
    )
}

/// The message with which a policy is refused or fails.
fn message(maker: &dyn PolicyMaker) -> String {
    let scored = problem().panel(Candidate::Policy(maker), Split::Training, 1, 1);
    scored.expect_err("the policy is bad").to_string()
}

fn wasm_message(text: &str) -> String {
    match WasmPolicy::new(text.as_bytes()) {
        Ok(policy) => message(&policy),
        Err(refused) => refused.to_string(),
    }
}

/// `docs/measured/aqm-v1.jsonl` has the bytes that every machine computes. `UPDATE=1` writes them.
#[test]
fn the_table_of_disciplines_has_the_committed_bytes() {
    let scores: Result<Vec<Score>, Diagnostic> =
        TABLE.iter().map(|line| problem().score(line, Candidate::Qdisc(line), 1, 0)).collect();
    let scores = scores.expect("disciplines are valid");
    let text = scores.iter().map(|score| format!("{}\n", score.to_json_line())).collect::<String>();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured/aqm-v1.jsonl");
    if env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &text).expect("the file can be written");
    }
    let committed = fs::read_to_string(&path).expect("the file is committed");
    assert!(text == committed, "docs/measured/aqm-v1.jsonl is stale: run with UPDATE=1");
    let score =
        |name: &str| scores.iter().find(|score| score.policy.starts_with(name)).expect("listed").score;
    assert!(score("pfifo") < 0.5 * score("codel"), "tail drop fills its queue");
}

#[test]
fn the_number_of_threads_and_the_form_of_a_policy_do_not_change_a_score() {
    let module = WasmPolicy::new(THRESHOLD.as_bytes()).expect("valid");
    let score = |maker: &dyn PolicyMaker, jobs| {
        problem().panel(Candidate::Policy(maker), Split::Training, 1, jobs).expect("runs")
    };
    let one = score(&threshold, 1);
    assert_eq!(one, score(&module, 2));
    assert!(one.reward > 0.2, "{}", one.reward);
}

#[test]
fn training_lines_are_fixed_and_the_seed_selects_the_held_out_lines() {
    let problem = problem();
    assert_eq!(problem.seeds(Split::Training, 1), problem.seeds(Split::Training, 2));
    assert_ne!(problem.seeds(Split::HeldOut, 1), problem.seeds(Split::HeldOut, 2));
    assert_eq!(problem.seeds(Split::HeldOut, 1).len(), 16);
}

#[test]
fn a_policy_that_returns_no_probability_is_stopped_with_line_and_time() {
    let nan = || |_: &AqmSeen| f64::NAN;
    let text = message(&nan);
    // A policy is first asked after one interval.
    assert!(text.contains("training line 0: at 0.015 s: the policy returned NaN"), "{text}");
    assert!(text.contains("allowed: a probability from 0 to 1"), "{text}");
    let above = || |_: &AqmSeen| 1.5;
    assert!(message(&above).contains("the policy returned 1.5"));
}

#[test]
fn an_unknown_problem_or_discipline_is_refused() {
    let unknown = Problem::by_name("aqm-v2").expect_err("it does not exist").to_string();
    assert!(unknown.contains("aqm-v1"), "{unknown}");
    let bad = problem().score("codel", Candidate::Qdisc("codel targt 5ms"), 1, 1).unwrap_err().to_string();
    assert!(bad.contains("did you mean `target`?"), "{bad}");
}

#[test]
fn a_module_without_the_right_export_is_refused() {
    let nothing = wasm_message("(module)");
    assert!(nothing.contains("does not export `decide`; it exports nothing"), "{nothing}");
    let other = wasm_message("(module (func (export \"run\")))");
    assert!(other.contains("it exports `run`") && other.contains("help: export decide("), "{other}");
    let memory = wasm_message("(module (memory (export \"decide\") 1))");
    assert!(memory.contains("is no function"), "{memory}");
    let shape = wasm_message("(module (func (export \"decide\") (param f64) (result f64) local.get 0))");
    assert!(shape.contains("other parameters or another result"), "{shape}");
}

#[test]
fn a_module_that_imports_is_refused() {
    let text = wasm_message("(module (import \"env\" \"clock\" (func)) (func (export \"decide\")))");
    assert!(text.contains("imports `clock` from `env`") && text.contains("allowed: no imports"), "{text}");
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    assert!(wasm_message("hello").contains("this is no WebAssembly module"));
    let large = vec![0; (1 << 20) + 1];
    let refused = WasmPolicy::new(&large).expect_err("too large").to_string();
    assert!(refused.contains("1048577 bytes") && refused.contains("at most 1048576"), "{refused}");
}

#[test]
fn a_module_that_never_returns_runs_out_of_fuel() {
    let text = wasm_message(&module("", "(loop (br 0)) unreachable"));
    assert!(text.contains("training line 0: at 0.015 s: `decide` failed: it is out of fuel"), "{text}");
    let start = module("(func $spin (loop (br 0))) (start $spin)", "f64.const 0");
    let text = wasm_message(&start);
    assert!(text.contains("the module does not start: it is out of fuel"), "{text}");
}

#[test]
fn a_module_that_asks_for_too_much_memory_is_stopped() {
    // A page has 64 KiB, so 16 pages are allowed.
    let text = wasm_message(&module("(memory 17)", "f64.const 0"));
    assert!(text.contains("the module does not start: it asks for too much memory"), "{text}");
    let grows = module("(memory 1)", "(drop (memory.grow (i32.const 100))) f64.const 0");
    let text = wasm_message(&grows);
    assert!(text.contains("`decide` failed: it asks for too much memory"), "{text}");
    assert!(text.contains("allowed: 1048576 bytes"), "{text}");
}

#[test]
fn a_module_that_traps_or_nests_too_deeply_is_stopped() {
    let text = wasm_message(&module("", "unreachable"));
    assert!(text.contains("`decide` failed: "), "{text}");
    let nests = module("(func $down (call $down))", "(call $down) f64.const 0");
    assert!(wasm_message(&nests).contains("nested too deeply"), "{}", wasm_message(&nests));
}

#[test]
fn a_module_keeps_its_state_on_a_line_and_begins_anew_on_the_next() {
    let counts = module(
        "(global $calls (mut f64) (f64.const 0))",
        "(global.set $calls (f64.add (global.get $calls) (f64.const 0.25))) (global.get $calls)",
    );
    let policy = WasmPolicy::new(counts.as_bytes()).expect("valid");
    for _ in 0..2 {
        let mut instance = policy.make().expect("starts");
        let decided = [0, 1].map(|_| instance.decide(&AqmSeen::default()).expect("decides"));
        assert_eq!(decided, [0.25, 0.5]);
    }
}
