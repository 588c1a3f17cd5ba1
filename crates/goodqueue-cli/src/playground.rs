//! The address of the playground in which reports offer to open their scenario.

use goodqueue_report::Options;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;
use url::Url;

use crate::typed;

/// Returns the options of a report: the command as it was typed, and the address of the playground
/// from `--playground` or else from the environment.
pub(crate) fn report_options(given: Option<&str>) -> Result<Options, Diagnostic> {
    let options = Options::default().command(typed::command_line());
    // A shell can clear a variable without unsetting it.
    let from_environment = || std::env::var(VARIABLE).ok().filter(|address| !address.is_empty());
    let (address, place) = match given {
        Some(address) => (address.to_owned(), "--playground"),
        None => match from_environment() {
            Some(address) => (address, VARIABLE),
            None => return Ok(options),
        },
    };
    match refused(&address) {
        None => Ok(options.playground(address)),
        Some(why) => Err(Diagnostic::new(format!("this is not the address of a page: {why}"))
            .allowed(
                "https:// or http:// with a path, or a path relative to the report such as ./playground/",
            )
            .in_argument(place, &address)),
    }
}

/// Returns why a report may not lead to this address. Readers of a report trust it: the address may
/// run no script in the page, leave the report's site only visibly, and carry no password.
fn refused(address: &str) -> Option<&'static str> {
    // Browsers skip tabs and line ends, and take a backslash for a slash.
    let is_plain = |c: char| printable::is_printable(c) && !c.is_whitespace() && !"\\\"<>#?".contains(c);
    if !address.chars().all(is_plain) {
        return Some("it has a character that is not part of an address, or a query");
    }
    // RFC 2606 reserves `.invalid`, so no other page has this host.
    let Ok(report) = Url::parse("https://report.invalid/folder/report.html") else {
        return Some("it cannot be compared with that of a report");
    };
    let is_relative = ["/", "./", "../"].iter().any(|start| address.starts_with(start));
    let page = match Url::parse(address) {
        Ok(page) => page,
        Err(_) if is_relative => match report.join(address) {
            // `//host` and `/\host` look like paths, and browsers take them for another server.
            Ok(page) if page.host() == report.host() => page,
            _ => return Some("it names another server without https:// or http://"),
        },
        Err(_) => return Some("it is neither an address of the web nor a relative path"),
    };
    if !matches!(page.scheme(), "https" | "http") {
        return Some("only https and http lead to pages");
    }
    (!page.username().is_empty() || page.password().is_some()).then_some("it has a user name or a password")
}

/// Environment variable with the address, for all reports of a user or a site.
const VARIABLE: &str = "GOODQUEUE_PLAYGROUND";

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn pages_of_the_web_and_relative_paths_are_addresses() {
        for address in [
            "https://example.org/playground/",
            "http://127.0.0.1:8000/",
            "https://bücher.example/",
            "./playground/",
            "../",
            "/playground/index.html",
        ] {
            assert_eq!(refused(address), None, "{address}");
        }
    }

    #[test]
    fn scripts_files_other_servers_and_passwords_are_none() {
        for address in [
            "javascript:alert(1)",
            "JAVASCRIPT:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://example.org/",
            "//evil.example/",
            "///evil.example/",
            "/\\evil.example/",
            "/\t/evil.example/",
            ".//\n/evil.example/",
            "https://user@example.org/",
            "https://user:password@example.org/",
            "https://:password@example.org/",
            "https://example.org@evil.example/",
            "https://",
            "https://example.org/?a=1",
            "https://example.org/#a",
            "https://example.org/\u{202e}",
            "https://example.org/ a",
            "playground/",
            "",
        ] {
            assert!(refused(address).is_some(), "{address:?}");
        }
    }
}
