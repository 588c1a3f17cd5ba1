//! The control socket's place in a folder: what may be removed for it, and what is removed in the end.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::error::LiveError;

/// The name of a socket of ours. Dropped, it is removed, unless something else has that name by then.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and number.
    identity: Option<(u64, u64)>,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`, for this user only. A socket of that name at which nobody listens any more is removed first; nothing
/// else ever is.
pub(crate) fn listen(path: &Path) -> Result<(UnixListener, SocketFile), LiveError> {
    let failed = |error| {
        LiveError::system(format_args!("the control socket `{}` cannot be made", path.display()), error)
    };
    check(path)?;
    match UnixStream::connect(path) {
        Ok(_) => {
            return Err(LiveError::new(format!("another bottleneck listens at `{}`", path.display()))
                .help("choose another place with --control"));
        }
        // What a killed bottleneck left behind.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // Somebody may listen there.
        Err(error) => return Err(failed(error)),
    }
    // Nobody else gets in between the making and the permissions.
    let mask = nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o177));
    let listener = UnixListener::bind(path);
    nix::sys::stat::umask(mask);
    let listener = listener.map_err(failed)?;
    let socket = SocketFile { path: path.to_owned(), identity: identity(path) };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok((listener, socket))
}

/// Fails if there is anything at `path` but a socket.
///
/// # Errors
/// There is.
pub fn check(path: &Path) -> Result<(), LiveError> {
    match fs::symlink_metadata(path) {
        Ok(about) if !about.file_type().is_socket() => Err(LiveError::new(format!(
            "there is something at `{}` already that is no socket",
            path.display()
        ))
        .help("it stays as it is: choose another place with --control")),
        _ => Ok(()),
    }
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
        // A socket that a killed process left behind.
        drop(UnixListener::bind(&stale).unwrap());
        std::os::unix::fs::symlink(&stale, &link).unwrap();
        for other in [&file, &link, &folder] {
            let refused = listen(other).unwrap_err().to_string();
            assert!(refused.contains("no socket"), "{refused}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        let (_listener, socket) = listen(&stale).unwrap();
        assert_eq!(fs::metadata(&stale).unwrap().mode() & 0o777, 0o600);
        let refused = listen(&stale).unwrap_err().to_string();
        assert!(refused.contains("another bottleneck listens"), "{refused}");
        drop(socket);
        assert!(!stale.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn in_the_end_only_the_own_socket_is_removed() {
        let folder = folder("removed");
        let path = folder.join("control");
        let (_listener, socket) = listen(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another's by now").unwrap();
        drop(socket);
        assert_eq!(fs::read_to_string(&path).unwrap(), "another's by now");
        fs::remove_dir_all(&folder).unwrap();
    }
}
