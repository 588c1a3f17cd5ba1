//! Escaping of arbitrary text for HTML and of JSON and JavaScript for script elements.

/// Escapes `text` for element content and for attributes in double or single quotes.
#[must_use]
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are errors in HTML. The replacement shows that there was a
            // character.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes JSON for a script element. In JSON `<` occurs only inside strings, where `\u003c` means
/// the same. Without `<`, neither `</script>` nor `<!--` can occur.
pub(crate) fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Escapes JavaScript for a script element, so that it contains no closing tag.
pub(crate) fn js_in_script(js: &str) -> String {
    // Behind `<!--`, a second `<script` would make the next closing tag a part of the script (HTML
    // Standard 4.12.1.3).
    js.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

/// Returns at most `max` characters; the last one is an ellipsis if text was cut off.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(html(r#"<b a="1" c='2'>&"#), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
        assert_eq!(html("a\0b"), "a\u{fffd}b");
    }

    #[test]
    fn json_stays_json_and_closes_no_script() {
        let json = serde_json::json!("</script><!--").to_string();
        let safe = json_in_script(&json);
        assert!(!safe.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--");
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip("äöü", 3), "äöü");
        // Each of these letters has two bytes in UTF-8, and half of one would be no text.
        assert_eq!(clip("äöüß", 3), "äö…");
    }
}
