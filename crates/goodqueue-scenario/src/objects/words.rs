//! Errors of object stores in one line.

use std::error::Error as _;

use object_store::Error;

/// Returns what happened, without the bodies of answers.
pub(super) fn in_words(error: &Error) -> String {
    match error {
        Error::NotFound { .. } => "the bucket does not exist".to_owned(),
        Error::PermissionDenied { .. } => "access is denied".to_owned(),
        Error::Unauthenticated { .. } => "the credentials are not valid".to_owned(),
        error => {
            let text = with_causes(error);
            // Without credentials, the library asks the metadata service of virtual machines.
            if text.contains(METADATA) {
                return "there are no credentials in the environment, and this machine has no account of its own"
                    .to_owned();
            }
            code(&text).unwrap_or_else(|| text.chars().take(LONGEST).collect())
        }
    }
}

/// Returns the error and its causes in one line.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let words = deeper.to_string();
        // Most errors repeat their cause.
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = deeper.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the meaning of the error code in an answer, which all providers write alike.
fn code(text: &str) -> Option<String> {
    let code = text.split_once("<Code>")?.1.split_once("</Code>")?.0;
    Some(match code {
        "NoSuchBucket" | "ContainerNotFound" => "the bucket does not exist".to_owned(),
        "AccessDenied" | "AuthorizationFailure" => "access is denied".to_owned(),
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "AuthenticationFailed" | "ExpiredToken" => {
            format!("the credentials are not valid ({code})")
        }
        code => format!("the server answered {}", code.chars().take(LONGEST).collect::<String>()),
    })
}

/// Address of the service that gives a virtual machine the credentials of its account, at all
/// providers.
const METADATA: &str = "169.254.169.254";
/// Characters of a message. The body of an answer may be long.
const LONGEST: usize = 400;
