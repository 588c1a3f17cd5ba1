//! Sizes that a page can show.
//!
//! A link to the page can ask for anything, and whoever opens it waits. A page draws every packet,
//! has a row for each flow, and one worker. Its limits are therefore lower than those of the
//! command, and they are checked before anything is made.

use goodqueue::Duration;
use goodqueue_scenario::scenario::{LinkRate, Scenario, Traffic};
use goodqueue_scenario::session::Outline;
use goodqueue_tc::diagnostic::Diagnostic;

/// Most columns of a show.
const MOST_COLUMNS: usize = 8;
/// Most flows: each has a row in each column.
const MOST_FLOWS: u64 = 200;
/// Most runs that the command would make. A show has the first one of each discipline.
const MOST_RUNS: usize = 10_000;
/// Longest simulated time: four minutes at the highest speed of the page.
const LONGEST: Duration = Duration::from_secs(3600);
/// Most packets of a run in both directions: 20 to 60 s of a computer for the table of the run.
const MOST_PACKETS: u128 = 20_000_000;
/// Most pings of a run: the page holds the times of all of them.
const MOST_PINGS: u128 = 100_000;

/// Where a larger scenario can be run.
const ELSEWHERE: &str = "The command `goodqueue compare` has higher limits.";

/// Checks that a page can show the first point of a sweep.
///
/// # Errors
/// It is too large: the error says what is allowed and what to do.
pub(crate) fn check(outline: &Outline) -> Result<(), Diagnostic> {
    let scenario = outline.scenario();
    let disciplines = scenario.qdiscs.len();
    if disciplines > MOST_COLUMNS {
        return Err(too_many(format!("{disciplines} disciplines are"), &format!("1 to {MOST_COLUMNS}")));
    }
    let runs = (outline.sweep().count()).saturating_mul(disciplines).saturating_mul(scenario.seeds as usize);
    if runs > MOST_RUNS {
        let error = too_many(format!("{runs} runs are"), &format!("at most {MOST_RUNS}"));
        return Err(error.help(format!("sweep fewer values, or lower `seeds`. {ELSEWHERE}")));
    }
    let flows = scenario.flow_count();
    if flows > MOST_FLOWS {
        let error = too_many(format!("{flows} flows are"), &format!("at most {MOST_FLOWS}"));
        return Err(error.help(format!("lower the `count` of a table in `flows`. {ELSEWHERE}")));
    }
    of_the_time(scenario)
}

/// Checks what grows with the simulated time.
fn of_the_time(scenario: &Scenario) -> Result<(), Diagnostic> {
    let time = scenario.duration;
    if time > LONGEST {
        let error = Diagnostic::new(format!("a simulated time of {time} is too long to show"));
        let error = error.allowed(format!("at most {LONGEST}"));
        return Err(error.help(format!("lower the simulated time (`duration`). {ELSEWHERE}")));
    }
    let pings: u128 =
        scenario.flows.iter().map(|group| u128::from(group.count) * pings(&group.traffic, time)).sum();
    if pings > MOST_PINGS {
        let error = too_many(format!("{pings} pings are"), &format!("at most {MOST_PINGS}"));
        return Err(error.help(format!("raise the time between two pings (`interval`). {ELSEWHERE}")));
    }
    let packets = packets(scenario);
    if packets > MOST_PACKETS {
        // The packets are proportional to the time, because each source of them has a rate.
        let fitting = u128::from(time.as_nanos()) * MOST_PACKETS / packets;
        let fitting = Duration::from_nanos(u64::try_from(fitting).unwrap_or(u64::MAX));
        let shown = whole_if_possible(fitting);
        let error = too_many(
            // Rounded up, so that the number is above the limit that the message names.
            format!("up to {} million packets in {time} are", packets.div_ceil(1_000_000)),
            &format!(
                "at most {} million: the rate of the line × the simulated time",
                MOST_PACKETS / 1_000_000
            ),
        );
        return Err(
            error.help(format!("simulate at most {shown} (`duration`), or lower the rate. {ELSEWHERE}"))
        );
    }
    Ok(())
}

fn too_many(what: String, allowed: &str) -> Diagnostic {
    Diagnostic::new(format!("{what} too many to show")).allowed(allowed)
}

/// Returns a time in whole seconds, or in whole microseconds if it is shorter than one.
fn whole_if_possible(time: Duration) -> Duration {
    let unit = if time >= Duration::from_secs(1) { 1_000_000_000 } else { 1000 };
    Duration::from_nanos(time.as_nanos() / unit * unit)
}

/// Returns the number of packets that fit through the line in both directions, plus the datagrams
/// that are sent whether they fit or not.
fn packets(scenario: &Scenario) -> u128 {
    let largest = u128::from(scenario.link.mtu.saturating_add(scenario.link.framing).max(1));
    let time = u128::from(scenario.duration.as_nanos());
    let link = [&scenario.link.down.rate, &scenario.link.up.rate];
    let through: u128 = [0, 1]
        .map(|direction| {
            let hops = scenario.hops.iter().map(|hop| [&hop.down.rate, &hop.up.rate][direction]);
            // The slowest link bounds what passes the line.
            hops.chain([link[direction]]).map(highest).min().unwrap_or(0)
        })
        .iter()
        .map(|rate| times(*rate, time, largest))
        .sum();
    let datagrams = scenario.flows.iter().map(|group| {
        let of_one = match &group.traffic {
            Traffic::Cbr(cbr) => times(cbr.rate.as_bps(), time, u128::from(cbr.packet)),
            Traffic::OnOff(bursts) => times(bursts.rate.as_bps(), time, u128::from(bursts.packet)),
            // The sizes of the others are drawn, or their rates are bounded by the call's codec.
            Traffic::Poisson(random) => times(random.rate.as_bps(), time, largest),
            other => pings(other, scenario.duration),
        };
        u128::from(group.count) * of_one
    });
    through + datagrams.sum::<u128>()
}

/// Returns the highest rate of a link in bits per second.
fn highest(rate: &LinkRate) -> u64 {
    match rate {
        LinkRate::Schedule(steps) => steps.iter().map(|step| step.1.as_bps()).max().unwrap_or(0),
        other => other.nominal().as_bps(),
    }
}

/// Returns the number of packets of this size in this time, in nanoseconds.
fn times(rate: u64, time: u128, bytes: u128) -> u128 {
    u128::from(rate) * time / (8 * bytes.max(1) * 1_000_000_000)
}

/// Returns the number of probes or voice packets that a flow sends.
fn pings(traffic: &Traffic, time: Duration) -> u128 {
    let interval = match traffic {
        Traffic::Ping(ping) => ping.interval,
        Traffic::Voip(call) => call.interval,
        _ => return 0,
    };
    u128::from(time.as_nanos() / interval.as_nanos().max(1))
}
