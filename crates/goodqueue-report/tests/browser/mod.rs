//! A page in a headless browser.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the document after a page has settled. The page's policy has to allow every part of it.
pub(crate) fn dump_dom(chromium: &Path, profile: &Path, url: &str, width: u32) -> String {
    let quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"];
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-component-update"])
        .args(quiet)
        .arg(format!("--user-data-dir={}", profile.join("profile").display()))
        .args(["--enable-logging=stderr", "--virtual-time-budget=4000"])
        .arg(format!("--window-size={width},5000"))
        .args(["--dump-dom", url])
        .output()
        .expect("to start the browser");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let refused = said.lines().find(|line| line.contains("Content Security Policy"));
    assert_eq!(refused, None, "the page's policy refuses a part of the page itself");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the browser, if there is one in `PATH`.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|n| dir.join(n))).find(|p| p.is_file())
}
