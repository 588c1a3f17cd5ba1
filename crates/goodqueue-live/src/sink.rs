//! A file that is written behind the back of the loop: a disk may be slow or full, packets go on.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::error::LiveError;

/// Takes whatever is written and hands it to a thread in blocks. Writing never waits: when the disk cannot follow, or is
/// full, the file ends there, and [`Sink::trouble`] says so.
#[derive(Debug)]
pub struct Sink {
    path: PathBuf,
    block: Vec<u8>,
    blocks: Option<SyncSender<Vec<u8>>>,
    troubles: Receiver<io::Error>,
    writer: Option<JoinHandle<()>>,
    lost: bool,
    told: bool,
}

impl Sink {
    /// Begins a file. Nobody else may read it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> Result<Self, LiveError> {
        use std::os::unix::fs::OpenOptionsExt;
        let failed = |error| LiveError::system(format_args!("`{}` cannot be written", path.display()), error);
        let file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(path).map_err(failed)?;
        let (blocks, to_write) = sync_channel::<Vec<u8>>(BLOCKS);
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
            told: false,
        })
    }

    /// A sentence, once, if the file ended too early.
    pub fn trouble(&mut self) -> Option<String> {
        if self.told {
            return None;
        }
        let why = match self.troubles.try_recv() {
            Ok(error) => error.to_string(),
            Err(_) if self.lost => "the disk does not keep up".to_owned(),
            Err(_) => return None,
        };
        self.told = true;
        self.lost = true;
        Some(format!("`{}` ends here: {why}; packets are carried on", self.path.display()))
    }

    fn send(&mut self) {
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        match self.blocks.as_ref().map(|blocks| blocks.try_send(block)) {
            Some(Ok(())) => {}
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

    /// Ends the file: waits until all of it is written.
    fn flush(&mut self) -> io::Result<()> {
        if !self.block.is_empty() && !self.lost {
            self.send();
        }
        self.blocks = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the writer ended")),
            _ => Ok(()),
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

const BLOCK: usize = 256 << 10;
/// 16 MiB in flight: a second of headers at full speed.
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
        assert!(trouble.contains("/dev/full") && trouble.contains("packets are carried on"), "{trouble}");
        assert_eq!(sink.trouble(), None, "said once");
    }
}
