//! The disciplines with shapers that routers have, one file each. A new one is added to
//! [`managers`].

mod cake;
mod fq_codel;

use crate::manager::Manager;

/// Returns all, each with its usual parameters. The first is preferred among equals.
pub(crate) fn managers() -> Vec<Box<dyn Manager>> {
    vec![Box::new(cake::Cake::default()), Box::new(fq_codel::FqCodel::default())]
}
