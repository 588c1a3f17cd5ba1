//! A piece of a discipline's line, beside its name.

use crate::style::Style;

/// Returns the mark-up.
pub(crate) fn swatch(style: Style) -> String {
    format!(
        "<svg class=\"swatch {}\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><path d=\"M0 4H28\"/></svg>",
        style.class()
    )
}
