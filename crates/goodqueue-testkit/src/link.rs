//! Random operations on a link, beside a slow literal model.

mod any;
mod choices;
mod model;
mod modelled;

pub use any::any_link;
pub use modelled::link_and_model;
