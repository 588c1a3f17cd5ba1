//! Advice for lines of several kinds, in simulated time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use goodqueue::Duration;
use goodqueue_advise::{Advice, Measurement, Question, advise, html, kind, read_flent, words};
use goodqueue_scenario::export::{Contents, Format};
use goodqueue_scenario::results::Grade;
use goodqueue_scenario::run::series::Steps;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::session::{NoWatch, Outline};
use goodqueue_scenario::sweep::Sweep;

fn asked(rates: &str, link: &str) -> Question {
    let mut question = Question::new(rates, link).unwrap();
    question.effort.seeds = 1;
    question
}

fn advised(question: &Question) -> Advice {
    advise(question, 0, &NoWatch).unwrap().expect("nobody cancels")
}

fn setting<'a>(advice: &'a Advice, name: &str) -> &'a str {
    &advice.settings.iter().find(|setting| setting.name == name).unwrap().text
}

#[test]
fn a_dsl_line_with_cells_needs_a_shaper_that_knows_them() {
    let advice = advised(&asked("6mbit/1mbit", "dsl"));
    assert!(advice.line.contains("ADSL"), "{}", advice.line);
    assert_eq!(advice.today.grade, Grade::F);
    assert!(advice.advised.ping_s.unwrap() < 0.1, "{:?}", advice.advised.ping_s);
    assert!(advice.advised.latency_s.max < advice.today.latency_s.min, "every run is better");
    assert!(advice.lines.iter().all(|line| line.contains(" atm")), "{:?}", advice.lines);
    assert!(advice.reason.contains("overhead"), "{}", advice.reason);
    for (name, part) in [
        ("tc", "root cake bandwidth"),
        ("tc", "matchall action mirred egress redirect dev ifb4eth0"),
        ("openwrt", "option upload '"),
        ("networkd", "CompensationMode=atm"),
    ] {
        assert!(setting(&advice, name).contains(part), "{name}: {}", setting(&advice, name));
    }
    // The model is a scenario that anybody can run and change.
    let scenario = Document::parse("advice.toml", &advice.scenario, Path::new("")).unwrap();
    assert_eq!(Sweep::new(&scenario, &Names::default()).unwrap().count(), 1);
    let text = words(&advice);
    assert!(
        text.contains("Today:") && text.contains("Advice:") && text.contains("Verified with 5 traffic mixes")
    );
}

#[test]
fn the_buffers_follow_from_measured_pings() {
    let measured = Measurement { idle: Duration::from_millis(20), loaded: Duration::from_millis(500) };
    let question = asked("4mbit/1mbit", "cable").with_measurement(measured).unwrap();
    let advice = advised(&question);
    assert!(advice.is_measured);
    assert!((0.43..0.57).contains(&advice.today.ping_s.unwrap()), "{:?}", advice.today.ping_s);
    assert!(advice.advised.ping_s.unwrap() < 0.06, "{:?}", advice.advised.ping_s);
}

#[test]
fn a_line_without_bufferbloat_is_left_alone() {
    let measured = Measurement { idle: Duration::from_millis(20), loaded: Duration::from_millis(24) };
    let mut question = asked("8mbit/8mbit", "fibre").with_measurement(measured).unwrap();
    question.effort.series = true;
    let advice = advised(&question);
    assert!(advice.keep);
    assert!(words(&advice).contains("Leave the router as it is"));
    // The picture does not show a setting that nobody is to set.
    let page = html(&advice);
    assert!(page.contains("<circle class=\"today\"") && !page.contains("<circle class=\"with\""), "{page}");
    assert!(page.contains("What happens today</h2>") && !page.contains("What to set"), "{page}");
}

#[test]
fn a_changing_rate_costs_goodput_and_the_advice_says_so() {
    let advice = advised(&asked("4mbit/1mbit", "lte"));
    assert!(advice.advised.latency_s.mean < advice.today.latency_s.mean / 5.0);
    assert!(advice.shaped_bps[0] < 4_000_000);
    assert!(advice.reason.contains("changes"), "{}", advice.reason);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let question = asked("2mbit/1mbit", "cable");
    // The order in which threads finish must not show.
    let [one, other] = [1, 2].map(|threads| {
        let advice = advise(&question, threads, &NoWatch).unwrap().unwrap();
        serde_json::to_string(&advice).unwrap()
    });
    assert_eq!(one, other);
}

#[test]
fn a_measurement_by_flent_gives_pings_and_rates() {
    let mut document = Document::default();
    let overrides = Overrides {
        rate: Some("8mbit".into()),
        up: Some("2mbit".into()),
        rtt: Some("30ms".into()),
        time: Some("20s".into()),
        qdiscs: vec!["bfifo limit 64kb".into()],
        ..Overrides::default()
    };
    document.apply(&overrides).unwrap();
    let series = Steps::Given(Some(Duration::from_millis(200)));
    let session = Outline::new(&document).unwrap().session(series).unwrap();
    let results = session.results(session.run(&NoWatch).unwrap().runs());
    let mut file = Vec::new();
    let to_memory = &mut |_: &Path, _, contents: &mut Contents<'_>| {
        contents(&mut file).expect("memory");
        Ok(())
    };
    Format::Flent.write(Path::new("a.flent.gz"), &results, to_memory).unwrap();
    let line = read_flent("a.flent.gz", &file).unwrap();
    assert!((30..60).contains(&(line.measured.idle.as_nanos() / 1_000_000)), "{:?}", line.measured);
    assert!(line.measured.loaded.as_nanos() > 200_000_000, "{:?}", line.measured);
    let cable = kind("cable", goodqueue::Rate::from_bps(8_000_000)).unwrap();
    let [down, up] = [0, 1].map(|direction| line.rate(cable, direction).unwrap().as_bps());
    // Downloads wait for acknowledgements in the queue of the uploads, so the rate is a lower
    // bound.
    assert!((4_000_000..8_400_000).contains(&down) && (1_200_000..2_300_000).contains(&up), "{down} {up}");
}

#[test]
fn bad_questions_are_refused_with_what_is_allowed() {
    for (rates, link, allowed) in [
        ("fast/slow", "dsl", "a number and a unit"),
        ("10mbit/1kbit", "dsl", "128 kbit/s to 2.5 Gbit/s"),
        ("10mbit/1mbit", "carrier-pigeon", "dsl"),
        ("10mbit/1mbit", "fibr", "did you mean `fibre`"),
        ("10mbit", "fibre", "10mbit/10mbit"),
    ] {
        let refused = Question::new(rates, link).unwrap_err().to_string();
        assert!(refused.contains(allowed), "{refused}");
    }
    let upside_down = Measurement { idle: Duration::from_millis(30), loaded: Duration::from_millis(20) };
    let refused = asked("10mbit/10mbit", "dsl").with_measurement(upside_down).unwrap_err().to_string();
    assert!(refused.contains("below the idle ping"), "{refused}");
    // A queue of 59 s at 100 Mbit/s would hold about 700 MB.
    let endless = Measurement { idle: Duration::from_millis(1), loaded: Duration::from_millis(59_000) };
    let question = asked("100mbit/100mbit", "fibre").with_measurement(endless).unwrap();
    let refused = advise(&question, 0, &NoWatch).unwrap_err().to_string();
    assert!(refused.contains("no buffer of this line"), "{refused}");
    // ADSL2+ carries 24 Mbit/s at most (ITU-T G.992.5).
    assert_eq!(kind("dsl", goodqueue::Rate::from_bps(30_000_000)).unwrap().line.name, "vdsl");
}

#[test]
fn on_wifi_a_shaper_leaves_room_for_both_directions_and_its_price_is_told() {
    let advice = advised(&asked("20mbit/20mbit", "wifi"));
    assert!(advice.advised.latency_s.mean < advice.today.latency_s.mean / 2.0);
    // Both directions share the air, which carries about 20 Mbit/s in one direction at a time.
    assert!(advice.shaped_bps.iter().sum::<u64>() <= 22_000_000, "{:?}", advice.shaped_bps);
    assert!(advice.reason.contains("Without uploads, downloads get"), "{}", advice.reason);
    // The download leaves through the interface, the upload enters by it.
    assert!(setting(&advice, "tc").contains("dev wlan0 root"), "{}", setting(&advice, "tc"));
    assert!(setting(&advice, "openwrt").contains(&format!("upload '{}'", advice.shaped_bps[0] / 1000)));
    let openwrt = advice.settings.iter().find(|setting| setting.name == "openwrt").unwrap();
    assert!(openwrt.place.contains("its download is what enters there"), "{}", openwrt.place);
    // Fair queueing in the access point protects other devices, not the one that uploads.
    let mix = |name: &str| advice.mixes.iter().find(|mix| mix.name.contains(name)).unwrap();
    let instead = |name: &str| mix(name).instead_s.unwrap().mean;
    assert!(instead("another device") < mix("another device").today_s.mean / 10.0);
    assert!(instead("a backup") > mix("a backup").today_s.mean / 2.0);
    assert!(words(&advice).contains("Or:     an access point that queues per flow"));
}

#[test]
fn the_printed_lines_are_the_simulated_ones_with_and_without_priorities() {
    for diffserv in [false, true] {
        let mut question = asked("2mbit/1mbit", "cable");
        question.diffserv = diffserv;
        let advice = advised(&question);
        for line in &advice.lines {
            // tc takes the discipline below a token bucket as a command of its own.
            for part in line.trim_end_matches(" ]").split(" [ ") {
                assert!(setting(&advice, "tc").contains(part), "{part}: {}", setting(&advice, "tc"));
            }
            assert!(advice.scenario.contains(line), "{line}: {}", advice.scenario);
            assert_eq!(line.contains("diffserv3"), diffserv, "{line}");
        }
    }
}
