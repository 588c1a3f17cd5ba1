//! The files that a scenario names. Each is read once, however many links, flows and points of a
//! sweep name it, so that all of them see the same contents and share the memory. Large web pages
//! are shared in the same way.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodqueue::{AnyConfig, Disciplines, Duration, Link};
use goodqueue_sim::traffic::WebPage;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::capture::PacketCapture;
use crate::trace::Trace;

/// Files that were read for a document. Copies of the document share them.
#[derive(Clone, Default, Debug)]
pub(super) struct Files(Arc<Mutex<Known>>);

#[derive(Default, Debug)]
struct Known {
    traces: BTreeMap<PathBuf, Arc<Trace>>,
    captures: BTreeMap<(PathBuf, Option<IpAddr>), Arc<PacketCapture>>,
    /// Packets of captures at a speed, by the bits of its number.
    packets: BTreeMap<(PathBuf, Option<IpAddr>, u64), Packets>,
    /// Divided web pages that were read last, by their bytes and requests.
    pages: VecDeque<((u64, u32), WebPage)>,
    /// Disciplines with tables, which are files, by their lines and links.
    disciplines: BTreeMap<String, AnyConfig>,
}

/// Packets of a capture: the time since the first one, and bytes.
pub(super) type Packets = Arc<[(Duration, u32)]>;

/// Documents are equal if they say the same, whatever was read for them.
impl PartialEq for Files {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Files {
    fn known(&self) -> MutexGuard<'_, Known> {
        // A file is added after it was read, so that every entry is complete even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The traces, captures and tables of disciplines that were read.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let known = self.known();
        let packets = known.traces.keys().chain(known.captures.keys().map(|key| &key.0)).cloned();
        let tables = known.disciplines.values().flat_map(|config| tc::table::files_of(&config.to_settings()));
        packets.chain(tables).collect()
    }

    /// The trace in the file at `path`.
    pub(super) fn trace(&self, path: &Path) -> Result<Arc<Trace>, Diagnostic> {
        let mut known = self.known();
        if let Some(trace) = known.traces.get(path) {
            return Ok(Arc::clone(trace));
        }
        // The lock is held meanwhile: a thread that wants the same file waits for it.
        let trace = Arc::new(Trace::load(path)?);
        known.traces.insert(path.to_owned(), Arc::clone(&trace));
        Ok(trace)
    }

    /// Returns the capture in the file at `path`; with a `source`, only the packets from this
    /// address.
    pub(super) fn capture(
        &self,
        path: &Path,
        source: Option<IpAddr>,
    ) -> Result<Arc<PacketCapture>, Diagnostic> {
        let mut known = self.known();
        let key = (path.to_owned(), source);
        if let Some(capture) = known.captures.get(&key) {
            return Ok(Arc::clone(capture));
        }
        let capture = Arc::new(PacketCapture::load(path, source)?);
        known.captures.insert(key, Arc::clone(&capture));
        Ok(capture)
    }

    /// The packets of that capture at this speed, for which `scale` makes them the first time.
    pub(super) fn packets_at(
        &self,
        (path, source, speed): (&Path, Option<IpAddr>, f64),
        scale: impl FnOnce() -> Packets,
    ) -> Packets {
        // A map needs an order, which floating-point numbers do not have.
        let key = (path.to_owned(), source, speed.to_bits());
        Arc::clone(self.known().packets.entry(key).or_insert_with(scale))
    }

    /// Returns the page with this number of bytes and requests, if that is possible.
    pub(super) fn page(&self, bytes: u64, requests: u32) -> Option<WebPage> {
        let pages = &mut self.known().pages;
        if let Some((_, page)) = pages.iter().find(|(known, _)| *known == (bytes, requests)) {
            return Some(page.clone());
        }
        let page = WebPage::divided(bytes, requests)?;
        pages.push_front(((bytes, requests), page.clone()));
        pages.truncate(MOST_PAGES);
        Some(page)
    }

    /// The discipline of `line` on `link`.
    pub(super) fn discipline(
        &self,
        line: &str,
        link: &Link,
        disciplines: &Disciplines,
    ) -> Result<AnyConfig, Diagnostic> {
        // The same line has other defaults on another link.
        let key = format!("{link:?} {line}");
        if let Some(config) = self.known().disciplines.get(&key) {
            return Ok(config.clone());
        }
        let config = tc::parse_among(disciplines, line, link, None)?;
        // Lines without a table read no file, so reading them again gives the same.
        if !tc::table::files_of(&config.to_settings()).is_empty() {
            self.known().disciplines.insert(key, config.clone());
        }
        Ok(config)
    }
}

/// Pages that are kept for further flows and points of a sweep. The largest has 0.8 MB.
const MOST_PAGES: usize = 128;
