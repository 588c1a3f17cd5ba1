//! A check of this machine for everything that the live part needs or can use. Each thing is tried
//! in a child process, which changes nothing of the host.

mod finding;
mod host;
mod trial;

pub use self::finding::{Finding, Purpose, State};
use crate::error::LiveError;

/// Checks this machine. The findings are in the order of the commands. The process must have one
/// thread only.
///
/// # Errors
/// The child process cannot be started.
pub fn findings() -> Result<Vec<Finding>, LiveError> {
    let mut all = trial::namespaces()?;
    all.extend(host::clock());
    all.extend(host::memory());
    all.extend(host::congestion_controls());
    all.extend(host::nat());
    all.extend(host::shape());
    // The sort is stable.
    all.sort_by_key(|finding| finding.purpose);
    Ok(all)
}
