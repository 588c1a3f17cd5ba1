use goodqueue_tcp::congestion::parameter::Value as ParameterValue;

use super::*;
use proptest::prelude::*;
use std::path::Path;

fn read(text: &str) -> Result<Scenario, Diagnostic> {
    Document::parse("load.toml", text, Path::new(""))?.resolve(&Names::default())
}

/// The message about `text`, to which a discipline is added so that no default is needed.
fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn rate(bits: u64) -> LinkRate {
    LinkRate::Fixed(Rate::from_bps(bits))
}

#[test]
fn an_empty_file_is_the_default_load_of_compare() {
    let scenario = read("").unwrap();
    assert_eq!(scenario.link.down.rate, rate(10_000_000));
    assert_eq!(scenario.link.up.rate, rate(1_000_000));
    assert_eq!(scenario.link.rtt, Duration::from_millis(50));
    assert_eq!(scenario.duration, Duration::from_secs(60));
    let labels: Vec<&str> = scenario.qdiscs.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["pfifo limit 127", "red adaptive", "pie", "codel", "sfq", "fq_codel"]);
    let flows: Vec<_> =
        scenario.flows.iter().map(|group| (group.traffic.kind(), group.direction, group.count)).collect();
    assert_eq!(flows, [("tcp", Direction::Down, 4), ("tcp", Direction::Up, 4), ("ping", Direction::Up, 1)]);
    let same =
        Scenario::rrul(Rate::from_bps(10_000_000), Rate::from_bps(1_000_000), Duration::from_millis(50))
            .unwrap();
    assert_eq!(Scenario { name: scenario.name.clone(), ..same }, scenario);
}

#[test]
fn the_resolved_scenario_is_itself_a_scenario_with_the_same_meaning() {
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
    insta::assert_snapshot!(json, @r#"{"name":"all-keys","title":"","question":"","expect":"","source":"","duration":"20s","warmup":"1s","seed":18446744073709551600,"seeds":3,"qdiscs":[{"label":"pfifo limit 9","down":"pfifo limit 9p","up":"pfifo limit 9p"},{"label":"mixed","down":"bfifo limit 1514000","up":"pfifo limit 50p"}],"link":{"down":{"schedule":[["0s","100mbit"],["5s","0bit"],["6s","1500kbit"]]},"up":"1mbit","rtt":"100ms","mtu":1500,"framing":14},"tcp":{"cc":"cubic","iw":10,"mss":1460,"delayed_ack":"off","ecn":false,"sack":true,"min_rto":"200ms","profile":"rfc"},"flows":[{"kind":"tcp","direction":"down","count":2,"start":"0s","start_jitter":"0s","rtt":"100ms","size":368640,"cc":"cubic","iw":3,"mss":1460,"delayed_ack":"off","ecn":false,"sack":true,"min_rto":"200ms","profile":"rfc"},{"kind":"cbr","direction":"up","count":1,"start":"0s","start_jitter":"0s","stop":"10s","rtt":"100ms","rate":"64kbit","packet":200,"ecn":false},{"kind":"ping","direction":"up","count":1,"start":"0s","start_jitter":"0s","rtt":"100ms","interval":"200ms","packet":64}],"output":{"series":"100ms"}}"#);
}

#[test]
fn a_line_of_which_one_rate_is_given_is_symmetric() {
    let scenario = read("qdiscs = \"pfifo\"\nlink.down = \"50mbit\"").unwrap();
    assert_eq!(scenario.link.up.rate, rate(50_000_000));
    let only_up = read("qdiscs = \"pfifo\"\nlink.up = \"5mbit\"").unwrap();
    assert_eq!((only_up.link.down.rate, only_up.link.up.rate), (rate(10_000_000), rate(5_000_000)));
}

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
        let (file, document) = (file.resolve(&Names::default()), document.resolve(&Names::default()));
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
      allowed: down, up, rtt, delay_tick, mtu, framing
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
fn a_misspelt_key_is_shown_in_the_file_with_the_nearest() {
    insta::assert_snapshot!(message("name = \"x\"\ndurration = \"60s\"\n"), @r#"
    load.toml:2:1: the scenario has no key `durration`
      2 | durration = "60s"
        | ^^^^^^^^^
      allowed: name, title, question, expect, source, duration, warmup, seed, seeds, qdiscs, link, hops, wifi, tcp, flows, sweep, output
      help: did you mean `duration`?
    "#);
    insta::assert_snapshot!(message("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"ping\"\n  intervall = \"1s\"\n"), @r#"
    load.toml:4:3: `flows.0` has no key `intervall`
      4 |   intervall = "1s"
        |   ^^^^^^^^^
      allowed: kind, label, direction, count, start, start_jitter, together, stop, rtt, rtt_step, access, access_rate, dscp, client, server, enters, interval, packet
      help: did you mean `interval`?
    "#);
}

#[test]
fn a_fault_within_a_value_is_shown_at_its_column() {
    insta::assert_snapshot!(message("qdiscs = [\n  \"pfifo\",\n  'pfifo limit 3 taget 5ms',\n]\n"), @r"
    load.toml:3:18: pfifo has no parameter `taget`
      3 |   'pfifo limit 3 taget 5ms',
        |                  ^^^^^
      allowed: limit
    ");
    insta::assert_snapshot!(message("link.down = \"10mbps\""), @r#"
    load.toml:1:13: `down`: the unit of the rate `10mbps` has two readings: bytes per second, as in tc, which is 80 Mbit/s, or bits per second, which is 10 Mbit/s
      1 | link.down = "10mbps"
        |             ^^^^^^^^
      help: write `80mbit` or `10mbit`
    "#);
    insta::assert_snapshot!(message("duration = 60"), @r"
    load.toml:1:12: `duration`: the time `60` has no unit
      1 | duration = 60
        |            ^^
      allowed: `50ms`, `0.5s`, `100us`, `1 min`
      help: write `60s` for seconds, `60ms` for milliseconds
    ");
}

#[test]
fn text_that_is_not_toml_is_shown_where_it_breaks() {
    insta::assert_snapshot!(message("name = \"x\"\nseeds = = 3\n"), @r"
    load.toml:2:9: this is not TOML: extra `=`, expected nothing
      2 | seeds = = 3
        |         ^
    ");
    assert!(message("seed = 1\nseed = 2\n").contains("duplicate key"));
    assert!(message(&"a.".repeat(100_000)).contains("nested deeper"));
    assert!(message(&format!("a = {}", "[".repeat(100_000))).contains("not TOML"));
    assert!(message(&"#".repeat(2 << 20)).contains("larger than 1 MiB"));
    assert!(read("\u{feff}qdiscs = \"pfifo\"\n").is_ok(), "a byte order mark is no fault");
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    let message = |text: &str| message(&format!("qdiscs = \"pfifo\"\n{text}"));
    insta::assert_snapshot!(message("link.down = \"0mbit\""), @r#"
    load.toml:2:13: `down`: at a rate of 0 nothing ever leaves the queue
      2 | link.down = "0mbit"
        |             ^^^^^^^
      allowed: a rate above 0
      help: for an outage write a schedule with a step of "0bit"
    "#);
    insta::assert_snapshot!(message("tcp.cc = \"cubik\""), @r#"
    load.toml:2:10: `cc`: `cubik` is unknown
      2 | tcp.cc = "cubik"
        |          ^^^^^^^
      allowed: newreno, cubic
      help: did you mean `cubic`?
    "#);
    insta::assert_snapshot!(message("tcp.mss = 1500"), @r"
    load.toml:2:11: `mss`: a segment of 1500 bytes and 40 bytes of headers do not fit the MTU of 1500
      2 | tcp.mss = 1500
        |           ^^^^
      allowed: 1 to 1460
    ");
    insta::assert_snapshot!(message("[[flows]]\nstart = \"90s\""), @r#"
    load.toml:3:9: `start`: a flow may start at 90s, when the run of 60s is over
      3 | start = "90s"
        |         ^^^^^
      allowed: start + start_jitter below the duration
    "#);
    insta::assert_snapshot!(message("link.down = { schedule = [[\"0s\", \"1mbit\"], [\"0s\", \"2mbit\"]] }"), @r#"
    load.toml:2:45: 0s does not come after 0s
      2 | link.down = { schedule = [["0s", "1mbit"], ["0s", "2mbit"]] }
        |                                             ^^^^
      allowed: times that increase
    "#);
    insta::assert_snapshot!(message("link.up = { rate = \"1mbit\", trace = \"x\" }"), @r#"
    load.toml:2:11: `up`: 2 of `rate`, `trace` and `schedule` are given
      2 | link.up = { rate = "1mbit", trace = "x" }
        |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      allowed: exactly one of the three
    "#);
    insta::assert_snapshot!(message("name = \"../x\""), @r#"
    load.toml:2:8: `name`: `../x` cannot be the name of files
      2 | name = "../x"
        |        ^^^^^^
      allowed: 1 to 100 of the characters A-Z a-z 0-9 . _ -, not beginning with a dot
      help: put free text into `title`
    "#);
    insta::assert_snapshot!(message("[[flows]]\nkind = \"cbr\""), @r#"
    load.toml:2:1: `rate`: a flow of kind cbr needs a rate
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: such as rate = "64kbit"
    "#);
    for bad in [
        "duration = \"0s\"",
        "duration = nan",
        "duration = \"inf\"",
        "duration = \"-1s\"",
        "duration = \"99999999999s\"",
        "duration = 1979-05-27",
        "warmup = \"60s\"",
        "seed = -1",
        "seed = 18446744073709551615",
        "seed = 1.5",
        "seeds = 0",
        "title = 3",
        "link = 3",
        "link.rtt = \"61min\"",
        "link.rtt = \"1h1\"",
        "link.mtu = 67",
        "link.mtu = 65536",
        "link.mtu = 1e400",
        "link.up = {}",
        "link.up = []",
        "link.up = \"99999999tbit\"",
        "link.up = { schedule = [] }",
        "link.up = { schedule = [[\"1s\", \"1mbit\"]] }",
        "link.up = { schedule = [[\"0s\", \"0bit\"]] }",
        "link.up = { schedule = [[\"0s\"]] }",
        "link.up = { schedule = [[\"0s\", \"1mbit\"], [\"1s\", \"2mbit\"]], repeat = \"1s\" }",
        "link.up = { schedule = [[\"0s\", \"1mbit\"]], repeat = \"1ns\" }",
        "link.up = { rate = \"1mbit\", repeat = \"1s\" }",
        "link.up = { schedule = [\"0s\", \"1mbit\"] }",
        "link.up = { trace = 3 }",
        "tcp.iw = 0",
        "tcp.mss = 0",
        "tcp.sack = \"yes\"",
        "tcp.delayed_ack = false",
        "tcp.delayed_ack = \"0s\"",
        "tcp.delayed_ack = { every = 0 }",
        "tcp.min_rto = \"0s\"",
        "tcp.hystart = \"linux\"",
        "flows = -1",
        "flows = 50001",
        "flows = \"4\"",
        "flows = [3]",
        "flows = [{ count = 0 }]",
        "flows = [{ count = 100000 }, {}]",
        "flows = [{ size = 0 }]",
        "flows = [{ size = -1 }]",
        "flows = [{ direction = \"sideways\" }]",
        "flows = [{ kind = \"udp\" }]",
        "flows = [{ start = \"5s\", stop = \"5s\" }]",
        "flows = [{ start = \"59s\", start_jitter = \"1s\" }]",
        "flows = [{ kind = \"ping\", interval = \"0s\" }]",
        "flows = [{ kind = \"ping\", packet = 1501 }]",
        "flows = [{ kind = \"cbr\", rate = \"0bit\" }]",
        "flows = [{ kind = \"cbr\", rate = \"1mbit\", cc = \"cubic\" }]",
        "output.series = \"1us\"",
        "output.series = \"61s\"",
        "output.json = \"\"",
    ] {
        let text = message(bad);
        assert!(text.starts_with("load.toml:2:"), "{bad}: {text}");
    }
    for bad in
        ["qdiscs = []", "qdiscs = 3", "qdiscs = [\"pfifo\", \" pfifo \"]", "qdiscs = [{ up = \"pfifo\" }]"]
    {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn flows_take_hystart_from_their_defaults_where_it_fits_their_congestion_control() {
    let names = Names { cc: &["cubic", "vegas"], ..Names::default() };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let scenario = resolve(
        "tcp.hystart = \"rfc9406\"\n[[flows]]\n[[flows]]\ncc = \"vegas\"\n[[flows]]\nhystart = \"off\"",
    );
    let json = scenario.unwrap().to_json();
    let told: Vec<_> = (0..3).map(|flow| json["flows"][flow]["hystart"].as_str()).collect();
    assert_eq!(told, [Some("rfc9406"), None, Some("off")]);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
    let refused = resolve("[[flows]]\nhystart = \"rfc9406\"\ncc = \"vegas\"").unwrap_err().to_string();
    insta::assert_snapshot!(refused, @r#"
    load.toml:2:11: `hystart`: HyStart++ is not for the slow start of `vegas`
      2 | hystart = "rfc9406"
        |           ^^^^^^^^^
      allowed: with cubic, newreno and reno
      help: leave `hystart` out, or choose another `cc` or `profile`
    "#);
}

#[test]
fn only_the_flows_of_a_congestion_control_take_its_parameters() {
    let names = Names { cc: &["cubic", "ledbat"], profiles: &["rfc", "libutp"] };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let text = "tcp.cc = \"ledbat\"\ntcp.ledbat = { target = \"5ms\", gain = 10 }\n[[flows]]\n[[flows]]\ncc = \"cubic\"\n\
                [[flows]]\nprofile = \"libutp\"\n[[flows]]\nledbat = { target = \"25ms\" }";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..4).map(|flow| json["flows"][flow]["ledbat"].to_string()).collect();
    assert_eq!(told, [r#"{"target":"5ms","gain":10.0}"#, "null", "null", r#"{"target":"25ms","gain":1.0}"#]);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
    let refused = resolve("[[flows]]\nledbat = { gain = 2 }").unwrap_err().to_string();
    assert!(
        refused.contains("the parameters of `ledbat` do not apply to `cubic` of the profile `rfc`"),
        "{refused}"
    );
    for bad in
        ["{ target = \"0s\" }", "{ target = \"11s\" }", "{ gain = 0 }", "{ gain = -1 }", "{ speed = 3 }", "5"]
    {
        assert!(resolve(&format!("tcp.cc = \"ledbat\"\ntcp.ledbat = {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn every_parameter_of_every_congestion_control_can_be_set_and_reads_back() {
    for about in goodqueue_tcp::registry::CONTROLLERS {
        for parameter in about.parameters {
            let most = match parameter.most {
                ParameterValue::Time(span) => format!("\"{span}\""),
                number => number.to_string(),
            };
            let text = format!(
                "tcp.cc = \"{cc}\"\ntcp.{cc}.{name} = {most}\n[[flows]]",
                cc = about.name,
                name = parameter.name
            );
            let names = Names { cc: &[about.name], profiles: &["rfc"] };
            let resolve = |document: Document| document.resolve(&names).unwrap();
            let scenario = resolve(Document::parse("load.toml", &text, Path::new("")).unwrap());
            let set = scenario.tcp.tuning.as_ref().expect("it was set").values.iter();
            assert!(set.into_iter().any(|(name, value)| *name == parameter.name && *value == parameter.most));
            let json = scenario.to_json();
            assert_eq!(resolve(Document::from_json(&json).unwrap()).to_json(), json, "{text}");
        }
    }
}

#[test]
fn only_linux_3_2_remembers_earlier_connections() {
    let names = Names { cc: &["cubic"], profiles: &["rfc", "linux32", "libutp"] };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let text = "tcp.profile = \"linux32\"\ntcp.remembers = { rtt = \"5s\", rttvar = \"2s\", ssthresh = 200 }\n[[flows]]\n[[flows]]\n\
                profile = \"libutp\"\n[[flows]]\nremembers = { rtt = \"2s\" }\n[[flows]]\nremembers = {}";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..4).map(|flow| json["flows"][flow]["remembers"].to_string()).collect();
    assert_eq!(told, [r#"{"rtt":"5s","rttvar":"2s","ssthresh":200}"#, "null", r#"{"rtt":"2s"}"#, "null"]);
    assert_eq!(
        Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json()["flows"][0],
        json["flows"][0]
    );
    let refused = resolve("[[flows]]\nremembers = { rtt = \"5s\" }").unwrap_err().to_string();
    assert!(refused.contains("with `linux32`"), "{refused}");
    for bad in ["{ rtt = \"61s\" }", "{ rttvar = \"61s\" }", "{ ssthresh = 1 }", "{ cwnd = 3 }", "5"] {
        assert!(resolve(&format!("tcp.profile = \"linux32\"\ntcp.remembers = {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn a_schedule_repeats_until_the_run_ends() {
    let text = "duration = \"5s\"\nlink.down = { schedule = [[\"0s\", \"1mbit\"], [\"1s\", \"2mbit\"]], repeat = \"2s\" }";
    let json = read(text).unwrap().to_json();
    let steps = r#"[["0s","1mbit"],["1s","2mbit"],["2s","1mbit"],["3s","2mbit"],["4s","1mbit"]]"#;
    assert_eq!(json["link"]["down"]["schedule"].to_string(), steps);
}

#[test]
fn what_is_at_the_edge_of_a_range_is_accepted() {
    for good in [
        "duration = \"1ns\"",
        "link.rtt = \"0s\"",
        "link.rtt = \"1h\"",
        "link.up = \"18446744073709551615bit\"",
        "link.up = \"1bit\"",
        "link.mtu = 68",
        "seed = 0",
        "seed = 18446744073709551614",
        "flows = 0",
        "flows = 50000",
        "flows = []",
        "flows = [{ count = 100000 }]",
        "name = \"a\"",
        "duration = \"1 min\"",
    ] {
        let scenario = read(&format!("qdiscs = \"pfifo\"\n{good}"));
        assert!(scenario.is_ok(), "{good}: {}", scenario.unwrap_err());
    }
}

#[test]
fn a_trace_is_found_beside_the_scenario_and_from_the_command_line_in_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lte.down"), "1\n2\n").unwrap();
    let path = folder.path().join("lte.toml");
    std::fs::write(&path, "qdiscs = \"pfifo\"\nlink.down = { trace = \"lte.down\" }").unwrap();
    let mut document = Document::load(&path).unwrap();
    let scenario = document.resolve(&Names::default()).unwrap();
    assert_eq!(scenario.name, "lte");
    assert_eq!(scenario.link.down.rate.nominal(), Rate::from_bps(12_032_000));
    assert_eq!(scenario.link.up, scenario.link.down);
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.link, scenario.link);

    document.apply(&Overrides { trace_down: Some("lte.down".into()), ..Overrides::default() }).unwrap();
    assert!(document.resolve(&Names::default()).is_err(), "not in the working directory of this test");
    std::fs::write(&path, b"name = \"\xff\"").unwrap();
    assert!(
        Document::load(&path)
            .unwrap_err()
            .to_string()
            .ends_with("lte.toml:1:1: this is not UTF-8 text\n  help: save the file as UTF-8")
    );
    assert!(Document::load(folder.path()).is_err());
}

#[test]
fn flows_that_start_together_share_one_draw_of_the_seed() {
    let flows = "[[flows]]\nstart_jitter = \"650ms\"\ncount = 3\ntogether = true\n[[flows]]\nstart_jitter = \"650ms\"";
    let scenario = read(flows).unwrap();
    let starts = |seed| -> Vec<Duration> { scenario.flows(seed).map(|flow| flow.start).collect() };
    let first = starts(1);
    assert!(first[0] == first[1] && first[1] == first[2] && first[2] != first[3]);
    assert!(starts(2)[0] != first[0]);
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, scenario.flows);
}

#[test]
fn each_further_flow_of_a_table_has_a_round_trip_time_one_step_longer() {
    let scenario =
        read("flows = [{ count = 3, rtt = \"102ms\", rtt_step = \"2ms\" }, { rtt = \"50ms\" }]").unwrap();
    let times: Vec<Duration> = scenario.flows(1).map(|flow| flow.rtt).collect();
    assert_eq!(times, [102, 104, 106, 50].map(Duration::from_millis));
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, scenario.flows);
    let refused = message("flows = [{ count = 11, rtt_step = \"6min\" }]");
    assert!(refused.contains("`rtt_step`: the last flow's round-trip time of"), "{refused}");
}

#[test]
fn starts_depend_on_the_seed_and_on_the_number_of_the_flow_alone() {
    let few = read("qdiscs = \"pfifo\"\nflows = [{ count = 2, start = \"1s\", start_jitter = \"100ms\" }]")
        .unwrap();
    let more = read("qdiscs = \"pfifo\"\nflows = [{ count = 9, start = \"1s\", start_jitter = \"100ms\" }]")
        .unwrap();
    let starts = |scenario: &Scenario, seed| scenario.flows(seed).map(|flow| flow.start).collect::<Vec<_>>();
    assert_eq!(starts(&few, 1), starts(&more, 1)[..2]);
    assert_ne!(starts(&few, 1), starts(&few, 2));
    assert!(starts(&more, 7).iter().all(|start| (1000..1100).contains(&(start.as_nanos() / 1_000_000))));
    let ids: Vec<u32> = more.flows(0).map(|flow| flow.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn every_scenario_of_the_repository_resolves_and_opens_with_question_expectation_and_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names = Vec::new();
    let controls: Vec<&str> = goodqueue_tcp::registry::names().collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["# Question:", "# Expected:", "# Source:"] {
            assert!(text.contains(word), "{} lacks `{word}`", path.display());
        }
        let document = Document::load(&path).unwrap();
        match crate::sweep::expand(&document, &Names { cc: &controls, ..Names::default() }) {
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
    let (expect, source) = (written.expect.clone(), written.source.clone());
    assert_eq!(Scenario { name, title, question, expect, source, ..default }, written);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        text in "([a-z.]{1,6} = (\"[a-z0-9. ]{0,8}\"|[0-9a-z.+-]{1,6}|\\[\"\\PC{0,4}\"\\]|\\{ [a-z]{1,4} = 1 \\})\n|\\[\\[?(link|flows|tcp|sweep)\\]?\\]\n|\\PC{0,9}\n){0,6}",
    ) {
        if let Ok(document) = Document::parse("any", &text, Path::new("")) {
            let _ = crate::sweep::expand(&document, &Names::default());
        }
    }

    #[test]
    fn no_value_of_a_known_key_makes_the_reader_panic(
        key in prop::sample::select(vec![
            "name", "duration", "warmup", "seed", "seeds", "qdiscs", "link.down", "link.up", "link.rtt", "link.mtu",
            "tcp.iw", "tcp.mss", "tcp.delayed_ack", "flows", "flows.0.size", "sweep.seed", "output.series", "link",
        ]),
        value in "\\PC{0,20}|[0-9]{1,30}[a-z]{0,4}|\\[[0-9,\"a-z]{0,10}\\]|\\{[a-z]{1,4} = [0-9]{1,3}\\}",
    ) {
        let mut document = Document::default();
        let assignment = format!("{key}={value}");
        if document.assign("--set", &assignment).is_ok() {
            let _ = crate::sweep::expand(&document, &Names::default());
        }
    }
}

#[test]
fn hops_stand_in_series_with_the_bottleneck_and_are_told_back() {
    let text = r#"
        [link]
        down = { rate = "100mbit", driver = "bql" }
        [[hops]]
        name = "modem"
        down = "10mbit"
        up = { rate = "1mbit", driver = "64p" }
        delay = "2ms"
        qdisc = { down = "pfifo limit 600", up = "codel" }
        [[hops]]
        side = "server"
        qdisc = "netem loss 1%"
        [[hops]]
        name = "twin"
        qdisc = "compared"
    "#;
    let scenario = read(text).expect("valid");
    let [modem, lossy, twin] = scenario.hops.as_slice() else { panic!("three") };
    assert_eq!(
        (modem.name.as_str(), modem.side, modem.up.driver),
        ("modem", Side::Client, Some(Driver::Packets(64)))
    );
    assert_eq!(
        (lossy.name.as_str(), lossy.side, &lossy.down.rate),
        ("hop 2", Side::Server, &LinkRate::Unlimited)
    );
    assert_eq!(twin.qdisc, HopQdisc::Compared);
    let told = Document::from_json(&scenario.to_json()).expect("json");
    assert_eq!(told.resolve(&Names::default()).expect("valid").to_json(), scenario.to_json());
}

#[test]
fn servers_join_in_front_of_the_hop_that_is_named() {
    let joins = |text: &str| {
        let scenario = read(text).expect("valid");
        let told = Document::from_json(&scenario.to_json()).expect("json");
        assert_eq!(told.resolve(&Names::default()).expect("valid").flows, scenario.flows);
        let points = [(std::collections::BTreeMap::new(), scenario)];
        crate::run::jobs(&points, None).expect("valid")[0].config.flows[0].joins
    };
    let hops = "qdiscs = \"pfifo\"\n[[hops]]\nname = \"last\"\n[[hops]]\nname = \"first\"\nside = \"server\"\n[[flows]]\n";
    assert_eq!(joins(hops), 0);
    for (name, position) in [("first", 0), ("bottleneck", 1), ("last", 2)] {
        assert_eq!(joins(&format!("{hops}enters = \"{name}\"")), position, "{name}");
    }
    assert_eq!(
        joins("qdiscs = \"pfifo\"\n[[flows]]\nenters = \"bottleneck\""),
        0,
        "without hops it is the first"
    );
    let far = "qdiscs = \"pfifo\"\n[[hops]]\nname = \"last\"\ndelay = \"30ms\"\n[[flows]]\n";
    assert!(read(far).is_err(), "60 ms there and back are more than 50");
    assert_eq!(joins(&format!("{far}enters = \"last\"")), 1, "behind them nothing is left of these");
    let error = read(&format!("{hops}enters = \"frist\"")).unwrap_err().to_string();
    assert!(error.contains("there is no hop `frist`") && error.contains("did you mean `first`"), "{error}");
}

#[test]
fn impossible_hops_are_refused_with_their_place() {
    for (text, expected) in [
        ("[link]\ndown = \"unlimited\"", "no bottleneck"),
        ("[[hops]]\ndelay = \"30ms\"", "there and back"),
        ("[[hops]]\nside = \"left\"", "unknown"),
        ("[[hops]]\nname = \"a\"\n[[hops]]\nname = \"a\"", "two hops"),
        ("[[hops]]\ndown = { rate = \"1mbit\", driver = \"0p\" }", "limit of a device"),
        ("[[hops]]\nqdisc = 5", "not a queue discipline"),
        ("hops = 3", "not possible"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_wifi_channel_has_a_station_for_each_client_and_is_told_back() {
    let text = r#"
        [wifi]
        mac = "fq"
        driver_up = 224
        prepared_up = 0
        driver_order = "oldest"
        mcs = 7
        aggregate_up = 8
        stations = [{}, { mcs = 0, error = 0.1, weight = 512 }]
        [[flows]]
        client = 2
    "#;
    let scenario = read(text).expect("valid");
    let wifi = scenario.wifi.as_ref().expect("asked for");
    let mcs = |station: usize| wifi.stations[station].radio.map(|radio| radio.modulation.mcs());
    assert_eq!((mcs(0), mcs(1)), ([7, 7], [0, 0]));
    assert_eq!(wifi.stations[1].radio.map(|radio| radio.aggregate), [32, 8]);
    assert_eq!((wifi.mac, wifi.driver), ([WifiMac::Fq, WifiMac::Fifo], [123, 224]));
    let forming = goodqueue_sim::wifi::forming::Forming::Ahead(2);
    assert_eq!(wifi.forming, [forming, goodqueue_sim::wifi::forming::Forming::AtAccess]);
    let told = Document::from_json(&scenario.to_json()).expect("json");
    assert_eq!(told.resolve(&Names::default()).expect("valid").to_json(), scenario.to_json());
    let alike = read("[wifi]\n[[flows]]\nclient = 3").expect("valid");
    assert_eq!(alike.wifi.expect("asked for").stations.len(), 3);
    assert_eq!(read("").expect("valid").wifi, None);
}

#[test]
fn impossible_wifi_is_refused_with_its_place() {
    for (text, expected) in [
        ("[wifi]\nmac = \"fast\"", "unknown"),
        ("[wifi]\ndriver_order = \"random\"", "oldest"),
        ("[wifi]\nmcs = 32", "0 to 31"),
        ("[wifi]\nwidth = 30", "20 or 40"),
        ("[wifi]\nlongest = \"6ms\"", "5484us"),
        ("[wifi]\nerror = 1", "less than 1"),
        ("[wifi]\naggregate = 65", "1 to 64"),
        ("[wifi]\nstations = 3", "a list of"),
        ("[wifi]\nstations = [{}]\n[[flows]]\nclient = 2", "1 station for the clients 1 to 2"),
        ("[wifi]\nclient_rate = 7", "no key"),
        ("wifi = 3", "not a table"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn datagram_flows_are_read_and_written_with_every_default_filled_in() {
    let flow = |keys: &str| {
        let scenario = read(&format!("qdiscs = \"pfifo\"\n[[flows]]\n{keys}")).unwrap();
        let json = scenario.to_json();
        assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().to_json(), json);
        let mut flow = json["flows"][0].clone();
        let fields = flow.as_object_mut().unwrap();
        for usual in ["direction", "count", "start", "start_jitter", "rtt"] {
            fields.shift_remove(usual);
        }
        flow.to_string()
    };
    insta::assert_snapshot!(flow("kind = \"voip\""), @r#"{"kind":"voip","interval":"20ms","packet":200,"ecn":false,"concealment":true}"#);
    insta::assert_snapshot!(flow("kind = \"voip\"\ninterval = \"10ms\"\nplayout = \"60ms\"\nconcealment = false\ndscp = \"ef\"\nlabel = \"call\""), @r#"{"kind":"voip","label":"call","dscp":"EF","interval":"10ms","packet":120,"ecn":false,"playout":"60ms","concealment":false}"#);
    insta::assert_snapshot!(flow("kind = \"onoff\"\nrate = \"64kbit\""), @r#"{"kind":"onoff","rate":"64kbit","packet":210,"on":{"exponential":"500ms"},"off":{"exponential":"500ms"},"ecn":false}"#);
    insta::assert_snapshot!(flow("kind = \"onoff\"\nrate = \"1mbit\"\non = { pareto = \"1s\", shape = 1.5 }\noff = \"2s\"\nrtt = \"1s\"\naccess = \"500ms\""), @r#"{"kind":"onoff","access":"500ms","rate":"1mbit","packet":210,"on":{"pareto":"1s","shape":1.5},"off":"2s","ecn":false}"#);
    insta::assert_snapshot!(flow("kind = \"poisson\"\nrate = \"1mbit\"\npacket = { exponential = 500 }\ndscp = 63"), @r#"{"kind":"poisson","dscp":63,"rate":"1mbit","packet":{"exponential":500},"ecn":false}"#);
}

#[test]
fn datagrams_that_cannot_be_are_refused() {
    let flow = |keys: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\n{keys}"));
    insta::assert_snapshot!(flow("kind = \"voip\"\ninterval = \"0ms\""), @r#"
    load.toml:4:12: `interval`: a packet of voice each 0s is not possible
      4 | interval = "0ms"
        |            ^^^^^
      allowed: 1ms to 1s
    "#);
    insta::assert_snapshot!(flow("kind = \"voip\"\ninterval = \"500ms\""), @r#"
    load.toml:4:12: `interval`: the voice of 500ms is 4000 bytes, which with 40 of headers do not fit the MTU of 1500
      4 | interval = "500ms"
        |            ^^^^^^^
      help: give a shorter interval, or a `packet`
    "#);
    insta::assert_snapshot!(flow("kind = \"voip\"\nplayout = \"1min\""), @r#"
    load.toml:4:11: `playout`: a de-jitter buffer of 60s is not possible
      4 | playout = "1min"
        |           ^^^^^^
      allowed: at most 10s
    "#);
    insta::assert_snapshot!(flow("kind = \"onoff\""), @r#"
    load.toml:2:1: `rate`: a flow of kind onoff needs a rate
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: such as rate = "64kbit"
    "#);
    insta::assert_snapshot!(flow("kind = \"onoff\"\nrate = \"1mbit\"\non = \"1000000s\""), @r#"
    load.toml:5:6: `on`: 1000000 s in the mean are not possible
      5 | on = "1000000s"
        |      ^^^^^^^^^^
      allowed: at most 100000 s
    "#);
    insta::assert_snapshot!(flow("kind = \"poisson\"\nrate = \"0bit\""), @r#"
    load.toml:4:8: `rate`: at a rate of 0 nothing ever leaves the queue
      4 | rate = "0bit"
        |        ^^^^^^
      allowed: a rate above 0
      help: for an outage write a schedule with a step of "0bit"
    "#);
    insta::assert_snapshot!(flow("kind = \"poisson\"\nrate = \"900tbit\"\npacket = 28"), @r#"
    load.toml:4:8: `rate`: 28 bytes at 900000 Gbit/s are less than 1 ns
      4 | rate = "900tbit"
        |        ^^^^^^^^^
      help: give a lower rate or larger packets
    "#);
    insta::assert_snapshot!(flow("kind = \"cbr\"\nrate = \"1mbit\"\ndscp = \"AF44\""), @r#"
    load.toml:5:8: `dscp`: there is no code point `AF44`
      5 | dscp = "AF44"
        |        ^^^^^^
      allowed: CS0, DF, LE, CS1, AF11, AF12, AF13, CS2, AF21, AF22, AF23, CS3, AF31, AF32, AF33, CS4, AF41, AF42, AF43, CS5, VA, EF, CS6, CS7
      help: did you mean `AF41`?
    "#);
    insta::assert_snapshot!(flow("dscp = 64"), @r#"
    load.toml:3:8: `dscp`: the number 64 is not possible
      3 | dscp = 64
        |        ^^
      allowed: a whole number from 0 to 63
      help: or the name of a code point in quotes, such as "EF"
    "#);
    insta::assert_snapshot!(flow("access = \"26ms\""), @r#"
    load.toml:3:10: `access`: 26ms to the first queue and as much back are more than the round-trip time of 50ms
      3 | access = "26ms"
        |          ^^^^^^
      allowed: at most half of `rtt`, of which it is a part
    "#);
    insta::assert_snapshot!(flow("label = \"\""), @r#"
    load.toml:3:9: `label`: the label is empty
      3 | label = ""
        |         ^^
      allowed: 1 to 60 bytes
    "#);
    insta::assert_snapshot!(
        message("qdiscs = \"pfifo\"\n[[flows]]\naccess = \"20ms\"\n[[hops]]\ndelay = \"6ms\""), @r"
    load.toml:4:1: `hops`: the delays of the hops take 12ms there and back, a flow's base round-trip time with 20ms of access is 50ms
      4 | [[hops]]
        | ^^^^^^^^
      allowed: delays within the shortest `rtt`
      help: lower a `delay`, or raise `rtt`
    ");
}
