//! The control socket of a running bottleneck. A request is one line, and its answer is one line of
//! JSON.
//!
//! Clients are served by their own threads. A client that sends garbage, never reads, names an
//! unreadable file or connects ten thousand times disturbs nobody else. The loop that carries
//! packets only receives valid orders, see [`crate::mailbox`].

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::clients::{self, Stream, Timed};
use crate::error::LiveError;
use crate::socket::{self, SocketFile};

/// Returns the answer to a line.
pub type Answer = dyn Fn(&str) -> String + Send + Sync;

/// The sockets at which other processes can ask. Their threads end with the process.
#[derive(Debug, Default)]
pub struct Control {
    /// Removed when this is dropped.
    sockets: Vec<SocketFile>,
}

impl Control {
    /// Answers requests at the control socket `path`. Only the same user can connect.
    ///
    /// # Errors
    /// The socket cannot be created, or another process listens there.
    pub fn listen(&mut self, path: &Path, answer: Arc<Answer>) -> Result<(), LiveError> {
        let (listener, socket) = socket::listen(path, "--control")?;
        self.sockets.push(socket);
        let accept = move || listener.accept().map(|(client, _)| Stream::Unix(client));
        clients::serve("control", accept, move |client| {
            // The connection is closed if the client leaves or is too slow.
            let _ = converse(client, &*answer);
        })
    }

    /// Answers every HTTP request at `listener` with the text that `metrics` returns.
    ///
    /// # Errors
    /// The thread that serves it cannot be started.
    pub fn serve_http(
        &mut self,
        listener: HttpListener,
        metrics: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Result<(), LiveError> {
        let attend = move |client: Timed| {
            let _ = answer_http(client, &metrics);
        };
        match listener.0 {
            Listener::Tcp(listener) => {
                let accept = move || listener.accept().map(|(client, _)| Stream::Tcp(client));
                clients::serve("metrics", accept, attend)
            }
            Listener::Unix(listener, socket) => {
                self.sockets.push(socket);
                let accept = move || listener.accept().map(|(client, _)| Stream::Unix(client));
                clients::serve("metrics", accept, attend)
            }
        }
    }
}

/// The place where metrics are served over HTTP.
#[derive(Debug)]
pub struct HttpListener(Listener);

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

impl HttpListener {
    /// Listens at `address`: an IP address and port, or the path of a socket if it has a slash.
    ///
    /// # Errors
    /// The address is invalid or in use.
    pub fn bind(address: &str) -> Result<Self, LiveError> {
        if address.contains('/') {
            let (listener, socket) = socket::listen(Path::new(address), "--metrics")?;
            return Ok(Self(Listener::Unix(listener, socket)));
        }
        let listener = TcpListener::bind(address).map_err(|error| {
            LiveError::system(format_args!("metrics cannot be served at `{address}`"), error)
                .help("give an address and a port (127.0.0.1:9817), or the path of a socket with a slash")
        })?;
        Ok(Self(Listener::Tcp(listener)))
    }
}

/// Answers line by line until the client leaves or takes too long over one.
fn converse(client: Timed, answer: &Answer) -> io::Result<()> {
    let mut client = BufReader::new(client);
    for _ in 0..MOST_LINES {
        client.get_mut().allow(PATIENCE);
        let mut line = Vec::new();
        if client.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            // Skips the rest of the line, so that the next read starts at a new one.
            client.skip_until(b'\n')?;
            TOO_LONG.to_owned()
        } else {
            match std::str::from_utf8(&line) {
                Ok(line) => answer(line.trim()),
                Err(_) => NO_TEXT.to_owned(),
            }
        };
        let client = client.get_mut();
        client.allow(PATIENCE);
        client.write_all(text.as_bytes())?;
        client.write_all(b"\n")?;
    }
    Ok(())
}

fn answer_http(mut client: Timed, figures: &dyn Fn() -> Option<String>) -> io::Result<()> {
    client.allow(PATIENCE_HTTP);
    // Every path has the same answer. The request is read to its end so that the client does not
    // see a reset connection.
    let mut head = BufReader::new(Read::by_ref(&mut client).take(LONGEST_LINE));
    let mut line = Vec::new();
    while head.read_until(b'\n', &mut line)? > 2 {
        line.clear();
    }
    drop(head);
    let (status, body) = match figures() {
        Some(figures) => ("200 OK", figures),
        None => ("503 Service Unavailable", "the bottleneck does not answer\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// Sends one line to the bottleneck at `path` and returns its answer.
///
/// # Errors
/// No process listens there, or it does not answer in time.
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

/// Time for a client to send a line, and again to take its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time for an HTTP client to send its request and take the answer.
const PATIENCE_HTTP: Duration = Duration::from_secs(5);
const LONGEST_LINE: u64 = 64 << 10;
const LONGEST_ANSWER: u64 = 16 << 20;
/// Lines per connection. A client with more to say connects again, so others get their turn.
const MOST_LINES: usize = 1000;
const TOO_LONG: &str = r#"{"error": "the request is longer than 64 KiB"}"#;
const NO_TEXT: &str = r#"{"error": "the request is not UTF-8 text"}"#;
