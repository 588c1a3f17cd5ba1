//! Recordings of a queue.

use std::io::Cursor;

use goodqueue_tc::recording::{Recording, Row};
use goodqueue_testkit::kernel;

/// Reads a recording, plain or compressed. Either it can be read to its end, or an error names the
/// place that is wrong. Rows are written as they were read, and the recording can be replayed.
///
/// # Panics
/// If one of these does not hold.
pub fn recording(bytes: &[u8]) {
    /// Rows that are read. A few bytes of gzip can be a million rows.
    const MOST: usize = 2_000;
    let mut recording = match Recording::read("fuzz", Cursor::new(bytes.to_vec())) {
        Ok(recording) => recording,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut written = Vec::new();
    recording.header().write(&mut written).expect("memory");
    let mut rows: Vec<Row> = Vec::new();
    for row in recording.by_ref().take(MOST) {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for row in &rows {
        row.write(&mut written).expect("memory");
    }
    let again = Recording::read("again", Cursor::new(written)).expect("the header was read before");
    assert_eq!(again.header(), recording.header());
    let again: Vec<Row> = again.map(|row| row.expect("the row was read before")).collect();
    assert_eq!(again, rows);
    // Only a recording that was read to its end is replayed, because others may have millions of
    // rows.
    if recording.next().is_none() {
        replay(bytes);
    }
}

/// Replays the recording's packets. Differences from the recorded fates are not errors.
fn replay(bytes: &[u8]) {
    let again = Recording::read("fuzz", Cursor::new(bytes.to_vec())).expect("it was read before");
    if let Ok(recording) = kernel::Recording::from_rows(again)
        && let Err(difference) = recording.compare(|_, _| None)
    {
        assert!(!difference.is_empty());
    }
}
