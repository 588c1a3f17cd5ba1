//! Metrics over seeds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::link::PerDirection;
use super::time_series::{QUEUES, TimeSeries};
use crate::estimate::Estimate;

/// The metrics of one discipline at one point of the sweep, over all seeds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// The discipline as given.
    pub qdisc: String,
    /// The swept keys and their values; absent without a sweep.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, Value>,
    /// Runs.
    pub seeds: u64,
    /// Mean and confidence interval of each metric by its path in a run, such as
    /// `bottleneck.down.sojourn_s.p95`. Metrics of single flows are not included.
    pub figures: BTreeMap<String, Estimate>,
    /// Medians of the metrics whose median differs from their mean by more than 20 %; absent
    /// without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub medians: BTreeMap<String, f64>,
    /// The differences from each discipline before this one at the same point of the sweep; absent
    /// without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Pointwise means of the time series; absent in JSON unless time series are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<MeanSeries>,
}

/// The difference of a discipline from another one at the same point of the sweep.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The other discipline as given.
    pub from: String,
    /// For each metric of the catalogue by its key: value of the discipline minus that of the
    /// other, mean over the seeds that both have. Metrics that fewer than two seeds have are
    /// absent.
    pub figures: BTreeMap<String, Estimate>,
}

/// Pointwise means of the time series of runs that differ in their seed only.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct MeanSeries {
    /// Length of a step, as in the series of the runs.
    pub step_s: f64,
    /// The two queues.
    pub queues: PerDirection<QueueMeans>,
    /// Goodput of all flows over TCP of a direction together, in bit/s.
    pub goodput: PerDirection<Band>,
    /// Goodput of each of them, in bit/s.
    pub goodput_bps: Vec<FlowMeans>,
    /// Round-trip time of the pings sent in a step: of each run their mean.
    pub ping_s: Band,
}

/// The means of every time series of a queue by their names, in the order of the catalogue.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct QueueMeans(pub(crate) Vec<(String, Band)>);

impl Serialize for QueueMeans {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, band)| (name, band)))
    }
}

impl<'de> Deserialize<'de> for QueueMeans {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bands = BTreeMap::<String, Band>::deserialize(deserializer)?;
        // The order is that of the catalogue, and not that of the file.
        let known = QUEUES.iter().map(|metric| metric.about.name);
        Ok(Self(known.filter_map(|name| bands.remove_entry(name)).collect()))
    }
}

/// The names are those of the catalogue.
impl JsonSchema for QueueMeans {
    fn schema_name() -> Cow<'static, str> {
        "QueueMeans".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut described = |about: &TimeSeries| {
            let mut band = generator.subschema_for::<Band>();
            band.insert("description".to_owned(), about.doc.into());
            band
        };
        let properties: BTreeMap<&str, Schema> =
            QUEUES.iter().map(|metric| (metric.about.name, described(&metric.about))).collect();
        json_schema!({
            "type": "object",
            "description": "The means of every time series of a queue by their names.",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// One flow over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FlowMeans {
    /// The flow.
    pub id: u32,
    /// Its values.
    pub values: Band,
}

/// A mean with its confidence band.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// At each step the mean over the runs that have a value there; `null` if none has.
    pub mean: Vec<Option<f64>>,
    /// Half the width of its 95 % confidence interval (Student's t); `null` with fewer than two
    /// values.
    pub ci95: Vec<Option<f64>>,
}

impl Band {
    /// Of several series of the same steps; as long as the longest.
    #[must_use]
    pub fn from_series(series: &[Vec<Option<f64>>]) -> Self {
        let steps = series.iter().map(Vec::len).max().unwrap_or(0);
        let at = |step: usize| {
            let present: Vec<f64> =
                series.iter().filter_map(|values| *values.get(step)?).filter(|v| v.is_finite()).collect();
            Estimate::from_values(&present)
        };
        let (mean, ci95) = (0..steps)
            .map(at)
            .map(|estimate| (estimate.map(|of| of.mean), estimate.and_then(|of| of.ci95)))
            .unzip();
        Self { mean, ci95 }
    }
}
