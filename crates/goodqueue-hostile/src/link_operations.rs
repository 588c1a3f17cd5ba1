//! Operations on a link.

use goodqueue_testkit::link::{any_link, link_and_model};

/// Applies operations to a link with its model, or to a link with any discipline and path. The
/// first byte selects.
///
/// # Panics
/// If the link differs from the model, or a rule does not hold.
pub fn link_operations(bytes: &[u8]) {
    let Some((selects, rest)) = bytes.split_first() else { return };
    let result = if selects.is_multiple_of(2) { link_and_model(rest) } else { any_link(rest) };
    if let Err(broken) = result {
        panic!("{broken}");
    }
}
