//! The server that is there when nobody brings one: enough to measure with what every system has.
//!
//! | port | service |
//! |---|---|
//! | 7 TCP, UDP | echo (RFC 862) |
//! | 9 TCP, UDP | discard (RFC 863) |
//! | 19 TCP | sends without end (after RFC 864) |
//! | 80 TCP | HTTP: `GET /1000000` gives so many bytes, `/10k`, `/10M`, `/1G` so many times 1000; what is sent is thrown away |

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Serves until the process is ended.
pub(crate) fn serve() {
    let connections = Arc::new(AtomicUsize::new(0));
    type Service = fn(TcpStream) -> std::io::Result<()>;
    let services: [(u16, Service); 4] = [(7, echo), (9, discard), (19, generate), (80, http)];
    let mut threads = Vec::new();
    for (port, service) in services {
        let Some(listener) = listen(port) else { continue };
        let connections = Arc::clone(&connections);
        threads.push(std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else {
                    // No descriptors left, say: they come back.
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                };
                if connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                    connections.fetch_sub(1, Ordering::SeqCst);
                    continue;
                }
                let of_this = Arc::clone(&connections);
                let served = std::thread::Builder::new().stack_size(STACK).spawn(move || {
                    let _ = service(client);
                    of_this.fetch_sub(1, Ordering::SeqCst);
                });
                if served.is_err() {
                    connections.fetch_sub(1, Ordering::SeqCst);
                }
            }
        }));
    }
    for (port, answers) in [(7, true), (9, false)] {
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let Ok(socket) = UdpSocket::bind(any).or_else(|_| UdpSocket::bind(("0.0.0.0", port))) else {
            continue;
        };
        threads.push(std::thread::spawn(move || {
            let mut datagram = vec![0; 1 << 16];
            loop {
                if let Ok((length, from)) = socket.recv_from(&mut datagram)
                    && answers
                {
                    let _ = socket.send_to(&datagram[..length], from);
                }
            }
        }));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Both families, or IPv4 where there is no other.
fn listen(port: u16) -> Option<TcpListener> {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|_| TcpListener::bind(("0.0.0.0", port))).ok()
}

fn echo(client: TcpStream) -> std::io::Result<()> {
    let mut block = vec![0; LARGE_BLOCK];
    loop {
        match (&client).read(&mut block)? {
            0 => return Ok(()),
            length => (&client).write_all(&block[..length])?,
        }
    }
}

fn discard(client: TcpStream) -> std::io::Result<()> {
    let mut block = vec![0; LARGE_BLOCK];
    while (&client).read(&mut block)? > 0 {}
    Ok(())
}

fn generate(mut client: TcpStream) -> std::io::Result<()> {
    let line = vec![b'x'; LARGE_BLOCK];
    loop {
        client.write_all(&line)?;
    }
}

fn http(mut client: TcpStream) -> std::io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut reader = BufReader::with_capacity(LARGE_BLOCK, client.try_clone()?);
    let block = vec![0; LARGE_BLOCK];
    loop {
        let mut request = String::new();
        if reader.by_ref().take(HEAD).read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        let mut header = String::new();
        let mut left = HEAD;
        while reader.by_ref().take(left).read_line(&mut header)? > 2 {
            left = left.saturating_sub(header.len() as u64);
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            header.clear();
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let size = request.split_whitespace().nth(1).map_or(0, size_of_path);
        write!(
            client,
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n"
        )?;
        let mut left = size;
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(LARGE_BLOCK).min(LARGE_BLOCK);
            client.write_all(&block[..part])?;
            left -= part as u64;
        }
    }
}

/// `/10M` is ten million bytes; what is no number is nothing.
fn size_of_path(path: &str) -> u64 {
    let text = path.trim_start_matches('/');
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.as_bytes().get(digits.len()) {
        Some(b'k') => 1_000,
        Some(b'M') => 1_000_000,
        Some(b'G') => 1_000_000_000,
        _ => 1,
    };
    digits.parse::<u64>().unwrap_or(0).saturating_mul(unit)
}

/// Several super-packets at a time.
const LARGE_BLOCK: usize = 256 << 10;
const HEAD: u64 = 16 << 10;
const STACK: usize = 256 << 10;
const MOST_CONNECTIONS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_says_how_many_bytes() {
        for (path, size) in [
            ("/", 0),
            ("/1000", 1000),
            ("/10k", 10_000),
            ("/2M", 2_000_000),
            ("/1G", 1_000_000_000),
            ("/x", 0),
            ("/99999999999999999999", 0),
        ] {
            assert_eq!(size_of_path(path), size, "{path}");
        }
    }
}
