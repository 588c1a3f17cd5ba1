//! Tables as Parquet files: dictionary-encoded, the version and the resolved scenario in the
//! metadata under `goodqueue` and `scenario`. The long table of [`samples`] has a row group for
//! each run.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;

use super::frame::{Frame, Values};
use super::samples::{self, Sample};
use super::swept::Swept;
use crate::results::{Results, Run};

/// Writes a table of columns that was made of `results`.
///
/// # Errors
/// The file cannot be written.
pub fn write_frame(file: &mut (dyn Write + Send), frame: &Frame, results: &Results) -> io::Result<()> {
    columns(file, frame, results).map_err(cannot)
}

/// Writes the long table of all time series of `results`, run by run.
///
/// # Errors
/// The file cannot be written.
pub fn write_series(file: &mut (dyn Write + Send), results: &Results) -> io::Result<()> {
    row_groups(file, results).map_err(cannot)
}

fn cannot(error: ParquetError) -> io::Error {
    match error {
        // The file's own error, such as a full disk.
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn columns(file: &mut (dyn Write + Send), frame: &Frame, results: &Results) -> Result<(), ParquetError> {
    let columns: Result<Vec<Arc<Type>>, ParquetError> = frame
        .columns
        .iter()
        .map(|of| match &of.values {
            Values::Whole(_) => column(&of.name, Physical::INT64, Repetition::REQUIRED, whole(64)),
            Values::Number(_) => column(&of.name, Physical::DOUBLE, Repetition::OPTIONAL, None),
            Values::Text(_) => {
                column(&of.name, Physical::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String))
            }
        })
        .collect();
    let schema = Type::group_type_builder("runs").with_fields(columns?).build()?;
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(results)))?;
    let mut group = writer.next_row_group()?;
    for of in &frame.columns {
        match &of.values {
            Values::Whole(values) => {
                // Parquet stores an unsigned integer in the signed one of the same bits.
                let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
                required::<Int64Type, _>(&mut group, &values)?;
            }
            Values::Number(values) => optional::<DoubleType, _>(&mut group, values.clone())?,
            Values::Text(values) => {
                let texts = values.iter().map(|value| value.as_deref().map(text)).collect();
                optional::<ByteArrayType, _>(&mut group, texts)?;
            }
        }
    }
    group.close()?;
    writer.close().map(drop)
}

fn properties(results: &Results) -> WriterProperties {
    let about =
        [("goodqueue", results.goodqueue.clone()), ("scenario", results.scenario.as_json().to_string())]
            .map(|(key, value)| KeyValue::new(key.to_owned(), value));
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(about.into()))
        .build()
}

fn row_groups(file: &mut (dyn Write + Send), results: &Results) -> Result<(), ParquetError> {
    let swept = Swept::all(results);
    let schema = Arc::new(schema(&swept)?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties(results)))?;
    for (number, run) in results.runs.iter().enumerate() {
        let samples = samples::of_run(run);
        let mut group = writer.next_row_group()?;
        row_group(&mut group, number, run, &swept, &samples)?;
        group.close()?;
    }
    writer.close().map(drop)
}

fn schema(swept: &[Swept<'_>]) -> Result<Type, ParquetError> {
    let one = Repetition::REQUIRED;
    let perhaps = Repetition::OPTIONAL;
    let words = || Some(LogicalType::String);
    let mut columns = vec![
        column("run", Physical::INT32, one, whole(32))?,
        column("qdisc", Physical::BYTE_ARRAY, one, words())?,
    ];
    for key in swept {
        columns.push(match key.is_number() {
            true => column(&key.heading(), Physical::DOUBLE, perhaps, None)?,
            false => column(&key.heading(), Physical::BYTE_ARRAY, perhaps, words())?,
        });
    }
    columns.extend([
        column("seed", Physical::INT64, one, whole(64))?,
        column("t_s", Physical::DOUBLE, one, None)?,
        column("series", Physical::BYTE_ARRAY, one, words())?,
        column("direction", Physical::BYTE_ARRAY, perhaps, words())?,
        column("flow", Physical::INT32, perhaps, whole(32))?,
        column("value", Physical::DOUBLE, perhaps, None)?,
    ]);
    Type::group_type_builder("series").with_fields(columns).build()
}

fn row_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    number: usize,
    run: &Run,
    swept: &[Swept<'_>],
    samples: &[Sample],
) -> Result<(), ParquetError> {
    // The writer takes the columns in the order of `schema`, and not by their names.
    let rows = samples.len();
    // The unsigned integers of the table, as Parquet stores them.
    let narrow = |number: u32| number.cast_signed();
    let number = narrow(u32::try_from(number).unwrap_or(u32::MAX));
    required::<Int32Type, _>(group, &vec![number; rows])?;
    required::<ByteArrayType, _>(group, &vec![text(&run.qdisc); rows])?;
    for key in swept {
        if key.is_number() {
            optional::<DoubleType, _>(group, vec![key.number(run); rows])?;
        } else {
            let shown = key.text(run).map(|shown| text(&shown));
            optional::<ByteArrayType, _>(group, vec![shown; rows])?;
        }
    }
    required::<Int64Type, _>(group, &vec![run.seed.cast_signed(); rows])?;
    required::<DoubleType, _>(group, &samples.iter().map(|sample| sample.t_s).collect::<Vec<_>>())?;
    required::<ByteArrayType, _>(
        group,
        &samples.iter().map(|sample| text(sample.series)).collect::<Vec<_>>(),
    )?;
    optional::<ByteArrayType, _>(
        group,
        samples.iter().map(|sample| sample.direction.map(|direction| text(direction.name()))).collect(),
    )?;
    optional::<Int32Type, _>(group, samples.iter().map(|sample| sample.flow.map(narrow)).collect())?;
    optional::<DoubleType, _>(group, samples.iter().map(|sample| sample.value).collect())
}

/// A column of a table.
pub(super) fn column(
    name: &str,
    physical: Physical,
    repetition: Repetition,
    logical: Option<LogicalType>,
) -> Result<Arc<Type>, ParquetError> {
    Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

/// Unsigned integers of this number of bits.
pub(super) fn whole(bits: i8) -> Option<LogicalType> {
    Some(LogicalType::integer(bits, false))
}

pub(super) fn text(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

/// Writes the next column of a row group, which has a value in every row.
pub(super) fn required<T: ::parquet::data_type::DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// Writes the next column of a row group, which has a value only in some rows.
pub(super) fn optional<T: ::parquet::data_type::DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    // Definition levels of Parquet: 1 for a row with a value, 0 for one without.
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use ::parquet::record::RowAccessor as _;

    use goodqueue_sim::Direction;

    use super::*;
    use crate::export::tests::{results, run};

    fn table(results: &Results) -> Vec<u8> {
        let mut file = Vec::new();
        write_series(&mut file, results).expect("memory");
        file
    }

    #[test]
    fn what_is_read_back_is_what_was_written() {
        let mut swept = run("pie", 7);
        swept.sweep.insert("link.up".to_owned(), "1mbit".into());
        swept.sweep.insert("flows.0.count".to_owned(), 4.into());
        let all = results(vec![run("codel", 1), swept]);
        let bytes = table(&all);
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let metadata = reader.metadata().file_metadata();
        // 27 samples of each run, as in the tests of `samples`; each run is a group of its own.
        assert_eq!((metadata.num_rows(), reader.num_row_groups()), (2 * 27, 2));
        let about = metadata.key_value_metadata().unwrap();
        assert!(about.iter().any(|pair| pair.key == "scenario"
            && pair.value.as_deref() == Some(all.scenario.as_json().to_string().as_str())));
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let columns: Vec<&String> = rows[0].get_column_iter().map(|column| column.0).collect();
        assert_eq!(
            columns,
            [
                "run",
                "qdisc",
                "flows.0.count",
                "link.up",
                "seed",
                "t_s",
                "series",
                "direction",
                "flow",
                "value"
            ]
        );
        let expected: Vec<Sample> = all.runs.iter().flat_map(samples::of_run).collect();
        for (number, (row, sample)) in rows.iter().zip(&expected).enumerate() {
            let second = number >= 27;
            assert_eq!(row.get_uint(0).unwrap(), u32::from(second));
            assert_eq!(row.get_string(1).unwrap(), if second { "pie" } else { "codel" });
            assert_eq!(row.get_double(2).ok(), second.then_some(4.0));
            assert_eq!(row.get_double(3).ok(), second.then_some(1e6));
            assert_eq!(row.get_ulong(4).unwrap(), if second { 7 } else { 1 });
            assert_eq!(row.get_double(5).unwrap(), sample.t_s);
            assert_eq!(row.get_string(6).unwrap(), sample.series);
            assert_eq!(row.get_string(7).ok().map(String::as_str), sample.direction.map(Direction::name));
            assert_eq!(row.get_uint(8).ok(), sample.flow);
            assert_eq!(row.get_double(9).ok(), sample.value);
        }
        assert_eq!(table(&all), table(&all), "the same bytes again");
    }

    #[test]
    fn columns_are_read_back_with_their_types_and_gaps() {
        let mut frame = Frame::default();
        frame.push("seed", Values::Whole(vec![u64::MAX, 1]));
        frame.push("link.rtt", Values::Number(vec![Some(0.01), None]));
        frame.push("qdisc", Values::Text(vec![None, Some("pie".to_owned())]));
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &frame, &results(Vec::new())).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!((rows[0].get_ulong(0).unwrap(), rows[1].get_ulong(0).unwrap()), (u64::MAX, 1));
        assert_eq!((rows[0].get_double(1).ok(), rows[1].get_double(1).ok()), (Some(0.01), None));
        assert_eq!(rows[1].get_string(2).unwrap(), "pie");
        assert!(rows[0].get_string(2).is_err());
    }
}
