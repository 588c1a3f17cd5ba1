//! The compiled half of the Python package `goodqueue`.
//!
//! Each class here wraps a type of a goodqueue crate. Names, defaults and documentation for users
//! are in the Python half, `python/goodqueue`.

mod aqm;
mod clock;
mod command;
mod described;
mod errors;
mod frame;
mod lines;
mod link;
mod options;
mod problem;
mod qdisc;
mod quantity;
mod results;
mod running;
mod scenario;
mod sweep;
mod toml;

use pyo3::prelude::*;

#[pymodule]
fn _goodqueue(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<errors::Error>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<qdisc::Qdisc>()?;
    module.add_class::<qdisc::Packet>()?;
    module.add_class::<link::Link>()?;
    module.add_class::<link::Event>()?;
    module.add_class::<frame::Table>()?;
    module.add_class::<aqm::Seen>()?;
    module.add_class::<lines::AqmLines>()?;
    module.add_class::<lines::CongestionLines>()?;
    module.add_class::<problem::Interval>()?;
    module.add_class::<problem::Scorer>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_function(wrap_pyfunction!(sweep::program, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(described::options, module)?)?;
    module.add_function(wrap_pyfunction!(errors::_panic, module)?)?;
    module.add_function(wrap_pyfunction!(command::main, module)?)
}
