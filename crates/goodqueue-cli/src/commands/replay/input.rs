//! A recording in memory, and its replay through a discipline.

use std::path::Path;

use goodqueue::config::Link;
use goodqueue::random::{Random as _, Recorded, Source, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, AnyQdisc, Disciplines, Duration, Instant, Qdisc, Rate};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::recording::{self, Arrivals, Header, Recording, Row};
use goodqueue_tc::replay::{Arrival, Fate, SerialLink};
use goodqueue_tc::units;
use serde_json::Value;

/// A complete recording, and the discipline for the replay.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) header: Header,
    pub(super) config: AnyConfig,
    /// Configurations to which the recorded discipline was changed, in order.
    changes: Vec<AnyConfig>,
    pub(super) rate: Rate,
    /// Fields of the header that apply to all packets.
    arrivals: Arrivals,
    pub(super) rows: Vec<Row>,
}

/// A replay after its end.
pub(super) struct Replayed<Q> {
    pub(super) qdisc: Q,
    /// The discipline's clock at the last event.
    last: Instant,
}

impl Replayed<AnyQdisc<Arrival>> {
    /// Returns the final statistics, in the form of `tc -s -j qdisc show`.
    pub(super) fn statistics(&self) -> Vec<Value> {
        tc::statistics(&self.qdisc, self.last, None)
    }
}

impl Input {
    /// Reads a recording. `qdisc` and `rate` replace those of the recording.
    pub(super) fn read(
        file: &Path,
        qdisc: Option<&str>,
        rate: Option<&str>,
        disciplines: &Disciplines,
    ) -> Result<Self, Diagnostic> {
        let recording = Recording::open(file)?;
        let header = recording.header().clone();
        let name = file.display().to_string();
        let rate = match rate {
            Some(text) => units::rate(text).map_err(|error| error.in_argument("--rate", text))?,
            None => header.rate().ok_or_else(|| {
                Diagnostic::new("the recording does not contain the rate of its link")
                    .help("give one, as in `--rate 10mbit`")
                    .in_file(&name)
            })?,
        };
        if rate.as_bps() == 0 {
            return Err(Diagnostic::new("a link with a rate of 0 carries nothing").in_argument("--rate", "0"));
        }
        let link = Link { rate, ..Link::default() };
        // One row more tells a longer recording from one that just fits.
        let rows: Vec<Row> = recording.take(MOST_ROWS + 1).collect::<Result<_, _>>()?;
        if rows.len() > MOST_ROWS {
            return Err(Diagnostic::new(format!("the recording has more than {MOST_ROWS} rows"))
                .help("shorten it: its first minutes are a valid recording, too")
                .in_file(&name));
        }
        let (config, changes) = match (qdisc, &header.qdisc) {
            (Some(line), _) => {
                let config = tc::parse_among(disciplines, line, &link, None)
                    .map_err(|error| error.in_argument("--qdisc", line))?;
                // The recorded changes do not apply to another discipline.
                (config, Vec::new())
            }
            (None, Some(_)) => {
                let variant = Some(header.variant());
                recording::configs(disciplines, &header.commands(), &rows, &link, variant)
                    .map_err(|error| error.in_file(&name))?
            }
            (None, None) => {
                return Err(Diagnostic::new("the recording does not name its discipline")
                    .help("give one, as in `--qdisc codel`")
                    .in_file(&name));
            }
        };
        let arrivals = header.arrivals().map_err(|error| error.in_line(&name, 1))?;
        Ok(Self { name, header, config, changes, rate, arrivals, rows })
    }

    /// Returns the discipline as a tc line.
    pub(super) fn qdisc(&self) -> String {
        tc::to_tc(&self.config)
    }

    /// Returns what is added to times of the recording to get those of the discipline.
    pub(super) const fn origin(&self) -> Duration {
        Duration::from_nanos(self.header.t_start_ns)
    }

    /// Returns the packets as they arrived.
    pub(super) fn packets(&self) -> Vec<Arrival> {
        let mut arrivals = self.arrivals.clone();
        self.rows.iter().filter_map(|row| arrivals.next(row)).collect()
    }

    /// Replays the recording and reports the fate of every packet.
    pub(super) fn replay(&self, report: impl FnMut(Fate)) -> Replayed<AnyQdisc<Arrival>> {
        self.replay_in(|qdisc| qdisc, report)
    }

    /// As [`Self::replay`], with the discipline inside of another type.
    pub(super) fn replay_in<Q: Qdisc<Arrival, Config = AnyConfig>>(
        &self,
        wrap: impl FnOnce(AnyQdisc<Arrival>) -> Q,
        mut report: impl FnMut(Fate),
    ) -> Replayed<Q> {
        let mut draws = Recorded::default();
        for row in &self.rows {
            if let Row::Random { value, .. } = row {
                draws.push(*value);
            }
        }
        // Our own recordings contain the seed instead of every random number.
        let number = |name: &str| self.header.other.get(name).and_then(Value::as_u64);
        let seed = number("qdisc_seed").unwrap_or(0);
        let (salt, random) = match number("qdisc_stream") {
            _ if draws.remaining() > 0 => (0, Source::Recorded(draws)),
            // The queues of a simulated run draw from numbered streams of its seed, first for the
            // salt of their hashes.
            Some(stream) => {
                let mut generator = Xoshiro256PlusPlus::stream(seed, stream);
                let key = number("qdisc_hash_key").unwrap_or(0);
                (generator.next_u32() ^ u32::try_from(key).unwrap_or(0), Source::Seeded(generator))
            }
            // A link for tests has a salt of its own.
            None => {
                let salt = number("qdisc_salt").and_then(|salt| u32::try_from(salt).ok());
                (salt.unwrap_or(0), Source::seeded(seed))
            }
        };
        let mut qdisc = AnyQdisc::new(self.config.clone(), salt, random);
        recording::set_timer(&mut qdisc, &self.rows, self.origin());
        let mut qdisc = wrap(qdisc);
        let mut last = Instant::ZERO;
        let mut report = |fate: Fate| {
            last = fate.at();
            report(fate);
        };
        let mut link = SerialLink::new(self.rate, self.origin());
        // Only the kernel runs timers late.
        if number("qdisc_seed").is_none() {
            link = link.with_slack_of(&self.config);
        }
        let mut served_at = None;
        let mut arrivals = self.arrivals.clone();
        let mut changes = self.changes.iter();
        for row in &self.rows {
            if let Some(arrival) = arrivals.next(row) {
                // Recordings are in order of events, so a packet that left at this instant left
                // before this arrival.
                if served_at == Some(arrival.at) {
                    link.run_until(&mut qdisc, arrival.at + Duration::from_nanos(1), &mut report);
                }
                link.arrive(&mut qdisc, arrival, &mut report);
            }
            match *row {
                Row::Change { t, .. } => {
                    if let Some(config) = changes.next() {
                        link.reconfigure(&mut qdisc, t, config.clone(), &mut report);
                    }
                }
                Row::Exit { t, .. } => served_at = Some(t),
                _ => {}
            }
        }
        link.run_until(&mut qdisc, Instant::MAX, &mut report);
        Replayed { qdisc, last: last + self.origin() }
    }
}

/// Returns a fate as a row of a recording.
pub(super) fn row_of(fate: &Fate) -> Row {
    match *fate {
        Fate::Sent { at, seq, bytes, tos } => Row::Exit { t: at, seq, bytes, tos },
        Fate::Dropped { at, seq, why } => Row::Drop { t: at, seq, reason: Some(why.name().to_owned()) },
    }
}

/// Rows of a recording, which are kept in memory. A few bytes of gzip may stand for millions.
const MOST_ROWS: usize = 20_000_000;
