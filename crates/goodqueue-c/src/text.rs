//! Texts from and for C.

use std::ffi::{CStr, c_char};

/// Returns a text of the caller.
///
/// # Errors
/// It is null, or not UTF-8.
///
/// # Safety
/// `text` is null, or points to a string with a final zero that does not change during the call.
pub(crate) unsafe fn read<'a>(text: *const c_char) -> Result<&'a str, String> {
    if text.is_null() {
        return Err("the text is a null pointer".to_owned());
    }
    // SAFETY: as promised by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| format!("the text is not UTF-8: {error}"))
}

/// Writes a message for the caller, cut to `size` bytes with the final zero.
///
/// # Safety
/// `to` is null, or points to `size` bytes that belong to the call.
pub(crate) unsafe fn write(message: &str, to: *mut c_char, size: usize) {
    if to.is_null() || size == 0 {
        return;
    }
    let mut end = message.len().min(size - 1);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    // SAFETY: `end` bytes and a zero fit into the `size` bytes that the caller promises.
    unsafe {
        message.as_ptr().copy_to_nonoverlapping(to.cast(), end);
        to.add(end).write(0);
    }
}
