//! Replays what the Linux kernel's queue disciplines did, packet by packet, and compares.
//!
//! A recording (`recordings/*.jsonl.gz`) holds arrivals at a root qdisc on an ideal serial link,
//! what became of each packet, and the random numbers drawn. The kernel's clock at a row is the
//! header's `t_start_ns` + t; the qdisc was made within the first milliseconds of that clock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use goodqueue::random::{Recorded, Source};
use goodqueue::registry::Chosen;
use goodqueue::{
    AnyConfig, AnyQdisc, Disciplines, DropReason, Duration, Flow, Instant, Link, Packet, Qdisc, Rate,
};
use goodqueue_tc::recording::{self, Arrivals, Row};
use goodqueue_tc::replay::SerialLink;
pub use goodqueue_tc::replay::{Arrival, Fate};

/// A recording, read whole, and the discipline that it is of.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its name, `sfq_30` for instance.
    pub name: String,
    /// What the kernel was told, in the variant of its version where there is one.
    pub config: AnyConfig,
    /// What it was changed to, change by change.
    changes: Vec<AnyConfig>,
    rate: Rate,
    /// The kernel's clock at time 0 of the rows.
    origin: Duration,
    /// What the header says of all packets.
    arrivals: Arrivals,
    /// What happened, in order.
    rows: Vec<Row>,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// The file cannot be read or is not a recording of a discipline; the text says where.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::from_rows(recording::Recording::open(path).map_err(|error| error.to_string())?)
    }

    /// Takes a recording in.
    ///
    /// # Errors
    /// A row of it cannot be read, or it is not of a discipline; the text says where.
    pub fn from_rows(recording: recording::Recording) -> Result<Self, String> {
        let place = recording.name().to_owned();
        let header = recording.header().clone();
        let rate = header.rate().ok_or_else(|| format!("{place}:1: no rate_bps"))?;
        if header.qdisc.is_none() {
            return Err(format!("{place}:1: no qdisc"));
        }
        let commands = header.commands();
        let arrivals = header.arrivals().map_err(|error| format!("{place}:1: {error}"))?;
        let link = Link { rate, ..Link::default() };
        let rows: Vec<Row> = recording.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let variant = Some(header.variant());
        let configs = recording::configs(&Disciplines::new(), &commands, &rows, &link, variant);
        let (config, changes) = configs.map_err(|error| format!("{place}: {error}"))?;
        Ok(Self {
            name: header.name.unwrap_or(place),
            config,
            changes,
            rate,
            origin: Duration::from_nanos(header.t_start_ns),
            arrivals,
            rows,
        })
    }

    /// The paths of all recordings of this crate, by name.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all() -> Result<Vec<PathBuf>, String> {
        Self::in_folder("recordings")
    }

    /// The same, of Linux 7.3 (`recordings-7.3/*.jsonl.gz`, in short form).
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all_of_linux73() -> Result<Vec<PathBuf>, String> {
        Self::in_folder("recordings-7.3")
    }

    /// The same, of ns-2.35 (`recordings-ns2/*.jsonl.gz`): its clock rounded to nanoseconds, its
    /// uniform numbers to 32 bits.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all_of_ns2() -> Result<Vec<PathBuf>, String> {
        Self::in_folder("recordings-ns2")
    }

    fn in_folder(folder: &str) -> Result<Vec<PathBuf>, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
        // The order of `read_dir` depends on the file system.
        paths.sort();
        Ok(paths)
    }

    /// The discipline, empty and with the recorded draws.
    #[must_use]
    pub fn qdisc(&self) -> AnyQdisc<Arrival> {
        let mut draws = Recorded::default();
        for row in &self.rows {
            if let Row::Random { value, .. } = row {
                draws.push(*value);
            }
        }
        // The rows have the hashes of their flows, so no salt is needed.
        let mut qdisc = AnyQdisc::new(self.config.clone(), 0, Source::Recorded(draws));
        recording::set_timer(&mut qdisc, &self.rows, self.origin);
        qdisc
    }

    /// Compares the reasons of drops with those that the recording gives.
    fn agree_on_reasons(&self, ours: &BTreeMap<u64, DropReason>) -> Result<(), String> {
        for row in &self.rows {
            if let Row::Drop { seq, reason: Some(reason), .. } = row
                && let Some(why) = ours.get(seq)
                && !why.linux_names().contains(&reason.as_str())
            {
                return Err(format!("packet {seq}: the kernel names {reason}, we name {}", why.name()));
            }
        }
        Ok(())
    }

    /// Feeds the arrivals to the discipline on an ideal serial link and compares each packet's
    /// fate, and after each periodic work of PIE or adaptive RED the two variables that `variables`
    /// brings up to date and gives. Returns the packets.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(
        &self,
        variables: impl FnMut(&mut AnyQdisc<Arrival>, Instant) -> Option<(u64, u64)>,
    ) -> Result<u64, String> {
        let link = SerialLink::new(self.rate, self.origin).with_slack_of(&self.config);
        self.compare_on(&mut Replayed { qdisc: self.qdisc(), link }, variables)
    }

    /// The rate of the link.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The kernel's clock at time 0 of the rows.
    #[must_use]
    pub const fn origin(&self) -> Duration {
        self.origin
    }

    /// As [`Self::compare`], on a link of the caller with the discipline of [`Self::qdisc`].
    ///
    /// # Errors
    /// The first difference.
    pub fn compare_on(
        &self,
        link: &mut impl RecordedLink,
        mut variables: impl FnMut(&mut AnyQdisc<Arrival>, Instant) -> Option<(u64, u64)>,
    ) -> Result<u64, String> {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        let mut reasons = BTreeMap::new();
        let mut seen = 0;
        let mut packets = 0;
        let mut arrivals = self.arrivals.clone();
        let mut changes = self.changes.iter();
        for row in &self.rows {
            let mut report = |fate| {
                if let Fate::Dropped { seq, why, .. } = fate {
                    reasons.insert(seq, why);
                }
                ours.push(as_recorded(fate));
            };
            if let Some(arrival) = arrivals.next(row) {
                packets += 1;
                link.arrive(arrival, &mut report);
                continue;
            }
            let fate = match *row {
                Row::Exit { t, seq, tos, .. } => (t, seq, Some(tos)),
                Row::Drop { t, seq, .. } => (t, seq, None),
                Row::PieUpdate { t, prob: first, qdelay: second }
                | Row::RedUpdate { t, max_p: first, qavg: second } => {
                    link.run_until(t, &mut report);
                    let here = variables(link.qdisc_mut(), t + self.origin);
                    if here.is_some_and(|here| here != (first, second)) {
                        return Err(format!("after fate {seen}: the kernel has {row:?}, we have {here:?}"));
                    }
                    continue;
                }
                Row::Change { t, .. } => {
                    if let Some(config) = changes.next() {
                        link.reconfigure(t, config.clone(), &mut report);
                    }
                    continue;
                }
                _ => continue,
            };
            // What is due at the time of the row belongs to it, and `run_until` excludes its end.
            link.run_until(fate.0 + Duration::from_nanos(1), &mut report);
            theirs.push(fate);
            // A timer with slack may wait for the arrival in the next row.
            let due = theirs.len().saturating_sub(1).max(ours.len().min(theirs.len()));
            seen = agree(&ours, &theirs, seen, due)?;
        }
        link.run_until(Instant::MAX, &mut |fate| ours.push(as_recorded(fate)));
        seen = agree(&ours, &theirs, seen, theirs.len())?;
        self.agree_on_reasons(&reasons)?;
        match ours.get(seen) {
            Some(more) => Err(format!("the kernel's record ends; we have {more:?}")),
            None if !link.qdisc_mut().is_empty() => Err("packets are left at the end".to_owned()),
            None => Ok(packets),
        }
    }
}

/// An ideal serial link with a discipline. Times are those of the rows.
pub trait RecordedLink {
    /// Handles everything due before the arrival, then the arrival.
    fn arrive(&mut self, arrival: Arrival, report: &mut impl FnMut(Fate));

    /// Handles everything due before `end`.
    fn run_until(&mut self, end: Instant, report: &mut impl FnMut(Fate));

    /// Changes the configuration of the discipline. The link asks it again at the time already
    /// planned.
    fn reconfigure(&mut self, now: Instant, config: AnyConfig, report: &mut impl FnMut(Fate));

    /// The discipline.
    fn qdisc_mut(&mut self) -> &mut AnyQdisc<Arrival>;
}

/// The link of `goodqueue replay`.
struct Replayed {
    qdisc: AnyQdisc<Arrival>,
    link: SerialLink,
}

impl RecordedLink for Replayed {
    fn arrive(&mut self, arrival: Arrival, report: &mut impl FnMut(Fate)) {
        self.link.arrive(&mut self.qdisc, arrival, report);
    }

    fn run_until(&mut self, end: Instant, report: &mut impl FnMut(Fate)) {
        self.link.run_until(&mut self.qdisc, end, report);
    }

    fn reconfigure(&mut self, now: Instant, config: AnyConfig, report: &mut impl FnMut(Fate)) {
        self.link.reconfigure(&mut self.qdisc, now, config, report);
    }

    fn qdisc_mut(&mut self) -> &mut AnyQdisc<Arrival> {
        &mut self.qdisc
    }
}

/// Compares fates up to number `due`, of which `seen` are compared already.
fn agree(ours: &[RecordedFate], theirs: &[RecordedFate], seen: usize, due: usize) -> Result<usize, String> {
    for (number, fate) in theirs.iter().enumerate().take(due).skip(seen) {
        let here = ours.get(number);
        if here != Some(fate) {
            return Err(format!("fate {number}: the kernel has {fate:?}, we have {here:?}"));
        }
    }
    Ok(due)
}

/// What a recording says of a packet's fate: when, its number, and its TOS byte unless it was
/// dropped.
type RecordedFate = (Instant, u64, Option<u8>);

/// Returns what a recording would say of a fate.
const fn as_recorded(fate: Fate) -> RecordedFate {
    match fate {
        Fate::Sent { at, seq, tos, .. } => (at, seq, Some(tos)),
        Fate::Dropped { at, seq, .. } => (at, seq, None),
    }
}

/// Brings the variables up to date that the kernel's log shows after each periodic update, and
/// returns them: for [`Recording::compare`].
pub fn variables<P: Packet + Flow>(qdisc: &mut AnyQdisc<P>, now: Instant) -> Option<(u64, u64)> {
    match qdisc.chosen_mut() {
        Chosen::Pie(pie) => {
            pie.update(now);
            Some(pie.raw())
        }
        Chosen::DualPi2(dualpi2) => {
            dualpi2.update(now);
            Some(dualpi2.raw())
        }
        Chosen::Red(red) => {
            red.update(now);
            red.raw()
        }
        _ => None,
    }
}
