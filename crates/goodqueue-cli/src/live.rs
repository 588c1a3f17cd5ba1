//! Shared by the live commands.

use std::os::unix::fs::MetadataExt;

use goodqueue::{Instant, Rate};
use goodqueue_live::LiveError;
use goodqueue_live::link::Link;
use goodqueue_live_runs::statistics::link_result;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

/// Turns an error of the live path into a diagnostic.
pub(crate) fn diagnostic(error: LiveError) -> Diagnostic {
    goodqueue_live_runs::diagnostic(&error)
}

/// Refuses sudo, which is not needed. A machine without another user (a container, a CI job) is
/// different: there, root is given up before anything else is done.
pub(crate) fn refuse_needless_root(allowed: bool, command: &str) -> Result<(), Diagnostic> {
    // If root ran sudo itself, there is no other user who could run the command.
    let user = std::env::var("SUDO_UID").ok().filter(|user| user != "0");
    // The owner of this folder is the effective user of the process (proc(5)).
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if allowed || !is_root || user.is_none() {
        return Ok(());
    }
    Err(Diagnostic::new(format!(
        "`{command}` needs no root, and with sudo its programs could access root's files"
    ))
    .help("run it without sudo, or add --allow-root if you intend this"))
}

/// Summarizes one direction in a line.
pub(crate) fn in_words(link: &Link, name: &str, now: Instant) -> String {
    let result = link_result(link, now);
    let ms = |seconds: Option<f64>| seconds.map_or_else(|| "–".to_owned(), |s| format!("{:.1}", s * 1e3));
    format!(
        "{name}: {} sent, {} dropped, {} marked; {}; sojourn p50/p99/max {}/{}/{} ms",
        result.packets.dequeued,
        result.packets.dropped,
        result.packets.marked,
        units::show_rate(Rate::from_bps(whole(result.throughput_bps))),
        ms(result.sojourn_s.p50),
        ms(result.sojourn_s.p99),
        ms(result.sojourn_s.max),
    )
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people to read")]
const fn whole(number: f64) -> u64 {
    number as u64
}
