//! Comparison with what others measured: the same set-ups simulated, figure by figure.
//!
//! The references are in the folder `reference` of this crate: the Linux 6.1 kernel's own queue
//! disciplines and TCP on the set-ups of the articles, and on lines that no article has and
//! nothing here but `bbr` was adjusted to; the same kernel on access lines for which `goodqueue
//! advise` has settings; Linux 7.3 on all these lines, with RRUL, and with the rules of TCP Prague;
//! Linux 3.14 with voice beside
//! loads, and Linux 3.2 with loads; single flows of all four kernels and ns-2 in full; ns-2.35 on
//! two articles' experiments, and some runs of one of them packet by packet; ns-3.44 on WiFi
//! channels. Each says what was run, and per
//! figure its mean and, where there were seeds, its standard deviation over them.
//!
//! **When a figure agrees.** Within two standard deviations of the reference's seeds (of load
//! transients, of which the reference has one set of a hundred random starts: of ten such sets
//! simulated), or within a share of the reference, whichever is wider: 5 % of goodput, bytes and
//! utilisation, 10 % of everything else. The mean over as many seeds as the reference had is
//! compared. A value of an access line agrees within 15 %, or within 3 ms or one percentage point
//! of loss. A window agrees if at every step of 20 ms it is within 10 % in the mean; a run packet
//! by packet if each comes, leaves or is dropped at the same microsecond.

mod advise;
mod articles;
pub mod flow;
mod linux;
mod measured;
mod packets;
mod single;
mod wifi;

use std::collections::BTreeMap;

use goodqueue_tc::diagnostic::{Diagnostic, unknown};
use measured::{Figure, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was measured, and that can be simulated.
#[derive(Clone, Debug)]
pub struct SetUp {
    name: String,
    source: String,
    figures: BTreeMap<String, Figure>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Advise(advise::HomeLine),
    Linux(linux::Load),
    Transients(articles::Transients),
    LongFlows(articles::LongFlows),
    Single(single::Flows),
    Packets(packets::Recording),
    Wifi(wifi::Channel),
}

/// One figure of one set-up, side by side.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Row {
    /// Name of the set-up.
    pub set_up: String,
    /// What is compared.
    pub figure: String,
    /// Its unit; empty for a number.
    pub unit: String,
    /// Mean of the reference.
    pub reference: f64,
    /// Its standard deviation over seeds; 0: not known. Of load transients, whose reference is one
    /// set of random starts: that between such sets in the simulation.
    pub reference_sd: f64,
    /// What was simulated, mean over seeds; `None`: nothing came out.
    pub simulated: Option<f64>,
    /// The most that the two may differ.
    pub tolerance: f64,
    /// They differ by no more.
    pub agrees: bool,
}

impl SetUp {
    /// Its name, such as `rrul-10-1/fq_codel`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who measured what.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Simulates it and compares.
    ///
    /// # Errors
    /// A set-up that the simulator refuses.
    pub fn compare(&self) -> Result<Vec<Row>, Diagnostic> {
        let Measured { figures: found, spreads } = match &self.kind {
            Kind::Advise(home) => home.measure()?.into(),
            Kind::Linux(load) => load.measure()?.into(),
            Kind::Transients(experiment) => experiment.measure()?,
            Kind::LongFlows(experiment) => experiment.measure()?,
            Kind::Single(flows) => flows.measure()?.into(),
            Kind::Packets(recording) => recording.measure()?.into(),
            Kind::Wifi(channel) => channel.measure()?.into(),
        };
        let row = |(name, Figure(unit, mean, sd)): (&String, &Figure)| {
            let simulated = found.get(name).copied();
            let sd = spreads.get(name).copied().unwrap_or(*sd);
            // The reference's own seeds scatter, so a figure of few seeds may be further away than
            // its share.
            let tolerance = (2.0 * sd).max(share(name) * mean.abs());
            // A window's distance is a share itself.
            let tolerance = if name.starts_with(single::DISTANCE) { share(name) } else { tolerance };
            let advises = matches!(self.kind, Kind::Advise(_));
            let tolerance = if advises { advise::tolerance(unit, *mean) } else { tolerance };
            Row {
                set_up: self.name.clone(),
                figure: name.clone(),
                unit: unit.clone(),
                reference: *mean,
                reference_sd: sd,
                simulated,
                tolerance,
                agrees: simulated.is_some_and(|value| (value - mean).abs() <= tolerance),
            }
        };
        Ok(self.figures.iter().map(row).collect())
    }
}

/// The share of the reference by which a figure may differ in any case.
fn share(figure: &str) -> f64 {
    if figure == packets::AGREEING {
        return 0.0;
    }
    let exact = ["goodput", "bytes", "utilisation", "share"].iter().any(|word| figure.starts_with(word));
    if exact { 0.05 } else { 0.10 }
}

/// Every set-up, in the order of the references.
///
/// # Errors
/// A reference is malformed.
pub fn set_ups() -> Result<Vec<SetUp>, Diagnostic> {
    let mut all = Vec::new();
    read(include_str!("../reference/linux-6.1.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/linux-6.1-lines.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/linux-7.3.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/linux-7.3-lines.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/linux-7.3-prague.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/linux-3.14.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/linux-3.2.json"), Kind::Linux, &mut all)?;
    read(include_str!("../reference/ns2-transients.json"), Kind::Transients, &mut all)?;
    read(include_str!("../reference/ns2-long-flows.json"), Kind::LongFlows, &mut all)?;
    read(include_str!("../reference/ns3-wifi.json"), Kind::Wifi, &mut all)?;
    for text in [
        include_str!("../reference/flows.json"),
        include_str!("../reference/flows-7.3.json"),
        include_str!("../reference/flows-3.14.json"),
        include_str!("../reference/flows-3.2.json"),
    ] {
        let flows: File<single::Flows> = parse(text)?;
        for entry in flows.set_ups {
            let figures = entry.what.figures();
            let kind = Kind::Single(entry.what);
            all.push(SetUp { name: entry.name, source: flows.source.clone(), figures, kind });
        }
    }
    for text in [
        include_str!("../reference/linux-6.1-advise.json"),
        include_str!("../reference/linux-7.3-advise.json"),
    ] {
        let homes: File<advise::HomeLine> = parse(text)?;
        for Entry { name, what, .. } in homes.set_ups {
            let figures = what.figures();
            all.push(SetUp { name, source: homes.source.clone(), figures, kind: Kind::Advise(what) });
        }
    }
    for file in packets::FILES {
        let recording = packets::Recording::read(file)?;
        let name = recording.name().to_owned();
        let source = recording.source().to_owned();
        all.push(SetUp { name, source, figures: recording.figures(), kind: Kind::Packets(recording) });
    }
    Ok(all)
}

/// The set-ups whose names are, or begin with, one of `names`; all if there are none.
///
/// # Errors
/// A name that fits no set-up.
pub fn chosen(names: &[String]) -> Result<Vec<SetUp>, Diagnostic> {
    let all = set_ups()?;
    for name in names {
        if !all.iter().any(|set_up| fits(&set_up.name, name)) {
            let mut groups: Vec<&str> =
                all.iter().filter_map(|set_up| set_up.name.split_once('/')).map(|parts| parts.0).collect();
            // The set-ups of a group are next to each other in their file.
            groups.dedup();
            return Err(unknown("the set-up", name, &groups).in_argument("--set-up", name));
        }
    }
    let wanted = |set_up: &SetUp| names.is_empty() || names.iter().any(|name| fits(&set_up.name, name));
    Ok(all.into_iter().filter(wanted).collect())
}

/// Returns the names of all set-ups, and those of their groups.
///
/// # Errors
/// The reference data cannot be read.
pub fn names() -> Result<Vec<String>, Diagnostic> {
    let all = set_ups()?;
    let groups = all.iter().filter_map(|set_up| set_up.name.split_once('/')).map(|parts| parts.0.to_owned());
    let mut names: Vec<String> = all.iter().map(|set_up| set_up.name.clone()).chain(groups).collect();
    names.sort();
    // A group has several set-ups.
    names.dedup();
    Ok(names)
}

fn fits(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[derive(Deserialize)]
struct File<T> {
    source: String,
    set_ups: Vec<Entry<T>>,
}

#[derive(Deserialize)]
struct Entry<T> {
    name: String,
    #[serde(default)]
    figures: BTreeMap<String, Figure>,
    #[serde(flatten)]
    what: T,
}

fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> Result<File<T>, Diagnostic> {
    serde_json::from_str(text).map_err(|error| Diagnostic::new(format!("a reference is malformed: {error}")))
}

fn read<T: for<'a> Deserialize<'a>>(
    text: &str,
    kind: fn(T) -> Kind,
    all: &mut Vec<SetUp>,
) -> Result<(), Diagnostic> {
    let file: File<T> = parse(text)?;
    for Entry { name, figures, what } in file.set_ups {
        all.push(SetUp { name, source: file.source.clone(), figures, kind: kind(what) });
    }
    Ok(())
}
