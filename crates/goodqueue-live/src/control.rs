//! The control socket of a running bottleneck. A request is one line, and its answer is one line of
//! JSON.
//!
//! Clients are served by their own threads. A client that sends garbage, never reads, names an
//! unreadable file or connects ten thousand times disturbs nobody else. The loop that carries
//! packets only receives valid orders, see [`crate::mailbox`].

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
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
    // The head ends with an empty line: two bytes, CR and LF.
    while head.read_until(b'\n', &mut line)? > 2 {
        line.clear();
    }
    drop(head);
    let (status, body) = match figures() {
        Some(figures) => ("200 OK", figures),
        None => ("503 Service Unavailable", "the bottleneck does not answer\n".to_owned()),
    };
    let head = format!(
        // 0.0.4 is the version of Prometheus's text format.
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// Sends one line to the bottleneck at `path` and returns its answer.
///
/// # Errors
/// No process listens there, or it does not answer in time, or its answer is too long.
pub fn request(path: &Path, line: &str) -> Result<String, LiveError> {
    request_within(path, line, PATIENCE_FOR_ANSWER)
}

/// As [`request`]. The whole exchange takes at most `patience`, however slowly the answer comes.
fn request_within(path: &Path, line: &str, patience: Duration) -> Result<String, LiveError> {
    let failed = |error: io::Error| match error.kind() {
        // A read that times out ends with either.
        ErrorKind::TimedOut | ErrorKind::WouldBlock => LiveError::new(format!(
            "the program that listens at `{}` has not answered within {} s",
            path.display(),
            patience.as_secs()
        ))
        .help("is it a bottleneck of goodqueue? It may be stopped, or its machine very busy"),
        _ => LiveError::system(format_args!("no bottleneck answers at `{}`", path.display()), error)
            .help("start one with `goodqueue shell --control PATH` or `goodqueue shape --control PATH`"),
    };
    let stream = socket::connect(path, patience).map_err(failed)?;
    let mut stream = Timed::new(Stream::Unix(stream), patience);
    stream.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    BufReader::new(stream).take(LONGEST_ANSWER).read_until(b'\n', &mut answer).map_err(failed)?;
    if answer.len() as u64 == LONGEST_ANSWER && !answer.ends_with(b"\n") {
        let problem =
            format!("the answer of `{}` is longer than {} MiB", path.display(), LONGEST_ANSWER >> 20);
        return Err(LiveError::new(problem).help("is it a bottleneck of goodqueue?"));
    }
    let answer = String::from_utf8(answer)
        .map_err(|_| LiveError::new(format!("the answer of `{}` is not text", path.display())))?;
    Ok(answer.trim_end().to_owned())
}

/// Time for an exchange with a bottleneck. It serves 16 clients at a time, each for a few seconds.
const PATIENCE_FOR_ANSWER: Duration = Duration::from_secs(10);
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;

    use super::*;

    /// A server that answers its only client with `bytes` again and again, until the client is
    /// gone.
    fn answering(
        name: &str,
        bytes: &'static [u8],
        pause: Duration,
    ) -> (PathBuf, std::thread::JoinHandle<()>) {
        let path = std::env::temp_dir().join(format!("goodqueue-control-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let serve = move || {
            let mut client: UnixStream = listener.accept().unwrap().0;
            while client.write_all(bytes).is_ok() {
                std::thread::sleep(pause);
            }
        };
        (path, std::thread::spawn(serve))
    }

    #[test]
    fn a_server_that_sends_byte_by_byte_holds_nobody() {
        // No single read takes 1 s, so only a deadline for all of them helps.
        let (path, server) = answering("slow", b"{", Duration::from_millis(20));
        let refused = request_within(&path, "stats", Duration::from_secs(1)).unwrap_err().to_string();
        assert!(refused.contains("has not answered within 1 s"), "{refused}");
        // The connection is closed, so the server ends as well.
        server.join().unwrap();
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_answer_without_end_is_refused() {
        // Blocks of 64 KiB reach 16 MiB long before the deadline.
        let (path, server) = answering("long", &[b'x'; 1 << 16], Duration::ZERO);
        let refused = request(&path, "stats").unwrap_err().to_string();
        assert!(refused.contains("is longer than 16 MiB"), "{refused}");
        server.join().unwrap();
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_server_that_accepts_nobody_holds_nobody() {
        let path = std::env::temp_dir().join(format!("goodqueue-control-deaf-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let _listener = UnixListener::bind(&path).unwrap();
        // Some connections fit in the queue of the listener, whose length the system decides.
        let mut waiting = Vec::new();
        while let Ok(stream) = socket::connect(&path, Duration::from_millis(100)) {
            waiting.push(stream);
        }
        let refused = request_within(&path, "stats", Duration::from_millis(100)).unwrap_err().to_string();
        assert!(refused.contains("has not answered"), "{refused}");
        std::fs::remove_file(path).unwrap();
    }
}
