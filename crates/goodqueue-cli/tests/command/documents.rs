//! Lists, and documents that the command writes or that show it.

use serde_json::Value;

use crate::{folder, goodqueue, stdout, words};

#[test]
fn lists_are_for_people_and_for_programs() {
    let folder = folder();
    for what in ["qdiscs", "tcps", "profiles", "scenarios", "claims"] {
        assert!(stdout(&goodqueue(folder.path(), &["list"])).contains(&format!("goodqueue list {what} ")));
        assert!(!stdout(&goodqueue(folder.path(), &["list", what])).is_empty());
        let output = goodqueue(folder.path(), &["list", what, "--json", "-"]);
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(
            list.as_array()
                .is_some_and(|list| !list.is_empty() && list.iter().all(|entry| entry["name"].is_string()))
        );
    }
    let short = stdout(&goodqueue(folder.path(), &["list", "qdiscs"]));
    assert!(short.lines().count() < 45 && short.contains("goodqueue list qdiscs codel"), "{short}");
    assert!(stdout(&goodqueue(folder.path(), &["list", "qdiscs", "codel"])).contains("  interval "));
    let output = goodqueue(folder.path(), &["list", "qdiscs", "--json", "-"]);
    let qdiscs: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for qdisc in qdiscs.as_array().expect("an array") {
        for parameter in qdisc["parameters"].as_array().expect("an array") {
            for field in ["name", "unit", "default", "source", "doc"] {
                assert!(
                    parameter[field].as_str().is_some_and(|text| !text.is_empty()),
                    "{parameter}: {field}"
                );
            }
        }
    }
}

#[test]
fn every_discipline_has_a_page_with_the_seven_headings() {
    let folder = folder();
    let short = stdout(&goodqueue(folder.path(), &["list", "qdiscs"]));
    assert!(short.lines().count() < 45 && short.contains("goodqueue list qdiscs codel"), "{short}");
    assert!(stdout(&goodqueue(folder.path(), &["list", "qdiscs", "codel"])).contains("  interval "));
    let output = goodqueue(folder.path(), &["list", "qdiscs", "--json", "-"]);
    let qdiscs: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for qdisc in qdiscs.as_array().expect("an array") {
        let name = qdisc["name"].as_str().expect("a name");
        let page = stdout(&goodqueue(folder.path(), &["explain", name]));
        for heading in ["What it does", "Reference", "State", "Parameters", "Deviations", "Cost", "Example"] {
            assert!(page.contains(&format!("\n# {heading}\n")), "{name} has no heading `{heading}`");
        }
    }
}

#[test]
fn the_list_of_deviations_is_that_of_the_pages() {
    // If this fails: make deviations
    let printed = stdout(&goodqueue(folder().path(), &["explain", "--deviations"]));
    assert!(printed == include_str!("../../../../docs/DEVIATIONS.md"), "docs/DEVIATIONS.md is stale");
}

#[test]
fn the_scenario_format_is_explained_as_the_book_has_it() {
    // If this fails, run `make deviations`.
    let printed = stdout(&goodqueue(folder().path(), &["explain", "scenario"]));
    assert!(printed == include_str!("../../../../docs/scenarios.md"), "docs/scenarios.md is stale");
}

#[test]
fn every_command_of_the_tutorial_runs() {
    let tutorial = include_str!("../../../../docs/tutorial.md");
    let folder = folder();
    let block = |language: &str| {
        let opening = format!("```{language}\n");
        tutorial.split(&opening).skip(1).filter_map(|rest| rest.split("```").next()).collect::<Vec<_>>()
    };
    std::fs::write(folder.path().join("home.toml"), block("toml").concat()).expect("written");
    let commands: Vec<&str> = block("sh").into_iter().flat_map(str::lines).collect();
    assert!(commands.len() > 10);
    for line in commands {
        let output = goodqueue(folder.path(), &words(line)[1..]);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
