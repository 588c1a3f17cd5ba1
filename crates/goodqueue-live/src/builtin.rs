//! The built-in server, for runs without a server of the user's. Tools that every system has can
//! measure with it.
//!
//! | port | service |
//! |---|---|
//! | 7 TCP, UDP | echo (RFC 862) |
//! | 9 TCP, UDP | discard (RFC 863) |
//! | 19 TCP | sends without end (after RFC 864) |
//! | 80 TCP | HTTP, see [`http`] |

mod http;

use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use self::http::LARGE_BLOCK;

/// Serves until the process ends. Writes a byte to `ready` once clients can connect.
pub(crate) fn serve(mut ready: std::io::PipeWriter) {
    let connections = Arc::new(AtomicUsize::new(0));
    let services: [(u16, Service); 4] = [(7, echo), (9, discard), (19, generate), (80, http::serve)];
    let mut threads = Vec::new();
    for (port, service) in services {
        let Some(listener) = listen(port) else { continue };
        let connections = Arc::clone(&connections);
        threads.push(std::thread::spawn(move || serve_tcp(&listener, service, &connections)));
    }
    for (port, answers) in [(7, true), (9, false)] {
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let Ok(socket) = UdpSocket::bind(any).or_else(|_| UdpSocket::bind(("0.0.0.0", port))) else {
            continue;
        };
        threads.push(std::thread::spawn(move || {
            // Longer than any UDP datagram.
            let mut datagram = vec![0; 1 << 16];
            loop {
                if let Ok((length, from)) = socket.recv_from(&mut datagram)
                    && answers
                {
                    // An answer that cannot be sent is lost, as any datagram may be.
                    let _ = socket.send_to(&datagram[..length], from);
                }
            }
        }));
    }
    let _ = ready.write_all(&[1]);
    drop(ready);
    for thread in threads {
        // They serve until the process is killed. Its return here would end them all.
        let _ = thread.join();
    }
}

type Service = fn(TcpStream) -> std::io::Result<()>;

/// Serves each client of `listener` in its own thread. Drops clients beyond [`MOST_CONNECTIONS`].
fn serve_tcp(listener: &TcpListener, service: Service, connections: &Arc<AtomicUsize>) {
    for client in listener.incoming() {
        let Ok(client) = client else {
            // This may be a lack of descriptors, which passes.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        // All ports share the counter. Counting before the check lets no two threads take the last
        // place.
        if connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            connections.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let of_this = Arc::clone(connections);
        let served = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let _ = service(client);
            of_this.fetch_sub(1, Ordering::SeqCst);
        });
        if served.is_err() {
            connections.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Listens with IPv6 and IPv4, or with IPv4 alone where there is no IPv6.
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

const STACK: usize = 256 << 10;
const MOST_CONNECTIONS: usize = 256;
