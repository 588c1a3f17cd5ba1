use super::*;
use serde_json::json;
use std::path::Path;

fn points(text: &str) -> Result<Vec<Point>, Diagnostic> {
    let document = Document::parse("load.toml", &format!("qdiscs = \"pfifo\"\n{text}"), Path::new(""))?;
    expand(&document, &Names::default())
}

#[test]
fn every_combination_is_a_point_and_the_first_key_varies_slowest() {
    let points = points(
        "[[flows]]\n[sweep]\n\"link.up\" = [\"1mbit\", \"10 Mbit/s\"]\nflows.0.count = [1, 4]\nqdiscs = [\"codel\", [\"pfifo\", \"codel\"]]",
    )
    .unwrap();
    let values: Vec<Value> = points
        .iter()
        .map(|(values, scenario)| {
            assert_eq!(values.len(), 3);
            json!([values["link.up"], scenario.flows[0].count, scenario.qdiscs.len()])
        })
        .collect();
    assert_eq!(
        Value::from(values),
        json!([
            ["1mbit", 1, 1],
            ["1mbit", 1, 2],
            ["1mbit", 4, 1],
            ["1mbit", 4, 2],
            ["10 Mbit/s", 1, 1],
            ["10 Mbit/s", 1, 2],
            ["10 Mbit/s", 4, 1],
            ["10 Mbit/s", 4, 2],
        ])
    );
}

#[test]
fn without_a_sweep_there_is_one_point() {
    let points = points("").unwrap();
    assert_eq!(points.len(), 1);
    assert!(points[0].0.is_empty());
}

#[test]
fn a_bad_value_is_shown_where_it_stands_in_the_sweep() {
    insta::assert_snapshot!(points("[sweep]\n\"link.up\" = [\"1mbit\", \"0bit\"]").unwrap_err(), @r#"
    load.toml:3:23: `up`: at a rate of 0 nothing ever leaves the queue
      3 | "link.up" = ["1mbit", "0bit"]
        |                       ^^^^^^
      allowed: a rate above 0
      help: for an outage write a schedule with a step of "0bit"
    "#);
    insta::assert_snapshot!(points("[sweep]\n\"link.upp\" = [\"1mbit\"]").unwrap_err(), @r#"
    load.toml:3:1: [link] has no key `upp`
      3 | "link.upp" = ["1mbit"]
        | ^^^^^^^^^^
      allowed: down, up, rtt, mtu, framing, delay_tick
      help: did you mean `up`?
    "#);
    insta::assert_snapshot!(points("[sweep]\nseed = 3").unwrap_err(), @r#"
    load.toml:3:8: `seed` of [sweep] is the number 3, not a list
      3 | seed = 3
        |        ^
      allowed: keys with lists of values, such as "link.up" = ["1mbit", "10mbit"]
    "#);
    insta::assert_snapshot!(points("[sweep]\n\"flows.0.count\" = [1]").unwrap_err(), @r#"
    load.toml:3:1: `flows` is not given, so it has no entry 0
      3 | "flows.0.count" = [1]
        | ^^^^^^^^^^^^^^^
      help: give all of it, such as `flows=[...]`, or write it in a scenario file
    "#);
    assert!(points("sweep = 3").is_err());
    assert!(points("[sweep]\nseed = []").is_err());
    assert!(points("[sweep]\n\"sweep.seed\" = [1]").is_err());
    assert!(points("[sweep]\nlink = [{}]\n\"link.up\" = [\"1mbit\"]").is_err());
}

#[test]
fn a_value_that_is_listed_twice_is_no_repetition() {
    insta::assert_snapshot!(points("[sweep]\n\"link.up\" = [\"1mbit\", \"2mbit\", \"1mbit\"]").unwrap_err(), @r#"
    load.toml:3:32: `link.up` of [sweep] has a value twice
      3 | "link.up" = ["1mbit", "2mbit", "1mbit"]
        |                                ^^^^^^^
      help: remove one of the two; `seeds` repeats every run with other random numbers
    "#);
    assert!(points("[sweep]\nqdiscs = [\"codel\", \"codel\"]").is_err());
    assert_eq!(points("[sweep]\nqdiscs = [\"codel\", [\"codel\"]]").unwrap().len(), 2);
}

#[test]
fn texts_and_files_are_those_of_all_points() {
    for key in ["output.json", "output.report", "output.series", "output", "name", "title"] {
        let value = if key == "output" { "{}" } else { "'a.json'" };
        let error = points(&format!("[sweep]\n\"{key}\" = [{value}]")).unwrap_err().to_string();
        assert!(error.contains(&format!("`{key}` cannot be swept")), "{error}");
    }
    assert_eq!(points("[sweep]\n\"output.spikes\" = [[15000], [30000]]").unwrap().len(), 2);
}

#[test]
fn a_sweep_without_bounds_is_refused() {
    let axis = format!("[{}]", vec!["1"; 1000].join(","));
    // The 1000 values of `seeds` are 1000 repetitions in all, times 1000 times 1000 other values.
    let text = format!("[sweep]\nseed = {axis}\nseeds = {axis}\n\"tcp.iw\" = {axis}");
    assert!(points(&text).unwrap_err().to_string().contains("the scenario makes 1000000000 runs"));
}
