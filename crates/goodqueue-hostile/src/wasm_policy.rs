//! Policies as WebAssembly modules.

use goodqueue_agents::{AqmSeen, PolicyMaker as _, WasmPolicy};

/// Reads a module in its binary or text format, and lets it decide twice. Each step ends with a
/// result or with an error that explains what is wrong.
///
/// # Panics
/// If an error says nothing.
pub fn wasm_policy(bytes: &[u8]) {
    let decided = WasmPolicy::new(bytes).and_then(|policy| {
        let mut instance = policy.make()?;
        let seen = AqmSeen { sojourn: 0.03, backlog: 0.05, utilization: 1.0, ..AqmSeen::default() };
        instance.decide(&AqmSeen::default())?;
        instance.decide(&seen)
    });
    if let Err(error) = decided {
        assert!(!error.to_string().is_empty());
    }
}
