//! Any network: losses, copies, reordering and marks at random.

use goodqueue::Instant;
use goodqueue_tcp::{Config, DelayedAck};
use proptest::prelude::*;

use crate::pair::{Fate, Pair, quick};

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        8 => Just(Fate::Deliver),
        2 => Just(Fate::Lose),
        1 => Just(Fate::Mark),
        1 => Just(Fate::Copy),
        1 => (1_u64..200).prop_map(Fate::Delay),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    // One number for ECN, because AccECN needs ECN, and ECN on all segments needs AccECN here.
    let switches = (any::<bool>(), any::<bool>(), 0_u8..4, any::<bool>(), any::<bool>());
    let numbers = (1_u32..60, prop_oneof![Just(200_000_u32), 1_000_u32..60_000], 1_u32..4);
    (switches, numbers).prop_map(|((sack, prr, ecn, limited_transmit, timestamps), (iw, rwnd, every))| {
        Config {
            sack,
            prr,
            ecn: ecn > 0,
            accecn: ecn > 1,
            ecn_on_all: ecn > 2,
            limited_transmit,
            timestamps,
            iw,
            rwnd,
            delayed_ack: DelayedAck { every, ..DelayedAck::default() },
            ..quick()
        }
    })
}

/// A transfer that writes `writes` at 30 ms intervals and then closes.
fn transfer(config: Config, name: &str, writes: &[u64], data: &[Fate], acks: &[Fate]) -> Pair {
    let mut pair = Pair::with(config, config, name);
    pair.data_fates = data.to_vec();
    pair.ack_fates = acks.to_vec();
    pair.sender.open(Instant::ZERO);
    for (index, &bytes) in writes.iter().enumerate() {
        pair.run_until(crate::pair::at(index as u64 * 30));
        pair.sender.write(bytes);
    }
    pair.sender.close();
    pair.finish();
    pair
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_the_same_again(
        config in config(),
        cubic in any::<bool>(),
        writes in prop::collection::vec(1_u64..60_000, 1..8),
        data in prop::collection::vec(fate(), 0..250),
        acks in prop::collection::vec(fate(), 0..150),
    ) {
        let name = if cubic { "cubic" } else { "newreno" };
        let one = transfer(config, name, &writes, &data, &acks);
        let total: u64 = writes.iter().sum();
        prop_assert_eq!(one.sender.bytes_acked(), total);
        prop_assert_eq!(one.receiver.delivered(), total);
        prop_assert!(one.receiver.is_finished());
        prop_assert_eq!((one.sender.pipe(), one.sender.in_flight()), (0, 0));
        prop_assert_eq!((one.sender.stats().invalid_acks, one.sender.stats().invalid_sack_blocks), (0, 0));
        prop_assert!(one.sender.cwnd() >= u64::from(config.payload()));
        let other = transfer(config, name, &writes, &data, &acks);
        prop_assert_eq!(one.data, other.data);
        prop_assert_eq!(one.acks, other.acks);
    }

    #[test]
    fn a_receiver_that_says_anything_breaks_nothing(
        sack in any::<bool>(),
        lies in prop::collection::vec((0_u64..40_000, prop::collection::vec((0_u64..40_000, 0_u64..40_000), 0..3), 0_u32..60_000, any::<u8>()), 0..80),
    ) {
        let mut pair = Pair::bulk(Config { sack, ecn: true, ..quick() });
        pair.run_until(crate::pair::at(120));
        for (ack, blocks, window, bits) in lies {
            let mut segment = goodqueue_tcp::Segment {
                seq: 1, ack, window, flags: goodqueue_tcp::Flags::ACK, ..goodqueue_tcp::Segment::default()
            };
            if bits & 1 == 0 { segment.flags |= goodqueue_tcp::Flags::ECE; }
            for (start, end) in blocks {
                segment.sack.push(ack, start, end);
            }
            pair.now += crate::pair::ms(u64::from(bits));
            pair.sender.on_segment(pair.now, &segment);
            let mut sent = 0;
            while pair.sender.poll_transmit(pair.now).is_some() {
                sent += 1;
                prop_assert!(sent < 1000);
            }
            prop_assert_eq!(pair.sender.pipe(), pair.sender.recount_pipe());
            prop_assert!(pair.sender.cwnd() >= 1460);
        }
    }
}
