//! The parameters of `ets`.

use alloc::vec::Vec;

use crate::config::{Children, ConfigError, Configure, Kind, Link, Parameter, Settings};
use crate::drr::{self, DrrConfig};
use crate::nesting::{self, InnerConfig};
use crate::shown::Show;
use crate::typed::{self, parameters};

/// Configuration of [`Ets`](super::Ets).
#[derive(Clone, PartialEq, Debug)]
pub struct EtsConfig<C> {
    pub(super) bands: Vec<C>,
    pub(super) strict: usize,
    /// Of the bands behind the strict ones.
    pub(super) quanta: Vec<u32>,
    pub(super) map: [u8; 16],
}

impl<C: InnerConfig> EtsConfig<C> {
    /// The discipline of each band, the strict ones first.
    #[must_use]
    pub fn bands(&self) -> &[C] {
        &self.bands
    }

    /// The number of strict bands.
    #[must_use]
    pub const fn strict(&self) -> usize {
        self.strict
    }

    /// The quanta of the other bands, in bytes.
    #[must_use]
    pub fn quanta(&self) -> &[u32] {
        &self.quanta
    }

    /// Sets the discipline of band `number`. Bands count from 1, and the strict ones come first.
    ///
    /// # Errors
    /// There is no such band, or the inner discipline refuses its settings on this link.
    pub fn with_band(&self, number: u32, inner: &C) -> Result<Self, ConfigError> {
        typed::with_child(self, nesting::child(number, Settings::new(), inner))
    }

    /// Returns the configuration of the bands that share; `None` if all bands are strict.
    pub(super) fn sharing(&self) -> Option<DrrConfig<C>> {
        let shares = self.bands.iter().zip(1..).skip(self.strict).zip(&self.quanta);
        let classes: Vec<_> =
            shares.map(|((qdisc, band), quantum)| (band, *quantum, qdisc.clone())).collect();
        (!classes.is_empty()).then(|| DrrConfig::from_classes(classes))
    }
}

impl<C: InnerConfig> Configure for EtsConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let children = settings.children();
        let given = QUANTA.iter().filter(|quantum| settings.get(quantum.name).is_some()).count() as u64;
        let highest = children.iter().map(|child| u64::from(child.class)).max().unwrap_or(0);
        let strict: u64 = STRICT.read(settings)?;
        let least = (strict + given).clamp(1, MOST_BANDS);
        let count = BANDS.read_or(settings, highest.clamp(least, MOST_BANDS))?;
        if strict + given > count {
            let allowed =
                alloc::format!("{} or more, the sum of `strict` and the number of `quanta`", strict + given);
            return Err(ConfigError::new(BANDS.name, alloc::format!("{count}"), allowed));
        }
        let mut bands = Vec::new();
        for _ in 0..count {
            bands.push(C::usual());
        }
        for child in children {
            // Class 0 wraps around to an index that no band has.
            let index = (child.class as usize).wrapping_sub(1);
            let band = bands.get_mut(index).ok_or_else(|| {
                let number = alloc::format!("{:x}", child.class);
                ConfigError::new("band", number, alloc::format!("1 to {count:x}")).in_class(child.class)
            })?;
            if let Some(config) = nesting::qdisc_of(child, link)? {
                *band = config;
            }
        }
        let mut quanta = Vec::new();
        for parameter in QUANTA.iter().take(usize::try_from(count - strict).unwrap_or(0)) {
            quanta.push(
                parameter.read_or(settings, link.mtu.max(1))?.clamp(drr::LEAST_QUANTUM, drr::MOST_QUANTUM),
            );
        }
        let last = u8::try_from(count - 1).unwrap_or(u8::MAX);
        let map = PRIOMAP.read_or(settings, [last; 16])?;
        if let Some(band) = map.iter().find(|band| u64::from(**band) >= count) {
            let allowed = alloc::format!("0 to {last}: there are {count} bands");
            return Err(ConfigError::new(PRIOMAP.name, alloc::format!("{band}"), allowed));
        }
        Ok(Self { bands, strict: usize::try_from(strict).unwrap_or(0), quanta, map })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new();
        settings.put(&BANDS, self.bands.len() as u64);
        settings.put(&STRICT, self.strict as u64);
        for (parameter, quantum) in QUANTA.iter().zip(&self.quanta) {
            settings.put(parameter, *quantum);
        }
        settings.put(&PRIOMAP, self.map);
        (1..)
            .zip(&self.bands)
            .fold(settings, |all, (class, band)| all.with_child(nesting::child(class, Settings::new(), band)))
    }
}

impl<C: InnerConfig> Show for EtsConfig<C> {}

parameters! {
    PARAMETERS of [C: InnerConfig] EtsConfig<C>;
    /// number of bands; band n is written [n: qdisc]
    BANDS: integer "bands", with_bands {
        derived: "all that are named, at least 1",
        range: 1..=16,
        source: "tc: `strict` and `quanta`",
    };
    /// number of strict bands, which come first
    STRICT: integer "strict", with_strict { default: 0, range: 0..=16, source: "Linux sch_ets" };
    /// bytes that the first band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_1: integer "quanta", with_first_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the second band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_2: integer "quanta.second", with_second_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the third band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_3: integer "quanta.third", with_third_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the fourth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_4: integer "quanta.fourth", with_fourth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the fifth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_5: integer "quanta.fifth", with_fifth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the sixth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_6: integer "quanta.sixth", with_sixth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the seventh band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_7: integer "quanta.seventh", with_seventh_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the eighth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_8: integer "quanta.eighth", with_eighth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the ninth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_9: integer "quanta.ninth", with_ninth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the tenth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_10: integer "quanta.tenth", with_tenth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the eleventh band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_11: integer "quanta.eleventh", with_eleventh_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the twelfth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_12: integer "quanta.twelfth", with_twelfth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the thirteenth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_13: integer "quanta.thirteenth", with_thirteenth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the fourteenth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_14: integer "quanta.fourteenth", with_fourteenth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the fifteenth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_15: integer "quanta.fifteenth", with_fifteenth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// bytes that the sixteenth band with a share sends in a round;
    /// raised to 256, limited to 1048576
    QUANTUM_16: integer "quanta.sixteenth", with_sixteenth_quantum {
        derived: "MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_ets",
    };
    /// the band of each priority from 0 to 15, the first band being 0
    PRIOMAP: priomap "priomap", with_priomap {
        derived: "the last band",
        condition: "each below `bands`",
        source: "Linux sch_ets",
    };
}

/// The quanta of the bands that share, in their order.
const QUANTA: [&Parameter; 16] = [
    &QUANTUM_1,
    &QUANTUM_2,
    &QUANTUM_3,
    &QUANTUM_4,
    &QUANTUM_5,
    &QUANTUM_6,
    &QUANTUM_7,
    &QUANTUM_8,
    &QUANTUM_9,
    &QUANTUM_10,
    &QUANTUM_11,
    &QUANTUM_12,
    &QUANTUM_13,
    &QUANTUM_14,
    &QUANTUM_15,
    &QUANTUM_16,
];

const MOST_BANDS: u64 = 16; // TCQ_ETS_MAX_BANDS of Linux

pub(super) const KIND: Kind = Kind {
    name: "ets",
    summary: "Strict bands first; the other bands share the rest in the ratio of their quanta",
    reference: "tc-ets(8)",
    variants: &[],
    children: Children::Bands,
    parameters: PARAMETERS,
};
