//! Policies as WebAssembly modules: programs of strangers that run with limits.
//!
//! A module exports `decide` with nine parameters of type `f64`, the fields of
//! [`AqmSeen`] in their order, and one result of type `f64`: the probability for
//! the next control interval. It imports nothing, so it reaches neither files nor clocks. Globals
//! and memory keep the state of a policy; every line begins with a new instance.
//!
//! ```
//! use goodqueue_agents::{AqmSeen, PolicyMaker, WasmPolicy};
//!
//! let text = r#"(module (func (export "decide")
//!     (param $backlog f64) (param $sojourn f64) (param f64 f64 f64 f64 f64 f64 f64) (result f64)
//!     (select (f64.const 0.05) (f64.const 0) (f64.gt (local.get $sojourn) (f64.const 0.015)))))"#;
//! let policy = WasmPolicy::new(text.as_bytes())?;
//! let seen = AqmSeen { sojourn: 0.030, ..AqmSeen::default() };
//! assert_eq!(policy.make()?.decide(&seen)?, 0.05);
//! # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
//! ```

use goodqueue_tc::diagnostic::Diagnostic;
use wasmi::{
    Config, EnforcedLimits, Engine, ExternType, Linker, Module, Store, StoreLimits, StoreLimitsBuilder,
    TrapCode, TypedFunc,
};

use crate::aqm::AqmSeen;
use crate::policy::{Policy, PolicyMaker};

// A line of `aqm-v1` has 667 decisions, so a policy uses at most 67 million units on it. A loop
// without end then fails soon, and does not stop the score for good.
/// Fuel of one decision, and of a start function. An instruction takes about one unit.
pub const FUEL: u64 = 100_000;
/// Largest module in bytes.
pub const MOST_MODULE: usize = 1 << 20;
/// Memory that a policy may have in bytes.
pub const MOST_MEMORY: usize = 1 << 20;
/// Elements that the tables of a policy may have.
const MOST_ELEMENTS: usize = 10_000;
/// Depth of calls.
const MOST_CALLS: usize = 1000;

/// Parameters of `decide`.
type Parameters = (f64, f64, f64, f64, f64, f64, f64, f64, f64);

/// A module that was checked.
#[derive(Debug)]
pub struct WasmPolicy {
    module: Module,
}

impl WasmPolicy {
    /// Reads a module in the binary or in the text format.
    ///
    /// # Errors
    /// This is no valid module, it is too large, or its imports or exports are not those of a
    /// policy.
    pub fn new(bytes: &[u8]) -> Result<Self, Diagnostic> {
        if bytes.len() > MOST_MODULE {
            let problem = format!("the module has {} bytes", bytes.len());
            return Err(Diagnostic::new(problem).allowed(format!("at most {MOST_MODULE}")));
        }
        let mut config = Config::default();
        config.consume_fuel(true).enforced_limits(EnforcedLimits::strict());
        config.set_max_recursion_depth(MOST_CALLS);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, bytes).map_err(|error| {
            Diagnostic::new(format!("this is no WebAssembly module: {error}"))
                .help("give the bytes of a .wasm file, or the text of a .wat file")
        })?;
        if let Some(import) = module.imports().next() {
            let problem = format!("the module imports `{}` from `{}`", import.name(), import.module());
            return Err(Diagnostic::new(problem).allowed("no imports").help(
                "compile without a standard library that needs a host (Rust: wasm32-unknown-unknown)",
            ));
        }
        match module.get_export("decide") {
            Some(ExternType::Func(_)) => {}
            Some(_) => return Err(export("the export `decide` is no function")),
            None => {
                let names: Vec<_> = module.exports().map(|export| format!("`{}`", export.name())).collect();
                let found = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                return Err(export(&format!("the module does not export `decide`; it exports {found}")));
            }
        }
        Ok(Self { module })
    }
}

fn export(problem: &str) -> Diagnostic {
    Diagnostic::new(problem).help(
        "export decide(backlog, sojourn, sojourn_max, utilization, arrived, dropped, marked, rate, setting: f64) -> f64",
    )
}

/// A module at work on one line.
struct Instance {
    store: Store<StoreLimits>,
    decide: TypedFunc<Parameters, f64>,
}

impl PolicyMaker for WasmPolicy {
    fn make(&self) -> Result<Box<dyn Policy + '_>, Diagnostic> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(MOST_MEMORY)
            .table_elements(MOST_ELEMENTS)
            .instances(1)
            .memories(1)
            .tables(10)
            // Otherwise `memory.grow` would only return -1, and the error would not name the limit.
            .trap_on_grow_failure(true)
            .build();
        let engine = self.module.engine();
        let mut store = Store::new(engine, limits);
        store.limiter(|limits| limits);
        // A start function runs with the instantiation.
        fuel(&mut store)?;
        let linker = Linker::new(engine);
        let instance = linker
            .instantiate_and_start(&mut store, &self.module)
            .map_err(|error| failure("the module does not start", &error))?;
        let decide = instance.get_typed_func(&store, "decide").map_err(|_| {
            export("the export `decide` has other parameters or another result than nine f64 and one f64")
        })?;
        Ok(Box::new(Instance { store, decide }))
    }
}

impl Policy for Instance {
    fn decide(&mut self, seen: &AqmSeen) -> Result<f64, Diagnostic> {
        fuel(&mut self.store)?;
        let [a, b, c, d, e, f, g, h, i] = seen.values();
        let decided = self.decide.call(&mut self.store, (a, b, c, d, e, f, g, h, i));
        decided.map_err(|error| failure("`decide` failed", &error))
    }
}

/// Fills the tank.
fn fuel(store: &mut Store<StoreLimits>) -> Result<(), Diagnostic> {
    store.set_fuel(FUEL).map_err(|error| Diagnostic::new(format!("fuel cannot be set: {error}")))
}

/// Says why a module stopped, and what to do.
fn failure(what: &str, error: &wasmi::Error) -> Diagnostic {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => Diagnostic::new(format!("{what}: it is out of fuel"))
            .allowed(format!("{FUEL} units of fuel, about one for each instruction"))
            .help("bound the loops of the policy"),
        Some(TrapCode::GrowthOperationLimited) => too_much_memory(what),
        Some(TrapCode::StackOverflow) => Diagnostic::new(format!("{what}: its calls are nested too deeply"))
            .allowed(format!("{MOST_CALLS} nested calls")),
        // A first memory or table beyond the limits is no trap.
        _ if error.to_string().contains("limit") => too_much_memory(what),
        _ => Diagnostic::new(format!("{what}: {error}"))
            .help("run the module on its own with this input to find the instruction that traps"),
    }
}

fn too_much_memory(what: &str) -> Diagnostic {
    Diagnostic::new(format!("{what}: it asks for too much memory"))
        .allowed(format!("{MOST_MEMORY} bytes of memory, {MOST_ELEMENTS} elements in tables"))
        .help("declare a smaller memory, such as (memory 1)")
}
