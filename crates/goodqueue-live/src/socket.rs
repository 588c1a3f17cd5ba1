//! Unix sockets in the file system: which existing file a socket may replace, and its removal at
//! the end.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect as connect_to, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::error::LiveError;

/// The file of a socket that this process listens at. Dropping it removes the file, unless another
/// file has taken that path.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode number.
    identity: Option<(u64, u64)>,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another process may have put its own socket in this place.
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`. Only the same user can connect.
///
/// Replaces a socket at which no process listens any more, and no other file. `option` is the
/// command-line option that named the path.
///
/// # Errors
/// Another process listens there, the file is not a socket, or it cannot be created.
pub(crate) fn listen(path: &Path, option: &str) -> Result<(UnixListener, SocketFile), LiveError> {
    let failed = |error| {
        LiveError::system(format_args!("the socket `{}` cannot be created", path.display()), error)
            .help(another_path(option))
    };
    check(path, option)?;
    match UnixStream::connect(path) {
        Ok(_) => {
            return Err(LiveError::new(format!("another program listens at `{}`", path.display()))
                .help(another_path(option)));
        }
        // A killed process left this socket behind.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // A process may listen there.
        Err(error) => return Err(failed(error)),
    }
    // The socket must never be open to other users, not even before `set_permissions`.
    let mask = nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o177));
    let listener = UnixListener::bind(path);
    nix::sys::stat::umask(mask);
    let listener = listener.map_err(failed)?;
    let socket = SocketFile { path: path.to_owned(), identity: identity(path) };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok((listener, socket))
}

/// Connects to the socket at `path`. Waits for `patience` at most if the queue of its listener is
/// full.
pub(crate) fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    let microseconds = i64::try_from(patience.as_micros()).unwrap_or(i64::MAX);
    // The timeout for sending also limits connect(2) (socket(7)). The standard library has no
    // timeout for connections to these sockets.
    setsockopt(&socket, sockopt::SendTimeout, &TimeVal::microseconds(microseconds))?;
    connect_to(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// Checks that `path` is free or holds a socket. `option` is the command-line option that named it.
///
/// # Errors
/// Another kind of file is there.
pub fn check(path: &Path, option: &str) -> Result<(), LiveError> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.file_type().is_socket() => {
            Err(LiveError::new(format!("`{}` exists and is not a socket", path.display()))
                .help(another_path(option)))
        }
        _ => Ok(()),
    }
}

fn another_path(option: &str) -> String {
    format!("choose another path for {option}")
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("goodqueue-socket-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn only_a_socket_at_which_nobody_listens_is_replaced() {
        let folder = folder("replaced");
        let [file, link, stale] = ["file", "link", "stale"].map(|name| folder.join(name));
        fs::write(&file, "kept").unwrap();
        // As a killed process leaves it behind.
        drop(UnixListener::bind(&stale).unwrap());
        std::os::unix::fs::symlink(&stale, &link).unwrap();
        for other in [&file, &link, &folder] {
            let refused = listen(other, "--control").unwrap_err().to_string();
            assert!(refused.contains("is not a socket"), "{refused}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        let (_listener, socket) = listen(&stale, "--metrics").unwrap();
        assert_eq!(fs::metadata(&stale).unwrap().mode() & 0o777, 0o600);
        let refused = listen(&stale, "--control").unwrap_err().to_string();
        assert!(refused.contains("another program listens"), "{refused}");
        drop(socket);
        assert!(!stale.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn at_the_end_only_the_own_socket_is_removed() {
        let folder = folder("removed");
        let path = folder.join("control");
        let (_listener, socket) = listen(&path, "--control").unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "of another program").unwrap();
        drop(socket);
        assert_eq!(fs::read_to_string(&path).unwrap(), "of another program");
        fs::remove_dir_all(&folder).unwrap();
    }
}
