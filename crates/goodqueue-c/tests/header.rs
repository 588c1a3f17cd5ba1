//! The header for C follows from the code.

use std::path::Path;

use cbindgen::{Config, Language, Style};

/// `UPDATE=1 cargo test -p goodqueue-c --test header` writes it anew.
#[test]
fn the_header_declares_what_the_library_has() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config {
        language: Language::C,
        style: Style::Tag,
        cpp_compat: true,
        include_guard: Some("GOODQUEUE_H_".to_owned()),
        header: Some(
            "/* goodqueue for C and C++. Written from the code of the crate goodqueue-c. */".to_owned(),
        ),
        documentation: true,
        ..Config::default()
    };
    let sources = ["time.rs", "packet.rs", "link.rs", "queue.rs"].map(|name| folder.join("src").join(name));
    let builder = sources
        .iter()
        .fold(cbindgen::Builder::new().with_config(config), |builder, source| builder.with_src(source));
    let mut fresh = Vec::new();
    builder.generate().expect("a header").write(&mut fresh);
    let fresh = String::from_utf8(fresh).expect("text");
    let path = folder.join("include/goodqueue.h");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect("the header");
    assert!(kept == fresh, "the header is stale: UPDATE=1 cargo test -p goodqueue-c --test header");
}
