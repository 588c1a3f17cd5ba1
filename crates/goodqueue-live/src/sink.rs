//! A file that a thread writes, so that a slow or full disk does not stop the packets.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::error::LiveError;

/// Passes written bytes to a thread in blocks. Writing never blocks. If the disk is full or too
/// slow, the file ends there, and [`Sink::trouble`] reports it.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    block: Vec<u8>,
    blocks: Option<SyncSender<Vec<u8>>>,
    troubles: Receiver<io::Error>,
    writer: Option<JoinHandle<()>>,
    lost: bool,
    /// Set once the trouble is told.
    failure: Option<String>,
}

impl Sink {
    /// Creates a file that only this user can read. Writes to an existing device or FIFO.
    ///
    /// # Errors
    /// It cannot be created, it exists, or it is a symbolic link.
    pub fn create(path: &Path) -> Result<Self, LiveError> {
        let failed = |error| LiveError::system(format_args!("`{}` cannot be written", path.display()), error);
        check(path)?;
        let file = begin(path).map_err(failed)?;
        let (blocks, to_write) = sync_channel::<Vec<u8>>(BLOCKS);
        // The writer ends with its first error.
        let (tell, troubles) = sync_channel(1);
        let writer = std::thread::Builder::new()
            .name("sink".to_owned())
            .spawn(move || {
                let mut file = file;
                for block in to_write {
                    if let Err(error) = file.write_all(&block) {
                        let _ = tell.try_send(error);
                        return;
                    }
                }
            })
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            block: Vec::with_capacity(BLOCK),
            blocks: Some(blocks),
            troubles,
            writer: Some(writer),
            lost: false,
            failure: None,
        })
    }

    /// Returns a message, once, if the file ended too early.
    pub fn trouble(&mut self) -> Option<String> {
        if self.failure.is_some() {
            return None;
        }
        let why = match self.troubles.try_recv() {
            Ok(error) => error.to_string(),
            Err(_) if self.lost => "the disk does not keep up".to_owned(),
            Err(_) => return None,
        };
        self.lost = true;
        let name = self.path.display();
        self.failure = Some(format!("`{name}` is incomplete: {why}"));
        Some(format!("`{name}` ends here: {why}; packets are still forwarded"))
    }

    /// Returns why the file is incomplete, if [`trouble`](Self::trouble) told that it ended too
    /// early.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn send(&mut self) {
        // The full block belongs to the writing thread from here on, so it is neither copied nor
        // locked.
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        match self.blocks.as_ref().map(|blocks| blocks.try_send(block)) {
            Some(Ok(())) => {}
            // A file with a gap would mislead its reader, so nothing is written behind a lost
            // block.
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => {
                self.lost = true;
                self.blocks = None;
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.lost {
            self.block.extend_from_slice(bytes);
            if self.block.len() >= BLOCK {
                self.send();
            }
        }
        Ok(bytes.len())
    }

    /// Ends the file. Waits until all of it is written.
    fn flush(&mut self) -> io::Result<()> {
        if !self.block.is_empty() && !self.lost {
            self.send();
        }
        self.blocks = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the thread that writes has ended")),
            _ => Ok(()),
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Checks that `path` is neither a file nor a symbolic link. A file may be an earlier recording,
/// which nothing can bring back. Packets are private, and any user who may write to the folder
/// could have created the link.
///
/// # Errors
/// It is a file or a symbolic link.
pub fn check(path: &Path) -> Result<(), LiveError> {
    let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
    if about.is_file() {
        let problem = format!("`{}` exists, and a recording replaces no file", path.display());
        return Err(LiveError::new(problem).help("choose a new name, or remove the file"));
    }
    if about.is_symlink() && !is_of_the_system(path) {
        return Err(LiveError::new(format!(
            "`{}` is a symbolic link, and packets are not written through links that others may have created",
            path.display()
        ))
        .help("name the file itself, or remove the link"));
    }
    Ok(())
}

/// Creates a new file, or opens an existing device or FIFO.
fn begin(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_dir() && !about.is_file() => {
            // Somebody may put a link there after `check`.
            let follow = if is_of_the_system(path) { 0 } else { libc::O_NOFOLLOW };
            return File::options().append(true).custom_flags(follow).open(path);
        }
        _ => {}
    }
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// True of `/dev/stdout` and other links of the system.
fn is_of_the_system(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    folder.is_some_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

const BLOCK: usize = 256 << 10;
/// Blocks that may wait: 16 MiB, a second of headers at full speed.
const BLOCKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_the_file_and_not_the_writing() {
        let mut sink = Sink::create(Path::new("/dev/full")).unwrap();
        for _ in 0..3 * BLOCK {
            assert_eq!(sink.write(b"x").unwrap(), 1);
        }
        sink.flush().unwrap();
        let trouble = sink.trouble().unwrap();
        assert!(
            trouble.contains("/dev/full") && trouble.contains("packets are still forwarded"),
            "{trouble}"
        );
        assert_eq!(sink.trouble(), None, "reported once");
        assert!(sink.failure().unwrap().contains("`/dev/full` is incomplete: No space left"));
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("goodqueue-sink-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn packets_go_into_a_new_file_of_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let folder = folder("new");
        let path = folder.join("run.jsonl");
        let mut sink = Sink::create(&path).unwrap();
        sink.write_all(b"packets").unwrap();
        sink.flush().unwrap();
        let about = fs::metadata(&path).unwrap();
        let own = fs::metadata("/proc/self").unwrap();
        assert_eq!((about.mode() & 0o777, about.uid()), (0o600, own.uid()));
        assert_eq!(fs::read(&path).unwrap(), b"packets");
        let refused = Sink::create(&path).unwrap_err().to_string();
        assert!(refused.contains("exists, and a recording replaces no file"), "{refused}");
        // A file that another user creates after the check is not written to either.
        assert_eq!(begin(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"packets");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn packets_do_not_follow_a_symbolic_link() {
        let folder = folder("link");
        let [link, target] = ["run.jsonl", "target"].map(|name| folder.join(name));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let refused = Sink::create(&link).unwrap_err().to_string();
        assert!(refused.contains("is a symbolic link"), "{refused}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        fs::remove_dir_all(&folder).unwrap();
        check(Path::new("/dev/stdout")).unwrap();
    }
}
