//! The WiFi model against theory: closed formulas where there are any, fixed points where there are not.

use std::collections::BTreeMap;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, DropReason, Duration, Ecn, Flow, Instant, Packet, Rate};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::airtime::DEFAULT_WEIGHT;
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::forming::Forming;
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::phy::{self, Modulation, Width};
use goodqueue_sim::wifi::{ClientConfig, MacConfig, Medium, MediumConfig, Node, RadioConfig, Sink};

/// A UDP packet.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Datagram {
    client: usize,
    flow: u32,
    number: u64,
    ip_bytes: u32,
    dscp: u8,
    sent: Instant,
}

impl Packet for Datagram {
    fn len(&self) -> u32 {
        self.ip_bytes + FRAMING
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) -> bool {
        false
    }
}

impl Flow for Datagram {
    fn flow_hash(&self, salt: u32) -> u32 {
        u32::try_from(goodqueue::random::mix_64(u64::from(salt) << 32 | u64::from(self.flow)) >> 32)
            .unwrap_or(0)
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
}

const FRAMING: u32 = 14;
const BOTH: [Direction; 2] = Direction::BOTH;

/// What arrived, and in which order.
#[derive(Default)]
struct Seen {
    packets: BTreeMap<(usize, Direction, u32), u64>,
    dropped: BTreeMap<&'static str, u64>,
    delays: Vec<Duration>,
    /// Sum and number per flow.
    delay_of: BTreeMap<u32, (f64, u64)>,
    last: BTreeMap<(usize, Direction, u32, u8), u64>,
    disordered: u64,
    out: u64,
}

impl Sink<Datagram> for Seen {
    fn delivered(&mut self, now: Instant, direction: Direction, client: usize, packet: Datagram) {
        assert_eq!(client, packet.client, "a packet for another client");
        *self.packets.entry((client, direction, packet.flow)).or_default() += 1;
        let delay = now.since(packet.sent);
        self.delays.push(delay);
        let (sum, count) = self.delay_of.entry(packet.flow).or_default();
        (*sum, *count) = (*sum + micros(delay), *count + 1);
        let last = self.last.insert((client, direction, packet.flow, packet.dscp), packet.number);
        self.disordered += u64::from(last.is_some_and(|last| last > packet.number));
        self.out += 1;
    }

    fn dropped(&mut self, _: Instant, _: Node, _: Datagram, why: DropReason) {
        *self.dropped.entry(why.name()).or_default() += 1;
        self.out += 1;
    }
}

impl Seen {
    fn arrived(&self, direction: Direction, client: usize) -> u64 {
        self.packets.iter().filter(|((c, d, _), _)| (*c, *d) == (client, direction)).map(|(_, n)| n).sum()
    }
}

/// Somebody who always has something to send, or sends at a constant rate.
#[derive(Clone, Copy)]
struct Sender {
    direction: Direction,
    client: usize,
    ip_bytes: u32,
    dscp: u8,
    /// Time between packets; `None`: so that the queue is never empty.
    interval: Option<Duration>,
}

impl Sender {
    fn saturating(direction: Direction, client: usize) -> Self {
        Self { direction, client, ip_bytes: 1500, dscp: 0, interval: None }
    }

    fn at(direction: Direction, client: usize, mbit: u64) -> Self {
        let interval = Rate::from_bps(mbit * 1_000_000).serialization(1500);
        Self { interval: Some(interval), ..Self::saturating(direction, client) }
    }
}

fn ht(mcs: u8, short_gi: bool) -> Modulation {
    Modulation::new(mcs, Width::Mhz20, short_gi).expect("an HT MCS")
}

fn qdisc(name: &str, settings: &Settings) -> AnyConfig {
    AnyConfig::from_settings(name, settings, &Link::default()).expect("listed").expect("valid")
}

fn driver(limit: u32) -> MacConfig {
    let pfifo = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1000)));
    MacConfig::Driver(Box::new(DriverConfig { qdisc: pfifo, limit, order: Order::default() }))
}

fn client(radio: RadioConfig) -> ClientConfig {
    ClientConfig { mac: driver(224), radio: [radio; 2], weight: DEFAULT_WEIGHT }
}

fn channel(access_point: MacConfig, clients: Vec<ClientConfig>) -> MediumConfig {
    MediumConfig {
        access_point,
        clients,
        forming: [Forming::default(); 2],
        small_queue: None,
        framing: FRAMING,
        seed: 1,
        hash_keys: [0; 2],
    }
}

/// Lets them send for so long.
fn run(config: &MediumConfig, senders: &[Sender], millis: u64) -> (Seen, Medium<Datagram>) {
    let mut medium = Medium::new(config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    let mut numbers = vec![0_u64; senders.len()];
    let end = Instant::ZERO + Duration::from_millis(millis);
    let mut now = Instant::ZERO;
    let offer = |medium: &mut Medium<Datagram>, seen: &mut Seen, numbers: &mut [u64], now, index: usize| {
        let sender = &senders[index];
        let packet = Datagram {
            client: sender.client,
            flow: u32::try_from(index).expect("few"),
            number: numbers[index],
            ip_bytes: sender.ip_bytes,
            dscp: sender.dscp,
            sent: now,
        };
        numbers[index] += 1;
        medium.enqueue(now, sender.direction, sender.client, packet, &client_of, seen);
    };
    while now < end {
        for (index, sender) in senders.iter().enumerate() {
            let node = if sender.direction == Direction::Down {
                Node::AccessPoint
            } else {
                Node::Client(sender.client)
            };
            while sender.interval.is_none() && medium.queue_len(node) < 20 * senders.len() {
                offer(&mut medium, &mut seen, &mut numbers, now, index);
            }
        }
        let due = |index: usize| {
            senders[index].interval.map(|step| Instant::ZERO + step.saturating_mul(numbers[index]))
        };
        let next = (0..senders.len()).filter_map(|index| Some((due(index)?, index))).min();
        match (next, medium.next_event()) {
            (Some((at, index)), event) if event.is_none_or(|event| at < event) => {
                now = at;
                offer(&mut medium, &mut seen, &mut numbers, now, index);
            }
            (_, Some(event)) => {
                now = event;
                medium.advance(now, &client_of, &mut seen);
            }
            _ => break,
        }
    }
    (seen, medium)
}

#[allow(clippy::cast_precision_loss)]
fn mbits(packets: u64, millis: u64) -> f64 {
    packets as f64 * 1500.0 * 8.0 / millis as f64 / 1e3
}

#[allow(clippy::cast_precision_loss)]
fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

/// The throughput formula of "Ending the Anomaly" §2.2.1 in Mbit/s: `n` packets of 1500 bytes in an aggregate at a rate of
/// `mbit`.
fn paper_formula(n: f64, mbit: f64) -> f64 {
    let subframe: f64 = 1500.0 + 4.0 + 34.0 + 4.0;
    let bytes = n * (subframe / 4.0).ceil() * 4.0;
    let data = 32.0 + 8.0 * bytes / mbit;
    let overhead = 34.0 + 16.0 + (32.0 + 8.0 * 58.0 / mbit) + 9.0 * 15.0 / 2.0;
    8.0 * n * 1500.0 / (data + overhead)
}

/// The same from the air times of the standard, which the model has.
fn standard_formula(n: u32, modulation: Modulation) -> f64 {
    let frame = phy::mpdu_bytes(1500);
    let bytes = if n == 1 { frame } else { n * phy::subframe_bytes(frame) };
    let time = 43.0 + 67.5 + micros(modulation.ppdu(bytes)) + 16.0 + micros(modulation.answer(n > 1));
    8.0 * f64::from(n) * 1500.0 / time
}

fn close(value: f64, expected: f64, relative: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= relative, "{what}: {value}, expected {expected}");
}

/// A radio that keeps to the standard's limits alone.
fn radio(modulation: Modulation, aggregate: u32) -> RadioConfig {
    RadioConfig { aggregate, longest: phy::MAX_PPDU, ..RadioConfig::new(modulation) }
}

#[test]
fn the_papers_formula_gives_the_papers_values() {
    for (n, expected) in [(1.0, 44.4), (2.0, 67.5), (8.0, 110.5), (32.0, 131.4), (42.0, 133.4)] {
        close(paper_formula(n, 144.4), expected, 0.001, "144.4 Mbit/s");
    }
    close(paper_formula(2.0, 7.2), 6.53, 0.001, "7.2 Mbit/s");
}

#[test]
fn a_station_alone_gets_what_the_formulas_say() {
    let alone = |modulation, aggregate| {
        let mut config = channel(driver(1000), vec![client(radio(modulation, aggregate))]);
        // With a second aggregate prepared, a window of 64 numbers could not hold two of more than 32.
        config.forming = [Forming::Ahead(1); 2];
        let (seen, _) = run(&config, &[Sender::saturating(Direction::Down, 0)], 10_000);
        mbits(seen.arrived(Direction::Down, 0), 10_000)
    };
    let single_stream = ht(7, true);
    for n in [1, 2, 8, 32] {
        close(alone(single_stream, n), standard_formula(n, single_stream), 0.005, "MCS 7");
    }
    close(alone(single_stream, 32), paper_formula(32.0, 72.2), 0.01, "MCS 7, the paper's formula");
    let fast = ht(15, true);
    for n in [1, 2, 8, 32, 42] {
        close(alone(fast, n), standard_formula(n, fast), 0.005, "MCS 15");
    }
    close(alone(fast, 32), 131.4, 0.01, "MCS 15, n = 32, the paper's value");
    close(alone(fast, 42), 133.4, 0.01, "MCS 15, n = 42, the paper's value");
    // At 6 Mbit/s the answer takes longer than the paper assumes.
    close(alone(ht(0, true), 2), 6.53, 0.02, "MCS 0, n = 2, the paper's value");
}

#[test]
fn four_milliseconds_limit_a_slow_station_to_two_packets() {
    let mut slow = radio(ht(0, true), 32);
    slow.longest = Duration::from_millis(4);
    let (_, medium) =
        run(&channel(driver(1000), vec![client(slow)]), &[Sender::saturating(Direction::Down, 0)], 5_000);
    let [down, _] = medium.radio_stats(0);
    assert!(
        down.mpdus.abs_diff(2 * down.ppdus) <= 2,
        "but the first ones, which found the channel idle: {down:?}"
    );
}

/// Bianchi's fixed point for `n` saturated stations that send a frame `attempts` times at most (Wu et al. 2002 for the
/// limit): the probability that a station sends in a slot, and that what it sends collides.
fn bianchi(n: i32, attempts: i32) -> (f64, f64) {
    let tau_of = |p: f64| {
        let weight: f64 = (0..attempts).map(|stage| p.powi(stage)).sum();
        let slots: f64 = (0..attempts)
            .map(|stage| p.powi(stage) * (f64::from((16_u32 << stage.min(6)).min(1024)) + 1.0) / 2.0)
            .sum();
        weight / slots
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let tau = f64::midpoint(low, high);
        let p = 1.0 - (1.0_f64 - tau).powi(n - 1);
        if tau_of(p) > tau { low = tau } else { high = tau }
    }
    (low, 1.0 - (1.0_f64 - low).powi(n - 1))
}

/// The back-off rules alone, drawn at random: `n` saturated stations whose frames take `frame` microseconds, and wait so
/// much beyond the usual after a collision: those who sent it, those who heard it. Returns the share of time in which
/// frames arrive, in frames per microsecond, and the share of frames that collide.
fn contention(n: usize, attempts: u32, frame: u64, waits: [u64; 2]) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::new(1);
    let mut stations = vec![(0_u32, 0_u64, 0_u64); n];
    let (mut arrived, mut sent, mut collided) = (0, 0, 0);
    let mut now = 0;
    while sent < 200_000 {
        let begins = |&(_, counter, idle_from): &(u32, u64, u64)| idle_from + 43 + 9 * counter;
        now = stations.iter().map(begins).min().expect("there are stations");
        let senders: Vec<bool> = stations.iter().map(|station| begins(station) == now).collect();
        let collides = senders.iter().filter(|&&sends| sends).count() > 1;
        for ((failures, counter, idle_from), sends) in stations.iter_mut().zip(senders) {
            if sends {
                sent += 1;
                (arrived, collided) = (arrived + u64::from(!collides), collided + u64::from(collides));
                *failures = if collides { (*failures + 1) % attempts } else { 0 };
                *counter = u64::from(random.below((16 << (*failures).min(6)).min(1024)));
            } else if now >= *idle_from + 43 {
                *counter -= (now - *idle_from - 43) / 9 + 1;
            }
            *idle_from = now + frame + if collides { waits[usize::from(!sends)] } else { 16 + 28 };
        }
    }
    (fraction(arrived, now), fraction(collided, sent))
}

#[test]
fn saturated_stations_share_the_channel_as_the_back_off_rules_and_bianchis_model_say() {
    for n in [1, 2, 5, 10, 20, 50] {
        let modulation = ht(7, false);
        let radio = RadioConfig { attempts: 7, ..radio(modulation, 1) };
        let clients: Vec<ClientConfig> = (0..n).map(|_| client(radio)).collect();
        let senders: Vec<Sender> = (0..n).map(|client| Sender::saturating(Direction::Up, client)).collect();
        let millis = 6_000;
        let (seen, medium) = run(&channel(driver(123), clients), &senders, millis);
        let stats: Vec<_> = (0..n).map(|client| medium.radio_stats(client)[1]).collect();
        let sum = |of: fn(&goodqueue_sim::wifi::RadioStats) -> u64| stats.iter().map(of).sum::<u64>();
        let collided = fraction(sum(|radio| radio.collisions), sum(|radio| radio.ppdus));
        let arrived: u64 = (0..n).map(|client| seen.arrived(Direction::Up, client)).sum();
        let whole = |duration: Duration| duration.as_nanos() / 1_000;
        let frame = whole(modulation.ppdu(phy::mpdu_bytes(1500)));
        let (answer, eifs) = (whole(phy::ANSWER_TIMEOUT), whole(phy::EIFS_EXTRA));
        let (rate, p) = contention(n, 7, frame, [answer, eifs]);
        close(mbits(arrived, millis), 12_000.0 * rate, 0.01, &format!("throughput of {n} stations"));
        assert!((collided - p).abs() < 0.01, "{n} stations: {collided} collide, expected {p}");

        // Bianchi's model has all stations wait the same after a collision.
        let (rate, collided) = contention(n, 7, frame, [eifs, eifs]);
        let stations = i32::try_from(n).expect("few");
        let (tau, p) = bianchi(stations, 7);
        let idle = (1.0 - tau).powi(stations);
        let success = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1);
        let success_time = fraction(frame + 16 + 28 + 43, 1);
        let collision_time = fraction(frame + eifs + 43, 1);
        // A boundary at which nobody sends takes a slot; the one of a transmission, the transmission and AIFS.
        let mean = idle * 9.0 + success * success_time + (1.0 - idle - success) * collision_time;
        close(rate, success / mean, 0.01, &format!("Bianchi's throughput of {n} stations"));
        assert!((collided - p).abs() < 0.01, "{n} stations: {collided} collide, Bianchi has {p}");
    }
}

#[allow(clippy::cast_precision_loss)]
fn fraction(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

/// Who sends first after two frames of different lengths collided, and how many microseconds after the longer one:
/// 0 is the client of the short frame, 1 that of the long one, 2 one that heard them. `None`: another collision.
fn first_after_a_collision(seed: u64) -> Option<(usize, f64)> {
    let clients = [7, 0, 7].map(|mcs| client(radio(ht(mcs, false), 1)));
    let mut config = channel(driver(123), clients.to_vec());
    config.seed = seed;
    let mut medium = Medium::new(&config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    let offer = |medium: &mut Medium<Datagram>, seen: &mut Seen, client, micros| {
        let sent = Instant::ZERO + Duration::from_micros(micros);
        let packet = Datagram { client, flow: 0, number: 0, ip_bytes: 1500, dscp: 0, sent };
        medium.enqueue(sent, Direction::Up, client, packet, &client_of, seen);
    };
    // On a quiet channel both begin at the first boundary, 43 µs after its start; then comes the third packet.
    offer(&mut medium, &mut seen, 0, 0);
    offer(&mut medium, &mut seen, 1, 0);
    offer(&mut medium, &mut seen, 2, 100);
    let up = |medium: &Medium<Datagram>| [0, 1, 2].map(|client| medium.radio_stats(client)[1]);
    let mut collided_at = None;
    while let Some(event) = medium.next_event() {
        let before = up(&medium);
        medium.advance(event, &client_of, &mut seen);
        let after = up(&medium);
        let senders: Vec<usize> = (0..3).filter(|&of| after[of].ppdus > before[of].ppdus).collect();
        match (collided_at, &senders[..]) {
            (_, []) => {}
            (None, [0, 1]) => collided_at = Some(event),
            (Some(collision), &[sender]) => {
                let airtime = micros(after[sender].airtime) - micros(before[sender].airtime);
                return Some((sender, micros(event.since(collision)) - airtime));
            }
            _ => return None,
        }
    }
    None
}

#[test]
fn after_a_collision_only_those_who_heard_it_wait_the_extended_space() {
    let mut least = [f64::INFINITY; 3];
    for (sender, wait) in (0..2_000).filter_map(first_after_a_collision) {
        least[sender] = least[sender].min(wait);
    }
    // AIFS is 43 µs. The end of the short frame is long ago; the sender of the long one waits 45 µs more for an answer;
    // the third one 60, as it could not read what it heard.
    assert_eq!(least, [43.0, 88.0, 103.0]);
}

#[test]
fn a_slow_station_pulls_a_fast_one_down_to_its_own_rate() {
    // Heusse et al. 2003: the distributed coordination function gives equal chances, so equal packet rates, but that the
    // fast one is a few slots ahead after each collision: its frame is over when the slow one begins to wait for an answer.
    let clients = vec![client(radio(ht(0, false), 1)), client(radio(ht(7, false), 1))];
    let senders = [Sender::saturating(Direction::Up, 0), Sender::saturating(Direction::Up, 1)];
    let (seen, medium) = run(&channel(driver(123), clients), &senders, 60_000);
    let rates = [0, 1].map(|client| seen.arrived(Direction::Up, client));
    // ns-3.44 has 4.328 and 4.693 Mbit/s.
    close(fraction(rates[0], rates[1]), 4.328 / 4.693, 0.02, "packets of the slow and the fast one");
    let fast = mbits(rates[1], 60_000);
    assert!(fast < 6.5 && fast < standard_formula(1, ht(7, false)) / 5.0, "{fast}");
    let [slow, quick] = [0, 1].map(|client| medium.radio_stats(client)[1]);
    let frame = |mcs| micros(ht(mcs, false).ppdu(phy::mpdu_bytes(1500)));
    close(
        fraction(slow.airtime.as_nanos() / slow.ppdus, quick.airtime.as_nanos() / quick.ppdus),
        (frame(0) + 16.0 + 44.0) / (frame(7) + 16.0 + 28.0),
        0.03,
        "airtime goes as the length of a frame",
    );
}

#[test]
fn the_fq_mac_gives_each_of_n_stations_an_nth_of_the_airtime() {
    for rates in [vec![0, 7], vec![0, 3, 7, 15], vec![0, 1, 2, 3, 4, 5, 6, 7, 12, 15]] {
        let clients: Vec<ClientConfig> =
            rates.iter().map(|&mcs| client(RadioConfig::new(ht(mcs, true)))).collect();
        let senders: Vec<Sender> =
            (0..rates.len()).map(|client| Sender::at(Direction::Down, client, 100)).collect();
        let (_, medium) = run(&channel(MacConfig::Fq(FqMacConfig::default()), clients), &senders, 20_000);
        let airtimes: Vec<u64> =
            (0..rates.len()).map(|client| medium.radio_stats(client)[0].airtime.as_nanos()).collect();
        let total: u64 = airtimes.iter().sum();
        for &airtime in &airtimes {
            close(fraction(airtime, total), 1.0 / fraction(rates.len() as u64, 1), 0.01, "share of airtime");
        }
    }
}

/// Shares of airtime, and throughputs in Mbit/s, of two stations at 144.4 Mbit/s and one at 7.2, all flooded.
fn papers_three_stations(access_point: MacConfig) -> (Vec<f64>, Vec<f64>) {
    let stations = [15, 15, 0].map(|mcs| client(RadioConfig::new(ht(mcs, true))));
    let senders: Vec<Sender> = (0..3).map(|client| Sender::at(Direction::Down, client, 100)).collect();
    let (seen, medium) = run(&channel(access_point, stations.to_vec()), &senders, 20_000);
    let airtimes = [0, 1, 2].map(|client| medium.radio_stats(client)[0].airtime.as_nanos());
    let total: u64 = airtimes.iter().sum();
    let shares = airtimes.iter().map(|airtime| fraction(*airtime, total)).collect();
    (shares, (0..3).map(|client| mbits(seen.arrived(Direction::Down, client), 20_000)).collect())
}

#[test]
fn the_fq_mac_ends_the_anomaly_of_the_papers_three_stations() {
    let (fifo_shares, fifo) = papers_three_stations(driver(123));
    let (fair_shares, fair) = papers_three_stations(MacConfig::Fq(FqMacConfig::default()));
    assert!(
        (0.75..0.85).contains(&fifo_shares[2]),
        "the slow one holds most of the airtime: {fifo_shares:?}"
    );
    assert!(fair_shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.01), "{fair_shares:?}");
    let total = |rates: &[f64]| rates.iter().sum::<f64>();
    assert!(total(&fair) > 3.0 * total(&fifo), "{fifo:?} {fair:?}");
    let fast = ht(15, true);
    // A third of the time, with aggregates of 32.
    for rate in &fair[..2] {
        close(*rate, standard_formula(32, fast) / 3.0, 0.05, "a fast station's throughput");
    }
}

#[test]
fn packets_below_the_discipline_wait_for_the_whole_drivers_buffer() {
    // The discipline is a FIFO of one packet: all that waits, waits in the driver.
    let one = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1)));
    for limit in [64, 123, 224] {
        let access_point =
            MacConfig::Driver(Box::new(DriverConfig { qdisc: one.clone(), limit, order: Order::default() }));
        let radio = RadioConfig::new(ht(7, false));
        let (seen, _) =
            run(&channel(access_point, vec![client(radio)]), &[Sender::at(Direction::Down, 0, 100)], 10_000);
        let rate = mbits(seen.arrived(Direction::Down, 0), 10_000);
        let waits = &seen.delays[seen.delays.len() / 2..];
        let mean = waits.iter().map(|delay| micros(*delay)).sum::<f64>() / fraction(waits.len() as u64, 1);
        // Little's law. The buffer is full but for the aggregate that has just left, of 21 packets at most.
        let packets = mean * rate / 12_000.0;
        assert!(packets > f64::from(limit) - 21.0 && packets <= f64::from(limit) + 1.0, "{limit}: {packets}");
    }
}

#[test]
fn each_packet_of_an_aggregate_arrives_when_its_own_bits_end() {
    let modulation = ht(0, false);
    let mut config = channel(driver(123), vec![client(radio(modulation, 64))]);
    config.forming = [Forming::Ahead(1); 2];
    let mut medium = Medium::new(&config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    for number in 0..4 {
        let packet = Datagram { client: 0, flow: 0, number, ip_bytes: 960, dscp: 0, sent: Instant::ZERO };
        medium.enqueue(Instant::ZERO, Direction::Down, 0, packet, &client_of, &mut seen);
    }
    let mut last = Instant::ZERO;
    while let Some(event) = medium.next_event() {
        medium.advance(event, &client_of, &mut seen);
        last = event;
    }
    // The first packet went alone, the others 43 µs and a back-off behind its answer: 1004 bytes each at 26 bits a symbol,
    // behind 36 µs of preamble and two bytes of service field. The last one's padding is sent before the answer.
    let arrived: Vec<f64> = seen.delays.iter().map(|delay| micros(*delay)).collect();
    let symbols = |bytes: u64| fraction((16 + 8 * bytes).div_ceil(26) * 4, 1);
    assert_eq!(arrived[0], 43.0 + 36.0 + symbols(998));
    assert_eq!(arrived[2] - arrived[1], symbols(1004 + 1002) - symbols(1002));
    assert_eq!(arrived[3] - arrived[1], symbols(2 * 1004 + 1002) - symbols(1002));
    let over = micros(last.since(Instant::ZERO));
    assert_eq!(over - arrived[3], 4.0 + 16.0 + 68.0, "a symbol with padding and tail, then the answer");
}

/// Packets in the aggregates that leave the access point, of which one packet comes every 100 µs.
fn sizes_of_aggregates(forming: Forming) -> Vec<u64> {
    let mut config = channel(driver(123), vec![client(radio(ht(7, false), 64))]);
    config.forming[0] = forming;
    let mut medium = Medium::new(&config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    let (mut sizes, mut before) = (Vec::new(), 0);
    for number in 0..100 {
        let now = Instant::ZERO + Duration::from_micros(100 * number);
        while let Some(event) = medium.next_event().filter(|&event| event <= now) {
            let ppdus = medium.radio_stats(0)[0].ppdus;
            medium.advance(event, &client_of, &mut seen);
            let [down, _] = medium.radio_stats(0);
            if down.ppdus > ppdus {
                sizes.push(down.mpdus - before);
                before = down.mpdus;
            }
        }
        let packet = Datagram { client: 0, flow: 0, number, ip_bytes: 1500, dscp: 0, sent: now };
        medium.enqueue(now, Direction::Down, 0, packet, &client_of, &mut seen);
    }
    sizes
}

#[test]
fn packets_that_come_before_the_channel_is_won_join_the_aggregate_unless_it_was_formed_ahead() {
    // The first packet goes at 43 µs and is answered at 315; until then two more have come, and with the back-off others.
    let at_access = sizes_of_aggregates(Forming::AtAccess);
    assert_eq!(at_access[0], 1);
    assert!(at_access[1] >= 2, "{at_access:?}");
    // With one formed ahead of the other, the second aggregate was complete as soon as the second packet came.
    assert_eq!(sizes_of_aggregates(Forming::Ahead(2))[..2], [1, 1]);
    // All that waits joins: the access point keeps up with fewer transmissions.
    let mean = |sizes: &[u64]| fraction(sizes.iter().sum(), sizes.len() as u64);
    let ahead = [1, 2].map(|most| mean(&sizes_of_aggregates(Forming::Ahead(most))));
    assert!(ahead.iter().all(|ahead| mean(&at_access) > *ahead), "{} {ahead:?}", mean(&at_access));
}

#[test]
fn a_driver_that_serves_the_oldest_packet_lets_a_burst_hold_up_another_station() {
    // 60 packets for one station, then one for the other: sent in turn, it overtakes most of them.
    let delay = |order| {
        let pfifo = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1000)));
        let access_point = MacConfig::Driver(Box::new(DriverConfig { qdisc: pfifo, limit: 123, order }));
        let radio = radio(ht(7, false), 8);
        let mut medium = Medium::new(&channel(access_point, vec![client(radio), client(radio)]));
        let mut seen = Seen::default();
        let client_of = |packet: &Datagram| packet.client;
        for number in 0..61 {
            let (client, flow) = if number < 60 { (0, 0) } else { (1, 1) };
            let packet = Datagram { client, flow, number, ip_bytes: 1500, dscp: 0, sent: Instant::ZERO };
            medium.enqueue(Instant::ZERO, Direction::Down, client, packet, &client_of, &mut seen);
        }
        while let Some(event) = medium.next_event() {
            medium.advance(event, &client_of, &mut seen);
        }
        seen.delay_of[&1].0
    };
    let all = 60.0 * 12_000.0 / standard_formula(8, ht(7, false));
    close(delay(Order::OldestHead), all, 0.1, "behind all packets of the other station");
    assert!(delay(Order::Turns) < all / 4.0);
}

#[test]
fn losses_in_the_air_cost_time_but_neither_packets_nor_their_order() {
    let lossy = RadioConfig { error: 0.2, ..RadioConfig::new(ht(7, false)) };
    let clients = vec![client(lossy), client(lossy)];
    let senders = BOTH.map(|direction| [0, 1].map(|client| Sender::at(direction, client, 40)));
    let (seen, medium) = run(&channel(driver(123), clients), senders.as_flattened(), 10_000);
    assert_eq!((seen.disordered, seen.dropped.get("lost")), (0, None));
    let stats: Vec<_> = (0..2).flat_map(|client| medium.radio_stats(client)).collect();
    assert!(stats.iter().all(|radio| radio.given_up == 0 && radio.lost > 1000), "{stats:?}");
    let down = stats[0];
    // Of those that did not collide a fifth is lost.
    assert!((0.2..0.4).contains(&fraction(down.lost, down.mpdus)), "{down:?}");
}

#[test]
fn a_packet_is_given_up_after_its_attempts_and_the_others_go_on() {
    let lossy = RadioConfig { error: 0.5, attempts: 2, ..RadioConfig::new(ht(7, false)) };
    let (seen, medium) =
        run(&channel(driver(123), vec![client(lossy)]), &[Sender::saturating(Direction::Down, 0)], 10_000);
    let [down, _] = medium.radio_stats(0);
    assert_eq!(seen.dropped.get("lost"), Some(&down.given_up));
    let arrived = seen.arrived(Direction::Down, 0);
    close(fraction(down.given_up, arrived + down.given_up), 0.25, 0.02, "lost twice in a row");
    assert_eq!(seen.disordered, 0);
}

#[test]
fn voice_waits_less_for_the_channel_than_best_effort() {
    let clients: Vec<ClientConfig> = (0..4).map(|_| client(RadioConfig::new(ht(7, false)))).collect();
    let load = (0..4).map(|client| Sender::saturating(Direction::Up, client));
    let delay_of = |dscp| {
        let probe = Sender {
            dscp,
            ip_bytes: 200,
            interval: Some(Duration::from_millis(20)),
            ..Sender::saturating(Direction::Down, 0)
        };
        let senders: Vec<Sender> = load.clone().chain([probe]).collect();
        let mut config = channel(driver(123), clients.clone());
        config.seed = 3;
        let (seen, _) = run(&config, &senders, 10_000);
        let (sum, count) = seen.delay_of[&4];
        assert!(count > 400);
        sum / fraction(count, 1)
    };
    let (voice, best_effort, background) = (delay_of(48), delay_of(0), delay_of(8));
    assert!(2.0 * voice < best_effort && best_effort < background, "{voice} {best_effort} {background}");
}

#[test]
fn equal_seeds_give_equal_runs_and_other_seeds_others() {
    let outcome = |seed| {
        let lossy = RadioConfig { error: 0.1, ..RadioConfig::new(ht(12, true)) };
        let mut config = channel(MacConfig::Fq(FqMacConfig::default()), vec![client(lossy), client(lossy)]);
        config.seed = seed;
        let senders = BOTH.map(|direction| [0, 1].map(|client| Sender::at(direction, client, 40)));
        let (seen, medium) = run(&config, senders.as_flattened(), 2_000);
        (seen.delays, medium.radio_stats(0), medium.radio_stats(1))
    };
    assert_eq!(outcome(7), outcome(7));
    assert_ne!(outcome(7), outcome(8));
}

#[test]
fn a_shaper_above_the_driver_is_obeyed() {
    let tbf = Settings::new()
        .with("rate", Value::Rate(Rate::from_bps(5_000_000)))
        .with("burst", Value::Bytes(10_000))
        .with("limit", Value::Bytes(100_000));
    let access_point = MacConfig::Driver(Box::new(DriverConfig {
        qdisc: qdisc("tbf", &tbf),
        limit: 123,
        order: Order::default(),
    }));
    let radio = RadioConfig::new(ht(7, false));
    let (seen, _) =
        run(&channel(access_point, vec![client(radio)]), &[Sender::at(Direction::Down, 0, 50)], 10_000);
    // tbf counts the 14 bytes of framing.
    close(mbits(seen.arrived(Direction::Down, 0), 10_000), 5.0 * 1500.0 / 1514.0, 0.01, "rate");
}

#[test]
fn every_packet_arrives_or_is_dropped_with_a_reason_whatever_the_load() {
    for seed in 0..40 {
        let mut random = Xoshiro256PlusPlus::new(seed);
        let pick = |random: &mut Xoshiro256PlusPlus, bound: u32| random.below(bound);
        let macs = |random: &mut Xoshiro256PlusPlus| match pick(random, 4) {
            0 => MacConfig::Fq(FqMacConfig { limit: 40, ..FqMacConfig::default() }),
            1 => MacConfig::Fq(FqMacConfig { airtime_fairness: false, ..FqMacConfig::default() }),
            2 => MacConfig::Driver(Box::new(DriverConfig {
                qdisc: qdisc("fq_codel", &Settings::new()),
                limit: 50,
                order: Order::OldestHead,
            })),
            _ => driver(1 + pick(random, 300)),
        };
        let clients: Vec<ClientConfig> = (0..1 + pick(&mut random, 5))
            .map(|_| {
                let radio = |random: &mut Xoshiro256PlusPlus| RadioConfig {
                    aggregate: 1 + pick(random, 64),
                    error: f64::from(pick(random, 60)) / 100.0,
                    attempts: 1 + pick(random, 10),
                    ..RadioConfig::new(ht(u8::try_from(pick(random, 16)).expect("small"), false))
                };
                let radio = [radio(&mut random), radio(&mut random)];
                ClientConfig { mac: macs(&mut random), radio, weight: 1 + pick(&mut random, 1000) }
            })
            .collect();
        let mut config = channel(macs(&mut random), clients);
        config.forming = [(), ()].map(|()| match pick(&mut random, 5) {
            0 => Forming::AtAccess,
            most => Forming::Ahead(most),
        });
        config.seed = seed;
        let mut medium = Medium::new(&config);
        let mut seen = Seen::default();
        let client_of = |packet: &Datagram| packet.client;
        let mut now = Instant::ZERO;
        let packets = 4_000;
        for number in 0..packets {
            let client = pick(&mut random, u32::try_from(config.clients.len()).expect("few")) as usize;
            let direction = BOTH[pick(&mut random, 2) as usize];
            let packet = Datagram {
                client,
                flow: pick(&mut random, 3),
                number,
                ip_bytes: 40 + pick(&mut random, 1461),
                dscp: [0, 8, 40, 48][pick(&mut random, 4) as usize],
                sent: now,
            };
            medium.enqueue(now, direction, client, packet, &client_of, &mut seen);
            now += Duration::from_nanos(u64::from(pick(&mut random, 1_000_000)));
        }
        let mut events = 0_u64;
        while let Some(event) = medium.next_event() {
            medium.advance(event, &client_of, &mut seen);
            events += 1;
            assert!(events < 1_000_000, "seed {seed}: the channel never becomes quiet");
        }
        assert_eq!(seen.out, packets, "seed {seed}");
        assert_eq!(seen.disordered, 0, "seed {seed}");
        for node in [Node::AccessPoint].into_iter().chain((0..config.clients.len()).map(Node::Client)) {
            let stats = medium.queue_stats(node);
            assert_eq!(medium.queue_len(node), 0);
            assert_eq!(stats.offered, stats.enqueued.plus(stats.dropped_before), "seed {seed}");
            assert_eq!(stats.enqueued, stats.dequeued.plus(stats.dropped_after), "seed {seed}");
        }
    }
}

mod on_a_path {
    //! The channel behind a wired bottleneck, with TCP over both.

    use goodqueue_sim::traffic::{PingSettings, TcpSettings};
    use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Outcome, Traffic, run};
    use goodqueue_tcp::AnyCongestionControl;

    use super::*;

    fn outcome(access_point: MacConfig, mcs: [u8; 2], directions: &[Direction]) -> Outcome {
        run(&path(access_point, mcs, directions)).expect("valid")
    }

    fn path(access_point: MacConfig, mcs: [u8; 2], directions: &[Direction]) -> Config {
        let wire = || {
            LinkConfig::new(
                Capacity::Constant(Rate::from_bps(1_000_000_000)),
                qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1000))),
            )
        };
        let tcp = |direction| {
            Traffic::Tcp(TcpSettings {
                direction,
                size: None,
                config: goodqueue_tcp::Config::default().into(),
                congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
                local_congestion: false,
            })
        };
        let ping = || Traffic::Ping(PingSettings { interval: Duration::from_millis(100), bytes: 84 });
        let flows: Vec<Traffic> = [ping()].into_iter().chain(directions.iter().copied().map(tcp)).collect();
        let flows = [0, 1].into_iter().flat_map(|client| {
            let flows = flows.clone().into_iter();
            flows.map(move |traffic| FlowConfig {
                client,
                ..FlowConfig::new(traffic, Duration::from_millis(20))
            })
        });
        let lossy = |mcs| RadioConfig { error: 0.02, ..RadioConfig::new(ht(mcs, true)) };
        let clients = mcs.map(|mcs| client(lossy(mcs)));
        Config {
            wifi: Some(channel(access_point, clients.to_vec())),
            warmup: Duration::from_secs(1),
            ..Config::new([wire(), wire()], flows.collect(), Duration::from_secs(10))
        }
    }

    #[test]
    fn a_small_queue_leaves_little_of_an_upload_at_its_client_and_costs_it_nothing() {
        let with = |small_queue| {
            let mut config = path(driver(123), [7, 7], &[Direction::Up]);
            config.wifi.as_mut().expect("asked for").small_queue = small_queue;
            let outcome = run(&config).expect("valid");
            let pings = outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time);
            let longest = pings.max().expect("some were answered");
            (longest, outcome.flows[1].tally.delivered + outcome.flows[3].tally.delivered)
        };
        let (free, limited) = (with(None), with(Some(60_000)));
        assert!(free.0 > limited.0.saturating_mul(4), "{free:?} {limited:?}");
        assert!(limited.1 > free.1 / 10 * 9, "{free:?} {limited:?}");
    }

    #[test]
    fn tcp_runs_over_it_in_both_directions_and_nothing_is_lost_unseen() {
        // In debug builds a run ends with packets and bytes counted up, the channel's included.
        for access_point in [driver(123), MacConfig::Fq(FqMacConfig::default())] {
            let outcome = outcome(access_point, [15, 4], &BOTH);
            let wifi = outcome.wifi.as_ref().expect("asked for");
            for flow in [1, 2, 4, 5] {
                assert!(outcome.flows[flow].tally.delivered > 100_000, "{flow}");
            }
            assert!(wifi.clients.iter().flatten().all(|radio| radio.ppdus > 0));
            let measured = wifi.clients.iter().flatten().map(|radio| radio.airtime.as_nanos()).sum::<u64>();
            assert!(measured > 5_000_000_000 && measured < 11_000_000_000, "{measured}");
            assert!(outcome.flows[0].round_trips.iter().filter(|probe| probe.time.is_some()).count() > 50);
        }
    }

    #[test]
    fn the_fq_mac_shortens_the_round_trips_of_the_fast_station() {
        let median = |access_point| {
            let outcome = outcome(access_point, [15, 0], &[Direction::Down]);
            let mut times: Vec<Duration> =
                outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time).collect();
            times.sort();
            times[times.len() / 2]
        };
        let (fifo, fq) = (median(driver(123)), median(MacConfig::Fq(FqMacConfig::default())));
        assert!(fifo.as_nanos() > 3 * fq.as_nanos(), "{fifo} {fq}");
    }
}
