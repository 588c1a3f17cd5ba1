//! Stores of runs in object stores, if this program was built with them.

use goodqueue_scenario::store::Store;
use goodqueue_tc::diagnostic::Diagnostic;

/// Opens the store at this URL of an object store. `build` is the command that builds this program
/// with the feature.
///
/// # Errors
/// The feature `object-store` is missing, or the store cannot be reached.
pub fn open_objects(url: &str, build: &str) -> Result<Store, Diagnostic> {
    #[cfg(feature = "object-store")]
    {
        let _ = build;
        Store::at(goodqueue_scenario::objects::open(url)?)
    }
    #[cfg(not(feature = "object-store"))]
    Err(goodqueue_scenario::store::built_without_objects(url, build))
}
