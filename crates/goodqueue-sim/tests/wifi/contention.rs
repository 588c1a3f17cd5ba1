//! Contention between stations, compared with the back-off rules and with Bianchi's model.

use crate::channel::{Datagram, Seen, Sender, channel, client, driver, ht, radio, run};
use crate::formulas::{close, fraction, mbits, micros, standard_formula};
use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Duration, Instant};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::{ClientConfig, Medium, RadioConfig, phy};

/// Returns Bianchi's fixed point for `n` saturated stations that send a frame at most `attempts`
/// times (Wu et al. 2002 for the limit): the probability that a station sends in a slot, and the
/// probability that its frame collides.
fn bianchi(n: i32, attempts: i32) -> (f64, f64) {
    let tau_of = |p: f64| {
        let weight: f64 = (0..attempts).map(|stage| p.powi(stage)).sum();
        let slots: f64 = (0..attempts)
            .map(|stage| p.powi(stage) * (f64::from((16_u32 << stage.min(6)).min(1024)) + 1.0) / 2.0)
            .sum();
        weight / slots
    };
    let mut low = 0.0;
    let mut high = 1.0;
    for _ in 0..100 {
        let tau = f64::midpoint(low, high);
        let p = 1.0 - (1.0_f64 - tau).powi(n - 1);
        if tau_of(p) > tau { low = tau } else { high = tau }
    }
    (low, 1.0 - (1.0_f64 - low).powi(n - 1))
}

/// Simulates the back-off rules alone for `n` saturated stations, whose frames take `frame`
/// microseconds. `waits` are the additional waits after a collision, in microseconds, of the
/// stations that sent and of those that heard it. Returns the frames that arrive per microsecond,
/// and the share of frames that collide.
fn contention(n: usize, attempts: u32, frame: u64, waits: [u64; 2]) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::new(1);
    let mut stations = vec![(0_u32, 0_u64, 0_u64); n];
    let mut arrived = 0;
    let mut sent = 0;
    let mut collided = 0;
    let mut now = 0;
    while sent < 200_000 {
        // 43 µs are AIFS of best effort, and 9 µs are a slot.
        let begins = |&(_, counter, idle_from): &(u32, u64, u64)| idle_from + 43 + 9 * counter;
        now = stations.iter().map(begins).min().expect("there are stations");
        let senders: Vec<bool> = stations.iter().map(|station| begins(station) == now).collect();
        let collides = senders.iter().filter(|&&sends| sends).count() > 1;
        for ((failures, counter, idle_from), sends) in stations.iter_mut().zip(senders) {
            if sends {
                sent += 1;
                (arrived, collided) = (arrived + u64::from(!collides), collided + u64::from(collides));
                *failures = if collides { (*failures + 1) % attempts } else { 0 };
                // The window of 15 slots doubles to at most 1023.
                *counter = u64::from(random.below((16 << (*failures).min(6)).min(1024)));
            } else if now >= *idle_from + 43 {
                *counter -= (now - *idle_from - 43) / 9 + 1;
            }
            // 16 µs are SIFS, and 28 µs are an ACK at 24 Mbit/s.
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
        let answer = whole(phy::ANSWER_TIMEOUT);
        let eifs = whole(phy::EIFS_EXTRA);
        let (rate, p) = contention(n, 7, frame, [answer, eifs]);
        // A frame carries 12,000 bits, and a bit per microsecond is 1 Mbit/s.
        close(mbits(arrived, millis), 12_000.0 * rate, 0.01, &format!("throughput of {n} stations"));
        assert!((collided - p).abs() < 0.01, "{n} stations: {collided} collide, expected {p}");

        // In Bianchi's model all stations wait equally long after a collision.
        let (rate, collided) = contention(n, 7, frame, [eifs, eifs]);
        let stations = i32::try_from(n).expect("few");
        let (tau, p) = bianchi(stations, 7);
        let idle = (1.0 - tau).powi(stations);
        let success = f64::from(stations) * tau * (1.0 - tau).powi(stations - 1);
        let success_time = fraction(frame + 16 + 28 + 43, 1);
        let collision_time = fraction(frame + eifs + 43, 1);
        // A boundary at which no station sends takes a slot. A boundary with a transmission takes
        // the transmission and AIFS.
        let mean = idle * 9.0 + success * success_time + (1.0 - idle - success) * collision_time;
        close(rate, success / mean, 0.01, &format!("Bianchi's throughput of {n} stations"));
        assert!((collided - p).abs() < 0.01, "{n} stations: {collided} collide, Bianchi has {p}");
    }
}

/// Returns the first sender after a collision of two frames with different lengths, and the
/// microseconds since the end of the longer one. 0 is the client of the short frame, 1 that of the
/// long frame, 2 a client that heard both. `None` after another collision.
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
    // On a quiet channel both clients begin at the first boundary, 43 µs after the start. The third
    // packet arrives later.
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
    // AIFS is 43 µs. The short frame ended long ago. The sender of the long frame waits another 45
    // µs for an answer. The third client waits another 60 µs, because it could not read the frames.
    assert_eq!(least, [43.0, 88.0, 103.0]);
}

#[test]
fn a_slow_station_pulls_a_fast_one_down_to_its_own_rate() {
    // Heusse et al. 2003: the distributed coordination function gives equal chances, hence equal
    // packet rates. The fast station is a few slots ahead after each collision, because its frame
    // has ended when the slow station begins to wait for an answer.
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
        // The slow station is answered at 6 Mbit/s, the fast one at 24.
        (frame(0) + 16.0 + 44.0) / (frame(7) + 16.0 + 28.0),
        0.03,
        "airtime goes as the length of a frame",
    );
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
        // Flow 4 is the probe, behind four loads.
        let (sum, count) = seen.delay_of[&4];
        assert!(count > 400);
        sum / fraction(count, 1)
    };
    let voice = delay_of(48);
    let best_effort = delay_of(0);
    let background = delay_of(8);
    assert!(2.0 * voice < best_effort && best_effort < background, "{voice} {best_effort} {background}");
}
