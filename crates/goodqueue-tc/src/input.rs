//! Input files: read up to a limit, and without waiting for a file into which nothing writes.
//!
//! Every file that a user names is opened here. Regular files, character devices and pipes are
//! read, so that `/dev/stdin` and the `<(...)` of a shell work. Directories, block devices and
//! sockets are refused. Under names that no user typed, only regular files are opened.
//!
//! Without the feature `files` of this crate only regular files are read on Unix. With it, a FIFO
//! is opened without waiting for a writer. If none comes within a second, reading it is an error.
//! While a pipe has a writer, reading waits for data.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// An input file. Reading beyond its limit is an error of the kind [`ErrorKind::FileTooLarge`].
#[derive(Debug)]
pub struct Input {
    file: File,
    /// Bytes that may be read.
    most: u64,
    /// Bytes of `most` that were not read yet.
    left: u64,
    /// True before the first byte: an end of the file may then mean that there is no writer yet.
    is_fresh: bool,
}

impl Input {
    /// Opens the file at `path`, of which at most `most` bytes may be read.
    ///
    /// # Errors
    /// The file cannot be opened, is larger, or is a directory, a block device or a socket.
    pub fn open(path: &Path, most: u64) -> io::Result<Self> {
        let file = platform::open(path)?;
        if let Some(sort) = refused_sort(&file.metadata()?) {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("it is a {sort}, not a file")));
        }
        Self::from_file(file, most)
    }

    /// As [`open`](Self::open), for a name that no user typed: another user or an unpacked archive
    /// may have left a symbolic link or a device under it. Opens regular files only.
    ///
    /// # Errors
    /// As `open`, and any other sort of file.
    pub fn open_regular(path: &Path, most: u64) -> io::Result<Self> {
        let irregular = || io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
        // This spares devices, whose opening may have an effect. The kernel checks again.
        if !path.symlink_metadata()?.is_file() {
            return Err(irregular());
        }
        let file = platform::open_without_following(path)?;
        if !file.metadata()?.is_file() {
            return Err(irregular());
        }
        Self::from_file(file, most)
    }

    fn from_file(file: File, most: u64) -> io::Result<Self> {
        let about = file.metadata()?;
        // This saves reading a file that is too large. `read` counts as well: a file may grow, and
        // a pipe has no length.
        if about.is_file() && about.len() > most {
            return Err(too_large(most));
        }
        Ok(Self { file, most, left: most, is_fresh: true })
    }

    /// Returns what the system knows about the open file, such as its owner.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn about(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A read into no room gives 0 bytes, too. It must not count as the end of the file.
        if buffer.is_empty() {
            return Ok(0);
        }
        let count = loop {
            match self.file.read(buffer) {
                // A second 0, after the wait, is the end.
                Ok(0) if std::mem::take(&mut self.is_fresh) => platform::wait_for_writer(&self.file)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => platform::wait_for_data(&self.file)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.is_fresh = false;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(too_large(self.most)),
        }
        Ok(count)
    }
}

/// The contents of the file at `path`, at most `most` bytes.
///
/// # Errors
/// As [`Input::open`] and reading.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Input::open(path, most)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As [`bytes`], for a name that no user typed, see [`Input::open_regular`].
///
/// # Errors
/// As `open_regular` and reading.
pub fn regular_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Input::open_regular(path, most)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text in the file at `path`, at most `most` bytes.
///
/// # Errors
/// As [`bytes`], and text that is not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn too_large(most: u64) -> io::Error {
    let limit = match most {
        mib if mib >= 1 << 20 => format!("{} MiB", mib >> 20),
        kib if kib >= 1 << 10 => format!("{} KiB", kib >> 10),
        bytes => format!("{bytes} bytes"),
    };
    io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit}"))
}

/// Returns the type of a file that cannot be read.
fn refused_sort(about: &Metadata) -> Option<&'static str> {
    if about.is_dir() { Some("directory") } else { platform::refused_sort(about) }
}

#[cfg(all(unix, feature = "files"))]
mod platform {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::OFlags;
    use rustix::io::Errno;

    /// Opening a FIFO without `NONBLOCK` waits for a writer, which may never come.
    pub(super) fn open(path: &Path) -> io::Result<File> {
        // `NOCTTY`: a terminal that is read must not become the one that controls this process.
        open_with(path, OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    pub(super) fn open_without_following(path: &Path) -> io::Result<File> {
        open_with(path, OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW)
    }

    fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
        // The flags of open(2) are a signed `int` in C.
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
    }

    pub(super) fn refused_sort(about: &Metadata) -> Option<&'static str> {
        let sort = about.file_type();
        if sort.is_block_device() {
            Some("block device")
        } else if sort.is_socket() {
            Some("socket")
        } else {
            None
        }
    }

    /// Called at the end of an input that gave nothing: a FIFO may still get its first writer.
    pub(super) fn wait_for_writer(file: &File) -> io::Result<()> {
        let is_fifo = file.metadata()?.file_type().is_fifo();
        // poll(2) of Linux reports a hang-up only after a writer was there: a new FIFO times out,
        // and a pipe whose writer has gone is at its end at once.
        if is_fifo && !wait(file, Some(&PATIENCE))? {
            let problem = "it is a FIFO, and nothing has opened it for writing within a second";
            return Err(io::Error::new(ErrorKind::TimedOut, problem));
        }
        Ok(())
    }

    pub(super) fn wait_for_data(file: &File) -> io::Result<()> {
        wait(file, None).map(drop)
    }

    /// False if nothing happened within `timeout`.
    fn wait(file: &File, timeout: Option<&Timespec>) -> io::Result<bool> {
        loop {
            let mut polled = [PollFd::new(file, PollFlags::IN)];
            match poll(&mut polled, timeout) {
                Err(Errno::INTR) => {}
                other => return Ok(other? > 0),
            }
        }
    }

    /// A shell that starts both ends of a FIFO starts the writer within this time.
    const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
}

#[cfg(not(all(unix, feature = "files")))]
mod platform {
    use std::fs::{File, Metadata};
    use std::io::{self, ErrorKind};
    use std::path::Path;

    pub(super) fn open(path: &Path) -> io::Result<File> {
        // Opening a FIFO may block forever.
        if cfg!(unix) && !path.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        File::open(path)
    }

    /// The caller has seen that no link is here.
    pub(super) fn open_without_following(path: &Path) -> io::Result<File> {
        open(path)
    }

    pub(super) fn refused_sort(_about: &Metadata) -> Option<&'static str> {
        None
    }

    pub(super) fn wait_for_writer(_file: &File) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn wait_for_data(_file: &File) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[cfg(all(unix, feature = "files"))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;

    fn fifo(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("fifo");
        let all = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, all, 0).unwrap();
        path
    }

    #[test]
    fn a_fifo_without_a_writer_is_an_error_and_not_an_endless_wait() {
        let folder = tempfile::tempdir().unwrap();
        let error = bytes(&fifo(&folder), 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("nothing has opened it for writing"), "{error}");
    }

    #[test]
    fn a_fifo_with_a_writer_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(&folder);
        let writer = std::thread::spawn({
            let path = path.clone();
            // A pipe of Linux holds 64 KiB, so that the reader and the writer wait for each other.
            move || File::options().write(true).open(path).unwrap().write_all(&[b'x'; 200_000])
        });
        assert_eq!(bytes(&path, 1 << 20).unwrap().len(), 200_000);
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_pipe_that_a_shell_names_is_read_as_a_file_even_if_its_writer_has_gone() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"seed = 3\n").unwrap();
        drop(writer);
        let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
        assert_eq!(text(&path, 100).unwrap(), "seed = 3\n");
        assert_eq!(text(&path, 100).unwrap(), "", "an empty pipe without a writer is at its end");
    }

    #[test]
    fn more_than_the_limit_is_refused_whatever_the_sort_of_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [b'x'; 100]).unwrap();
        assert_eq!(bytes(&path, 100).unwrap().len(), 100);
        for (path, most, says) in
            [(path.as_path(), 99, "larger than 99 bytes"), (Path::new("/dev/zero"), 1 << 20, "than 1 MiB")]
        {
            let error = bytes(path, most).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn under_a_name_that_no_user_typed_only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "contents").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        fifo(&folder);
        assert_eq!(regular_bytes(&path("file"), 100).unwrap(), b"contents");
        assert_eq!(regular_bytes(&path("file"), 7).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(regular_bytes(&path("none"), 7).unwrap_err().kind(), ErrorKind::NotFound);
        for other in [path("link"), path("fifo"), PathBuf::from("/dev/zero"), folder.path().to_owned()] {
            let error = regular_bytes(&other, 100).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{other:?}: {error}");
        }
        assert!(platform::open_without_following(&path("link")).is_err(), "one that appears meanwhile");
    }

    #[test]
    fn a_directory_a_socket_and_what_is_no_text_are_refused_by_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        assert!(bytes(folder.path(), 1).unwrap_err().to_string().contains("it is a directory"));
        let path = folder.path().join("binary");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(text(&path, 1).unwrap_err().to_string().contains("not UTF-8"));
        let socket = folder.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(bytes(&socket, 1).is_err());
    }
}
