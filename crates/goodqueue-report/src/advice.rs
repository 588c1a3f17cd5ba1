//! The report of `goodqueue advise`: the page that asks for a line shows the same answer.

use goodqueue_advise::Advice;

use crate::escape::{html as escape, js_in_script};
use crate::options::Options;
use crate::policy::policy;

/// Returns the report of advice as one HTML document, which loads nothing.
#[must_use]
pub fn advice_html(advice: &Advice, options: &Options) -> String {
    let title = options.title.as_deref().unwrap_or("the setting for your line");
    let css = format!("\n{LOOK}{}\n", goodqueue_advise::CSS);
    let js = format!("\n{}wire(document);\n", js_in_script(goodqueue_advise::JS));
    let command = options
        .command
        .as_deref()
        .map_or(String::new(), |command| format!("<p>The command: <code>{}</code></p>\n", escape(command)));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"goodqueue\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>goodqueue: {title}</title>\n<style>{css}</style>\n</head>\n<body>\n\
         <h1>goodqueue <small>{title}</small></h1>\n<p>{line}</p>\n{answer}\n{command}\
         <script type=\"module\">{js}</script>\n</body>\n</html>\n",
        policy = policy(&[&js], &css),
        title = escape(title),
        line = escape(&advice.line),
        answer = goodqueue_advise::html(advice),
    )
}

/// The colours of all pages, and the frame of this one.
const LOOK: &str = concat!(include_str!("../assets/look.css"), include_str!("../assets/advice-page.css"));
