//! Finished runs in an object store, named by a URL: Amazon S3 and compatible ones, Google Cloud
//! Storage, or Azure. Machines without a common folder can then share a sweep. A run is one object,
//! which appears whole or not at all.

mod bucket;
mod words;

use std::sync::Arc;

use goodqueue_tc::diagnostic::Diagnostic;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use self::bucket::Bucket;
use self::words::in_words;
use crate::store::Place;

/// Opens the object store at a URL such as `s3://bucket/upload`, and checks that it can be listed.
/// Credentials and further settings come from the environment variables of the provider.
///
/// # Errors
/// The URL names no object store, settings are missing, or the bucket cannot be listed.
pub fn open(url: &str) -> Result<Arc<dyn Place>, Diagnostic> {
    let parsed = url::Url::parse(url)
        .map_err(|error| Diagnostic::new(format!("`{url}` is not a URL: {error}")).allowed(ALLOWED))?;
    let provider = Provider::ALL.iter().find(|provider| provider.scheme == parsed.scheme());
    let Some(provider) = provider else {
        return Err(Diagnostic::new(format!("`{url}` is not an object store")).allowed(ALLOWED));
    };
    let prefix = Path::from_url_path(parsed.path())
        .map_err(|error| Diagnostic::new(format!("`{url}` has no valid prefix: {error}")).allowed(ALLOWED))?;
    // An error if another part of the program has chosen a provider before, which is fine as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    let unusable = |error: &object_store::Error| {
        Diagnostic::new(format!("the store `{url}` cannot be used: {}", in_words(error))).help(provider.help)
    };
    let objects = (provider.build)(url).map_err(|error| unusable(&error))?;
    let bucket = Bucket::new(objects, prefix, url.to_owned())
        .map_err(|error| Diagnostic::new(format!("threads cannot be started: {error}")))?;
    bucket.check().map_err(|error| unusable(&error))?;
    Ok(Arc::new(bucket))
}

/// A provider of object stores.
struct Provider {
    scheme: &'static str,
    build: fn(&str) -> object_store::Result<Arc<dyn ObjectStore>>,
    /// The variables that it reads.
    help: &'static str,
}

impl Provider {
    const ALL: [Self; 3] = [
        Self {
            scheme: "s3",
            build: |url| {
                let built = AmazonS3Builder::from_env().with_url(url).with_retry(retries()).build()?;
                Ok(Arc::new(built))
            },
            help: "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, and AWS_ENDPOINT_URL for another \
                   provider than Amazon; the bucket must exist, and the key must be allowed to list, read and write",
        },
        Self {
            scheme: "gs",
            build: |url| {
                let built =
                    GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retries()).build()?;
                Ok(Arc::new(built))
            },
            help: "set GOOGLE_SERVICE_ACCOUNT to the file with the key of an account that may list, read and write \
                   objects in the bucket, which must exist",
        },
        Self {
            scheme: "az",
            build: |url| {
                let built = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retries()).build()?;
                Ok(Arc::new(built))
            },
            help: "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; the container must exist, and the \
                   key must be allowed to list, read and write",
        },
    ];
}

/// A server that is overloaded or restarts gets a minute; a wrong address is reported in seconds.
fn retries() -> RetryConfig {
    RetryConfig {
        max_retries: 6,
        retry_timeout: std::time::Duration::from_secs(60),
        ..RetryConfig::default()
    }
}

const ALLOWED: &str = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX";
