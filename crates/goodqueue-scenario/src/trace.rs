//! Mahimahi traces: recorded links as a list of delivery opportunities.
//!
//! Each line holds one whole number, the millisecond of one opportunity to deliver 1504 bytes;
//! lines do not decrease, and the same millisecond may stand several times. After the last line the
//! trace begins again, with the last millisecond as its period: the single line `1` is 12.032
//! Mbit/s for ever. An opportunity that finds no packet is lost, a packet may use several
//! (Netravali et al., USENIX ATC 2015; mahimahi `src/frontend/link_queue.cc`).

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use goodqueue::random::mix_64;
use goodqueue::{Duration, Rate};
use goodqueue_sim::Opportunities;
use goodqueue_tc::diagnostic::{Diagnostic, nearest, shortened};
use goodqueue_tc::input::Input;

/// A recorded link. Copies share its opportunities, also with the simulator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    opportunities: Arc<Opportunities>,
    checksum: u64,
}

impl Trace {
    // An IP packet of 1500 bytes and the 4-byte header of Mahimahi's TUN device.
    /// Bytes that one opportunity delivers.
    pub const OPPORTUNITY_BYTES: u32 = 1504;
    /// Larger files are refused.
    pub const MAX_FILE_BYTES: u64 = 64 << 20;

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is larger than [`Trace::MAX_FILE_BYTES`], or is not a trace.
    pub fn load(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let file = Input::open(path, Self::MAX_FILE_BYTES).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => too_large(&name),
            _ => cannot_open(path, &error),
        })?;
        Self::read(&name, BufReader::new(file))
    }

    /// Reads a trace. Messages call it `name`.
    ///
    /// # Errors
    /// Not a trace: empty, not a number, decreasing, ending in 0, or larger than
    /// [`Trace::MAX_FILE_BYTES`].
    pub fn read(name: &str, reader: impl BufRead) -> Result<Self, Diagnostic> {
        // The byte beyond the limit tells a file that is too large from one that just fits.
        let mut reader = reader.take(Self::MAX_FILE_BYTES + 1);
        let mut opportunities_ms: Vec<u32> = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(|error| match error.kind() {
                ErrorKind::FileTooLarge => too_large(name),
                _ => Diagnostic::new(format!("the trace cannot be read: {error}")).in_file(name),
            })?;
            if reader.limit() == 0 {
                return Err(too_large(name));
            }
            if read == 0 {
                break;
            }
            let number = opportunities_ms.len() + 1;
            let previous = opportunities_ms.last().copied().unwrap_or(0);
            let time = opportunity(&line, previous).map_err(|error| error.in_line(name, number))?;
            opportunities_ms.push(time);
        }
        match opportunities_ms.last() {
            None => Err(Diagnostic::new("the trace is empty").allowed(FORM).in_file(name)),
            Some(0) => Err(Diagnostic::new("the last line is 0, so the trace has no length")
                .allowed("a last line above 0: it is the period after which the trace repeats")
                .in_line(name, opportunities_ms.len())),
            Some(_) => Self::new(opportunities_ms)
                .ok_or_else(|| Diagnostic::new("this is not a trace").allowed(FORM).in_file(name)),
        }
    }

    /// `None` if the milliseconds decrease, or if the last one is not above 0.
    fn new(opportunities_ms: Vec<u32>) -> Option<Self> {
        // `mix_64` maps 0 to 0, so without their number the opportunities of the first millisecond
        // would not count.
        let number = opportunities_ms.len() as u64;
        let checksum = opportunities_ms.iter().fold(number, |sum, &at| mix_64(sum ^ u64::from(at)));
        let opportunities = Arc::new(Opportunities::new(opportunities_ms)?);
        Some(Self { opportunities, checksum })
    }

    /// The milliseconds of the opportunities of the first period, ascending.
    #[must_use]
    pub fn opportunities_ms(&self) -> &[u32] {
        self.opportunities.at_ms()
    }

    /// The same as the simulator takes them.
    #[must_use]
    pub const fn opportunities(&self) -> &Arc<Opportunities> {
        &self.opportunities
    }

    /// Equal traces have equal sums.
    #[must_use]
    pub const fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Time after which the trace repeats.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.opportunities.period()
    }

    /// Rate if every opportunity is used, over a whole period.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let bits = self.opportunities.count() as u128 * u128::from(Self::OPPORTUNITY_BYTES) * 8;
        let per_second = bits * 1_000_000_000 / u128::from(self.period().as_nanos().max(1));
        // A file of 64 MiB has at most 2^25 opportunities, which in 1 ms are 4 * 10^14 bit/s.
        Rate::from_bps(u64::try_from(per_second).unwrap_or(u64::MAX))
    }
}

fn opportunity(line: &[u8], previous: u32) -> Result<u32, Diagnostic> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    // Editors of Windows end lines with both characters.
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Err(Diagnostic::new("the line is blank").allowed(FORM).help("remove the line"));
    }
    let text = String::from_utf8_lossy(line);
    // `parse` alone would also take a plus sign.
    let digits = line.iter().all(u8::is_ascii_digit);
    let time = text.parse::<u32>().ok().filter(|_| digits).ok_or_else(|| {
        let what = if digits { "is above 4294967295 ms" } else { "is not a whole number of milliseconds" };
        Diagnostic::new(format!("`{}` {what}", shortened(&text))).allowed(FORM)
    })?;
    if time < previous {
        return Err(
            Diagnostic::new(format!("{time} comes after {previous}: times must not decrease")).allowed(FORM)
        );
    }
    Ok(time)
}

/// The file is missing or closed to us; a missing one may be a misspelling of a neighbour.
fn cannot_open(path: &Path, error: &std::io::Error) -> Diagnostic {
    let message =
        Diagnostic::new(format!("the trace cannot be opened: {error}")).in_file(&path.display().to_string());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return message;
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut neighbours: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .take(MOST_NEIGHBOURS)
        .collect();
    // A folder lists its files in no fixed order, and the message must not depend on it.
    neighbours.sort();
    match nearest(name, neighbours.iter().map(String::as_str)) {
        Some(near) if near != name => {
            message.help(format!("did you mean `{}`?", folder.join(near).display()))
        }
        _ => message,
    }
}

fn too_large(name: &str) -> Diagnostic {
    Diagnostic::new(format!("the trace is larger than {} MiB", Trace::MAX_FILE_BYTES >> 20))
        .help("cut it: it repeats from its beginning when it ends")
        .in_file(name)
}

const FORM: &str = "one whole number of milliseconds per line, not decreasing";

/// Files of a folder among which a misspelt name is looked for.
const MOST_NEIGHBOURS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Result<Trace, Diagnostic> {
        Trace::read("lte.down", text)
    }

    #[test]
    fn one_opportunity_each_millisecond_is_12_mbit_per_second() {
        let trace = read(b"1\n").unwrap();
        // An opportunity has Mahimahi's 1504 bytes, and there are 1000 a second.
        assert_eq!(trace.mean_rate(), Rate::from_bps(12_032_000));
        assert_eq!(trace.period(), Duration::from_millis(1));
    }

    #[test]
    fn opportunities_may_share_a_millisecond_and_the_last_is_the_period() {
        let trace = read(b"0\n0\n5\r\n5\n10").unwrap();
        assert_eq!(trace.opportunities_ms(), [0, 0, 5, 5, 10]);
        assert_eq!(trace.period(), Duration::from_millis(10));
        assert_eq!(trace.mean_rate(), Rate::from_bps(5 * 1504 * 8 * 100));
    }

    #[test]
    fn opportunities_in_the_first_millisecond_count_in_the_sum() {
        let sum = |text: &[u8]| read(text).unwrap().checksum();
        assert_ne!(sum(b"0\n5\n"), sum(b"5\n"));
        assert_ne!(sum(b"0\n0\n5\n"), sum(b"0\n5\n"));
        assert_eq!(sum(b"0\n5\n"), sum(b"0\r\n5"));
    }

    #[test]
    fn a_bad_trace_is_refused_with_its_line() {
        insta::assert_snapshot!(read(b"").unwrap_err(), @r"
        lte.down: the trace is empty
          allowed: one whole number of milliseconds per line, not decreasing
        ");
        insta::assert_snapshot!(read(b"1\n2\nthree\n").unwrap_err(), @r"
        lte.down:3:1: `three` is not a whole number of milliseconds
          allowed: one whole number of milliseconds per line, not decreasing
        ");
        insta::assert_snapshot!(read(b"1\n5\n4\n").unwrap_err(), @r"
        lte.down:3:1: 4 comes after 5: times must not decrease
          allowed: one whole number of milliseconds per line, not decreasing
        ");
        insta::assert_snapshot!(read(b"1\n\n4\n").unwrap_err(), @r"
        lte.down:2:1: the line is blank
          allowed: one whole number of milliseconds per line, not decreasing
          help: remove the line
        ");
        insta::assert_snapshot!(read(b"0\n0\n").unwrap_err(), @r"
        lte.down:2:1: the last line is 0, so the trace has no length
          allowed: a last line above 0: it is the period after which the trace repeats
        ");
        // Mahimahi's format has digits only; 99,999,999,999 does not fit 32 bits.
        for bad in ["-1\n", "+1\n", "1.5\n", "1e3\n", "NaN\n", "99999999999\n", "\u{feff}1\n", "1 2\n"] {
            assert_eq!(read(bad.as_bytes()).unwrap_err().line_and_column(), Some((1, 1)), "{bad}");
        }
        assert!(read(b"\xff\xfe\n").is_err());
    }

    #[test]
    fn a_missing_file_is_named_with_the_nearest_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("verizon.down"), "1\n").unwrap();
        let message = Trace::load(&folder.path().join("verzon.down")).unwrap_err().to_string();
        assert!(message.contains("the trace cannot be opened"), "{message}");
        assert!(message.ends_with("verizon.down`?"), "{message}");
        let of_folder = Trace::load(folder.path()).unwrap_err().to_string();
        assert!(of_folder.ends_with("it is a directory, not a file"), "{of_folder}");
    }

    #[test]
    fn an_endless_file_is_refused() {
        let endless = BufReader::new(std::io::repeat(b'1'));
        assert!(Trace::read("zero", endless).unwrap_err().to_string().contains("larger than 64 MiB"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_list_of_ascending_times_is_a_trace(mut times in prop::collection::vec(1u32..100_000, 1..50)) {
            times.sort_unstable();
            let text: String = times.iter().map(|time| format!("{time}\n")).collect();
            let trace = read(text.as_bytes()).unwrap();
            prop_assert_eq!(trace.opportunities_ms(), times.as_slice());
        }
    }
}
