//! Configuration of `fq_pie`.

use crate::config::{ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::memory::{Buffers, TRUESIZE};
use crate::pie::PieConfig;
use crate::pie::flow::{
    ALPHA, BETA, BYTEMODE, ECN, ECN_PROB, ESTIMATOR, TARGET, TUPDATE, VARIANTS, inner_pie, pie_settings,
};
use crate::shown::{Show, Shown};
use crate::typed::setters;

/// Configuration of [`FqPie`](super::FqPie).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqPieConfig {
    pub(super) limit: u32,
    pub(super) flows: u32,
    pub(super) quantum: u32,
    pub(super) memory_limit: u64,
    pub(super) buffers: Buffers,
    pub(super) ecn_percent: u32,
    pub(super) pie: PieConfig,
}

impl FqPieConfig {
    /// Bytes that a flow may send in a round.
    #[must_use]
    pub const fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Number of queues.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.flows
    }

    /// Parameters of every flow's PIE.
    #[must_use]
    pub const fn pie(&self) -> &PieConfig {
        &self.pie
    }
}

impl Configure for FqPieConfig {
    const KIND: Kind = Kind {
        name: "fq_pie",
        summary: "Flow queueing with PIE: a queue per flow, sparse flows first, PIE on each",
        reference: "tc-fq_pie(8); RFC 8033",
        children: crate::config::Children::None,
        variants: VARIANTS,
        parameters: &[
            LIMIT,
            FLOWS,
            TARGET,
            TUPDATE,
            ALPHA,
            BETA,
            QUANTUM,
            MEMORY_LIMIT,
            TRUESIZE,
            ECN_PROB,
            ECN,
            BYTEMODE,
            ESTIMATOR,
        ],
    };
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let limit = settings.small_or(LIMIT.name, 1, u64::from(MAX_LIMIT), 10_240)?;
        let linux = settings.choice("variant").unwrap_or("linux") == "linux";
        let quantum =
            settings.small_or(QUANTUM.name, 1, u64::from(MAX_QUANTUM), link.mtu.clamp(1, MAX_QUANTUM))?;
        Ok(Self {
            limit,
            flows: settings.small_or(FLOWS.name, 1, 65_536, 1024)?,
            quantum: if linux { quantum.max(LINUX_MIN_QUANTUM) } else { quantum },
            memory_limit: settings.number(MEMORY_LIMIT.name, 1, u64::MAX)?.unwrap_or(32 << 20),
            buffers: Buffers::from_settings(
                settings,
                if linux { Buffers::Allocated } else { Buffers::Bare },
            )?,
            ecn_percent: settings.small_or(ECN_PROB.name, 0, 100, 10)?,
            pie: inner_pie(settings, limit, link)?,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = pie_settings(&self.pie, Self::KIND.parameters)
            .with(LIMIT.name, Value::Packets(u64::from(self.limit)))
            .with(FLOWS.name, Value::Integer(u64::from(self.flows)))
            .with(QUANTUM.name, Value::Bytes(u64::from(self.quantum)))
            .with(MEMORY_LIMIT.name, Value::Bytes(self.memory_limit))
            .with(ECN_PROB.name, Value::Integer(u64::from(self.ecn_percent)));
        if let Some(variant) = self.pie.to_settings().get("variant") {
            settings.set("variant", variant);
        }
        self.buffers.add_to(settings)
    }

    /// Linux reads every parameter by itself.
    fn is_kept_by_change(_parameter: &str, _given: &Settings) -> bool {
        true
    }

    fn link(&self) -> Link {
        self.pie.link()
    }
}

impl Show for FqPieConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Setting(FLOWS.name),
        Shown::Setting(TARGET.name),
        Shown::Setting(TUPDATE.name),
        Shown::Setting(ALPHA.name),
        Shown::Setting(BETA.name),
        Shown::Setting(QUANTUM.name),
        Shown::Setting(MEMORY_LIMIT.name),
        Shown::Setting(ECN_PROB.name),
        Shown::FlagIfOn(ECN.name),
        Shown::FlagIfOn(BYTEMODE.name),
        Shown::FlagIfOn(ESTIMATOR.name),
    ];
}

setters! {
    [] FqPieConfig,
    /// Sets `limit`: packets that all queues together hold. Default: 10240p. Range: 1 to 16777216.
    with_limit(packets);
    /// Sets `flows`: number of queues; does not change while packets are queued. Default: 1024.
    /// Range: 1 to 65536.
    with_flows(integer);
    /// Sets `target`: target queue delay of each flow. Default: 15ms. Range: 1ns to 4294s.
    with_target(time);
    /// Sets `tupdate`: time between updates of the drop probabilities. Default: 15ms. Range: 1us to
    /// 4294s.
    with_tupdate(time);
    /// Sets `alpha`: gain on the distance from the target, in 1/16 per second. Default: 2. Range: 0
    /// to 32.
    with_alpha(integer);
    /// Sets `beta`: gain on the change of the delay, in 1/16 per second. Default: 20. Range: 0 to
    /// 32.
    with_beta(integer);
    /// Sets `quantum`: bytes that a flow may send in a round. Default: MTU (1514). Range: 1 to
    /// 1048576; linux: raised to 256.
    with_quantum(bytes);
    /// Sets `memory_limit`: bytes of memory that all queues together hold; variant linux counts
    /// packets beyond it and keeps them. Default: 32mb. Range: 1 or more.
    with_memory_limit(bytes);
    /// Sets `truesize`: memory that each packet is charged, at least its length; 2304 for many
    /// network drivers, 1 to charge lengths. Default: linux: as Linux allocates; others: the
    /// packet's length. Range: 1 to 1073741824.
    with_truesize(bytes);
    /// Sets `ecn_prob`: drop probability in per cent above which ECN-capable packets are dropped as
    /// well. Default: 10. Range: 0 to 100.
    with_ecn_prob(integer);
    /// Sets `ecn`: mark ECN-capable packets instead of dropping them, up to the probability
    /// ecn_prob. Default: noecn.
    with_ecn(flag);
    /// Sets `bytemode`: scale the drop probability by packet length over MTU. Default: nobytemode.
    with_bytemode(flag);
    /// Sets `dq_rate_estimator`: derive the delay from the measured departure rate, not from
    /// timestamps. Default: no_dq_rate_estimator.
    with_dq_rate_estimator(flag);
}

setters! { @variant [] FqPieConfig }

/// Nodes of the pool are numbered in 32 bits; this many packets would be 24 GB of frames.
const MAX_LIMIT: u32 = 1 << 24;
/// Linux sch_fq_pie.
const MAX_QUANTUM: u32 = 1 << 20;
/// Linux sch_fq_pie raises a smaller quantum to 256.
const LINUX_MIN_QUANTUM: u32 = 256;
const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Packets,
    default: "10240p",
    source: "Linux sch_fq_pie",
    range: "1 to 16777216",
    doc: "packets that all queues together hold",
};

const FLOWS: Parameter = Parameter {
    name: "flows",
    unit: Unit::Integer,
    default: "1024",
    source: "Linux sch_fq_pie",
    range: "1 to 65536",
    doc: "number of queues; does not change while packets are queued",
};

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    unit: Unit::Bytes,
    default: "MTU (1514)",
    source: "Linux sch_fq_pie",
    range: "1 to 1048576; linux: raised to 256",
    doc: "bytes that a flow may send in a round",
};

const MEMORY_LIMIT: Parameter = Parameter {
    name: "memory_limit",
    unit: Unit::Bytes,
    default: "32mb",
    source: "Linux sch_fq_pie",
    range: "1 or more",
    doc: "bytes of memory that all queues together hold; variant linux counts packets beyond it and keeps them",
};
