//! Tables as columns of Python values, and for other libraries through Arrow's C interface.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, UInt64Array};
use goodqueue_scenario::export::frame::{Frame, Values};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors::Error;

/// A table.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Table {
    frame: Frame,
}

impl Table {
    pub(crate) const fn new(frame: Frame) -> Self {
        Self { frame }
    }
}

#[pymethods]
impl Table {
    /// Returns a dict with a list for each column, from left to right.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for column in &self.frame.columns {
            let values = match &column.values {
                Values::Whole(values) => PyList::new(py, values)?,
                Values::Number(values) => PyList::new(py, values)?,
                Values::Text(values) => PyList::new(py, values)?,
            };
            columns.set_item(&column.name, values)?;
        }
        Ok(columns)
    }

    fn __len__(&self) -> usize {
        self.frame.rows()
    }

    /// Returns the table as a stream of one batch, by the rules of Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the request.
        drop(requested_schema);
        let columns = self.frame.columns.iter().map(|column| (column.name.as_str(), array(&column.values)));
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
                .map_err(|error| Error::new_err(format!("the table has no form in Arrow: {error}")))?;
        let schema = batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Whole(values) => Arc::new(UInt64Array::from(values.clone())),
        Values::Number(values) => Arc::new(Float64Array::from(values.clone())),
        Values::Text(values) => {
            let mut texts = StringBuilder::new();
            values.iter().for_each(|text| texts.append_option(text.as_deref()));
            Arc::new(texts.finish())
        }
    }
}
