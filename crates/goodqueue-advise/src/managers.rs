//! The disciplines with shapers that routers have, one file each. A new one is added to
//! [`managers`].

mod cake;
mod fq_codel;

use crate::manager::Manager;
use crate::question::Question;

/// Returns all that suit the question, each with its usual parameters. The first is preferred among
/// equals.
pub(crate) fn managers(question: &Question) -> Vec<Box<dyn Manager>> {
    let cake = Box::new(cake::Cake::of(question));
    // fq_codel knows no priorities.
    if question.diffserv { vec![cake] } else { vec![cake, Box::new(fq_codel::FqCodel)] }
}

/// Returns the one that needs least of the router's processor.
pub(crate) fn light() -> Box<dyn Manager> {
    Box::new(fq_codel::FqCodel)
}
