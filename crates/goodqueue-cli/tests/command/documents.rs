//! Lists, and documents that the command writes or that show it.

use serde_json::Value;

use crate::{folder, goodqueue, refusal_in, stdout};

const README: &str = include_str!("../../../../README.md");

/// Returns what `goodqueue list qdiscs` knows of each discipline.
fn qdiscs() -> Vec<Value> {
    let output = goodqueue(folder().path(), &["list", "qdiscs", "--json", "-"]);
    serde_json::from_slice(&output.stdout).expect("a JSON array")
}

#[test]
fn lists_are_for_people_and_for_programs() {
    let folder = folder();
    for what in ["qdiscs", "tcps", "profiles", "scenarios", "links", "papers", "claims"] {
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
    for qdisc in qdiscs() {
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
    for qdisc in qdiscs() {
        let name = qdisc["name"].as_str().expect("a name");
        let page = stdout(&goodqueue(folder.path(), &["explain", name]));
        for heading in ["What it does", "Reference", "State", "Parameters", "Deviations", "Cost", "Example"] {
            assert!(page.contains(&format!("\n# {heading}\n")), "{name} has no heading `{heading}`");
        }
    }
}

#[test]
fn the_list_of_deviations_is_that_of_the_pages() {
    // If this fails, run `make deviations`.
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
fn every_row_of_a_recording_is_documented() {
    let folder = folder();
    std::fs::write(folder.path().join("bad.jsonl"), "{\"rate_bps\": 1000000}\n[\"?\"]\n").expect("written");
    // The error lists all sorts of rows.
    let said = refusal_in(folder.path(), &["replay", "bad.jsonl", "--qdisc", "pfifo"]);
    let listed: Vec<&str> = said.match_indices("[\"").map(|(start, _)| &said[start..start + 4]).collect();
    assert!(listed.len() >= 10, "{said}");
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RESULTS.md"))
        .expect("the page");
    for row in listed.iter().filter(|row| **row != "[\"?\"") {
        assert!(page.contains(&format!("| `{row}")), "{row} is not in docs/RESULTS.md");
    }
}

#[test]
fn every_key_of_a_run_is_documented() {
    let schema = stdout(&goodqueue(folder().path(), &["schema", "results"]));
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RESULTS.md"))
        .expect("the page");
    for of in ["Run", "Probes", "VideoResult"] {
        let keys = schema["$defs"][of]["properties"].as_object().expect("properties");
        for key in keys.keys() {
            let is_named = ["`", ".", "["].iter().any(|end| page.contains(&format!("`{key}{end}")));
            assert!(is_named, "`{key}` of {of} is not in docs/RESULTS.md");
        }
    }
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    // If this fails because results changed, put the new table into README.md and the reason into
    // CHANGELOG.md.
    let example = README.split("```\n$ goodqueue ").nth(1).expect("an example");
    let (command, shown) = example.split_once('\n').expect("the output is below the command");
    let shown = shown.split("```").next().expect("the output ends");
    let printed = stdout(&goodqueue(folder().path(), &words(command)));
    let lines =
        |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(shown), lines(&printed));
}

#[test]
fn the_readme_describes_its_picture_with_the_headline_of_the_report() {
    // If this fails because results changed, run `make screenshot`.
    let folder = folder();
    assert!(goodqueue(folder.path(), &["compare", "--report", "report.html"]).status.success());
    let report = std::fs::read_to_string(folder.path().join("report.html")).expect("a report");
    let headline = report.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next());
    // Numbers and units do not break in the report.
    let headline = headline.map(|text| text.replace('\u{a0}', " "));
    let described = README.split("![").nth(1).and_then(|rest| rest.split("](").next());
    assert_eq!(described, headline.as_deref());
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

/// Returns the words of a command line. Single quotes hold words together.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part);
        } else {
            words.extend(part.split_whitespace());
        }
    }
    words
}

#[test]
fn a_folder_does_not_hide_the_scenario_of_its_name() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("voip")).expect("a folder");
    let output = goodqueue(folder.path(), &["compare", "voip", "--time", "12s", "--qdisc", "codel"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
