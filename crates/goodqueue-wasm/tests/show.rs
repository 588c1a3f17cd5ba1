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
    let mut show = Show::from_request(REQUEST).expect("valid");
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
fn a_quic_flow_is_shown_as_the_command_tells_of_it() {
    let request = r#"{"rate": "4mbit", "up": "1mbit", "time": "3s", "qdiscs": ["pfifo limit 20"],
        "set": ["flows=[{kind='quic', cc='newreno'}]"]}"#;
    let mut show = Show::from_request(request).expect("valid");
    show.play(Instant::ZERO + Duration::from_secs(3)).expect("runs");
    let records = show.packets(0);
    let about: serde_json::Value = serde_json::from_str(&show.about()).expect("JSON");
    let flow = &about["flows"][0];
    assert_eq!([&flow["kind"], &flow["direction"], &flow["cc"]], ["quic", "down", "newreno"]);
    let [received, window, in_flight, rtt, lost] = show.flows(0)[..] else { panic!("five numbers") };
    assert!(received > 500_000.0, "{received}");
    assert!(window > 2.0 * 1200.0 && window < 200_000.0, "{window}");
    // The line has a round-trip time of 50 ms, and its queue 60 ms at most.
    assert!(rtt > 50e6 && rtt < 120e6, "{rtt}");
    assert!(lost > 0.0, "a queue of 20 packets overflows");
    assert!(in_flight < 0.0, "quinn does not tell it");
    let arrivals = |way: f64| records.chunks(8).filter(move |record| record[0] == way);
    let kinds = |way: f64| arrivals(way).map(|record| record[5]).collect::<Vec<f64>>();
    assert!(kinds(0.0).iter().filter(|kind| **kind == 1.0).count() < 10, "downwards are data");
    // Upwards are the handshake, the request, and then acknowledgements.
    let up = kinds(2.0);
    assert_eq!(up[0], 0.0);
    assert!(up.len() > 100 && up[10..].iter().all(|kind| *kind == 1.0), "{up:?}");
    // The first packet is the answer to the client's hello.
    let story = show.story_of(0, 1.0).expect("a story");
    assert!(story.contains("down, QUIC datagram 0 of flow 0, of the handshake"), "{story}");
}

#[test]
fn every_packet_has_one_arrival_and_one_end_and_found_what_the_records_say() {
    let mut show = Show::from_request(REQUEST).expect("valid");
    show.play(Instant::ZERO + Duration::from_secs(2)).expect("runs");
    let records = show.packets(0);
    assert!(records.len() > 8 * 400, "{} records", records.len() / 8);
    let mut held = [(0.0, 0.0); 2];
    let mut bytes = std::collections::BTreeMap::new();
    for record in records.chunks(8) {
        let [kind, number, .., found, found_bytes] = record else { panic!("eight numbers") };
        // 0 and 1 are an arrival and an end downwards, 2 and 3 the same upwards.
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
    let refused = |request: &str| Show::from_request(request).map(|_| ()).expect_err("refused").to_string();
    assert!(refused(r#"{"qdiscs": ["fq_codel targe 3ms"]}"#).contains("did you mean `target`?"));
    assert!(refused(r#"{"surprise": 1}"#).contains("unknown field `surprise`"));
    assert!(refused(r#"{"builtin": "rrull"}"#).contains("rrul"));
    assert!(refused("").contains("cannot be read"));
}

#[test]
fn a_show_names_its_columns_and_flows() {
    let about: serde_json::Value =
        serde_json::from_str(&Show::from_request(REQUEST).expect("valid").about()).expect("JSON");
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
        serde_json::from_str(&Show::from_request(&request.to_string()).expect("valid").about()).expect("JSON")
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
    let mut show = Show::from_request(r#"{"builtin": "modem", "qdiscs": ["fq_codel"]}"#).expect("valid");
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
    // 2 is an arrival in the upward queue of the router, and 6 one in that of the modem: the second
    // place adds 4.
    assert!(found(2.0) < 10.0, "the router holds the initial windows at most: {}", found(2.0));
    assert!(found(6.0) > 200.0, "the modem's does not: {}", found(6.0));
    assert_eq!(records.chunks(8).map(|record| record[0]).fold(0.0, f64::max), 7.0);
}

#[test]
fn the_queues_of_a_wifi_channel_are_in_the_records() {
    let mut show = Show::from_request(r#"{"builtin": "wifi", "qdiscs": ["pfifo"]}"#).expect("valid");
    let about: serde_json::Value = serde_json::from_str(&show.about()).expect("JSON");
    assert_eq!(about["places"][1]["name"], "WiFi");
    assert_eq!(about["order"], serde_json::json!([0, 1]));
    show.play(Instant::ZERO + Duration::from_secs(3)).expect("runs");
    let records = show.packets(0);
    let count = |kind: f64| records.chunks(8).filter(|record| record[0] == kind).count();
    // The second place adds 4.
    for (arrivals, ends) in [(4.0, 5.0), (6.0, 7.0)] {
        assert!(count(arrivals) > 500 && count(ends) > 500 && count(ends) <= count(arrivals));
    }
}

#[test]
fn a_hop_that_only_loses_packets_is_not_a_queue() {
    let request =
        r#"{"qdiscs": ["pfifo"], "set": ["hops=[{name='path',side='server',qdisc='netem loss 1%'}]"]}"#;
    let about: serde_json::Value =
        serde_json::from_str(&Show::from_request(request).expect("valid").about()).expect("JSON");
    assert_eq!(about["places"].as_array().expect("a list").len(), 1);
}

#[test]
fn a_dropped_packet_has_the_story_that_the_command_tells() {
    let mut show = Show::from_request(REQUEST).expect("valid");
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

#[test]
fn a_link_that_asks_for_too_much_is_refused_with_the_limit_and_the_remedy() {
    let refused = |changes: serde_json::Value| {
        let error = Show::from_request(&changes.to_string()).map(|_| ()).expect_err("refused").to_string();
        assert!(error.contains("allowed: "), "{error}");
        error
    };
    let scenario = |text: &str| refused(serde_json::json!({ "toml": text }));
    let flows = scenario("flows = [{ count = 99999 }, { kind = 'ping' }]");
    assert_eq!(
        flows,
        "100000 flows are too many to show\n  allowed: at most 200\n  \
         help: lower the `count` of a table in `flows`. The command `goodqueue compare` has higher limits."
    );
    assert!(scenario("seeds = 5000").contains("runs are too many to show"));
    let swept: Vec<String> = (1..5_000).map(|value| value.to_string()).collect();
    assert!(scenario(&format!("sweep = {{ 'seed' = [{}] }}", swept.join(","))).contains("too many to show"));
    assert!(scenario("duration = '1000000s'").contains("a simulated time of 1000000s is too long to show"));
    let pings = scenario("duration = '3600s'\nflows = [{ kind = 'ping', interval = '100us' }]");
    assert!(pings.contains("36000000 pings are too many to show"), "{pings}");
    let fast = scenario("duration = '60s'\nlink = { down = '100gbit' }");
    // 60 s at 100 Gbit/s in each direction, in packets of 1514 bytes.
    assert!(fast.starts_with("up to 991 million packets in 60s are too many to show"), "{fast}");
    assert!(fast.contains("help: simulate at most 1s (`duration`), or lower the rate."), "{fast}");
    let datagrams =
        "flows = [{ kind = 'cbr', rate = '100gbit', packet = 100, count = 9 }, { kind = 'ping' }]";
    assert!(scenario(datagrams).contains("million packets"));
    let nine: Vec<String> = (1..=9).map(|limit| format!("pfifo limit {limit}")).collect();
    assert!(refused(serde_json::json!({ "qdiscs": nine })).contains("9 disciplines are too many"));
}

#[test]
fn every_built_in_scenario_can_be_shown() {
    for entry in goodqueue_scenario::library::SCENARIOS {
        let request = serde_json::json!({ "builtin": entry.name, "qdiscs": ["fq_codel"] });
        Show::from_request(&request.to_string()).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

#[test]
fn a_flow_receives_no_more_than_its_line_carries_also_when_a_gap_is_filled() {
    let mut show = Show::from_request(
        r#"{"rate": "10mbit", "up": "1mbit", "time": "60s", "qdiscs": ["pfifo limit 100"],
            "set": ["flows=[{kind='tcp', direction='up'}, {kind='ping'}]"]}"#,
    )
    .expect("valid");
    let mut received = vec![0.0];
    for second in 1..=60 {
        show.play(Instant::ZERO + Duration::from_secs(second)).expect("runs");
        received.push(show.flows(0)[0]);
    }
    let most = received.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    // A packet may begin in one second and arrive in the next one.
    assert!(most <= 125_000.0 + 1514.0, "{most} bytes in a second on a line of 125,000 bytes per second");
    assert!(received[60] > 0.8 * 60.0 * 125_000.0);
}
