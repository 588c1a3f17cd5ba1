//! Lines that name a discipline of another crate.

use goodqueue::aqm::{Aqm, Seen};
use goodqueue::config::{Configure, Declaration, Kind, Parameter};
use goodqueue::random::Source;
use goodqueue::{AnyQdisc, ConfigError, Disciplines, Duration, Instant, Link, Settings, Verdict};
use goodqueue_tc::replay::Arrival;
use goodqueue_tc::{parse, parse_among, statistics, to_tc};

/// Marks above a sojourn time.
#[derive(Clone, Debug)]
struct Step {
    target: Duration,
}

const TARGET: Parameter = Declaration::time("target")
    .default(Duration::from_millis(1))
    .meaning("sojourn time above which packets are marked");

impl Configure for Step {
    const KIND: Kind = Kind::new("step", "Marks above a sojourn time").with_parameters(&[TARGET]);

    fn from_checked(settings: &Settings, _: &Link) -> Result<Self, ConfigError> {
        Ok(Self { target: TARGET.read(settings)? })
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&TARGET, self.target)
    }
}

impl Aqm for Step {
    type State = ();

    fn on_dequeue(&self, _: &mut (), seen: &Seen, _: &mut Source) -> Verdict {
        if seen.sojourn > self.target { Verdict::Mark } else { Verdict::Pass }
    }
}

fn read(line: &str) -> Result<String, String> {
    let disciplines = Disciplines::new().with_aqm::<Step>();
    let config = parse_among(&disciplines, line, &Link::default(), None);
    let config = config.map_err(|error| error.in_argument("--qdisc", line).to_string())?;
    let written = to_tc(&config);
    assert_eq!(
        parse_among(&disciplines, &written, &Link::default(), None).as_ref(),
        Ok(&config),
        "{written}"
    );
    Ok(written)
}

#[test]
fn every_parameter_is_written_at_the_root_in_a_class_and_in_a_script() {
    assert_eq!(read("step").as_deref(), Ok("step target 1ms"));
    assert_eq!(read("tc qdisc add dev eth0 root step target 3ms").as_deref(), Ok("step target 3ms"));
    let nested = read("prio [2: tbf rate 9mbit burst 5000 limit 60000 [step target 2ms]]").expect("read");
    assert!(nested.contains("[step target 2ms]"), "{nested}");
    let script =
        "tc qdisc add dev eth0 root handle 1: prio; tc qdisc add dev eth0 parent 1:1 step target 7ms";
    assert!(read(script).expect("read").contains("[1: step target 7ms]"));
    let changed = "tc qdisc add dev eth0 root step; tc qdisc change dev eth0 root step target 9ms";
    assert_eq!(read(changed).as_deref(), Ok("step target 9ms"));
}

#[test]
fn errors_know_its_name_and_its_parameters() {
    assert!(read("stpe").unwrap_err().contains("did you mean `step`?"));
    assert!(read("step tagret 3ms").unwrap_err().contains("did you mean `target`?"));
    assert!(read("step target 3p").unwrap_err().contains("`target`"));
    assert!(read("step [codel]").unwrap_err().contains("step holds no other disciplines"));
}

#[test]
fn its_statistics_print_every_parameter() {
    let disciplines = Disciplines::new().with_aqm::<Step>();
    let config = parse_among(&disciplines, "step target 3ms", &Link::default(), None).expect("valid");
    let queue = AnyQdisc::<Arrival>::new(config, 0, Source::seeded(1));
    // tc prints microseconds.
    assert_eq!(statistics(&queue, Instant::ZERO, None)[0]["options"].to_string(), r#"{"target":3000}"#);
}

#[test]
fn nobody_else_knows_it() {
    assert!(parse("step", &Link::default()).is_err());
}
