//! How long runs take, estimated before they are simulated.
//!
//! The simulator's time is about proportional to the packets that it forwards. Their number follows
//! from the scenario: the rates of its links and its duration, or less if the traffic asks for less.

use goodqueue::{Duration, Rate};
use goodqueue_scenario::scenario::{Direction, FlowGroup, LinkRate, Page, Scenario, Traffic};

/// Estimates the CPU time of one run of `scenario` in seconds.
pub(super) fn cpu_s(scenario: &Scenario) -> f64 {
    let sent: f64 = [Direction::Down, Direction::Up].map(|direction| sent(scenario, direction)).iter().sum();
    let hops = 1.0 + scenario.hops.iter().map(|_| HOP).sum::<f64>();
    let wifi = if scenario.wifi.is_some() { WIFI } else { 1.0 };
    RUN_S + sent * hops * wifi * PACKET_S
}

/// Packets of data that a run sends in this direction.
fn sent(scenario: &Scenario, direction: Direction) -> f64 {
    let groups = scenario.flows.iter().filter(|group| group.direction == direction);
    let asked: f64 = groups.map(|group| f64::from(group.count) * packets(group, scenario)).sum();
    let ends = std::iter::once(end(&scenario.link.down, &scenario.link.up, direction))
        .chain(scenario.hops.iter().map(|hop| end(&hop.down, &hop.up, direction)));
    let narrowest = ends.map(|end| bits(&end.rate, scenario.duration)).fold(f64::INFINITY, f64::min);
    let stations = scenario.wifi.iter().flat_map(|wifi| &wifi.stations);
    let radios = stations.map(|station| float(end(&station.radio[0], &station.radio[1], direction).modulation.rate_bps()));
    let air = radios.reduce(f64::max).map_or(f64::INFINITY, |rate| rate * seconds(scenario.duration));
    asked.min(narrowest.min(air) / BITS_PER_BYTE / f64::from(scenario.link.mtu))
}

fn end<'e, E>(down: &'e E, up: &'e E, direction: Direction) -> &'e E {
    match direction {
        Direction::Down => down,
        Direction::Up => up,
    }
}

/// Packets that one flow of the group would send over a link without a limit.
fn packets(group: &FlowGroup, scenario: &Scenario) -> f64 {
    let stop = group.stop.unwrap_or(scenario.duration).min(scenario.duration);
    let time = seconds(stop) - seconds(group.start);
    let every = |interval: Duration| time / seconds(interval).max(SHORTEST_S);
    let at = |rate: Rate, bytes: f64| time * bps(rate) / BITS_PER_BYTE / bytes.max(1.0);
    let of_tcp = |bytes: u64| float(bytes) / f64::from(scenario.link.mtu);
    let asked = match &group.traffic {
        Traffic::Tcp(transfer) => transfer.size.map_or(f64::INFINITY, of_tcp),
        Traffic::Ping(ping) => 2.0 * every(ping.interval),
        Traffic::Voip(call) => every(call.interval),
        Traffic::Cbr(source) => at(source.rate, f64::from(source.packet)),
        Traffic::OnOff(source) => at(source.rate, f64::from(source.packet)),
        Traffic::Web(browser) => every(browser.interval) * of_tcp(bytes(&browser.page)),
        Traffic::PackMime(users) => time * users.connections * PACKMIME,
        Traffic::Video(viewer) => viewer.ladder.last().map_or(0.0, |rate| at(*rate, f64::from(scenario.link.mtu))),
        // As much as the link carries.
        _ => f64::INFINITY,
    };
    asked.max(0.0)
}

/// Bytes of a page.
fn bytes(page: &Page) -> u64 {
    match page {
        Page::Google => 56_000,
        Page::Huffpost => 3_000_000,
        Page::Objects(sizes) => sizes.iter().sum(),
        Page::Divided { size, .. } => *size,
    }
}

/// Bits that a link carries in a run.
fn bits(rate: &LinkRate, duration: Duration) -> f64 {
    let LinkRate::Schedule(steps) = rate else { return bps(rate.nominal()) * seconds(duration) };
    let ends = steps.iter().skip(1).map(|step| step.0).chain([duration]);
    let step = |(step, end): (&(Duration, Rate), Duration)| {
        bps(step.1) * (seconds(end.min(duration)) - seconds(step.0)).max(0.0)
    };
    steps.iter().zip(ends).map(step).sum()
}

fn seconds(time: Duration) -> f64 {
    float(time.as_nanos()) / 1e9
}

fn bps(rate: Rate) -> f64 {
    float(rate.as_bps())
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) const fn float(number: u64) -> f64 {
    number as f64
}

const BITS_PER_BYTE: f64 = 8.0;
/// Shorter intervals than these are not told apart.
const SHORTEST_S: f64 = 1e-6;
/// Packets of an answer in the PackMime model, about.
const PACKMIME: f64 = 10.0;
/// CPU time of a run without packets.
const RUN_S: f64 = 0.001;
/// CPU time for each packet of data with its acknowledgement.
const PACKET_S: f64 = 2.0e-6;
/// Share of that time for each further hop.
const HOP: f64 = 0.3;
/// Factor over a WiFi channel.
const WIFI: f64 = 2.0;
