//! The message of the first process of a program's namespaces to the process that carries the
//! packets: handles of the namespaces, or the error that prevented them.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};

use crate::error::LiveError;

/// Namespaces for programs.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// No program sees the process that carries packets.
    pub(super) is_out_of_sight: bool,
    /// The user namespace of the networks, if it is not that of the process that carries packets.
    pub(super) user: Option<File>,
    /// Networks: the client's, then the server's unless that is the host.
    pub(super) networks: Vec<OwnedFd>,
}

impl Namespaces {
    /// Sends these namespaces.
    ///
    /// # Errors
    /// The other process has ended.
    pub(super) fn send(&self, to: &UnixStream) -> Result<(), LiveError> {
        let kind = if self.is_out_of_sight { OUT_OF_SIGHT } else { IN_SIGHT };
        let user = self.user.iter().map(AsRawFd::as_raw_fd);
        let all: Vec<RawFd> = user.chain(self.networks.iter().map(AsRawFd::as_raw_fd)).collect();
        let bytes = [kind, u8::from(self.user.is_some())];
        sendmsg::<UnixAddr>(
            to.as_raw_fd(),
            &[IoSlice::new(&bytes)],
            &[ControlMessage::ScmRights(&all)],
            // An error, and no SIGPIPE, if the other process has ended.
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .map(|_| ())
        .map_err(|errno| LiveError::system(FAILED, errno))
    }

    /// Receives the namespaces.
    ///
    /// # Errors
    /// The other process could not make them, or has ended.
    pub(super) fn receive(mut from: &UnixStream) -> Result<Self, LiveError> {
        let mut bytes = [0; 2];
        let mut received = Vec::new();
        let length = {
            let mut room = nix::cmsg_space!([RawFd; MOST]);
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let message = recvmsg::<UnixAddr>(
                from.as_raw_fd(),
                &mut parts,
                Some(&mut room),
                MsgFlags::MSG_CMSG_CLOEXEC,
            )
            .map_err(|errno| LiveError::system(FAILED, errno))?;
            for control in message.cmsgs().map_err(|errno| LiveError::system(FAILED, errno))? {
                if let ControlMessageOwned::ScmRights(descriptors) = control {
                    // Descriptors have owners at once, so that an invalid message leaves none open.
                    received.extend(descriptors.into_iter().map(owned));
                }
            }
            message.bytes
        };
        match (length, bytes[0]) {
            (2, kind @ (OUT_OF_SIGHT | IN_SIGHT)) => {
                let mut received = received.into_iter();
                let user = if bytes[1] == 1 { received.next().map(File::from) } else { None };
                Ok(Self { is_out_of_sight: kind == OUT_OF_SIGHT, user, networks: received.collect() })
            }
            (1.., ERROR) => {
                let mut text = bytes[1..length].to_vec();
                // A stream may deliver the text in parts.
                let _ = from.read_to_end(&mut text);
                Err(read_error(&String::from_utf8_lossy(&text)))
            }
            _ => Err(LiveError::new(FAILED).help("its first process ended; is the system out of memory?")),
        }
    }
}

/// Sends an error instead.
pub(super) fn send_error(mut to: &UnixStream, error: &LiveError) {
    let mut text = vec![ERROR];
    text.extend(error.problem().as_bytes());
    if let Some(advice) = error.advice() {
        text.push(0);
        text.extend(advice.as_bytes());
    }
    let _ = to.write_all(&text);
}

fn read_error(text: &str) -> LiveError {
    match text.split_once('\0') {
        Some((problem, advice)) => LiveError::new(problem).help(advice),
        None => LiveError::new(text),
    }
}

/// Takes over a descriptor that the kernel has just put into this process.
#[expect(unsafe_code, reason = "nix returns received descriptors as numbers")]
fn owned(descriptor: RawFd) -> OwnedFd {
    // SAFETY: recvmsg(2) has opened it for this process, and nothing else has its number.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

const OUT_OF_SIGHT: u8 = 1;
const IN_SIGHT: u8 = 2;
const ERROR: u8 = 3;
/// Descriptors of one message.
const MOST: usize = 3;
const FAILED: &str = "the program's process cannot be started";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_arrives_with_its_advice() {
        for error in [LiveError::new("no room").help("make some"), LiveError::new("x")] {
            let (here, there) = UnixStream::pair().unwrap();
            send_error(&there, &error);
            drop(there);
            assert_eq!(Namespaces::receive(&here).unwrap_err().to_string(), error.to_string());
        }
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        assert!(Namespaces::receive(&here).unwrap_err().to_string().contains("its first process ended"));
    }

    #[test]
    fn namespaces_arrive_in_their_order() {
        let (here, there) = UnixStream::pair().unwrap();
        let open = |path: &str| File::open(path).unwrap();
        let made = Namespaces {
            is_out_of_sight: true,
            user: Some(open("/dev/null")),
            networks: vec![open("/proc/self/status").into(), open("/dev/zero").into()],
        };
        made.send(&there).unwrap();
        let received = Namespaces::receive(&here).unwrap();
        assert!(received.is_out_of_sight && received.user.is_some());
        let mut status = String::new();
        let [client, _server] = <[OwnedFd; 2]>::try_from(received.networks).unwrap();
        File::from(client).read_to_string(&mut status).unwrap();
        assert!(status.starts_with("Name:"), "{status}");
    }
}
