//! Whole scenarios: defaults, the built-in files, and writing them again.

use super::*;

#[test]
fn an_empty_file_is_the_default_load_of_compare() {
    let scenario = read("").unwrap();
    assert_eq!(scenario.link.down.rate, rate(10_000_000));
    assert_eq!(scenario.link.up.rate, rate(1_000_000));
    assert_eq!(scenario.link.rtt, Duration::from_millis(50));
    assert_eq!(scenario.duration, Duration::from_secs(60));
    let labels: Vec<&str> = scenario.qdiscs.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["bfifo limit 256kb", "red adaptive", "pie", "codel", "sfq", "fq_codel", "cake"]);
    let flows: Vec<_> =
        scenario.flows.iter().map(|group| (group.traffic.kind(), group.direction, group.count)).collect();
    assert_eq!(flows, [("tcp", Direction::Down, 4), ("tcp", Direction::Up, 4), ("ping", Direction::Up, 1)]);
    let same =
        Scenario::rrul(Rate::from_bps(10_000_000), Rate::from_bps(1_000_000), Duration::from_millis(50))
            .unwrap();
    assert_eq!(Scenario { name: scenario.name.clone(), ..same }, scenario);
}

#[test]
fn a_scenario_without_a_name_has_that_of_its_file_within_the_limits_of_names() {
    for (file, name) in [
        ("mine.toml", "mine".to_owned()),
        ("my line.toml", "my-line".to_owned()),
        // A name must not begin with a dot, and the dash before it takes one of the 100 characters.
        (&format!(".{}.toml", "n".repeat(99)), format!("-.{}", "n".repeat(98))),
        // One dash for each letter, not for each of its two bytes.
        (&format!("{}.toml", "é".repeat(120)), "-".repeat(100)),
    ] {
        let document = Document::parse(file, "qdiscs = \"pfifo\"", Path::new("")).unwrap();
        let scenario = document.resolve(&Names::default()).unwrap();
        assert_eq!(scenario.name, name);
        let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default());
        assert_eq!(again.map(|again| again.name), Ok(name));
    }
}

#[test]
fn the_resolved_scenario_is_itself_a_scenario_with_the_same_meaning() {
    // The seed is above 2^53, where a number of JSON that went through a float would lose digits.
    let scenario = read(
        r#"
        name = "all-keys"
        duration = "20s"
        warmup = "1s"
        seed = 18446744073709551600
        seeds = 3
        qdiscs = ["pfifo limit 9", { label = "mixed", down = "bfifo", up = "pfifo limit 50" }]
        [link]
        down = { schedule = [["0s", "100mbit"], ["5s", "0bit"], ["6s", "1.5 Mbit/s"]] }
        up = "1Mbps"
        rtt = "0.1s"
        [tcp]
        delayed_ack = "off"
        [[flows]]
        count = 2
        size = "360kb"
        iw = 3
        [[flows]]
        kind = "cbr"
        direction = "up"
        rate = "64kbit"
        packet = 200
        stop = "10s"
        [[flows]]
        kind = "ping"
        [output]
        series = "100ms"
        "#,
    )
    .unwrap();
    let json = scenario.to_json();
    let again = Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.to_json(), json);
    // 1514000 are 1000 packets of the MTU and the link header, and 360kb are 368640 bytes.
    insta::assert_snapshot!(json, @r#"{"name":"all-keys","title":"","question":"","expect":"","source":"","duration":"20s","warmup":"1s","seed":18446744073709551600,"seeds":3,"qdiscs":[{"label":"pfifo limit 9","down":"pfifo limit 9p","up":"pfifo limit 9p"},{"label":"mixed","down":"bfifo limit 1514000","up":"pfifo limit 50p"}],"link":{"down":{"schedule":[["0s","100mbit"],["5s","0bit"],["6s","1500kbit"]]},"up":"1mbit","rtt":"100ms","mtu":1500,"framing":14},"tcp":{"cc":"cubic","iw":10,"mss":1460,"delayed_ack":"off","ecn":false,"sack":true,"min_rto":"200ms","profile":"linux"},"flows":[{"kind":"tcp","direction":"down","count":2,"start":"0s","start_jitter":"0s","rtt":"100ms","size":368640,"cc":"cubic","iw":3,"mss":1460,"delayed_ack":"off","ecn":false,"sack":true,"min_rto":"200ms","profile":"linux"},{"kind":"cbr","direction":"up","count":1,"start":"0s","start_jitter":"0s","stop":"10s","rtt":"100ms","rate":"64kbit","packet":200,"ecn":false},{"kind":"ping","direction":"up","count":1,"start":"0s","start_jitter":"0s","rtt":"100ms","interval":"200ms","packet":64}],"output":{"series":"100ms"}}"#);
}

#[test]
fn every_scenario_of_the_repository_resolves_and_opens_with_question_expectation_and_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["# Question:", "# Expected:", "# Source:"] {
            assert!(text.contains(word), "{} lacks `{word}`", path.display());
        }
        if !cfg!(feature = "quic") && text.contains("kind = \"quic") {
            continue;
        }
        let document = Document::load(&path).unwrap();
        match crate::sweep::expand(&document, &Names::default()) {
            Ok(points) => names.extend(points.first().map(|point| point.1.name.clone())),
            Err(error) => panic!("{error}"),
        }
    }
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
}

#[test]
fn the_first_scenario_is_the_default_load_spelt_out() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/rrul-10-1.toml");
    let written = Document::load(&path).unwrap().resolve(&Names::default()).unwrap();
    let default = Document::default().resolve(&Names::default()).unwrap();
    let words =
        |scenario: &Scenario| (scenario.name.clone(), scenario.title.clone(), scenario.question.clone());
    let (name, title, question) = words(&written);
    let expect = written.expect.clone();
    let source = written.source.clone();
    // Its disciplines are those of the paper.
    let qdiscs = written.qdiscs.clone();
    assert_eq!(Scenario { name, title, question, expect, source, qdiscs, ..default }, written);
}
