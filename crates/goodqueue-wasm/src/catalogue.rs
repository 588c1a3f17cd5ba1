//! What a page can offer, from the lists that the command reads.

use goodqueue::registry;
use goodqueue_advise::KINDS;
use goodqueue_quic::sim::CongestionControl;
use goodqueue_scenario::Extensions;
use goodqueue_scenario::library;
use goodqueue_scenario::scenario::Names;
use serde::Serialize;

use crate::log;

/// Disciplines, congestion controls and scenarios.
#[derive(Debug, Serialize)]
pub struct Catalogue {
    version: &'static str,
    qdiscs: Vec<QdiscInfo>,
    tcps: Vec<Named>,
    /// Congestion controls of QUIC flows.
    quics: Vec<&'static str>,
    scenarios: Vec<ScenarioInfo>,
    /// Kinds of access lines.
    links: Vec<Line>,
    /// Names of the reasons for a drop, in the order of their numbers in records.
    drop_reasons: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct QdiscInfo {
    name: &'static str,
    summary: &'static str,
    reference: &'static str,
    parameters: Vec<ParameterInfo>,
}

#[derive(Debug, Serialize)]
struct ParameterInfo {
    name: &'static str,
    default: String,
    range: String,
    doc: &'static str,
}

#[derive(Debug, Serialize)]
struct Named {
    name: &'static str,
    summary: &'static str,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    title: &'static str,
}

#[derive(Debug, Serialize)]
struct ScenarioInfo {
    name: &'static str,
    title: String,
    question: String,
    expect: String,
}

impl Catalogue {
    /// Returns everything that there is.
    #[must_use]
    pub fn of_everything() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            qdiscs: registry::KINDS.iter().map(qdisc).collect(),
            tcps: (Extensions::new().tcp().controllers())
                .map(|about| Named { name: about.name, summary: about.summary })
                .collect(),
            quics: CongestionControl::ALL.iter().map(|control| control.name()).collect(),
            scenarios: library::SCENARIOS.iter().filter_map(scenario).collect(),
            links: KINDS.iter().map(|kind| Line { name: kind.line.name, title: kind.line.title }).collect(),
            drop_reasons: log::reasons(),
        }
    }
}

fn qdisc(kind: &goodqueue::config::Kind) -> QdiscInfo {
    let parameters = kind.parameters.iter().map(|parameter| ParameterInfo {
        name: parameter.name,
        default: parameter.default_text(),
        range: parameter.range_text(),
        doc: parameter.doc,
    });
    QdiscInfo {
        name: kind.name,
        summary: kind.summary,
        reference: kind.reference,
        parameters: parameters.collect(),
    }
}

fn scenario(entry: &library::Entry) -> Option<ScenarioInfo> {
    let scenario = library::load_builtin(entry.name).ok()?.resolve(&Names::default()).ok()?;
    Some(ScenarioInfo {
        name: entry.name,
        title: scenario.title,
        question: scenario.question,
        expect: scenario.expect,
    })
}
