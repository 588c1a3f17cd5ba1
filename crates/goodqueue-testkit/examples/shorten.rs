//! Writes recordings in short form into a folder, and their arrivals into `arrivals` in it.
//!
//! `cargo run -p goodqueue-testkit --example shorten FOLDER FILE...`. The header's `schedule` is
//! the name of the arrivals. A recording with the rows of an earlier one refers to it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use goodqueue_tc::recording::{Header, Recording, Row, short};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: shorten FOLDER FILE...")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder.join("arrivals"))?;
    let (mut seen, mut schedules): (BTreeMap<String, String>, BTreeMap<String, Vec<Row>>) =
        Default::default();
    for file in arguments {
        let recording = Recording::open(Path::new(&file)).map_err(|error| error.to_string())?;
        let mut header = recording.header().clone();
        let name = header.name.clone().ok_or("no name")?;
        let schedule =
            header.other.get("schedule").and_then(|said| said.as_str()).ok_or("no schedule")?.to_owned();
        let rows: Vec<Row> = recording.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let arrivals: Vec<Row> =
            rows.iter().filter(|row| matches!(row, Row::Arrival { .. })).cloned().collect();
        let known = schedules.entry(schedule.clone()).or_insert_with(|| arrivals.clone());
        assert_eq!(*known, arrivals, "{file}: {schedule} has other arrivals in another file");
        let mut context = short::Context::new(header.rate().ok_or("no rate")?);
        let mut text = String::new();
        rows.iter().for_each(|row| context.write(row, &mut text));
        match seen.get(&text) {
            Some(first) => {
                header.other.insert("rows_of".to_owned(), first.as_str().into());
                text.clear();
            }
            None => {
                seen.insert(text.clone(), name.clone());
                header.other.insert("arrivals".to_owned(), schedule.as_str().into());
            }
        }
        write(
            &folder.join("arrivals").join(format!("{schedule}.jsonl.gz")),
            &Header::default(),
            &lines(&arrivals)?,
        )?;
        let path = folder.join(format!("{name}.jsonl.gz"));
        write(&path, &header, text.as_bytes())?;
        let again = Recording::open(&path).map_err(|error| error.to_string())?;
        let again: Vec<Row> = again.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        assert!(again == rows, "{file}: the short form has other rows");
    }
    Ok(())
}

fn lines(rows: &[Row]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    rows.iter().try_for_each(|row| row.write(&mut text))?;
    Ok(text)
}

fn write(path: &Path, header: &Header, rows: &[u8]) -> std::io::Result<()> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    header.write(&mut packed)?;
    packed.write_all(rows)?;
    fs::write(path, packed.finish()?)
}
