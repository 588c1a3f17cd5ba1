//! Configuration of `fq_pie`.

use crate::config::{ConfigError, Configure, Kind, Link, Settings};
use crate::memory::{Buffers, TRUESIZE};
use crate::pie::PieConfig;
use crate::pie::flow::{
    ALPHA, BETA, BYTEMODE, ECN, ECN_PROB, ESTIMATOR, TARGET, TUPDATE, VARIANTS, inner_pie, pie_settings,
};
use crate::shown::{Show, Shown};
use crate::typed::{in_variants, parameters};

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
        parameters: PARAMETERS,
    };
    const LIMIT_DROPS_NEXT: bool = true;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let limit = LIMIT.read(settings)?;
        let linux = settings.choice("variant").unwrap_or("linux") == "linux";
        // The MTU of a link may be outside the range of the parameter.
        let quantum = QUANTUM.read_or(settings, link.mtu.clamp(1, MAX_QUANTUM))?;
        Ok(Self {
            limit,
            flows: FLOWS.read(settings)?,
            quantum: if linux { quantum.max(LINUX_MIN_QUANTUM) } else { quantum },
            memory_limit: MEMORY_LIMIT.read(settings)?,
            buffers: Buffers::from_settings(
                settings,
                // PIE's variant `linux` is Linux 6.1.
                if linux { Buffers::Allocated61 } else { Buffers::Bare },
            )?,
            ecn_percent: ECN_PROB.read(settings)?,
            pie: inner_pie(settings, limit, link)?,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = pie_settings(&self.pie, Self::KIND.parameters)
            .and(&LIMIT, self.limit)
            .and(&FLOWS, self.flows)
            .and(&QUANTUM, self.quantum)
            .and(&MEMORY_LIMIT, self.memory_limit)
            .and(&ECN_PROB, self.ecn_percent);
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

parameters! {
    PARAMETERS of [] FqPieConfig;
    /// packets that all queues together hold
    LIMIT: packets "limit", with_limit { default: 10_240, range: 1..=16_777_216, source: "Linux sch_fq_pie" };
    /// number of queues; does not change while packets are queued
    FLOWS: integer "flows", with_flows { default: 1024, range: 1..=65_536, source: "Linux sch_fq_pie" };
    TARGET: time, with_target;
    TUPDATE: time, with_tupdate;
    ALPHA: integer, with_alpha;
    BETA: integer, with_beta;
    /// bytes that a flow may send in a round
    QUANTUM: bytes "quantum", with_quantum {
        derived: "MTU (1514)",
        range: 1..=1_048_576,
        condition: "linux: raised to 256",
        source: "Linux sch_fq_pie",
    };
    /// bytes of memory that all queues together hold; variant linux counts packets beyond it and
    /// keeps them
    MEMORY_LIMIT: bytes "memory_limit", with_memory_limit {
        default: 32 << 20,
        range: 1..=u64::MAX,
        source: "Linux sch_fq_pie",
    };
    TRUESIZE: bytes, with_truesize;
    ECN_PROB: integer, with_ecn_prob;
    ECN: flag, with_ecn;
    BYTEMODE: flag, with_bytemode;
    ESTIMATOR: flag, with_dq_rate_estimator;
}

in_variants! { [] FqPieConfig }

/// Linux sch_fq_pie.
const MAX_QUANTUM: u32 = 1 << 20;
/// Linux sch_fq_pie raises a smaller quantum to 256.
const LINUX_MIN_QUANTUM: u32 = 256;
