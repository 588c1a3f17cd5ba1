//! A table of columns, for files and data frames.

/// A table: columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Frame {
    /// Columns from left to right.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// Values from top to bottom.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Counts and seeds.
    Whole(Vec<u64>),
    /// Numbers; `None` if a row has none.
    Number(Vec<Option<f64>>),
    /// Texts; `None` if a row has none.
    Text(Vec<Option<String>>),
}

impl Frame {
    /// Adds a column on the right.
    pub fn push(&mut self, name: impl Into<String>, values: Values) {
        self.columns.push(Column { name: name.into(), values });
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.values {
            Values::Whole(values) => values.len(),
            Values::Number(values) => values.len(),
            Values::Text(values) => values.len(),
        })
    }
}
