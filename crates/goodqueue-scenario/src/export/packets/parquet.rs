//! Packets as a Parquet file: the table of [`csv`](super::csv). Each row group has 65,536 packets.
//! The metadata contain the version, the discipline and the seed.

use std::io;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use goodqueue::Instant;
use goodqueue_sim::observer::{Fate, Visit};

use super::writer::{PacketWriter, Row};
use crate::export::parquet::{column, optional, required, text, whole};
use crate::files::StreamedFile;
use crate::run::RunSpec;

/// A table that gets a row when a packet was sent or dropped.
pub(super) struct Table {
    writer: SerializedFileWriter<StreamedFile>,
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn begin(file: StreamedFile, run: &RunSpec) -> io::Result<Self> {
        let about = [
            ("goodqueue", env!("CARGO_PKG_VERSION").to_owned()),
            ("qdisc", run.labels.qdisc.clone()),
            ("seed", run.config.seed.to_string()),
            ("sweep", serde_json::json!(run.labels.sweep).to_string()),
        ];
        let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(about.into()))
            .build();
        let schema = Arc::new(schema().map_err(io::Error::other)?);
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties));
        Ok(Self { writer: writer.map_err(io::Error::other)?, rows: Vec::with_capacity(GROUP) })
    }

    fn write_rows(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.writer.next_row_group()?;
        let texts = |of: fn(&Row) -> &'static str| -> Vec<ByteArray> {
            rows.iter().map(|row| text(of(row))).collect()
        };
        // Parquet has signed types only. The logical type of a column says that it is unsigned.
        let longs =
            |of: fn(&Row) -> u64| -> Vec<i64> { rows.iter().map(|row| of(row).cast_signed()).collect() };
        let ints =
            |of: fn(&Row) -> u32| -> Vec<i32> { rows.iter().map(|row| of(row).cast_signed()).collect() };
        let perhaps = |of: fn(&Row) -> Option<u64>| -> Vec<Option<i64>> {
            rows.iter().map(|row| of(row).map(u64::cast_signed)).collect()
        };
        required::<Int64Type, _>(&mut group, &longs(|row| row.packet))?;
        required::<ByteArrayType, _>(&mut group, &texts(|row| row.direction))?;
        required::<Int32Type, _>(&mut group, &ints(|row| row.flow))?;
        required::<Int32Type, _>(&mut group, &ints(|row| row.connection))?;
        required::<Int32Type, _>(&mut group, &ints(|row| row.bytes))?;
        required::<Int32Type, _>(&mut group, &ints(|row| row.dscp.into()))?;
        required::<ByteArrayType, _>(&mut group, &texts(|row| row.ecn))?;
        required::<ByteArrayType, _>(&mut group, &texts(|row| row.fate))?;
        optional::<ByteArrayType, _>(&mut group, rows.iter().map(|row| row.reason.map(text)).collect())?;
        required::<Int64Type, _>(&mut group, &longs(|row| row.arrival_ns))?;
        optional::<Int64Type, _>(&mut group, perhaps(|row| row.departure_ns))?;
        optional::<Int64Type, _>(&mut group, perhaps(|row| row.sojourn_ns))?;
        group.close()?;
        // The next group uses the same memory.
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }
}

impl PacketWriter for Table {
    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) -> io::Result<()> {
        self.rows.push(Row::new(visit, at, fate));
        if self.rows.len() < GROUP { Ok(()) } else { self.write_rows().map_err(io::Error::other) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.write_rows().map_err(io::Error::other)?;
        }
        self.writer.into_inner().map_err(io::Error::other)?.finish()
    }
}

fn schema() -> Result<Type, ParquetError> {
    let one = Repetition::REQUIRED;
    let perhaps = Repetition::OPTIONAL;
    let words = || Some(LogicalType::String);
    let columns = vec![
        column("packet", Physical::INT64, one, whole(64))?,
        column("direction", Physical::BYTE_ARRAY, one, words())?,
        column("flow", Physical::INT32, one, whole(32))?,
        column("connection", Physical::INT32, one, whole(32))?,
        column("bytes", Physical::INT32, one, whole(32))?,
        // Parquet has no physical type below 32 bits.
        column("dscp", Physical::INT32, one, whole(8))?,
        column("ecn", Physical::BYTE_ARRAY, one, words())?,
        column("fate", Physical::BYTE_ARRAY, one, words())?,
        column("reason", Physical::BYTE_ARRAY, perhaps, words())?,
        column("arrival_ns", Physical::INT64, one, whole(64))?,
        column("departure_ns", Physical::INT64, perhaps, whole(64))?,
        column("sojourn_ns", Physical::INT64, perhaps, whole(64))?,
    ];
    Type::group_type_builder("packets").with_fields(columns).build()
}

/// Packets held in memory before they are written.
const GROUP: usize = 1 << 16;
