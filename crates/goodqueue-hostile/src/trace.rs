//! Traces of links.

use goodqueue::Instant;
use goodqueue_scenario::trace::Trace;
use goodqueue_sim::Opportunities;

/// Reads a link trace. Either an error explains what is wrong, or the link can be simulated.
///
/// # Panics
/// If neither happens.
pub fn trace(bytes: &[u8]) {
    match Trace::read("fuzz", bytes) {
        Ok(trace) => {
            assert!(!trace.period().is_zero());
            let opportunities =
                Opportunities::new(trace.opportunities_ms().to_vec()).expect("the reader has checked it");
            assert_eq!(opportunities.period(), trace.period());
            assert!(
                opportunities.count_before(Instant::ZERO + trace.period()) <= opportunities.count() as u64
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
