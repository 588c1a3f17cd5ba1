//! What a policy is: a function from a control interval to the probability of the next one.

use goodqueue_tc::diagnostic::Diagnostic;

use crate::aqm::AqmSeen;

/// A policy on one line.
pub trait Policy {
    /// Returns the probability of a mark or drop for the next control interval, from 0 to 1.
    ///
    /// # Errors
    /// The policy failed.
    fn decide(&mut self, seen: &AqmSeen) -> Result<f64, Diagnostic>;
}

impl<F: FnMut(&AqmSeen) -> f64> Policy for F {
    fn decide(&mut self, seen: &AqmSeen) -> Result<f64, Diagnostic> {
        Ok(self(seen))
    }
}

/// Makes the policy of each line, so that a policy carries nothing from one line to another.
pub trait PolicyMaker: Sync {
    /// Returns a policy in its first state.
    ///
    /// # Errors
    /// The policy cannot start.
    fn make(&self) -> Result<Box<dyn Policy + '_>, Diagnostic>;
}

/// Every function that returns policies makes policies.
impl<P: Policy + 'static, F: Fn() -> P + Sync> PolicyMaker for F {
    fn make(&self) -> Result<Box<dyn Policy + '_>, Diagnostic> {
        Ok(Box::new(self()))
    }
}
