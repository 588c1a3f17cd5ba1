//! The traffic of a home, as parts of scenario files.

use std::fmt::Write as _;

use goodqueue::Duration;

use crate::port_rate::port_rate;
use crate::question::Question;

/// A traffic mix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    /// Name for people.
    pub(crate) name: &'static str,
    /// Whether both directions are full all the time, so that the mix tells what the line carries.
    pub(crate) is_full: bool,
    flows: fn(&mut Flows<'_>),
}

impl Mix {
    /// Returns the flows, in TOML.
    pub(crate) fn flows(&self, question: &Question) -> String {
        let mut flows = Flows { question, text: String::new() };
        (self.flows)(&mut flows);
        flows.pings();
        flows.text
    }
}

/// The load of a speed test: its server is near, and it fills one direction after the other or
/// both. Pings that somebody measured are compared with it.
pub(crate) const SPEED_TEST: Mix = Mix {
    name: "a speed test in both directions",
    is_full: true,
    flows: |flows| {
        flows.tcp("count = 4");
        flows.tcp("direction = 'up'\ncount = 4");
    },
};

/// The load that settings are judged by. Its servers are near and far: a CAKE whose `rtt` suits one
/// distance only loses here.
pub(crate) const NEAR_AND_FAR: Mix = Mix {
    name: "4 downloads and 4 uploads, near and far",
    is_full: true,
    flows: |flows| flows.near_and_far("cubic"),
};

/// The same with a sender that keeps more packets on their way than others: a shaper behind the
/// bottleneck has to leave more room for it.
const BBR: Mix = Mix { name: "the same with BBR", is_full: true, flows: |flows| flows.near_and_far("bbr") };

/// The mixes with which settings are searched.
pub(crate) const SEARCHED: &[Mix] = &[NEAR_AND_FAR, BBR];

/// The mixes with which the advice is verified.
pub(crate) const VERIFIED: &[Mix] = &[
    NEAR_AND_FAR,
    BBR,
    Mix {
        name: "a call, and another device loads the line",
        is_full: false,
        flows: |flows| {
            flows.tcp("client = 2\ncount = 2");
            flows.tcp("client = 2\ndirection = 'up'");
            flows.call();
        },
    },
    Mix {
        name: "an evening: video, downloads, web, call",
        is_full: false,
        flows: |flows| {
            flows.tcp("count = 2");
            flows.served("video");
            flows.served("web");
            flows.call();
        },
    },
    Mix {
        name: "a backup: one upload, web pages",
        is_full: false,
        flows: |flows| {
            flows.tcp("direction = 'up'");
            flows.served("web");
        },
    },
];

/// The text of the flows of a mix.
struct Flows<'q> {
    question: &'q Question,
    text: String,
}

impl Flows<'_> {
    /// Adds downloads (unless `keys` say otherwise) that last.
    fn tcp(&mut self, keys: &str) {
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            "\n[[flows]]\n{keys}\nstart_jitter = '100ms'\naccess_rate = '{}'\n",
            port_rate(self.question)
        );
    }

    /// Adds a download from and an upload to a server at each distance.
    fn near_and_far(&mut self, cc: &str) {
        for direction in ["down", "up"] {
            for rtt in distances(self.question.rtt) {
                self.tcp(&format!(
                    "direction = '{direction}'\nrtt = '{}us'\ncc = '{cc}'",
                    rtt.as_nanos() / 1000
                ));
            }
        }
    }

    /// Adds the answers of a server to a person.
    fn served(&mut self, kind: &str) {
        let keys = format!("access_rate = '{}'\n", port_rate(self.question));
        self.other(kind, &keys);
    }

    fn other(&mut self, kind: &str, keys: &str) {
        let _ = write!(self.text, "\n[[flows]]\nkind = '{kind}'\n{keys}");
    }

    fn call(&mut self) {
        self.other("voip", "direction = 'up'\n");
        self.other("voip", "");
    }

    fn pings(&mut self) {
        self.other("ping", "interval = '50ms'\n");
    }
}

/// Returns base round-trip times of servers that people use at the same time: one near, one as far
/// as the question says, one on the same continent and one on another. With 30 ms they are 10, 30,
/// 100 and 250 ms.
fn distances(rtt: Duration) -> [Duration; 4] {
    let ms = Duration::from_millis;
    let near = Duration::from_nanos((rtt.as_nanos() / 3).max(rtt.as_nanos().saturating_sub(20_000_000)));
    [near, rtt, rtt + ms(70), rtt + ms(220)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_near_and_far_whatever_the_line_adds() {
        let ms = Duration::from_millis;
        assert_eq!(distances(ms(30)), [10, 30, 100, 250].map(ms));
        assert_eq!(distances(ms(600)), [580, 600, 670, 820].map(ms));
        assert_eq!(distances(ms(12)), [4, 12, 82, 232].map(ms));
    }
}
