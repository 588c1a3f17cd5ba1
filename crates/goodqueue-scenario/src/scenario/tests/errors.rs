//! Wrong files: each error names the place and the allowed values.

use super::*;

#[test]
fn a_misspelt_key_is_shown_in_the_file_with_the_nearest() {
    insta::assert_snapshot!(message("name = \"x\"\ndurration = \"60s\"\n"), @r#"
    load.toml:2:1: the scenario has no key `durration`
      2 | durration = "60s"
        | ^^^^^^^^^
      allowed: name, title, question, expect, source, duration, warmup, seed, seeds, qdiscs, line, link, hops, wifi, tcp, flows, output, sweep
      help: did you mean `duration`?
    "#);
    insta::assert_snapshot!(message("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"ping\"\n  intervall = \"1s\"\n"), @r#"
    load.toml:4:3: `flows.0` has no key `intervall`
      4 |   intervall = "1s"
        |   ^^^^^^^^^
      allowed: kind, direction, count, start, start_jitter, together, stop, rtt, rtt_step, client, server, label, enters, access, access_rate, dscp, interval, packet, l4s
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
      allowed: newreno, newreno_ns2, cubic, cubic_linux, cubic_ns2, reno, dctcp, prague, prague_05, prague_515, vegas, ledbat, ledbat_utp, ledbat_ns2, tcp_lp, nice, nice_ns2, compound, bbr, bbr3, fixed
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
}

#[test]
fn every_value_out_of_range_is_an_error_at_its_line() {
    for bad in OUT_OF_RANGE {
        let text = message(&format!("qdiscs = \"pfifo\"\n{bad}"));
        assert!(text.starts_with("load.toml:2:"), "{bad}: {text}");
    }
    for bad in
        ["qdiscs = []", "qdiscs = 3", "qdiscs = [\"pfifo\", \" pfifo \"]", "qdiscs = [{ up = \"pfifo\" }]"]
    {
        assert!(read(bad).is_err(), "{bad}");
    }
}

const OUT_OF_RANGE: &[&str] = &[
    "duration = \"0s\"",
    "duration = nan",
    "duration = \"inf\"",
    "duration = \"-1s\"",
    "duration = \"99999999999s\"",
    // A date is a type of TOML that no key has.
    "duration = 1979-05-27",
    "warmup = \"60s\"",
    "seed = -1",
    // Nothing is left for further repetitions.
    "seed = 18446744073709551615",
    "seed = 1.5",
    "seeds = 0",
    "title = 3",
    "link = 3",
    // Just above the hour that is allowed.
    "link.rtt = \"61min\"",
    "link.rtt = \"1h1\"",
    // IPv4 needs 68 bytes (RFC 791), and its length has 16 bits.
    "link.mtu = 67",
    "link.mtu = 65536",
    // Beyond the numbers of `f64`.
    "link.mtu = 1e400",
    "link.up = {}",
    "link.up = []",
    // 10^20 bit/s are more than 64 bits hold.
    "link.up = \"99999999tbit\"",
    "link.up = { schedule = [] }",
    // No rate is known before 1 s, and a rate that stays 0 sends nothing.
    "link.up = { schedule = [[\"1s\", \"1mbit\"]] }",
    "link.up = { schedule = [[\"0s\", \"0bit\"]] }",
    "link.up = { schedule = [[\"0s\"]] }",
    // The second turn would begin together with the last step.
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
    // 50,000 flows each way and the ping are more than the 100,000 of a scenario.
    "flows = 50000",
    "flows = \"4\"",
    "flows = [3]",
    "flows = [{ count = 0 }]",
    // One flow more than the 100,000 of a scenario.
    "flows = [{ count = 100000 }, {}]",
    "flows = [{ size = 0 }]",
    "flows = [{ size = -1 }]",
    "flows = [{ direction = \"sideways\" }]",
    "flows = [{ kind = \"udp\" }]",
    "flows = [{ start = \"5s\", stop = \"5s\" }]",
    // The default duration is 60 s.
    "flows = [{ start = \"59s\", start_jitter = \"1s\" }]",
    "flows = [{ kind = \"ping\", interval = \"0s\" }]",
    // The default MTU is 1500.
    "flows = [{ kind = \"ping\", packet = 1501 }]",
    "flows = [{ kind = \"cbr\", rate = \"0bit\" }]",
    // Datagrams have no congestion control.
    "flows = [{ kind = \"cbr\", rate = \"1mbit\", cc = \"cubic\" }]",
    "output.series = \"1us\"",
    "output.series = \"61s\"",
    "output.json = \"\"",
];

#[test]
fn what_is_at_the_edge_of_a_range_is_accepted() {
    for good in [
        "duration = \"1ns\"",
        "link.rtt = \"0s\"",
        "link.rtt = \"1h\"",
        // The largest number of 64 bits.
        "link.up = \"18446744073709551615bit\"",
        "link.up = \"1bit\"",
        "link.mtu = 68",
        "seed = 0",
        // One below the largest number, for which nothing would be left.
        "seed = 18446744073709551614",
        "flows = 0",
        "flows = 49999",
        "flows = []",
        "flows = [{ count = 100000 }]",
        "name = \"a\"",
        "duration = \"1 min\"",
    ] {
        let scenario = read(&format!("qdiscs = \"pfifo\"\n{good}"));
        assert!(scenario.is_ok(), "{good}: {}", scenario.unwrap_err());
    }
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
