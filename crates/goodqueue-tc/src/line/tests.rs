use super::settings::{Word, find_kind, read_settings};
use super::writing::write_settings;
use super::*;
use goodqueue::config::{
    Children, Condition, DefaultValue, Kind, Parameter, Range, Settings, Unit, Value, Variant,
};
use goodqueue::fifo::{BfifoConfig, PfifoConfig};
use goodqueue::registry::{KINDS, PRESETS};
use goodqueue::{Duration, Rate};
use proptest::prelude::*;

fn pfifo(limit: u32) -> AnyConfig {
    AnyConfig::Pfifo(PfifoConfig::new(limit).unwrap())
}

fn read(line: &str) -> Result<AnyConfig, Diagnostic> {
    parse(line, &Link::default()).map_err(|error| error.in_argument("--qdisc", line))
}

/// A discipline with one parameter of each unit, so that the grammar is tested apart from what
/// exists.
const EVERYTHING: Kind = Kind {
    name: "everything",
    summary: "",
    reference: "",
    variants: &[Variant { name: "rfc", doc: "" }, Variant { name: "linux", doc: "" }],
    children: Children::None,
    parameters: &[
        parameter("limit", Unit::Packets),
        parameter("memory_limit", Unit::Bytes),
        parameter("target", Unit::Time),
        parameter("perturb", Unit::Seconds),
        parameter("bandwidth", Unit::Rate),
        parameter("flows", Unit::Integer),
        parameter("probability", Unit::Probability),
        parameter("loss", Unit::Percentage),
        parameter("ecn", Unit::Flag { off: Some("noecn") }),
        parameter("harddrop", Unit::Flag { off: None }),
        parameter("mode", Unit::Choice(&["byte", "packet"])),
    ],
};

const fn parameter(name: &'static str, unit: Unit) -> Parameter {
    let default = DefaultValue::Derived("");
    Parameter { name, unit, default, range: Range::Any, condition: Condition::None, source: "", doc: "" }
}

fn split_words(line: &str) -> Vec<Word<'_>> {
    let place = |text: &str| text.as_ptr() as usize - line.as_ptr() as usize;
    line.split_whitespace()
        .map(|text| Word { text, start: place(text), end: place(text) + text.len() })
        .collect()
}

fn settings(line: &str) -> Result<Settings, Diagnostic> {
    read_settings(&EVERYTHING, &split_words(line), Link::default().rate)
        .map_err(|error| error.in_argument("--qdisc", line))
}

#[test]
fn every_unit_is_read_as_tc_reads_it() {
    // In tc `mbps` are megabytes per second, a bare time is in microseconds, and `perturb` in
    // seconds.
    let all = "limit 10240p memory_limit 32Mb target 5000 perturb 10 bandwidth 10mbps flows 0x400 probability 2% \
               loss 2 noecn harddrop mode byte variant linux";
    let expected = Settings::new()
        .with("limit", Value::Packets(10_240))
        .with("memory_limit", Value::Bytes(32 << 20))
        .with("target", Value::Time(Duration::from_millis(5)))
        .with("perturb", Value::Time(Duration::from_secs(10)))
        .with("bandwidth", Value::Rate(Rate::from_bps(80_000_000)))
        .with("flows", Value::Integer(1024))
        .with("probability", Value::Probability(0.02))
        .with("loss", Value::Probability(0.02))
        .with("ecn", Value::Flag(false))
        .with("harddrop", Value::Flag(true))
        .with("mode", Value::Choice("byte"))
        .with("variant", Value::Choice("linux"));
    assert_eq!(settings(all).unwrap(), expected);
    let written = write_settings(&EVERYTHING, &expected);
    assert_eq!(
        written,
        "everything limit 10240p memory_limit 33554432 target 5ms perturb 10s bandwidth 80mbit flows 1024 \
         probability 0.02 loss 2% noecn harddrop mode byte variant linux"
    );
    assert_eq!(settings(written.strip_prefix("everything ").unwrap()).unwrap(), expected);
}

#[test]
fn a_pasted_command_is_taken_as_it_is() {
    for line in [
        "pfifo limit 50",
        "  pfifo\tlimit 50p ",
        "tc qdisc add dev eth0 root pfifo limit 50",
        "sudo /sbin/tc qdisc replace dev eth0 parent 1:1 handle 10: pfifo limit 50",
        "qdisc pfifo 8001: root refcnt 2 limit 50p",
        "qdisc pfifo 8001: dev eth0 parent 1:2 limit 50p\n Sent 4416910 bytes 4241 pkt (dropped 1088)\n backlog 0b 0p",
    ] {
        assert_eq!(read(line), Ok(pfifo(50)), "{line}");
    }
    assert_eq!(
        read("qdisc bfifo 1: root refcnt 2 limit 60000b"),
        Ok(AnyConfig::Bfifo(BfifoConfig::new(60_000).unwrap()))
    );
}

#[test]
fn a_flag_that_tc_show_does_not_print_is_off() {
    let shown = "qdisc fq_codel 1: root refcnt 2 limit 10240p flows 16 quantum 1514 target 5ms interval 100ms \
                 memory_limit 32Mb drop_batch 64";
    let added = "fq_codel limit 10240 flows 16 noecn";
    assert_eq!(read(shown), read(added));
    assert_eq!(read(&format!("{shown} ecn")), read("fq_codel limit 10240 flows 16"));
}

#[test]
fn defaults_that_depend_on_the_link_take_its_mtu() {
    let jumbo = Link { mtu: 9014, ..Link::default() };
    // 1000 packets of the MTU.
    assert_eq!(to_tc(&parse("bfifo", &jumbo).unwrap()), "bfifo limit 9014000");
}

#[test]
fn an_unknown_discipline_is_named_with_the_nearest() {
    let kinds = [EVERYTHING, Kind { name: "pfifo", ..EVERYTHING }];
    let line = "  pffio limit 3";
    let error = find_kind(split_words(line)[0], kinds.iter()).unwrap_err().in_argument("--qdisc", line);
    insta::assert_snapshot!(error, @r"
    --qdisc: the queue discipline `pffio` is unknown
       |   pffio limit 3
       |   ^^^^^
      allowed: everything, pfifo
      help: did you mean `pfifo`?
    ");
    assert_eq!(error.line_and_column(), Some((1, 3)));
    assert!(read("").unwrap_err().to_string().contains("no queue discipline is given"));
    assert!(read("tc qdisc add dev").unwrap_err().to_string().contains("`dev` has no value"));
}

#[test]
fn a_bad_parameter_is_shown_in_the_line() {
    insta::assert_snapshot!(settings("limit 10 tarrget 5ms").unwrap_err(), @r"
    --qdisc: everything has no parameter `tarrget`
       | limit 10 tarrget 5ms
       |          ^^^^^^^
      allowed: limit, memory_limit, target, perturb, bandwidth, flows, probability, loss, ecn, noecn, harddrop, mode, variant
      help: did you mean `target`?
    ");
    insta::assert_snapshot!(settings("limit 10 target").unwrap_err(), @r"
    --qdisc: `target` has no value
       | limit 10 target
       |          ^^^^^^
      allowed: a time, such as `5ms`; a bare number is microseconds
    ");
    insta::assert_snapshot!(settings("target ecn").unwrap_err(), @r"
    --qdisc: `target` has no value: `ecn` follows it
       | target ecn
       |        ^^^
      allowed: a time, such as `5ms`; a bare number is microseconds
    ");
    insta::assert_snapshot!(settings("target 5mm").unwrap_err(), @r"
    --qdisc: `target`: `mm` of the time `5mm` is not a unit of time
       | target 5mm
       |        ^^^
      allowed: s sec secs ms msec msecs us usec usecs ns nsec nsecs; a bare number is microseconds
      help: did you mean `ms`?
    ");
    insta::assert_snapshot!(settings("ecn limit 5 noecn").unwrap_err(), @r"
    --qdisc: `ecn` of everything is given twice, with another value
       | ecn limit 5 noecn
       |             ^^^^^
      help: remove one of the two
    ");
    insta::assert_snapshot!(settings("variant linus").unwrap_err(), @r"
    --qdisc: the variant of everything cannot be `linus`
       | variant linus
       |         ^^^^^
      allowed: rfc, linux
      help: did you mean `linux`?
    ");
    insta::assert_snapshot!(settings("limit 10 ewma 4").unwrap_err(), @r"
    --qdisc: `ewma` cannot be set: tc derives it from other parameters
       | limit 10 ewma 4
       |          ^^^^
      help: remove `ewma` and its value
    ");
}

#[test]
fn a_value_that_the_discipline_refuses_is_shown_in_the_line() {
    insta::assert_snapshot!(read("tc qdisc add dev eth0 root pfifo limit 0").unwrap_err(), @r"
    --qdisc: pfifo does not accept `limit 0p`
       | tc qdisc add dev eth0 root pfifo limit 0
       |                                  ^^^^^^^
      allowed: a value from 1 to 4294967295
    ");
    insta::assert_snapshot!(read("pfifo variant linux").unwrap_err(), @r"
    --qdisc: pfifo has no variants
       | pfifo variant linux
       |       ^^^^^^^
      help: remove `variant` and its value
    ");
}

#[test]
fn every_discipline_has_a_default_that_reads_back_as_itself() {
    for kind in KINDS {
        let config = read(kind.name).unwrap();
        assert_eq!(read(&to_tc(&config)), Ok(config), "{}", kind.name);
        for variant in kind.variants {
            let chosen = read(&format!("{} variant {}", kind.name, variant.name)).unwrap();
            assert_eq!(read(&to_tc(&chosen)), Ok(chosen), "{} variant {}", kind.name, variant.name);
        }
    }
}

/// Text for a value of this unit: sometimes within the range, sometimes not.
fn value(unit: Unit) -> BoxedStrategy<String> {
    let number = prop_oneof![3 => 0u64..5, 5 => 1u64..3000, 1 => any::<u64>()];
    match unit {
        Unit::Packets => number.prop_map(|n| format!("{n}p")).boxed(),
        Unit::Bytes => (number, prop::sample::select(vec!["", "b", "kb", "mb"]))
            .prop_map(|(n, suffix)| format!("{n}{suffix}"))
            .boxed(),
        Unit::Time | Unit::Seconds => (number, prop::sample::select(vec!["", "ns", "us", "ms", "s"]))
            .prop_map(|(n, suffix)| format!("{n}{suffix}"))
            .boxed(),
        Unit::Rate => (number, prop::sample::select(vec!["", "bit", "kbit", "mbit", "kbps"]))
            .prop_map(|(n, suffix)| format!("{n}{suffix}"))
            .boxed(),
        Unit::Integer => number.prop_map(|n| n.to_string()).boxed(),
        Unit::Signed => (-300i64..300).prop_map(|n| n.to_string()).boxed(),
        Unit::Class => (0u32..20).prop_map(|n| format!("{n:x}")).boxed(),
        Unit::Probability => {
            prop_oneof![(0.0..=1.0f64).prop_map(|p| p.to_string()), Just("2%".to_owned())].boxed()
        }
        Unit::Percentage => {
            prop_oneof![(0.0..=100.0f64).prop_map(|p| p.to_string()), Just("2%".to_owned())].boxed()
        }
        Unit::Flag { .. } => Just(String::new()).boxed(),
        Unit::Priomap => Just("0 1 1 0".to_owned()).boxed(),
        Unit::Choice(words) | Unit::Table(words) => {
            prop::sample::select(words.to_vec()).prop_map(str::to_owned).boxed()
        }
    }
}

/// A line of this discipline with some of its parameters.
fn line(kind: &'static Kind) -> BoxedStrategy<String> {
    let mut settings: Vec<BoxedStrategy<Option<String>>> = Vec::new();
    for parameter in kind.parameters {
        let setting = match parameter.unit {
            Unit::Flag { off } => {
                prop::sample::select(vec![Some(parameter.name.to_owned()), off.map(str::to_owned)]).boxed()
            }
            unit => value(unit).prop_map(|value| Some(format!("{} {value}", parameter.name))).boxed(),
        };
        settings.push(prop_oneof![setting, Just(None), Just(None)].boxed());
    }
    if !kind.variants.is_empty() {
        let names: Vec<&str> = kind.variants.iter().map(|variant| variant.name).collect();
        settings.push(
            prop::option::of(prop::sample::select(names).prop_map(|name| format!("variant {name}"))).boxed(),
        );
    }
    settings
        .prop_map(|words| {
            let words: Vec<String> = words.into_iter().flatten().collect();
            format!("{} {}", kind.name, words.join(" "))
        })
        .boxed()
}

fn any_line() -> impl Strategy<Value = String> {
    prop::sample::select(KINDS.iter().collect::<Vec<_>>()).prop_flat_map(line)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_is_written_of_any_accepted_line_reads_back_as_the_same(line in any_line()) {
        if let Ok(config) = read(&line) {
            prop_assert_eq!(read(&to_tc(&config)), Ok(config));
        }
    }

    #[test]
    fn no_line_makes_the_reader_panic(line in "(tc |qdisc |add |root |pfifo |bfifo |limit |[0-9a-z:.]{0,4} |\\PC{0,3}){0,9}") {
        let _ = read(&line);
    }
}

#[test]
fn a_preset_stands_for_a_discipline_and_gives_way_to_what_follows() {
    assert_eq!(read("fq_nocodel").unwrap(), read("fq_codel target 100s").unwrap());
    assert_eq!(read("fq_nocodel limit 127").unwrap(), read("fq_codel limit 127 target 100s").unwrap());
    assert_eq!(read("fq_nocodel target 5ms").unwrap(), read("fq_codel").unwrap());
    assert!(read("fq_nocodl").unwrap_err().to_string().contains("fq_nocodel"));
}

#[test]
fn every_preset_names_a_discipline_and_settings_that_it_accepts() {
    for preset in PRESETS {
        assert!(read(preset.name).is_ok(), "{}", preset.name);
        assert!(KINDS.iter().all(|kind| kind.name != preset.name), "{}", preset.name);
    }
}

#[test]
fn brackets_hold_what_a_discipline_holds() {
    let line = "tbf rate 10mbit burst 5000 limit 60000 [codel]";
    assert_eq!(
        to_tc(&read(line).unwrap()),
        "tbf rate 10mbit burst 5000 [codel limit 1000p target 5ms interval 100ms noecn variant linux]"
    );
    assert_eq!(
        to_tc(&read("prio [2: codel limit 5] [3: bfifo limit 3000]").unwrap()),
        "prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 [1: pfifo limit 1000p] [2: codel limit 5p target 5ms interval 100ms noecn variant linux] \
         [3: bfifo limit 3000]"
    );
    assert_eq!(
        to_tc(&read("drr [1 quantum 1000: prio [2: tbf rate 1mbit burst 2kb limit 9kb]] [a]").unwrap()),
        "drr quantum 1514 [1 quantum 1000: prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 [1: pfifo limit 1000p] [2: tbf rate 1mbit burst 2048 limit 9216] \
         [3: pfifo limit 1000p]] [a quantum 1514: pfifo limit 1000p]"
    );
}

#[test]
fn a_script_builds_the_same_tree_as_brackets() {
    let script = "#!/bin/sh
        DEV=eth0 # the slow one
        tc qdisc del dev $DEV root 2>/dev/null || true
        tc qdisc add dev $DEV root handle 1: drr
        tc class add dev $DEV parent 1: classid 1:1 drr quantum 1000; tc class add dev $DEV parent 1: \\
            classid 1:a drr
        tc qdisc add dev $DEV parent 1:1 handle 10: prio bands 4
        for band in 1 4; do tc qdisc add dev $DEV parent 10:$band handle 2${band}: pfifo limit 3$band; done
        for x in {2..3}; do for y in $(seq 1 1); do tc qdisc add dev $DEV parent 10:$x codel limit $x$y; done; done
    ";
    let brackets = "drr [1 quantum 1000: prio [1: pfifo limit 31] [4: pfifo limit 34] [2: codel limit 21] \
                    [3: codel limit 31]] [a]";
    assert_eq!(read(script), read(brackets));
    let recorded = "prio bands 5\nfor i in 1 2 3 4 5; do /bin/tc qdisc add dev orl0 parent 1:$i handle 10$i: pfifo limit 30; done";
    assert_eq!(
        read(recorded),
        read(
            "prio bands 5 [1: pfifo limit 30] [2: pfifo limit 30] [3: pfifo limit 30] [4: pfifo limit 30] [5: pfifo limit 30]"
        )
    );
}

#[test]
fn a_list_in_braces_counts_down_as_in_a_shell_and_seq_does_not() {
    let bands = |list: &str| {
        let script = format!(
            "prio bands 5; x=; for i in {list}; do x=$x$i; done; tc qdisc add dev e parent 1:1 pfifo limit 7$x"
        );
        read(&script)
    };
    let limit = |digits: &str| read(&format!("prio bands 5 [1: pfifo limit 7{digits}]"));
    assert_eq!(bands("{5..1}"), limit("54321"));
    assert_eq!(bands("{1..5}"), limit("12345"));
    assert_eq!(bands("{3..3}"), limit("3"));
    assert_eq!(bands("$(seq 5 1)"), limit(""));
}

#[test]
fn a_short_script_cannot_fill_the_memory() {
    // Two bytes that double 26 times are 128 MiB.
    let doubling = format!("A=xx; {} pfifo", "A=$A$A; ".repeat(26));
    // 20,000 times 1000 bytes are 20 MB.
    let twice = format!("A={}\npfifo {}", "x".repeat(1000), "$A".repeat(20_000));
    for text in [doubling, twice] {
        let refused = read(&text).unwrap_err().to_string();
        assert!(refused.contains("longer than 16 MiB with its variables written out"), "{refused}");
        assert!(refused.contains("help: shorten the values of the variables"), "{refused}");
    }
    // Each of these scripts makes about 3 million words.
    let empty = "for a in {1..1000}; do for b in {1..3000}; do ; done; done";
    let unused = format!("for a in {{1..1000}}; do for b in ; do {}; done; done", "x ".repeat(3000));
    let assignments = format!("for a in {{1..1000}}; do {}; done", "b=1 ".repeat(3000));
    let ends = format!("for a in {{1..1000}}; do {} done", ";".repeat(3000));
    let long_commands = format!("for a in {{1..1000}}; do {}; done", "x ".repeat(3000));
    for text in [empty, &unused, &assignments, &ends, &long_commands] {
        let refused = read(text).unwrap_err().to_string();
        assert!(refused.contains("more than 2000000 words with its loops written out"), "{refused}");
    }
    // 101,000 commands.
    let commands = "for a in {1..1000}; do for b in {1..101}; do true; done; done";
    let refused = read(commands).unwrap_err().to_string();
    assert!(refused.contains("the script has more than 100000 commands"), "{refused}");
}

#[test]
fn a_discipline_is_never_inside_itself() {
    insta::assert_snapshot!(read("tbf rate 1mbit burst 1600 limit 9000; tc qdisc add dev e parent 1: handle 1: codel").unwrap_err(), @r"
    --qdisc: codel has the handle of its parent
       | tbf rate 1mbit burst 1600 limit 9000; tc qdisc add dev e parent 1: handle 1: codel
       |                                                                           ^^
      allowed: a handle that no other discipline has
      help: give the discipline a handle of its own, or remove `handle`
    ");
    // Linux refuses the second use of a handle, too.
    let script = "tc qdisc add dev e root handle 1: prio; tc qdisc add dev e parent 1:1 handle 1: prio";
    assert!(read(script).unwrap_err().to_string().contains("prio has the handle of its parent"));
}

#[test]
fn a_variant_can_be_asked_of_a_whole_tree() {
    let asked = parse_as("tbf burst 3000 [codel]", &Link::default(), Some("linux"));
    assert_eq!(asked, read("tbf burst 3000 [codel variant linux]"));
}

#[test]
fn mistakes_in_trees_are_shown_at_their_words() {
    insta::assert_snapshot!(read("prio [1: pfifo limit 30] [2: codel target -5ms]").unwrap_err(), @r"
    --qdisc: `target`: the time `-5ms` is negative
       | prio [1: pfifo limit 30] [2: codel target -5ms]
       |                                           ^^^^
      allowed: a number and a unit; a bare number is microseconds
    ");
    insta::assert_snapshot!(read("drr [1 quantum 0: pfifo]").unwrap_err(), @r"
    --qdisc: drr does not accept `quantum 0`
       | drr [1 quantum 0: pfifo]
       |        ^^^^^^^^^
      allowed: a value from 1 to 2147483647
    ");
    insta::assert_snapshot!(read("codel [1: pfifo]").unwrap_err(), @r"
    --qdisc: codel holds no other disciplines
       | codel [1: pfifo]
       |       ^
    ");
    insta::assert_snapshot!(read("tbf rate 1mbit burst 1600 [codel").unwrap_err(), @r"
    --qdisc: the bracket is not closed
       | tbf rate 1mbit burst 1600 [codel
       |                           ^
    ");
    insta::assert_snapshot!(read("drr\ntc class add dev e parent 1: classid 1:1 htb rate 1mbit").unwrap_err(), @r"
    --qdisc: the class is of `htb`
       | tc class add dev e parent 1: classid 1:1 htb rate 1mbit
       |                                          ^^^
      allowed: `drr`, as the discipline that it belongs to
    ");
    insta::assert_snapshot!(read("drr; tc qdisc add dev e parent 1:4 pfifo").unwrap_err(), @r"
    --qdisc: drr has no class 4
       | drr; tc qdisc add dev e parent 1:4 pfifo
       |                                ^^^
      help: add it before, with `tc class add`
    ");
    insta::assert_snapshot!(read("prio bands 3 [7: pfifo]").unwrap_err(), @r"
    --qdisc: prio does not accept `band 7`
       | prio bands 3 [7: pfifo]
       |               ^
      allowed: 1 to 3
    ");
    insta::assert_snapshot!(read("for i in 1 2; do tc qdisc add dev e root pfifo limit $i").unwrap_err(), @r"
    --qdisc: the `for` loop has no `done`
       | for i in 1 2; do tc qdisc add dev e root pfifo limit $i
       | ^^^
      allowed: for NAME in WORD...; do COMMAND; ...; done
    ");
    let deep = format!("{}pfifo{}", "tbf [".repeat(40), "]".repeat(40));
    assert!(read(&deep).unwrap_err().to_string().contains("inside each other"));
    assert!(read(&"[".repeat(100_000)).is_err());
}

proptest! {
    #[test]
    fn no_tree_makes_the_reader_panic(
        text in "(tc |qdisc |class |add |root |parent 1: |classid 1:1 |drr |prio |tbf |pfifo |\\[|\\]|[0-9a-f]: |: |for i in |do |done|;|\n|\\$i |\\{1..3\\} |[0-9a-z:.]{0,3} ){0,14}"
    ) {
        let _ = read(&text);
    }
}

#[test]
fn a_table_of_a_distribution_is_read_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("steps.dist");
    let line =
        format!("netem delay 20ms 5ms distribution {} slot distribution pareto 4ms 1ms", path.display());
    let complaint = || read(&line).unwrap_err().to_string();
    assert!(complaint().contains("steps.dist cannot be opened"), "{}", complaint());
    // 8192 is a standard deviation in the tables of netem (`NETEM_DIST_SCALE`).
    std::fs::write(&path, "# two steps\n-8192 -8192\n 16384\n").unwrap();
    let config = read(&line).unwrap_or_else(|error| panic!("{error}"));
    let Some(Value::Table(table)) = config.to_settings().get("distribution") else { panic!("no table") };
    assert_eq!(table.entries, [-8192, -8192, 16_384]);
    assert_eq!(read(&to_tc(&config)).unwrap(), config);
    for (contents, said) in [
        ("1 2\n3 4,5\n", ["steps.dist:2", "`4,5` is no entry of a table", "whole numbers"]),
        ("32768\n", ["steps.dist:1", "`32768` is no entry", "-32768 to 32767"]),
        ("# nothing\n", ["distribution", "1 to 16384 entries", "has 0"]),
    ] {
        std::fs::write(&path, contents).unwrap();
        assert!(said.iter().all(|part| complaint().contains(part)), "{}", complaint());
    }
    let complaint = read("netem delay 20ms 5ms distribution paretnormal").unwrap_err().to_string();
    assert!(complaint.contains("did you mean `paretonormal`?"), "{complaint}");
}

#[test]
fn what_tc_writes_in_several_words_is_read_and_written_again() {
    for line in [
        "prio bands 4 priomap 3 2 0 1 3 0 1 2 0 1 2 3 0 1 2 3",
        "prio priomap 1 2",
        "netem delay 10ms 3ms 20% distribution paretonormal loss state 4% 30% 10% 40% 2% corrupt 1% 5%",
        "netem rate 9mbit 20 48 5 slot 800us 5ms packets 7 bytes 9000",
        "netem delay 1ms slot distribution normal 4ms 1ms",
        "sfq limit 100 depth 50 redflowlimit 60000 min 3000 max 9000 burst 6 probability 0.1 ecn harddrop",
        "tbf rate 1mbit burst 5000/8 limit 30kb",
    ] {
        let config = read(line).unwrap_or_else(|error| panic!("{error}"));
        let written = to_tc(&config);
        assert_eq!(read(&written).unwrap_or_else(|error| panic!("{error}")), config, "{written}");
    }
    let short = to_tc(&read("prio priomap 2 2").unwrap());
    assert!(short.starts_with("prio bands 3 priomap 2 2 2 2 1 2 0 0 1"), "the rest as by default: {short}");
    assert_eq!(read("tbf rate 1mbit burst 5000/8"), read("tbf rate 1mbit burst 5000"));
    for (line, complaint) in [
        ("prio priomap", "has no value"),
        ("prio priomap 1 2 16", "number 3"),
        ("prio bands 3 priomap 3", "priomap 3"),
        ("prio priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "number 17"),
        ("netem packets 7", "packets 7"),
        ("netem slot 5ms 1ms", "slot.max"),
        ("netem loss 1% loss state 1%", "one of"),
        ("sfq min 3000", "redflowlimit"),
        ("sfq redflowlimit 60000 burst 1", "burst"),
    ] {
        let said = read(line).expect_err(line).to_string();
        assert!(said.contains(complaint), "{line}: {said}");
    }
}

#[test]
fn a_bare_number_of_netem_is_percent_as_in_tc() {
    for (bare, written) in [
        ("loss 1", "loss 1%"),
        ("loss 0.02 25", "loss 0.02% 25%"),
        ("loss gemodel 10 20", "loss gemodel 10% 20%"),
        ("duplicate 1 corrupt 10", "duplicate 1% corrupt 10%"),
        ("delay 10ms 1ms 25 reorder 25 50", "delay 10ms 1ms 25% reorder 25% 50%"),
        ("loss 100", "loss 100%"),
    ] {
        let config = read(&format!("netem {bare}")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Ok(&config), read(&format!("netem {written}")).as_ref(), "{bare}");
        assert_eq!(read(&to_tc(&config)), Ok(config), "{bare}");
    }
    assert!(to_tc(&read("netem loss 0.7").unwrap()).contains(" loss 0.7% "));
    let said = read("netem loss 101").unwrap_err().to_string();
    assert!(said.contains("`101` is not a percentage") && said.contains("0 to 100"), "{said}");
    assert!(read("red limit 60000 probability 2").is_err(), "a fraction in tc");
}

#[test]
fn a_probability_of_sfq_is_refused_with_its_range() {
    let said = read("sfq redflowlimit 100000 probability 0").unwrap_err().to_string();
    assert!(said.contains("allowed: above 0 (at least 2^-32), to 1"), "{said}");
}

#[test]
fn a_line_of_tc_show_may_have_words_that_no_command_takes() {
    for (shown, given) in [
        (
            "qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
            "pfifo_fast",
        ),
        (
            "qdisc tbf 8001: root refcnt 2 rate 1Mbit burst 5000b lat 273ms",
            "tbf rate 1mbit burst 5000 latency 273ms",
        ),
        (
            "qdisc htb 1: root refcnt 2 r2q 10 default 0x20 direct_packets_stat 0 direct_qlen 1000",
            "htb r2q 10 default 20 direct_qlen 1000",
        ),
        (
            "qdisc cake 8001: root refcnt 2 bandwidth 9Mbit diffserv3 triple-isolate nonat nowash no-ack-filter \
             split-gso rtt 100ms noatm via-ethernet overhead 38 mpu 84",
            "cake bandwidth 9mbit overhead 38 mpu 84",
        ),
    ] {
        assert_eq!(read(shown).unwrap_or_else(|error| panic!("{error}")), read(given).unwrap(), "{shown}");
    }
    assert!(read("pfifo_fast bands 3").is_err(), "tc refuses it");
}

#[test]
fn a_refused_value_is_outside_the_documented_range() {
    let said = |line: &str| read(line).unwrap_err().to_string();
    let choke = said("choke avpkt 4294967295");
    assert!(choke.contains("choke does not accept `avpkt 4294967295`"), "{choke}");
    // 4294967295 / 25, with the default `min`.
    assert!(choke.contains("at most 171798691"), "{choke}");
    assert!(read("choke avpkt 171798691").is_ok());
    assert!(said("choke min 20 burst 10").contains("burst 10"));
    for (kind, name, part) in [
        ("codel", "target", "at most 2199s"),
        ("fq_codel", "interval", "1024ns to 2199s"),
        ("choke", "avpkt", "at most 4294967295 / min"),
        ("netem", "packets", "needs slot"),
    ] {
        let kind = KINDS.iter().find(|known| known.name == kind).unwrap();
        let range = kind.parameters.iter().find(|parameter| parameter.name == name).unwrap().range_text();
        assert!(range.contains(part), "{name}: {range}");
    }
}

#[test]
fn a_class_needs_its_discipline_before_it() {
    let line = "tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit";
    insta::assert_snapshot!(read(line).unwrap_err().in_argument("--qdisc", line), @r"
    --qdisc: no discipline has the handle 1:
       | tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit
       |                              ^^
      help: add the discipline before, with `tc qdisc add`
    ");
}

#[test]
fn a_band_or_class_stands_in_the_brackets_once() {
    let said = |line: &str| read(line).expect_err(line).in_argument("--qdisc", line).to_string();
    insta::assert_snapshot!(said("prio [1: codel] [1: pie]"), @r"
    --qdisc: band 1 of prio is given twice
       | prio [1: codel] [1: pie]
       |                  ^
      help: remove one of the two
    ");
    assert!(said("drr [1: codel] [1]").contains("class 1 of drr is given twice"));
    assert!(said("htb [1 rate 1mbit [1 rate 1mbit]]").contains("class 1 of htb is given twice"));
}

/// What an SQM router prints and what its owner wrote.
#[test]
fn lines_of_a_router_with_cake_are_taken_as_they_are() {
    let tc = |line| to_tc(&parse(line, &Link::default()).expect(line));
    let shown = "qdisc cake 8001: dev eth0 root refcnt 9 bandwidth 18Mbit besteffort dual-dsthost nat wash ingress \
                 no-ack-filter split-gso rtt 100ms noatm overhead 44 mpu 84";
    let written = "cake bandwidth 18mbit besteffort dual-dsthost nat wash ingress overhead 44 mpu 84";
    assert_eq!(tc(shown), tc(written));
    let shown = "qdisc cake 8002: root bandwidth 9Mbit diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt \
                 100ms raw overhead 0";
    assert_eq!(tc(shown), tc("cake bandwidth 9mbit"));
}

#[test]
fn words_for_links_and_distances_stand_for_what_tc_sets() {
    let tc = |line| to_tc(&parse(line, &Link::default()).expect(line));
    // The later word counts where they exclude each other.
    assert_eq!(tc("cake bridged-ptm atm"), tc("cake overhead 22 atm"));
    assert_eq!(tc("cake bridged-ptm noatm"), tc("cake overhead 22"));
    assert_eq!(tc("cake conservative ptm"), tc("cake overhead 48 ptm"));
    // The bytes of such words add up in iproute2: 22 and 14.
    assert_eq!(tc("cake bridged-ptm pppoa-llc"), tc("cake overhead 36 atm"));
    assert_eq!(tc("cake docsis"), tc("cake overhead 18 mpu 64 noatm"));
    // `pppoe-ptm` is an overhead of 30 bytes, `ethernet` one of 38, and each `ether-vlan` adds 4.
    assert_eq!(tc("cake pppoe-ptm ether-vlan regional"), tc("cake overhead 34 ptm rtt 30ms"));
    assert_eq!(tc("cake ethernet ether-vlan ether-vlan"), tc("cake overhead 46 mpu 84"));
    assert_eq!(tc("cake conservative"), tc("cake overhead 48 atm"));
    assert_eq!(tc("cake docsis overhead 22"), tc("cake overhead 22 mpu 64"), "what comes later counts");
    // `raw` sets the overhead to 0, and the word after it adds 32.
    assert_eq!(tc("cake raw pppoe-vcmux"), tc("cake raw overhead 32 atm"));
    assert_eq!(tc("cake overhead -20 ether-vlan"), tc("cake overhead -16"), "a header may be taken off");
    assert_ne!(tc("netem rate 1mbit -20 48 5"), tc("netem rate 1mbit 20 48 5"));
    let error = parse("cake docsis rtt 10ms rtt 20ms", &Link::default()).expect_err("twice").to_string();
    assert!(error.contains("given twice"), "{error}");
}

#[test]
fn a_change_of_tbf_hands_its_limit_to_a_fifo_inside() {
    let changed = |inner: &str, limit: &str| {
        let script = format!(
            "tc qdisc add dev e root handle 1: tbf rate 8mbit burst 5000 limit 9000\n\
             tc qdisc add dev e parent 1:1 handle 10: {inner}\n\
             tc qdisc change dev e root handle 1: tbf rate 8mbit burst 6000 {limit}"
        );
        to_tc(&read(&script).unwrap())
    };
    assert_eq!(changed("pfifo limit 7", "limit 60"), "tbf rate 8mbit burst 6000 [pfifo limit 60p]");
    // A latency of 4 ms at 8 Mbit/s is 4000 bytes, and the burst has 6000.
    assert_eq!(changed("bfifo limit 7000", "latency 4ms"), "tbf rate 8mbit burst 6000 [bfifo limit 10000]");
    assert_eq!(changed("codel limit 7", "limit 60"), changed("codel limit 7", "latency 4ms"));
}

#[test]
fn what_only_spreads_packets_says_where_the_queue_is() {
    let error = parse("qdisc mq 0: dev eth0 root", &Link::default()).expect_err("not a queue").to_string();
    assert!(error.contains("give the discipline below it"), "{error}");
}

#[test]
fn a_pasted_line_is_shown_from_its_discipline_on() {
    assert_eq!(brief("tc qdisc replace dev eth0 root fq_codel limit 100"), "fq_codel limit 100");
    assert_eq!(
        brief("qdisc cake 8001: dev eth0 root refcnt 9 bandwidth 8Mbit nat"),
        "cake bandwidth 8Mbit nat"
    );
    assert_eq!(brief("tbf  rate 9mbit burst 5000 [fq_codel]"), "tbf rate 9mbit burst 5000 [fq_codel]");
    assert_eq!(brief("mixed"), "mixed");
}

#[test]
fn the_bounds_of_a_time_are_shown_with_their_units() {
    for (line, bounds) in
        // tc hands these times to the kernel as 32-bit numbers of microseconds.
        [("pie tupdate 0", "1us to 4294967295us"), ("fq_pie target 0", "1ns to 4294967295us")]
    {
        let refused = parse(line, &Link::default()).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("allowed: a value from {bounds}")), "{refused}");
    }
}

#[test]
fn a_rate_may_be_a_share_of_the_links_rate() {
    let link = Link { rate: Rate::from_bps(20_000_000), ..Link::default() };
    let read = |line: &str| to_tc(&parse(line, &link).unwrap());
    assert!(read("tbf rate 95% burst 5000 limit 9000").starts_with("tbf rate 19mbit "));
    assert!(read("cake bandwidth 47.5%").starts_with("cake bandwidth 9500kbit "));
    assert!(read("htb default 1 [1 rate 10% ceil 50%]").contains("rate 2mbit ceil 10mbit"));
    for bad in ["0%", "-1%", "%", "1.2345%", "1001%", "1e1%"] {
        let refused = parse(&format!("cake bandwidth {bad}"), &link).unwrap_err().to_string();
        assert!(refused.contains("a percentage above 0"), "{refused}");
    }
}

#[test]
fn the_words_of_a_curve_stand_behind_its_name() {
    let read = |line: &str| to_tc(&read(line).unwrap_or_else(|error| panic!("{error}")));
    let curves = "rt m1 2Mbit d 10000us m2 1Mbit ls m2 1Mbit ul rate 3mbit";
    let line = read(&format!("hfsc default 2 [2 {curves}: pfifo limit 30]"));
    assert_eq!(
        line,
        "hfsc default 2 [2 rt m1 2mbit d 10ms m2 1mbit ls m1 0bit d 0s m2 1mbit ul m1 0bit d 0s m2 3mbit: pfifo limit 30p]"
    );
    assert_eq!(read(&line), line);
    // 1500 bytes within 5 ms are 300,000 bytes/s; within 100 ms, 1 Mbit/s may wait for 88 ms.
    let concave = read("hfsc [1 sc umax 1500b dmax 5ms rate 1mbit]");
    assert!(concave.contains("rt m1 2400kbit d 5ms m2 1mbit ls m1 2400kbit d 5ms m2 1mbit"), "{concave}");
    let convex = read("hfsc [1 rt umax 1500b dmax 100ms rate 1mbit]");
    assert!(convex.contains("rt m1 0bit d 88ms m2 1mbit"), "{convex}");
    let script = "tc qdisc add dev eth0 root handle 1: hfsc default 11
        tc class add dev eth0 parent 1: classid 1:1 hfsc ls m2 10mbit ul m2 10mbit
        tc class add dev eth0 parent 1:1 classid 1:11 hfsc sc m2 4mbit
        tc qdisc add dev eth0 parent 1:11 fq_codel";
    assert!(read(script).starts_with("hfsc default 11 [1 ls m1 0bit d 0s m2 10mbit ul "), "{}", read(script));
}
