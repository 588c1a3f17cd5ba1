//! Shows, without a browser.

use std::path::Path;

use goodqueue::{Duration, Instant};
use goodqueue_scenario::scenario::Document;
use goodqueue_wasm::Show;

const REQUEST: &str = r#"{"rate": "4mbit", "up": "1mbit", "time": "3s", "qdiscs": ["pfifo limit 50", "fq_codel"],
    "set": ["flows=[{kind='tcp', direction='up', count=2}, {kind='ping'}]"]}"#;

const SCENARIO: &str = "
duration = '3s'
qdiscs = ['pfifo limit 50', 'fq_codel']
link = { down = '4mbit', up = '1mbit' }
flows = [{kind='tcp', direction='up', count=2}, {kind='ping'}]
";

#[test]
fn a_show_has_the_results_of_its_scenario_whatever_the_steps_are() {
    let mut document = Document::parse("x.toml", SCENARIO, Path::new("")).expect("valid");
    document.set("", "name", "\"goodqueue\"").expect("a key");
    let whole = goodqueue_scenario::simulate(&document).expect("runs");
    let mut show = Show::of(REQUEST).expect("valid");
    for step in 1..=300 {
        show.play(Instant::ZERO + Duration::from_millis(10 * step)).expect("runs");
    }
    assert!(show.is_over());
    let shown: serde_json::Value = serde_json::from_str(&show.results().expect("written")).expect("JSON");
    for (run, shown) in whole.runs.iter().zip(shown["runs"].as_array().expect("runs")) {
        let mut run = serde_json::to_value(run).expect("JSON");
        run.as_object_mut().expect("an object").remove("tc_stats");
        assert_eq!(run, *shown);
    }
}

#[test]
fn every_packet_has_one_arrival_and_one_end_and_found_what_the_records_say() {
    let mut show = Show::of(REQUEST).expect("valid");
    show.play(Instant::ZERO + Duration::from_secs(2)).expect("runs");
    let records = show.packets(0);
    assert!(records.len() > 8 * 400, "{} records", records.len() / 8);
    let mut held = [(0.0, 0.0); 2];
    let mut bytes = std::collections::BTreeMap::new();
    for record in records.chunks(8) {
        let [kind, number, .., found, found_bytes] = record else { panic!("eight numbers") };
        let held = &mut held[usize::from(*kind >= 2.0)];
        if *kind == 0.0 || *kind == 2.0 {
            assert_eq!(*held, (*found, *found_bytes), "packet {number}");
            *held = (held.0 + 1.0, held.1 + record[4]);
            assert!(bytes.insert(number.to_bits(), record[4]).is_none(), "packet {number} arrives once");
        } else {
            let len = bytes.remove(&number.to_bits()).expect("it has arrived, and has not ended");
            *held = (held.0 - 1.0, held.1 - len);
            assert_eq!(*held, (*found, *found_bytes), "packet {number}");
        }
    }
    assert!(show.packets(0).is_empty(), "each record is handed out once");
}

#[test]
fn a_request_that_the_command_refuses_is_refused_with_its_words() {
    let refused = |request: &str| Show::of(request).map(|_| ()).expect_err("refused").to_string();
    assert!(refused(r#"{"qdiscs": ["fq_codel targe 3ms"]}"#).contains("did you mean `target`?"));
    assert!(refused(r#"{"surprise": 1}"#).contains("unknown field `surprise`"));
    assert!(refused(r#"{"builtin": "rrull"}"#).contains("rrul"));
    assert!(refused("").contains("cannot be read"));
}

#[test]
fn a_show_names_its_columns_and_flows() {
    let about: serde_json::Value =
        serde_json::from_str(&Show::of(REQUEST).expect("valid").about()).expect("JSON");
    assert_eq!(about["columns"][0]["label"], "pfifo limit 50");
    assert_eq!(about["flows"][2]["kind"], "ping");
    assert_eq!(about["flows"][1]["cc"], "cubic");
    assert_eq!(about["duration"], 3_000_000_000_u64);
    assert_eq!(about["is_part"], false);
}

#[test]
fn a_column_has_the_line_that_makes_it_whatever_its_label_is() {
    let scenario = "
duration = '1s'
qdiscs = [
  { label = 'in the router', down = 'fq_codel', up = 'pfifo limit 9' },
  { label = 'managed', down = 'codel', up = 'codel' },
  { label = 'pie', down = 'pie limit 1000p', up = 'pie limit 1000p' },
]
flows = [{ kind = 'ping' }]
";
    let about = |request: serde_json::Value| -> serde_json::Value {
        serde_json::from_str(&Show::of(&request.to_string()).expect("valid").about()).expect("JSON")
    };
    let shown = about(serde_json::json!({ "toml": scenario }));
    let lines: Vec<&str> = (0..3).filter_map(|at| shown["columns"][at]["line"].as_str()).collect();
    assert_eq!(lines, ["fq_codel / pfifo limit 9", "codel", "pie"]);
    let again = about(serde_json::json!({ "toml": scenario, "qdiscs": lines }));
    for at in 0..3 {
        for end in ["down", "up"] {
            assert_eq!(again["scenario"]["qdiscs"][at][end], shown["scenario"]["qdiscs"][at][end]);
        }
    }
}

#[test]
fn the_queue_of_the_modem_behind_the_router_is_in_the_records() {
    let mut show = Show::of(r#"{"builtin": "modem", "qdiscs": ["fq_codel"]}"#).expect("valid");
    let about: serde_json::Value = serde_json::from_str(&show.about()).expect("JSON");
    assert_eq!(about["places"][1]["name"], "modem");
    assert_eq!(about["order"], serde_json::json!([1, 0]));
    assert_eq!(about["places"][1]["before_the_delay"], serde_json::json!([false, true]));
    assert_eq!(about["places"][0]["before_the_delay"], serde_json::json!([true, false]));
    show.play(Instant::ZERO + Duration::from_secs(5)).expect("runs");
    let records = show.packets(0);
    let found = |kind: f64| {
        let there = records.chunks(8).filter(|record| record[0] == kind);
        there.map(|record| record[6]).fold(0.0, f64::max)
    };
    assert!(found(2.0) < 10.0, "the router holds the initial windows at most: {}", found(2.0));
    assert!(found(6.0) > 200.0, "the modem's does not: {}", found(6.0));
    assert_eq!(records.chunks(8).map(|record| record[0]).fold(0.0, f64::max), 7.0);
}

#[test]
fn the_queues_of_a_wifi_channel_are_in_the_records() {
    let mut show = Show::of(r#"{"builtin": "wifi", "qdiscs": ["pfifo"]}"#).expect("valid");
    let about: serde_json::Value = serde_json::from_str(&show.about()).expect("JSON");
    assert_eq!(about["places"][1]["name"], "WiFi");
    assert_eq!(about["order"], serde_json::json!([0, 1]));
    show.play(Instant::ZERO + Duration::from_secs(3)).expect("runs");
    let records = show.packets(0);
    let count = |kind: f64| records.chunks(8).filter(|record| record[0] == kind).count();
    for (arrivals, ends) in [(4.0, 5.0), (6.0, 7.0)] {
        assert!(count(arrivals) > 500 && count(ends) > 500 && count(ends) <= count(arrivals));
    }
}

#[test]
fn a_hop_that_only_loses_packets_is_not_a_queue() {
    let request =
        r#"{"qdiscs": ["pfifo"], "set": ["hops=[{name='path',side='server',qdisc='netem loss 1%'}]"]}"#;
    let about: serde_json::Value =
        serde_json::from_str(&Show::of(request).expect("valid").about()).expect("JSON");
    assert_eq!(about["places"].as_array().expect("a list").len(), 1);
}

#[test]
fn a_dropped_packet_has_the_story_that_the_command_tells() {
    let mut show = Show::of(REQUEST).expect("valid");
    show.play(Instant::ZERO + Duration::from_secs(3)).expect("runs");
    let records = show.packets(1);
    let dropped = records.chunks(8).find(|record| record[0] % 2.0 == 1.0 && record[3] > 0.0).expect("a drop");
    let told = show.story_of(1, dropped[1]).expect("a story");
    let story: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let sentences = story["sentences"].to_string();
    assert!(sentences.contains(&format!("Packet {}", dropped[1])), "{sentences}");
    assert!(sentences.contains("RFC 8289"), "{sentences}");
    assert!(story["state"].as_array().expect("values").len() > 3, "{told}");
    assert!(show.story_of(1, 1e9).expect_err("there is none").to_string().contains("packets arrived"));
    assert!(show.story_of(7, 1.0).is_err());
}
