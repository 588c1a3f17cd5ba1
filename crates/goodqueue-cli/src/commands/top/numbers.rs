//! Values of the JSON statistics as text.

use serde_json::Value;

/// Returns the numbers of a list; 0 for an absent value.
pub(super) fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().map(|value| value.as_f64().unwrap_or(0.0)).collect()
}

/// Draws values as blocks of eight heights, the newest at the right.
pub(super) fn sparkline(values: &[f64], most: f64) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &values[values.len().saturating_sub(WIDTH)..];
    let block = |value: &f64| {
        // The eight blocks have the indexes 0 to 7.
        let height = if most > 0.0 { whole(value / most * 7.0) } else { 0 };
        BLOCKS.get(usize::try_from(height).unwrap_or(0)).copied().unwrap_or('█')
    };
    shown.iter().map(block).collect()
}

/// Formats seconds as milliseconds.
pub(super) fn milliseconds(seconds: &Value) -> String {
    seconds.as_f64().map_or_else(|| "–".to_owned(), |seconds| format!("{:.1}", seconds * 1e3))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people to read")]
pub(super) const fn whole(number: f64) -> u64 {
    number as u64
}

/// Columns of the sparkline, to fit a terminal of 80 columns.
const WIDTH: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_rises_with_its_values() {
        assert_eq!(sparkline(&[0.0, 0.5, 1.0], 1.0), "▁▄█");
        assert_eq!(sparkline(&[], 0.0), "");
        assert_eq!(sparkline(&[0.0], 0.0), "▁");
    }
}
