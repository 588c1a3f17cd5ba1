//! `ramp`: marks, or drops, with a probability that rises linearly with the sojourn time.

use goodqueue::aqm::{Aqm, Seen};
use goodqueue::config::{Configure, Declaration, Kind, Parameter};
use goodqueue::random::{Random, Source};
use goodqueue::{ConfigError, Duration, Instant, Link, Settings, Verdict};

/// The parameters of `ramp`.
#[derive(Clone, Debug)]
pub struct Ramp {
    min: Duration,
    max: Duration,
}

const MIN: Parameter = Declaration::time("min")
    .default(Duration::from_millis(5))
    .meaning("sojourn time at which marking starts");

const MAX: Parameter = Declaration::time("max")
    .default(Duration::from_millis(100))
    .meaning("sojourn time at which every packet is marked");

impl Configure for Ramp {
    const KIND: Kind = Kind::new("ramp", "Marks with a probability that rises with the sojourn time")
        .with_parameters(&[MIN, MAX]);

    fn from_checked(settings: &Settings, _: &Link) -> Result<Self, ConfigError> {
        let min: Duration = MIN.read(settings)?;
        let max: Duration = MAX.read(settings)?;
        if max <= min {
            return Err(ConfigError::new(MAX.name, max.to_string(), "more than `min`"));
        }
        Ok(Self { min, max })
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&MIN, self.min).and(&MAX, self.max)
    }
}

/// What `ramp` remembers. `--explain` shows these fields in the story of a packet.
#[derive(Clone, Default, Debug)]
pub struct State {
    /// Packets marked or dropped so far.
    pub signals: u64,
    /// Time of the last one.
    pub last_signal: Option<Instant>,
}

impl Aqm for Ramp {
    type State = State;

    fn on_dequeue(&self, state: &mut State, seen: &Seen, random: &mut Source) -> Verdict {
        let above = seen.sojourn.saturating_sub(self.min).as_nanos();
        let span = self.max.saturating_sub(self.min).as_nanos();
        // The last packet passes: a drop would leave the link idle.
        if seen.packets == 0 || random.next_u64() % span >= above {
            return Verdict::Pass;
        }
        *state = State { signals: state.signals + 1, last_signal: Some(seen.now) };
        Verdict::Mark
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::aqm::AqmQueue;
    use goodqueue::config::Value;
    use goodqueue::{Datagram, FlowKey, Qdisc};

    use super::*;

    /// Packets of 100 that are dropped after this sojourn time.
    fn dropped_after(sojourn: Duration) -> u64 {
        let config = Ramp::from_settings(&Settings::new(), &Link::default()).unwrap();
        let mut queue = AqmQueue::new(config, Source::seeded(1));
        let flow = FlowKey::new("192.0.2.1:443".parse().unwrap(), "198.51.100.7:5000".parse().unwrap(), 17);
        for number in 0..100 {
            queue.enqueue(Instant::ZERO, Datagram::new(flow, 1200, number), &mut |_, _| ());
        }
        while queue.dequeue(Instant::ZERO + sojourn, &mut |_, _| ()).is_some() {}
        queue.stats().dropped().packets
    }

    #[test]
    fn drops_start_above_min_and_take_all_packets_but_the_last_at_max() {
        let dropped = [5, 30, 100].map(|ms| dropped_after(Duration::from_millis(ms)));
        assert_eq!(dropped[0], 0);
        assert!((15..40).contains(&dropped[1]), "{} of 100, about 26 expected", dropped[1]);
        assert_eq!(dropped[2], 99);
    }

    #[test]
    fn a_ramp_that_falls_is_refused() {
        let settings = Settings::new().with("max", Value::Time(Duration::from_millis(1)));
        let refused = Ramp::from_settings(&settings, &Link::default()).unwrap_err();
        assert_eq!(refused.to_string(), "`max 1ms` is not possible: allowed is more than `min`");
    }
}
