//! The names that a document's [`Extensions`](crate::Extensions) define.

use super::document::Document;

/// The names that `cc` and `profile` may have. The default is all that the document's
/// [`Extensions`](crate::Extensions) list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Names<'a> {
    /// Congestion controls; `None`: all. `cubic`, or else the first, is the default.
    pub cc: Option<&'a [&'a str]>,
    /// TCP profiles; `None`: all. `linux`, or else the first, is the default.
    pub profiles: Option<&'a [&'a str]>,
}

/// The names that `cc` and `profile` of one document may have.
pub(crate) struct Choices<'a> {
    pub(super) cc: Vec<&'a str>,
    pub(super) profiles: Vec<&'a str>,
}

impl<'a> Choices<'a> {
    pub(super) fn from_document(document: &Document, names: &Names<'a>) -> Self {
        let known = document.extensions();
        let all = || known.profiles().map(|profile| profile.name).collect();
        Self {
            cc: names.cc.map_or_else(|| known.controllers().collect(), <[_]>::to_vec),
            profiles: names.profiles.map_or_else(all, <[_]>::to_vec),
        }
    }
}
