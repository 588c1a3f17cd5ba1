//! The PIE of one flow, in the disciplines that have one per flow.

use crate::codel::{Head, Source};
use crate::config::{ConfigError, Configure, Declaration, Link, Parameter, Settings, Value, Variant};
use crate::flow_queue::FlowAqm;
use crate::packet::{Ecn, Packet};
use crate::pie::config::PieConfig;
use crate::pie::law::Vars;
use crate::random::Random;
use crate::time::{Duration, Instant};

/// One flow's PIE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieFlow {
    pub(crate) vars: Vars,
    /// Listed in `awake`.
    pub(crate) awake: bool,
}

const _: () = assert!(size_of::<PieFlow>() <= 80, "eight quantities and three flags");

impl FlowAqm for PieFlow {
    type Params = PieConfig;

    #[inline]
    fn passes(&mut self, now: Instant, params: &PieConfig, head: Head) -> bool {
        // PIE drops arrivals only. A departure is measured and always passes.
        self.vars.departed(params, now, head.at, head.bytes, head.bytes_behind);
        true
    }

    fn decide<S: Source>(&mut self, _now: Instant, _params: &PieConfig, _source: &mut S) -> bool {
        true
    }
}

/// PIE's decision about an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// Queue the packet unchanged.
    Queued,
    /// Queue the packet with a mark. True: it arrived with the mark.
    Marked {
        /// It had a mark before.
        already: bool,
    },
    /// It is dropped.
    Dropped,
}

impl PieFlow {
    pub(crate) const fn new(config: &PieConfig) -> Self {
        Self { vars: config.fresh(), awake: false }
    }

    /// Decides about a packet that arrives behind `backlog` bytes; marks it, up to a drop
    /// probability of `ecn_percent`.
    pub(crate) fn arrives<P: Packet>(
        &mut self,
        config: &PieConfig,
        backlog: u64,
        packet: &mut P,
        ecn_percent: u32,
        random: &mut impl Random,
    ) -> Arrival {
        if !self.vars.congested(config, backlog, packet.len(), random) {
            return Arrival::Queued;
        }
        let already = packet.ecn() == Ecn::Ce;
        if self.vars.may_mark(config, ecn_percent) && packet.set_ce() {
            return Arrival::Marked { already };
        }
        self.vars.lost_one();
        Arrival::Dropped
    }

    /// Does `due` updates of a flow that holds `backlog` bytes; true if one more could change
    /// something.
    pub(crate) fn update(&mut self, config: &PieConfig, backlog: u64, due: u32) -> bool {
        for _ in 0..due {
            let before = self.vars;
            self.vars.update(config, backlog);
            if self.vars == before {
                // While packets are queued, the next departure can change the delay.
                return backlog > 0;
            }
        }
        true
    }
}

/// How many updates are due at `now`, at most [`MAX_UPDATES`], and when the next one is.
pub(crate) fn updates_due(config: &PieConfig, update_at: Option<Instant>, now: Instant) -> (u32, Instant) {
    let mut at = update_at.unwrap_or_else(|| config.first_update(now));
    let mut due = 0;
    // An update that is due at the end of time would be due at every call from then on.
    while at <= now && at < Instant::MAX && due < MAX_UPDATES {
        at = config.next_update(at);
        due += 1;
    }
    (due, if at <= now { config.resumed(at, now) } else { at })
}

/// PIE's configuration from the settings of a discipline with PIE inside, whose limit in packets is
/// `limit`.
pub(crate) fn inner_pie(settings: &Settings, limit: u32, link: &Link) -> Result<PieConfig, ConfigError> {
    let variant = settings.choice("variant").unwrap_or("linux");
    let settings = settings
        .clone()
        .with("limit", Value::Packets(u64::from(limit)))
        .with("variant", Value::Choice(variant));
    PieConfig::from_checked(&settings, link)
}

/// Those settings of `pie` that are among `parameters`.
pub(crate) fn pie_settings(pie: &PieConfig, parameters: &[Parameter]) -> Settings {
    let mut settings = Settings::new();
    for (name, value) in pie.to_settings().iter() {
        if parameters.iter().any(|parameter| parameter.name == name) {
            settings.set(name, value);
        }
    }
    settings
}

/// Whose PIE it is in the disciplines that have one per flow.
pub(crate) const VARIANTS: &[Variant] = &[
    Variant { name: "linux", doc: "the PIE of Linux 6.1, bit for bit" },
    Variant { name: "rfc8033", doc: "the PIE of RFC 8033 in exact arithmetic" },
];

pub(crate) const TARGET: Parameter = Declaration::time("target")
    .default(Duration::from_millis(15))
    .range(Duration::from_nanos(1)..=LONGEST)
    .source("RFC 8033 §4.2; Linux")
    .meaning("target queue delay of each flow");

pub(crate) const TUPDATE: Parameter = Declaration::time("tupdate")
    .default(Duration::from_millis(15))
    .range(Duration::from_micros(1)..=LONGEST)
    .source("RFC 8033 §4.2; Linux")
    .meaning("time between updates of the drop probabilities");

pub(crate) const ALPHA: Parameter = Declaration::integer("alpha")
    .default(2)
    .range(0..=32)
    .source("RFC 8033 §4.2 (0.125 per s); Linux")
    .meaning("gain on the distance from the target, in 1/16 per second");

pub(crate) const BETA: Parameter = Declaration::integer("beta")
    .default(20)
    .range(0..=32)
    .source("RFC 8033 §4.2 (1.25 per s); Linux")
    .meaning("gain on the change of the delay, in 1/16 per second");

pub(crate) const ECN_PROB: Parameter = Declaration::integer("ecn_prob")
    .default(10)
    .range(0..=100)
    .source("Linux sch_fq_pie; RFC 8033 §5.1")
    .meaning("drop probability in per cent above which ECN-capable packets are dropped as well");

pub(crate) const ECN: Parameter = Declaration::flag("ecn")
    .default(false)
    .off("noecn")
    .source("Linux sch_fq_pie")
    .meaning("mark ECN-capable packets instead of dropping them, up to the probability ecn_prob");

pub(crate) const BYTEMODE: Parameter = Declaration::flag("bytemode")
    .default(false)
    .off("nobytemode")
    .source("Linux sch_fq_pie")
    .meaning("scale the drop probability by packet length over MTU");

pub(crate) const ESTIMATOR: Parameter = Declaration::flag("dq_rate_estimator")
    .default(false)
    .off("no_dq_rate_estimator")
    .source("Linux sch_fq_pie")
    .meaning("derive the delay from the measured departure rate, not from timestamps");

/// What Linux can be told: 2^32 - 1 microseconds.
const LONGEST: Duration = Duration::from_micros(4_294_967_295);
// As in `law.rs`: by then the probability of a silent queue is at its end.
/// From certainty to nothing takes about 800 updates at the default gains.
const MAX_UPDATES: u32 = 2_048;
