//! The links of the path: rates, schedules, traces, hops.

use super::*;

#[test]
fn a_line_of_which_one_rate_is_given_is_symmetric() {
    let scenario = read("qdiscs = \"pfifo\"\nlink.down = \"50mbit\"").unwrap();
    assert_eq!(scenario.link.up.rate, rate(50_000_000));
    let only_up = read("qdiscs = \"pfifo\"\nlink.up = \"5mbit\"").unwrap();
    assert_eq!((only_up.link.down.rate, only_up.link.up.rate), (rate(10_000_000), rate(5_000_000)));
}

#[test]
fn a_schedule_repeats_until_the_run_ends() {
    let text = "duration = \"5s\"\nlink.down = { schedule = [[\"0s\", \"1mbit\"], [\"1s\", \"2mbit\"]], repeat = \"2s\" }";
    let json = read(text).unwrap().to_json();
    // The last turn is cut where the run of 5 s ends.
    let steps = r#"[["0s","1mbit"],["1s","2mbit"],["2s","1mbit"],["3s","2mbit"],["4s","1mbit"]]"#;
    assert_eq!(json["link"]["down"]["schedule"].to_string(), steps);
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
    // Two opportunities of 1504 bytes in 2 ms.
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
        crate::run::runs_of(&points, None).expect("valid")[0].config.flows[0].joins
    };
    let hops = "qdiscs = \"pfifo\"\n[[hops]]\nname = \"last\"\n[[hops]]\nname = \"first\"\nside = \"server\"\n[[flows]]\n";
    assert_eq!(joins(hops), 0);
    // Downstream, hops on the servers' side come before the bottleneck.
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
fn one_hop_on_the_server_side_may_have_the_rest_of_the_delays() {
    let hops = |first: &str, last: &str, enters: &str| {
        format!(
            "qdiscs = \"pfifo\"\n[[hops]]\nname = \"far\"\nside = \"server\"\n\
             [[hops]]\nname = \"near\"\nside = \"server\"\n{first}\n[[hops]]\nname = \"last\"\n{last}\n[[flows]]\n{enters}"
        )
    };
    let scenario = read(&hops("rest = true", "", "")).expect("valid");
    let told = Document::from_json(&scenario.to_json()).expect("json").resolve(&Names::default());
    let rest: Vec<bool> = told.expect("valid").hops.iter().map(|hop| hop.rest).collect();
    assert_eq!(rest, [false, true, false]);
    let points = [(std::collections::BTreeMap::new(), scenario)];
    let runs = crate::run::runs_of(&points, None).expect("valid");
    assert_eq!(runs[0].config.rest_behind, Some(1), "counted from the servers");
    let refused = |text: &str| read(text).unwrap_err().to_string();
    let client = refused(&hops("", "rest = true", ""));
    assert!(client.contains("on the client side cannot have the rest of the delays"), "{client}");
    let two = refused(&hops("rest = true", "", "").replace("name = \"far\"", "name = \"far\"\nrest = true"));
    assert!(two.contains("two hops have the rest of the delays"), "{two}");
    // Such a server would be behind the delay.
    let later = refused(&hops("rest = true", "", "enters = \"bottleneck\""));
    assert!(later.contains("cannot attach at a later hop"), "{later}");
}

/// A modem on the server side whose buffer for uploads pauses the Ethernet of `[link]`.
fn modem(ethernet: &str, pause: &str) -> String {
    format!(
        "link = {ethernet}\n[[hops]]\nside = \"server\"\nup = {{ rate = \"2mbit\", pause = {pause} }}\ndown = \"20mbit\""
    )
}

#[test]
fn a_buffer_that_pauses_the_link_before_it_is_read_and_written_back() {
    let text = modem("{ down = \"100mbit\" }", "{ high = \"3028b\" }");
    let scenario = read(&text).expect("valid");
    // By default PAUSE asks for the longest time, and the low mark is half of the high one.
    assert_eq!(scenario.hops[0].up.pause, Some(Pause { high: 3028, low: 1514, time: 65_535 }));
    let told = Document::from_json(&scenario.to_json()).expect("json");
    assert_eq!(told.resolve(&Names::default()).expect("valid").hops[0].up, scenario.hops[0].up);
    let points = [(std::collections::BTreeMap::new(), scenario)];
    let runs = crate::run::runs_of(&points, None).expect("valid");
    assert!(runs[0].config.before[0].links[1].pause.is_some());
    // The servers' way to the modem may differ by flow: no frame takes it.
    let servers =
        "\n[[hops]]\nside = \"server\"\nname = \"servers\"\nrest = true\nup.rate = \"1gbit\"\n[[hops]]";
    read(&text.replacen("\n[[hops]]", servers, 1)).expect("valid");
}

#[test]
fn impossible_pauses_are_refused_with_the_reason() {
    let line = "{ down = \"100mbit\" }";
    for (text, expected) in [
        (modem(line, "{}"), "the high water mark is missing"),
        (modem(line, "{ high = 1000, low = 1000 }"), "not below the high one"),
        (modem(line, "{ high = 1000, time = 65536 }"), "from 1 to 65535"),
        (modem(line, "{ hihg = 1000 }"), "has no key `hihg`"),
        (
            modem("{ down = { schedule = [[\"0s\", \"1mbit\"], [\"1s\", \"0bit\"]] } }", "{ high = 1000 }"),
            "above 0",
        ),
        ("link.up = { rate = \"1mbit\", pause = { high = 1000 } }".to_owned(), "stops nothing"),
        (format!("{}\nrest = true", modem(line, "{ high = 1000 }")), "across `rest = true`"),
    ] {
        let error = read(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn impossible_hops_are_refused_with_their_place() {
    for (text, expected) in [
        ("[link]\ndown = \"unlimited\"", "no bottleneck"),
        ("[[hops]]\ndelay = \"30ms\"", "there and back"),
        ("[[hops]]\nside = \"left\"", "unknown"),
        ("[[hops]]\nname = \"a\"\n[[hops]]\nname = \"a\"", "two hops"),
        ("[[hops]]\nname = \"bottleneck\"", "a hop cannot be called `bottleneck`"),
        ("[[hops]]\ndown = { rate = \"1mbit\", driver = \"0p\" }", "limit of a device"),
        ("[[hops]]\nqdisc = 5", "not a queue discipline"),
        ("hops = 3", "not possible"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn links_shapers_and_the_options_of_the_command_line_refer_to_the_line() {
    let text = "
        qdiscs = ['cake bandwidth 95%', 'tbf rate 50% burst 3028 latency 100ms']
        line = { down = '20mbit', up = '2mbit' }
        link = { down = '1gbit' }
        hops = [{ name = 'modem', down = '100%', up = '100%', qdisc = 'tbf rate 90% burst 1600 latency 1s' }]";
    let mut document = Document::parse("test.toml", text, Path::new("")).unwrap();
    let rates = |document: &Document| {
        let scenario = document.resolve(&Names::default()).unwrap();
        let hop = &scenario.hops[0];
        let HopQdisc::Fixed(in_modem) = &hop.qdisc else { panic!("a fixed discipline") };
        let of = |config: &goodqueue::AnyConfig, name| config.to_settings().rate(name).unwrap().to_string();
        [
            of(&scenario.qdiscs[0].down.config, "bandwidth"),
            of(&scenario.qdiscs[1].up.config, "rate"),
            hop.down.rate.nominal().to_string(),
            of(&in_modem[1].config, "rate"),
        ]
    };
    // 95 % of 20 Mbit/s down, and 50 % and 90 % of 2 Mbit/s up.
    assert_eq!(rates(&document), ["19mbit", "1mbit", "20mbit", "1800kbit"]);
    let line = Overrides { rate: Some("40mbit".into()), up: Some("10mbit".into()), ..Overrides::default() };
    document.apply(&line).unwrap();
    assert_eq!(rates(&document), ["38mbit", "5mbit", "40mbit", "9mbit"]);
    // What a result file says of the scenario gives the same runs.
    let scenario = document.resolve(&Names::default()).unwrap();
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(scenario.to_json(), again.to_json());
}

#[test]
fn a_share_needs_a_line_and_a_trace_has_no_shares() {
    let refused = |text: &str, overrides: &Overrides| {
        let mut document = Document::parse("test.toml", text, Path::new("")).unwrap();
        let resolved =
            document.apply(overrides).and_then(|()| document.resolve(&Names::default()).map(|_| ()));
        resolved.unwrap_err().to_string()
    };
    let none = Overrides::default();
    let without = refused("hops = [{ down = '95%' }]", &none);
    assert!(without.contains("`95%` of which line?") && without.contains("[line]"), "{without}");
    let nothing = refused("qdiscs = ['cake bandwidth 0%']", &none);
    assert!(nothing.contains("a percentage above 0"), "{nothing}");
    let trace = Overrides { trace_down: Some("lte.down".into()), ..Overrides::default() };
    let message = refused("line.down = '1mbit'", &trace);
    assert!(message.contains("takes no trace"), "{message}");
    let missing = refused("line.up = '1mbit'", &none);
    assert!(missing.contains("the line has no `down`"), "{missing}");
}
