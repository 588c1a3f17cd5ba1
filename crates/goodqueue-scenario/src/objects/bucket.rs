//! A prefix in an object store, as a place for runs.

use std::io;
use std::sync::Arc;

use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload};
use tokio::runtime::{Builder, Runtime};

use super::words::in_words;
use crate::store::Place;

/// All objects below a prefix.
#[derive(Debug)]
pub(super) struct Bucket {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    /// Requests come from many threads, which wait for their answers.
    runtime: Runtime,
}

impl Bucket {
    pub(super) fn new(objects: Arc<dyn ObjectStore>, prefix: Path, url: String) -> io::Result<Self> {
        // Each request waits on the thread that made it. The worker serves connections and timers.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { objects, prefix, url, runtime })
    }

    /// Lists the first object: a bucket that does not exist, and one that may not be listed, would
    /// otherwise look empty.
    pub(super) fn check(&self) -> object_store::Result<()> {
        let first = async { self.objects.list(Some(&self.prefix)).next().await };
        self.runtime.block_on(first).transpose().map(drop)
    }

    fn put(&self, name: &str, contents: &[u8], mode: &PutMode) -> object_store::Result<()> {
        let path = self.at(name);
        self.ask(async || {
            let payload = PutPayload::from(contents.to_vec());
            self.objects.put_opts(&path, payload, mode.clone().into()).await.map(drop)
        })
    }

    /// Waits for an answer. The library repeats requests to an overloaded server, but none whose
    /// answer stops in the middle.
    fn ask<T>(&self, request: impl AsyncFn() -> object_store::Result<T>) -> object_store::Result<T> {
        let mut outcome = self.runtime.block_on(request());
        for _ in 0..ATTEMPTS {
            if !matches!(outcome, Err(Error::Generic { .. })) {
                break;
            }
            outcome = self.runtime.block_on(request());
        }
        outcome
    }

    fn at(&self, name: &str) -> Path {
        self.prefix.clone().join(name)
    }
}

impl Place for Bucket {
    fn read(&self, name: &str, largest: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.at(name);
        let read = self.ask(async || {
            let found = self.objects.get(&path).await?;
            if found.meta.size > largest {
                return Ok(None);
            }
            found.bytes().await.map(|bytes| Some(bytes.to_vec()))
        });
        match read {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => {
                Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {largest} bytes")))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(in_words(&error))),
        }
    }

    fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        self.put(name, contents, &PutMode::Overwrite).map_err(|error| io::Error::other(in_words(&error)))
    }

    fn write_lasting(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        match self.put(name, contents, &PutMode::Create) {
            // Another machine was faster.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
            // Some servers that are compatible with S3 cannot create an object conditionally.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => self.write(name, contents),
            put => put.map_err(|error| io::Error::other(in_words(&error))),
        }
    }

    fn shown(&self) -> String {
        self.url.clone()
    }

    fn another(&self) -> String {
        "another prefix with `--store`".to_owned()
    }

    fn needed(&self) -> [&'static str; 2] {
        ["a bucket in which these credentials may write objects", "change its permissions or the credentials"]
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Further attempts after an answer that makes no sense.
const ATTEMPTS: u32 = 3;

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn bucket(objects: &Arc<dyn ObjectStore>, prefix: &str) -> Bucket {
        Bucket::new(Arc::clone(objects), Path::from(prefix), format!("s3://bucket/{prefix}")).unwrap()
    }

    #[test]
    fn two_prefixes_of_a_bucket_share_nothing() {
        let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let [one, other] = ["one", "two/deep"].map(|prefix| bucket(&objects, prefix));
        one.write("run.json", b"1").unwrap();
        assert_eq!(one.read("run.json", 10).unwrap(), Some(b"1".to_vec()));
        assert_eq!(other.read("run.json", 10).unwrap(), None);
        other.write("run.json", b"2").unwrap();
        assert_eq!(one.read("run.json", 10).unwrap(), Some(b"1".to_vec()));
    }

    #[test]
    fn a_run_is_replaced_and_the_description_of_a_sweep_is_not() {
        let place = bucket(&(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>), "");
        for contents in [b"first".as_slice(), b"second"] {
            place.write("run.json", contents).unwrap();
            place.write_lasting("sweep.json", contents).unwrap();
        }
        assert_eq!(place.read("run.json", 10).unwrap(), Some(b"second".to_vec()));
        assert_eq!(place.read("sweep.json", 10).unwrap(), Some(b"first".to_vec()));
    }

    #[test]
    fn an_object_that_is_too_large_is_refused_before_it_is_read() {
        let place = bucket(&(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>), "");
        place.write("run.json", b"12345").unwrap();
        let error = place.read("run.json", 4).unwrap_err().to_string();
        assert_eq!(error, "it has more than 4 bytes");
    }
}
