//! Writes the JavaScript side of the playground's WebAssembly module, as `wasm-bindgen --target
//! web` does. The library compiles in a fraction of the time that the command needs.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: bindgen MODULE.wasm FOLDER");
        std::process::exit(2);
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    // Without the names of functions the module is a sixth smaller.
    bindgen.input_path(module).typescript(true).remove_name_section(true).remove_producers_section(true);
    let made = bindgen.web(true).and_then(|bindgen| bindgen.generate(folder));
    if let Err(error) = made {
        eprintln!("{module}: {error:#}");
        std::process::exit(1);
    }
}
