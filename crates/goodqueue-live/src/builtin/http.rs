//! HTTP of the built-in server: downloads of any size, and uploads.
//!
//! `GET /1000000` returns 1,000,000 bytes. `/10k`, `/10M` and `/1G` use powers of 1000; `/10KiB`,
//! `/10MiB` and `/1GiB` use powers of 1024. Letters may be upper or lower case. Uploads, with a
//! length or in chunks, are read and discarded (RFC 9112).

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Serves one connection until the client closes it.
pub(super) fn serve(client: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(60)))?;
    let reader = BufReader::with_capacity(LARGE_BLOCK, client.try_clone()?);
    converse(reader, client)
}

/// Answers one request after another.
fn converse(mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    let block = vec![0; LARGE_BLOCK];
    loop {
        let request = match Request::read(&mut from)? {
            Some(Ok(request)) => request,
            // The connection ends, because the beginning of the next request is unknown.
            Some(Err(refusal)) => return refusal.write(&mut to, true, false),
            None => return Ok(()),
        };
        if request.waits_for_continue && request.body != Body::Nothing {
            to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        if let Err(refusal) = request.body.discard(&mut from)? {
            return refusal.write(&mut to, true, false);
        }
        let is_head = request.method == "HEAD";
        match size_of_path(&request.path) {
            Ok(size) => {
                let head = head("200 OK", "application/octet-stream", size, request.keep_alive);
                to.write_all(head.as_bytes())?;
                let mut left = if is_head { 0 } else { size };
                while left > 0 {
                    let part = usize::try_from(left).unwrap_or(LARGE_BLOCK).min(LARGE_BLOCK);
                    to.write_all(&block[..part])?;
                    left -= part as u64;
                }
            }
            // An upload may have any path.
            Err(_) if !matches!(request.method.as_str(), "GET" | "HEAD") => {
                to.write_all(head("200 OK", "application/octet-stream", 0, request.keep_alive).as_bytes())?;
            }
            Err(problem) => {
                Refusal { status: "404 Not Found", problem }.write(&mut to, !is_head, request.keep_alive)?;
            }
        }
        if !request.keep_alive {
            return Ok(());
        }
    }
}

/// Returns the head of an answer with a body of `length` bytes.
fn head(status: &str, kind: &str, length: u64, keep_alive: bool) -> String {
    let connection = if keep_alive { "keep-alive" } else { "close" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: {connection}\r\n\r\n"
    )
}

/// The answer to an invalid request.
#[derive(Debug)]
struct Refusal {
    status: &'static str,
    problem: String,
}

impl Refusal {
    fn write(&self, to: &mut impl Write, with_body: bool, keep_alive: bool) -> io::Result<()> {
        let body = format!("{}\n", self.problem);
        let head = head(self.status, "text/plain; charset=utf-8", body.len() as u64, keep_alive);
        to.write_all(head.as_bytes())?;
        if with_body { to.write_all(body.as_bytes()) } else { Ok(()) }
    }
}

fn bad_request<T>(problem: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status: "400 Bad Request", problem: problem.into() })
}

/// The body of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Body {
    Nothing,
    /// This number of bytes.
    Length(u64),
    /// Chunks, each preceded by its length. An empty chunk ends the body.
    Chunked,
}

impl Body {
    fn discard(self, from: &mut impl BufRead) -> io::Result<Result<(), Refusal>> {
        match self {
            Self::Nothing => {}
            Self::Length(length) => skip(from, length)?,
            Self::Chunked => loop {
                let Some(line) = short_line(from)? else { return Err(too_early()) };
                // Extensions of a chunk follow a semicolon (RFC 9112 §7.1.1).
                let digits = line.split(';').next().unwrap_or_default().trim();
                let Ok(length) = u64::from_str_radix(digits, 16) else {
                    return Ok(bad_request("the length of a chunk must be a hexadecimal number"));
                };
                if length == 0 {
                    // Trailer fields may follow; an empty line ends them.
                    let mut left = HEAD;
                    while line_is_there(from, &mut left)? {}
                    break;
                }
                skip(from, length)?;
                if short_line(from)?.is_none_or(|rest| !rest.is_empty()) {
                    return Ok(bad_request("a chunk is longer than its stated length"));
                }
            },
        }
        Ok(Ok(()))
    }
}

fn skip(from: &mut impl BufRead, length: u64) -> io::Result<()> {
    match io::copy(&mut from.by_ref().take(length), &mut io::sink())? {
        read if read == length => Ok(()),
        _ => Err(too_early()),
    }
}

fn line_is_there(from: &mut impl BufRead, left: &mut u64) -> io::Result<bool> {
    Ok(read_line(from, left)?.is_some_and(|line| !line.is_empty()))
}

/// Reads the next line, without its end. Returns `None` at the end of the connection. Reads at most
/// `left` bytes.
fn read_line(from: &mut impl BufRead, left: &mut u64) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = from.by_ref().take(*left).read_until(b'\n', &mut bytes)?;
    *left = left.saturating_sub(read as u64);
    if read == 0 {
        return Ok(None);
    }
    let text: Cow<'_, str> = String::from_utf8_lossy(&bytes);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn short_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut left = HEAD;
    read_line(from, &mut left)
}

fn too_early() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// The head of a request, reduced to the parts that this server uses.
#[derive(Debug)]
struct Request {
    method: String,
    path: String,
    body: Body,
    /// The client waits for `100 Continue` before it sends its body.
    waits_for_continue: bool,
    /// The connection stays open for the next request.
    keep_alive: bool,
}

impl Request {
    /// Reads the next request. Returns `None` if the client has closed the connection.
    fn read(from: &mut impl BufRead) -> io::Result<Option<Result<Self, Refusal>>> {
        let mut left = HEAD;
        let Some(first) = read_line(from, &mut left)? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(path), Some(version)) = (words.next(), words.next(), words.next()) else {
            return Ok(Some(bad_request("a request must begin with a line such as `GET /10M HTTP/1.1`")));
        };
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            body: Body::Nothing,
            waits_for_continue: false,
            // Connections of HTTP/1.1 persist by default (RFC 9112 §9.3).
            keep_alive: version != "HTTP/1.0",
        };
        loop {
            let header = match read_line(from, &mut left)? {
                // A line that reaches the limit may be cut, so it does not count.
                Some(header) if header.is_empty() && left > 0 => return Ok(Some(Ok(request))),
                Some(header) if left > 0 => header,
                _ if left == 0 => {
                    let problem = format!("the head of a request is limited to {} KiB", HEAD >> 10);
                    let status = "431 Request Header Fields Too Large";
                    return Ok(Some(Err(Refusal { status, problem })));
                }
                _ => return Ok(None),
            };
            let Some((name, value)) = header.split_once(':') else {
                return Ok(Some(bad_request("a header must have the form `Name: value`")));
            };
            if let Err(refusal) = request.note(name, value.trim()) {
                return Ok(Some(Err(refusal)));
            }
        }
    }

    fn note(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        let has = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
        match name.to_ascii_lowercase().as_str() {
            // Chunks take precedence over a length (RFC 9112 §6.3).
            "content-length" if self.body == Body::Chunked => {}
            "content-length" => match value.parse() {
                Ok(0) => {}
                Ok(length) => self.body = Body::Length(length),
                Err(_) => return bad_request("Content-Length must be a number of bytes"),
            },
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => self.body = Body::Chunked,
            "transfer-encoding" => {
                let problem = "the only supported Transfer-Encoding is `chunked`".to_owned();
                return Err(Refusal { status: "501 Not Implemented", problem });
            }
            "expect" => self.waits_for_continue = has("100-continue"),
            "connection" if has("close") => self.keep_alive = false,
            "connection" if has("keep-alive") => self.keep_alive = true,
            _ => {}
        }
        Ok(())
    }
}

/// Returns the number of bytes that a path asks for, 0 for `/`. The error is a sentence for the
/// client.
fn size_of_path(path: &str) -> Result<u64, String> {
    let path = path.split('?').next().unwrap_or_default();
    let text = path.trim_start_matches('/');
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "k" | "kb" => Some(1_000),
        "m" | "mb" => Some(1_000_000),
        "g" | "gb" => Some(1_000_000_000),
        "ki" | "kib" => Some(1 << 10),
        "mi" | "mib" => Some(1 << 20),
        "gi" | "gib" => Some(1 << 30),
        _ => None,
    };
    let size = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    size.ok_or_else(|| {
        let shown: String = text.chars().take(LONGEST_QUOTE).filter(|c| !c.is_control()).collect();
        format!(
            "`/{shown}` is not a number of bytes. Ask for /1000000, for /10k, /10M or /1G (powers of 1000), or for /10KiB, \
             /10MiB or /1GiB (powers of 1024)."
        )
    })
}

/// Bytes of one read or write: several super-packets.
pub(super) const LARGE_BLOCK: usize = 256 << 10;
/// Longest head of a request, and longest line about a chunk, in bytes.
const HEAD: u64 = 16 << 10;
/// Characters of a path that an error message repeats.
const LONGEST_QUOTE: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all answers to `requests`.
    fn answers(requests: &[u8]) -> String {
        let mut answers = Vec::new();
        converse(requests, &mut answers).unwrap();
        String::from_utf8(answers).unwrap()
    }

    #[test]
    fn the_path_says_how_many_bytes() {
        for (path, size) in [
            ("/", 0),
            ("/1000", 1000),
            ("/10k", 10_000),
            ("/100K", 100_000),
            ("/2M", 2_000_000),
            ("/2m", 2_000_000),
            ("/1G", 1_000_000_000),
            ("/3gb", 3_000_000_000),
            ("/100KiB", 102_400),
            ("/2mib", 2 << 20),
            ("/1Gi", 1 << 30),
            ("/10M?again=1", 10_000_000),
        ] {
            assert_eq!(size_of_path(path), Ok(size), "{path}");
        }
        // The last two exceed 64 bits.
        for path in ["/x", "/10X", "/k", "/1.5M", "/-1", "/10M/", "/99999999999999999999", "/99999999999G"] {
            let problem = size_of_path(path).unwrap_err();
            assert!(problem.contains(path) && problem.contains("/10KiB"), "{problem}");
        }
    }

    #[test]
    fn an_invalid_size_is_refused_and_the_connection_stays_open() {
        let text = answers(b"GET /100Q HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 404 Not Found\r\n"), "{text}");
        assert!(text.contains("`/100Q` is not a number of bytes"), "{text}");
        assert!(text.ends_with("Content-Length: 3\r\nConnection: keep-alive\r\n\r\n\0\0\0"), "{text:?}");
    }

    #[test]
    fn a_chunked_upload_is_read_to_its_end_before_the_next_request() {
        let upload = b"PUT /file HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n\
            1a; name=value\r\nGET /1 HTTP/1.1\r\n\r\nabcdefg\r\n2\r\nxy\r\n0\r\nTrailer: there\r\n\r\n\
            GET /2 HTTP/1.1\r\n\r\n";
        let text = answers(upload);
        let lengths: Vec<&str> = text.lines().filter(|line| line.starts_with("Content-Length")).collect();
        assert_eq!(lengths, ["Content-Length: 0", "Content-Length: 2"], "{text}");
        assert_eq!(text.matches("200 OK").count(), 2, "{text}");
    }

    #[test]
    fn an_upload_with_a_length_is_read_and_a_waiting_client_is_told_to_continue() {
        let text = answers(
            b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nGET /GET /1 HTTP/1.1\r\n\r\n",
        );
        assert!(text.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "{text}");
        assert_eq!(text.matches("200 OK").count(), 2, "{text}");
    }

    #[test]
    fn an_invalid_request_is_refused_and_ends_the_connection() {
        let long = [b"GET / HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 20_000]].concat();
        for (request, status) in [
            (&b"hello\r\n\r\n"[..], "400 Bad Request"),
            (b"GET / HTTP/1.1\r\nno header\r\n\r\n", "400 Bad Request"),
            (b"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "400 Bad Request"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "400 Bad Request"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "501 Not Implemented"),
            (&long, "431 Request Header Fields Too Large"),
        ] {
            let text = answers(request);
            assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{text}");
            assert!(text.contains("Connection: close"), "{text}");
        }
        assert_eq!(answers(b""), "");
        assert_eq!(answers(b"GET /5 HTTP/1.1\r\nHost: x"), "", "the client left in the middle");
    }

    #[test]
    fn head_requests_and_http_1_0_clients_are_served() {
        let text = answers(b"HEAD /10M HTTP/1.1\r\n\r\nGET /1 HTTP/1.0\r\n\r\nGET /1 HTTP/1.0\r\n\r\n");
        assert_eq!(
            text.matches("HTTP/1.1 200 OK").count(),
            2,
            "an HTTP/1.0 connection has one request: {text}"
        );
        assert!(
            text.contains("Content-Length: 10000000\r\nConnection: keep-alive\r\n\r\nHTTP/1.1"),
            "{text}"
        );
        assert!(text.ends_with("Connection: close\r\n\r\n\0"), "{text}");
    }
}
