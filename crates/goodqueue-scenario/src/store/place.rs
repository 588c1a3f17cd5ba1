//! Where a store keeps its files.

use std::io;
use std::path::PathBuf;

use goodqueue_tc::diagnostic::{Diagnostic, shortened};

/// A place that keeps files by their names. It has no locks: a file appears whole or not at all.
pub trait Place: std::fmt::Debug + Send + Sync {
    /// Returns the file with this name, or `None` if it is not there.
    ///
    /// # Errors
    /// The file may be there but cannot be read, or it has more than `largest` bytes.
    fn read(&self, name: &str, largest: u64) -> io::Result<Option<Vec<u8>>>;

    /// Writes or replaces a file that can be made again after a power failure.
    ///
    /// # Errors
    /// The place is full or read-only, or cannot be reached.
    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()>;

    /// Writes a file that lasts. If another machine writes the same name at this moment, either
    /// file may remain.
    ///
    /// # Errors
    /// As `write`.
    fn write_lasting(&self, name: &str, contents: &[u8]) -> io::Result<()>;

    /// Returns the folder or URL, for messages.
    fn shown(&self) -> String;

    /// Returns what the help of an error calls another place, such as "another folder with
    /// `--out`".
    fn another(&self) -> String;

    /// Returns what a place for runs must have, and the remedy if it cannot be written.
    fn needed(&self) -> [&'static str; 2];

    /// True if a network is in between. A failed read then says nothing about the file, and each
    /// one takes a while.
    fn is_remote(&self) -> bool;
}

/// A place as the user names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlaceName {
    /// A folder, by its path or by a `file` URL.
    Folder(PathBuf),
    /// A URL of an object store.
    Objects(String),
}

impl PlaceName {
    /// Reads a folder or a URL.
    ///
    /// # Errors
    /// An empty text, or a URL that names neither a folder nor an object store.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        // An empty path would be the working directory.
        if text.is_empty() {
            return Err(Diagnostic::new("the place of the store is empty").allowed(ALLOWED));
        }
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(Self::Folder(text.into())) };
        let bucket = rest.split('/').next().unwrap_or_default();
        match scheme {
            "file" if rest.starts_with('/') => Ok(Self::Folder(rest.into())),
            "file" => Err(Diagnostic::new(format!("`{}` names no folder of this machine", shortened(text)))
                .allowed("three slashes and a path, such as file:///shared/upload")),
            _ if !OBJECTS.contains(&scheme) => {
                Err(Diagnostic::new(format!("`{}` is not a store: the scheme is unknown", shortened(text)))
                    .allowed(ALLOWED))
            }
            _ if bucket.is_empty() => {
                Err(Diagnostic::new(format!("`{}` names no bucket", shortened(text))).allowed(ALLOWED))
            }
            _ => Ok(Self::Objects(text.to_owned())),
        }
    }
}

/// The error that this program was built without object stores. `build` is the command that builds
/// it with them.
#[must_use]
pub fn built_without_objects(url: &str, build: &str) -> Diagnostic {
    Diagnostic::new(format!(
        "`{}` is an object store, but this goodqueue was built without the feature `object-store`",
        shortened(url)
    ))
    .allowed("a folder, which machines may share")
    .help(format!("build it with the feature: {build}"))
}

/// Schemes of object stores: Amazon S3 and compatible ones, Google Cloud Storage, Azure.
const OBJECTS: [&str; 3] = ["s3", "gs", "az"];
const ALLOWED: &str =
    "a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or file:///FOLDER";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_path_or_a_url_of_a_file() {
        for (text, folder) in
            [("upload", "upload"), ("/shared/upload", "/shared/upload"), ("file:///shared/a", "/shared/a")]
        {
            assert_eq!(PlaceName::parse(text), Ok(PlaceName::Folder(folder.into())));
        }
        assert_eq!(PlaceName::parse("s3://b/upload"), Ok(PlaceName::Objects("s3://b/upload".to_owned())));
    }

    #[test]
    fn other_urls_are_refused_with_those_that_exist() {
        for (text, says) in [
            ("", "the place of the store is empty"),
            ("ftp://host/upload", "`ftp://host/upload` is not a store: the scheme is unknown"),
            ("S3://bucket", "the scheme is unknown"),
            ("s3://", "names no bucket"),
            ("s3:///upload", "names no bucket"),
            ("file://host/upload", "names no folder of this machine"),
        ] {
            let error = PlaceName::parse(text).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("allowed: "), "{text}: {error}");
        }
    }
}
