//! The control socket: questions and orders to a running bottleneck, one line each, one line of JSON back.
//!
//! A thread of its own deals with whoever connects, one after the other, and hands the loop whole lines only: a client that
//! sends garbage, never reads, or connects ten thousand times is in nobody's way but other clients'.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::error::LiveError;
use crate::socket::{self, SocketFile};

/// One line that somebody sent. It is answered exactly once; one that is dropped is answered with an error.
#[derive(Debug)]
pub struct Request {
    /// The line.
    pub line: String,
    answer: Sender<String>,
}

impl Request {
    /// Answers.
    pub fn answer(self, text: String) {
        // Whoever asked may have gone.
        let _ = self.answer.send(text);
    }
}

/// The lines that wait to be answered.
#[derive(Debug)]
pub struct Requests {
    lines: Receiver<Request>,
    bell: Arc<EventFd>,
}

impl Requests {
    /// The next one.
    #[must_use]
    pub fn take(&self) -> Option<Request> {
        let _ = self.bell.read();
        let request = self.lines.try_recv().ok();
        if request.is_some() {
            // There may be more: look again.
            let _ = self.bell.write(1);
        }
        request
    }
}

impl AsFd for Requests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// A place where others ask; threads that serve it end with the process.
#[derive(Debug)]
pub struct Control {
    sender: Sender<Request>,
    bell: Arc<EventFd>,
    /// They are removed with this.
    sockets: Vec<SocketFile>,
}

impl Control {
    /// Nobody can ask yet.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<(Self, Requests), LiveError> {
        let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)
            .map_err(|errno| LiveError::system("the control socket cannot be set up", errno))?;
        let bell = Arc::new(bell);
        let (sender, lines) = channel();
        Ok((Self { sender, bell: Arc::clone(&bell), sockets: Vec::new() }, Requests { lines, bell }))
    }

    /// Listens at `path`, for this user only.
    ///
    /// # Errors
    /// The socket cannot be made: the folder is not there, or another bottleneck listens there.
    pub fn listen(&mut self, path: &Path) -> Result<(), LiveError> {
        let (listener, socket) = socket::listen(path)?;
        self.sockets.push(socket);
        let (sender, bell) = (self.sender.clone(), Arc::clone(&self.bell));
        spawn("control", move || {
            for client in listener.incoming().flatten() {
                let _ = converse(&client, &sender, &bell);
            }
        })
    }

    /// Serves figures to whatever speaks HTTP at this listener: each connection's answer is that to the line `line`.
    ///
    /// # Errors
    /// The system's.
    pub fn serve_http(&self, listener: HttpListener, line: &'static str) -> Result<(), LiveError> {
        let (sender, bell) = (self.sender.clone(), Arc::clone(&self.bell));
        spawn("metrics", move || match listener {
            HttpListener::Tcp(listener) => {
                for client in listener.incoming().flatten() {
                    let _ =
                        client.set_read_timeout(PATIENCE).and_then(|()| client.set_write_timeout(PATIENCE));
                    let _ = answer_http(&client, &client, line, &sender, &bell);
                }
            }
            HttpListener::Unix(listener) => {
                for client in listener.incoming().flatten() {
                    let _ =
                        client.set_read_timeout(PATIENCE).and_then(|()| client.set_write_timeout(PATIENCE));
                    let _ = answer_http(&client, &client, line, &sender, &bell);
                }
            }
        })
    }
}

/// Where figures are served.
#[derive(Debug)]
pub enum HttpListener {
    /// A port.
    Tcp(std::net::TcpListener),
    /// A socket in the file system.
    Unix(UnixListener),
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), LiveError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(|_| ())
        .map_err(|error| LiveError::system("a thread cannot be started", error))
}

/// Line by line, until the client goes or has nothing to say for a while.
fn converse(client: &UnixStream, sender: &Sender<Request>, bell: &EventFd) -> std::io::Result<()> {
    client.set_read_timeout(PATIENCE)?;
    client.set_write_timeout(PATIENCE)?;
    let mut reader = BufReader::new(client);
    for _ in 0..MOST_LINES {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let answer = match String::from_utf8(line) {
            Ok(line) if line.ends_with('\n') => ask(line.trim(), sender, bell),
            _ => "{\"error\": \"a request is one line of text, 64 KiB at most\"}".to_owned(),
        };
        let mut writer = client;
        writer.write_all(answer.as_bytes())?;
        writer.write_all(b"\n")?;
    }
    Ok(())
}

fn answer_http(
    from: impl Read,
    mut to: impl Write,
    line: &str,
    sender: &Sender<Request>,
    bell: &EventFd,
) -> std::io::Result<()> {
    // Whatever is asked for, there is one thing to be had here. The head is read so that the client finds it taken.
    let mut head = BufReader::new(from.take(LONGEST_LINE));
    let mut text = String::new();
    while head.read_line(&mut text)? > 2 {
        text.clear();
    }
    let body = ask(line, sender, bell);
    write!(
        to,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    to.write_all(body.as_bytes())
}

fn ask(line: &str, sender: &Sender<Request>, bell: &EventFd) -> String {
    let (answer, answers) = channel();
    let gone = || "{\"error\": \"the bottleneck does not answer\"}".to_owned();
    if sender.send(Request { line: line.to_owned(), answer }).is_err() {
        return gone();
    }
    let _ = bell.write(1);
    answers.recv_timeout(Duration::from_secs(5)).unwrap_or_else(|_| gone())
}

/// Sends one line to the bottleneck at `path` and gives its answer.
///
/// # Errors
/// Nobody listens there, or does not answer in time.
pub fn request(path: &Path, line: &str) -> Result<String, LiveError> {
    let failed = |error| {
        LiveError::system(format_args!("no bottleneck answers at `{}`", path.display()), error)
            .help("start one with `goodqueue shell --control PATH` or `goodqueue shape --control PATH`")
    };
    let stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    let mut writer = &stream;
    writer.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    BufReader::new(&stream).take(LONGEST_ANSWER).read_line(&mut answer).map_err(failed)?;
    Ok(answer.trim_end().to_owned())
}

const PATIENCE: Option<Duration> = Some(Duration::from_secs(2));
const LONGEST_LINE: u64 = 64 << 10;
const LONGEST_ANSWER: u64 = 16 << 20;
/// A client that wants more connects again: others get their turn.
const MOST_LINES: usize = 1000;
