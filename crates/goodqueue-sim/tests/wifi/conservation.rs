//! Losses in the air, reproducible runs, and the fate of every packet.

use crate::channel::{BOTH, Datagram, Seen, Sender, channel, client, driver, ht, qdisc, run};
use crate::formulas::{close, fraction};
use goodqueue::config::Settings;
use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Duration, Instant};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::forming::Forming;
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::{ClientConfig, MacConfig, Medium, Node, RadioConfig};

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
    // A fifth of the MPDUs that did not collide is lost.
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
                dscp: [0, 8, 40, 48][pick(&mut random, 4) as usize], // one of each category
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
