//! `signal`: an AQM that marks or drops each arrival with a probability that an agent sets.

use goodqueue::aqm::{Aqm, Seen};
use goodqueue::config::{ConfigError, Configure, Declaration, Kind, Parameter, Value};
use goodqueue::random::{Random as _, Source};
use goodqueue::{AnyConfig, Disciplines, Link, Settings, Verdict};

/// The parameters of `signal`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Signal {
    probability: f64,
}

const PROBABILITY: Parameter = Declaration::probability("probability")
    .default(0.0)
    .range(0.0..=1.0)
    .meaning("probability of a mark or drop");

impl Configure for Signal {
    const KIND: Kind = Kind::new("signal", "Marks or drops each arrival with one probability")
        .with_parameters(&[PROBABILITY]);

    fn from_checked(settings: &Settings, _: &Link) -> Result<Self, ConfigError> {
        Ok(Self { probability: PROBABILITY.read(settings)? })
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&PROBABILITY, self.probability)
    }
}

impl Aqm for Signal {
    type State = ();

    fn on_enqueue(&self, _: &mut (), _: &Seen, random: &mut Source) -> Verdict {
        // One draw per arrival, so that the draws of a run do not depend on the probability.
        let draw = f64::from(random.next_u32());
        // Every draw is below 2^32, so the probability 1 hits each packet.
        if draw < self.probability * 4_294_967_296.0 { Verdict::Mark } else { Verdict::Pass }
    }
}

/// The built-in disciplines and `signal`.
#[must_use]
pub fn disciplines() -> Disciplines {
    Disciplines::new().with_aqm::<Signal>()
}

/// Returns `signal` with this probability.
///
/// # Errors
/// The probability is not between 0 and 1.
pub fn signal(known: &Disciplines, probability: f64) -> Result<AnyConfig, ConfigError> {
    let settings = known.settings("signal").with("probability", Value::Probability(probability));
    AnyConfig::from_settings("signal", &settings, &Link::default())
        .unwrap_or_else(|| Err(ConfigError::new("qdisc", "signal", "a discipline of `disciplines`")))
}

#[cfg(test)]
mod tests {
    use goodqueue::aqm::AqmQueue;
    use goodqueue::{Datagram, Ecn, FlowKey, Instant, Qdisc as _};

    use super::*;

    #[test]
    fn a_quarter_of_the_packets_is_marked_or_dropped() {
        let mut queue = AqmQueue::new(Signal { probability: 0.25 }, Source::seeded(1));
        let flow = FlowKey::new("192.0.2.1:443".parse().unwrap(), "198.51.100.7:5000".parse().unwrap(), 17);
        for number in 0..2000 {
            let mut datagram = Datagram::new(flow, 1200, number);
            datagram.ecn = if number % 2 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
            queue.enqueue(Instant::ZERO, datagram, &mut |_, _| ());
            queue.dequeue(Instant::ZERO, &mut |_, _| ());
        }
        let stats = queue.stats();
        // 250 of each 1000 are expected, and the bounds are 3.6 standard deviations away.
        assert!((200..300).contains(&stats.dropped().packets), "{stats:?}");
        assert!((200..300).contains(&stats.marked.packets), "{stats:?}");
    }

    #[test]
    fn probabilities_0_and_1_are_exact_and_others_are_refused() {
        for (probability, dropped) in [(0.0, 0), (1.0, 1000)] {
            let mut queue = AqmQueue::new(Signal { probability }, Source::seeded(1));
            let flow =
                FlowKey::new("192.0.2.1:443".parse().unwrap(), "198.51.100.7:5000".parse().unwrap(), 17);
            for number in 0..1000 {
                queue.enqueue(Instant::ZERO, Datagram::new(flow, 1200, number), &mut |_, _| ());
            }
            assert_eq!(queue.stats().dropped().packets, dropped);
        }
        assert!(signal(&disciplines(), 1.5).is_err() && signal(&disciplines(), f64::NAN).is_err());
    }
}
