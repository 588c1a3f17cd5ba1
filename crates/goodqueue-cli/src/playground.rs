//! The address of the playground in which reports offer to open their scenario.

use goodqueue_report::Options;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::typed;

/// Returns the options of a report: the command as it was typed, and the address of the playground
/// from `--playground` or else from the environment.
pub(crate) fn report_options(given: Option<&str>) -> Result<Options, Diagnostic> {
    let options = Options::default().command(typed::command_line());
    let from_environment = || std::env::var(VARIABLE).ok().filter(|address| !address.is_empty());
    let (address, place) = match given {
        Some(address) => (address.to_owned(), "--playground"),
        None => match from_environment() {
            Some(address) => (address, VARIABLE),
            None => return Ok(options),
        },
    };
    // An address of another kind could run a script in the page.
    let is_address =
        ["https://", "http://", "file://", "/", "./", "../"].iter().any(|start| address.starts_with(start));
    if !is_address || address.contains(['#', '?', '"', '<', ' ']) {
        return Err(Diagnostic::new("this is not the address of a page")
            .allowed("https://, http:// or file:// and a path, or a path relative to the report such as ./playground/")
            .in_argument(place, &address));
    }
    Ok(options.playground(address))
}

/// Environment variable with the address, for all reports of a user or a site.
const VARIABLE: &str = "GOODQUEUE_PLAYGROUND";
