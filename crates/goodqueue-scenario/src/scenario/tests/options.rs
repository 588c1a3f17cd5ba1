//! The options of the command line that change a scenario.

use super::*;

#[test]
fn the_options_of_the_command_line_win_over_the_file() {
    let mut document =
        Document::parse("load.toml", "duration = \"5s\"\n[sweep]\n\"link.up\" = [\"1mbit\"]", Path::new(""))
            .unwrap();
    document
        .apply(&Overrides {
            rate: Some("20mbit".into()),
            up: Some("2 Mbit/s".into()),
            rtt: Some("10ms".into()),
            flows: Some("2".into()),
            time: Some("30s".into()),
            seeds: Some("3".into()),
            qdiscs: vec!["codel target 13ms".into(), "pfifo limit 9".into()],
            set: vec!["tcp.iw=3".into(), "tcp.cc = newreno".into(), "output.json=\"a.json\"".into()],
            ..Overrides::default()
        })
        .unwrap();
    let points = crate::sweep::expand(&document, &Names::default()).unwrap();
    let (values, scenario) = &points[0];
    assert!(values.is_empty(), "--up is not swept any more");
    assert_eq!((&scenario.link.down.rate, &scenario.link.up.rate), (&rate(20_000_000), &rate(2_000_000)));
    assert_eq!(scenario.link.rtt, Duration::from_millis(10));
    assert_eq!(scenario.duration, Duration::from_secs(30));
    assert_eq!((scenario.seeds, scenario.qdiscs.len()), (3, 2));
    assert_eq!((scenario.tcp.iw, scenario.tcp.cc.as_str()), (3, "newreno"));
    assert_eq!(scenario.output.json.as_deref(), Some("a.json"));
    assert_eq!(scenario.flows.iter().map(|group| group.count).collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn entries_of_lists_are_set_by_number() {
    let mut document =
        Document::parse("load.toml", "qdiscs = \"pfifo\"\n[[flows]]\n", Path::new("")).unwrap();
    document.assign("--set", "flows.0.count=7").unwrap();
    assert_eq!(document.resolve(&Names::default()).unwrap().flows[0].count, 7);
    insta::assert_snapshot!(document.assign("--set", "flows.1.count=7").unwrap_err(), @r"
    --set: `flows` has no entry `1`
      allowed: a number below 1, the first entry being 0
    ");
    insta::assert_snapshot!(Document::default().assign("--set", "flows.0.count=7").unwrap_err(), @r"
    --set: `flows` is not given, so it has no entry 0
      help: give all of it, such as `flows=[...]`, or write it in a scenario file
    ");
    insta::assert_snapshot!(document.assign("--set", "seeds").unwrap_err(), @r"
    --set: `seeds` has no `=`
      allowed: a key and its value, such as `link.up=1mbit`
    ");
    assert!(document.assign("--set", "..=1").is_err());
    assert!(document.assign("--set", "qdiscs.up=1").is_err());
}

#[test]
fn every_value_that_a_file_can_hold_can_be_set() {
    let same = |written: &str, set: &[&str]| {
        let file = Document::parse("load.toml", written, Path::new("")).unwrap();
        let mut document = Document::parse("load.toml", "flows = []", Path::new("")).unwrap();
        set.iter().for_each(|assignment| document.assign("--set", assignment).unwrap());
        let file = file.resolve(&Names::default());
        let document = document.resolve(&Names::default());
        assert_eq!(file.unwrap(), document.unwrap(), "{written}");
    };
    same("flows = []\n[wifi]\nerror = 0.2\nattempts = 3", &["wifi.error=0.2", "wifi.attempts=3"]);
    same("flows = []\n[wifi]\nstations = [{ error = 1e-3 }]", &["wifi.stations=[{ error = 1e-3 }]"]);
    same(
        "[[flows]]\nkind = \"packmime\"\nconnections = 2.5\n[[flows]]\ncount = 2",
        &[
            "flows=[{ kind = \"packmime\", connections = 1 }, {}]",
            "flows.0.connections=2.5",
            "flows.1.count=2",
        ],
    );
    same("flows = []\ntitle = \"2026-01-01\"", &["title=2026-01-01"]);
    let swept =
        Document::parse("load.toml", "flows = []\n[sweep]\n\"wifi.error\" = [0.1, 0.2]", Path::new(""));
    assert_eq!(crate::sweep::expand(&swept.unwrap(), &Names::default()).unwrap().len(), 2);
    let mut wrong = Document::default();
    wrong.assign("--set", "wifi.error=1.5").unwrap();
    let refused = wrong.resolve(&Names::default()).unwrap_err().to_string();
    assert!(refused.contains("--set") && refused.contains("0 or more, and less than 1"), "{refused}");
}

#[test]
fn each_direction_may_have_its_own_discipline_and_its_name_can_be_given_again() {
    let resolved = |qdiscs: &[&str], up: &[&str]| {
        let words = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let mut document = Document::default();
        document.apply(&Overrides { qdiscs: words(qdiscs), qdiscs_up: words(up), ..Overrides::default() })?;
        document.resolve(&Names::default())
    };
    let names = |scenario: &Scenario| {
        let name = |choice: &QdiscChoice| {
            (choice.label.clone(), choice.down.config.kind().name, choice.up.config.kind().name)
        };
        scenario.qdiscs.iter().map(name).collect::<Vec<_>>()
    };
    let one_for_all = resolved(&["codel", "pie"], &["fq_codel limit 99"]).unwrap();
    let expected = [
        ("codel / fq_codel limit 99".to_owned(), "codel", "fq_codel"),
        ("pie / fq_codel limit 99".to_owned(), "pie", "fq_codel"),
    ];
    assert_eq!(names(&one_for_all), expected);
    let labels: Vec<&str> = one_for_all.qdiscs.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(resolved(&labels, &[]).unwrap().qdiscs, one_for_all.qdiscs);
    let pairs = resolved(&["codel", "pie"], &["pie", "codel"]).unwrap();
    assert_eq!(names(&pairs)[1], ("pie / codel".to_owned(), "pie", "codel"));
    for (qdiscs, up, said) in [
        (&[][..], &["pie"][..], "add `--qdisc TC`"),
        (&["codel", "pie", "red"], &["pie", "codel"], "2 times and `--qdisc` 3 times"),
        (&["codel / pie taget 5ms"], &[], "          ^^^^^\n"),
    ] {
        let error = resolved(qdiscs, up).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_bad_option_is_shown_with_its_name() {
    let with = |overrides: Overrides| {
        let mut document = Document::parse("load.toml", "qdiscs = \"pfifo\"", Path::new("")).unwrap();
        let resolved = document.apply(&overrides).and_then(|()| document.resolve(&Names::default()));
        resolved.unwrap_err().to_string()
    };
    insta::assert_snapshot!(with(Overrides { rate: Some("10mbps".into()), ..Overrides::default() }), @r"
    --rate: the unit of the rate `10mbps` has two readings: bytes per second, as in tc, which is 80 Mbit/s, or bits per second, which is 10 Mbit/s
      help: write `80mbit` or `10mbit`
    ");
    insta::assert_snapshot!(with(Overrides { qdiscs: vec!["pfifo limmit 5".into()], ..Overrides::default() }), @r"
    --qdisc: pfifo has no parameter `limmit`
       | pfifo limmit 5
       |       ^^^^^^
      allowed: limit
      help: did you mean `limit`?
    ");
    insta::assert_snapshot!(with(Overrides { set: vec!["link.upp=1mbit".into()], ..Overrides::default() }), @r"
    --set: [link] has no key `upp`
      allowed: down, up, rtt, mtu, framing, delay_tick
      help: did you mean `up`?
    ");
    insta::assert_snapshot!(with(Overrides { rate: Some("1mbit".into()), trace_down: Some("x".into()), ..Overrides::default() }), @r"
    --rate and --trace-down exclude each other: a trace is the rate of the link
      help: leave one of the two out
    ");
    assert!(
        with(Overrides { trace_down: Some("/none".into()), ..Overrides::default() })
            .contains("cannot be opened")
    );
}

#[test]
fn a_listed_discipline_is_not_added_again_however_its_line_is_spaced() {
    let text = "qdiscs = [\"codel  target 5ms\", { down = \"pie\" }, { down = \"pie\", up = \"codel\" }]";
    let mut document = Document::parse("load.toml", text, Path::new("")).unwrap();
    let lines = ["codel target 5ms", "pie", "pie / codel", "cake"];
    document.add_qdiscs(lines.iter().map(|line| (*line, *line))).unwrap();
    document.add_qdiscs(lines.iter().map(|line| (*line, *line))).unwrap();
    let scenario = document.resolve(&Names::default()).unwrap();
    let labels: Vec<&str> = scenario.qdiscs.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, lines);
}

#[test]
fn a_size_of_zero_bytes_is_no_binary_number() {
    let problem = |value: &str| {
        let mut document = Document::default();
        document.set("--set", "tcp.rwnd", value).unwrap();
        document.resolve(&Names::default()).unwrap_err().problem().to_owned()
    };
    assert_eq!(problem("0b"), problem("\"0b\""));
    let mut document = Document::default();
    document.set("--set", "tcp.iw", "0b101").unwrap();
    assert_eq!(document.resolve(&Names::default()).unwrap().tcp.iw, 5);
}

#[test]
fn a_run_that_is_too_short_for_a_scenario_is_an_error_about_the_option() {
    let time = |document: &mut Document, time: &str| {
        document.apply(&Overrides { time: Some(time.into()), ..Overrides::default() }).unwrap();
        document.resolve(&Names::default()).map_err(|error| error.to_string())
    };
    for scenario in crate::library::SCENARIOS {
        let mut document = crate::library::load_builtin(scenario.name).unwrap();
        if let Err(said) = time(&mut document, "1s") {
            assert!(said.starts_with("--time: ") && said.contains("allowed: a duration above "), "{said}");
            assert!(said.contains("help: choose a longer run"), "{said}");
        }
    }
    let mut document = crate::library::load_builtin("sparse-flow").unwrap();
    insta::assert_snapshot!(time(&mut document, "25s").unwrap_err(), @r"
    --time: a flow may start at 25s, when the run of 25s is over
      allowed: a duration above 25s for this scenario
      help: choose a longer run
    ");
    time(&mut document, "26s").unwrap();
}
