//! Names of network interfaces.

use crate::error::LiveError;

/// Checks that `name` can name a network interface, by Linux's rule (`dev_valid_name`).
///
/// Also refuses `%`, because the kernel would replace `%d` by a number.
///
/// # Errors
/// It cannot.
pub(crate) fn check(name: &str) -> Result<(), LiveError> {
    let length_is_good = (1..libc::IFNAMSIZ).contains(&name.len());
    // The kernel replaces `%d` by a number and refuses the others (`dev_valid_name`); a zero byte
    // would end the name early.
    let bad = |c: char| c == '/' || c == ':' || c == '%' || c == '\0' || c.is_whitespace();
    if length_is_good && name != "." && name != ".." && !name.contains(bad) {
        return Ok(());
    }
    Err(LiveError::new(format!("`{}` cannot be the name of an interface", name.escape_debug()))
        .help("use 1 to 15 bytes without white space, `/`, `:` and `%`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_kernel_would_refuse_or_change_are_refused() {
        for bad in ["", ".", "..", "a/b", "a%d", "a b", "0123456789abcdef", "a:b", "a\0"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        for good in ["gq0", "0123456789abcde"] {
            assert!(check(good).is_ok(), "{good:?}");
        }
    }
}
