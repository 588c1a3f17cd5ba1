//! Text into HTML and JSON into a script element, whatever the text is.

/// `text` for element content and for attributes in double or single quotes.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // NUL and its kin are errors in HTML; a reader should still see that something was there.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON for a script element. `<` occurs in JSON inside strings only, where `\u003c` means the same; without it neither
/// `</script>` nor `<!--` can be formed.
pub(crate) fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// JavaScript for a script element: no closing tag inside.
pub(crate) fn js_in_script(js: &str) -> String {
    js.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

/// At most `max` characters, the last an ellipsis if something is missing.
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
        assert_eq!(clip("äöüß", 3), "äö…");
    }
}
