//! Orders to the loop that carries packets, from threads that read sockets, files and terminals.
//! The loop itself never waits for any of these.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::error::LiveError;

/// One order. If it is dropped without an answer, the asking thread learns of that.
#[derive(Debug)]
pub struct Request<O> {
    order: O,
    answer: Sender<String>,
}

impl<O> Request<O> {
    /// Answers the order with the text that `find` returns for it.
    pub fn answer_with(self, find: impl FnOnce(O) -> String) {
        // The asking thread may have given up.
        let _ = self.answer.send(find(self.order));
    }
}

/// Orders that wait for an answer.
#[derive(Debug)]
pub struct Requests<O> {
    waiting: Receiver<Request<O>>,
    bell: Wakeup,
}

impl<O> Requests<O> {
    /// Returns the next order. The bell keeps ringing as long as there may be more.
    #[must_use]
    pub fn take(&self) -> Option<Request<O>> {
        // Reading silences the bell. An order that arrives from here on rings it again, so none is
        // missed.
        let _ = self.bell.0.read();
        let request = self.waiting.try_recv().ok();
        if request.is_some() {
            let _ = self.bell.0.write(1);
        }
        request
    }

    /// Returns the bell, which rings while orders wait.
    #[must_use]
    pub fn bell(&self) -> Wakeup {
        self.bell.clone()
    }
}

/// A descriptor that is readable while orders wait.
#[derive(Clone, Debug)]
pub struct Wakeup(Arc<EventFd>);

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The side of the threads that ask.
#[derive(Debug)]
pub struct RequestSender<O> {
    sender: Sender<Request<O>>,
    bell: Wakeup,
}

impl<O> Clone for RequestSender<O> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), bell: self.bell.clone() }
    }
}

impl<O> RequestSender<O> {
    /// Sends an order and waits for its answer. Returns `None` if the loop has ended or does not
    /// answer.
    #[must_use]
    pub fn ask(&self, order: O) -> Option<String> {
        let (answer, answers) = channel();
        // The order is in the mailbox before the bell rings, so the loop finds it.
        self.sender.send(Request { order, answer }).ok()?;
        let _ = self.bell.0.write(1);
        answers.recv_timeout(PATIENCE).ok()
    }
}

/// Creates a mailbox and returns its two sides.
///
/// # Errors
/// The system refuses.
pub fn mailbox<O>() -> Result<(RequestSender<O>, Requests<O>), LiveError> {
    // The loop must not wait when it reads a bell that does not ring.
    let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
        .map_err(|errno| LiveError::system("requests cannot be taken", errno))?;
    let bell = Wakeup(Arc::new(bell));
    let (sender, waiting) = channel();
    Ok((RequestSender { sender, bell: bell.clone() }, Requests { waiting, bell }))
}

/// Time to wait for an answer. The loop answers within microseconds, unless the machine or the
/// process is stopped.
const PATIENCE: Duration = Duration::from_secs(3);
