//! A small object store with the interface of Amazon S3, on this machine, that can be made to fail.
//!
//! It answers what the tests of goodqueue need: GET, HEAD and PUT of an object, PUT that creates
//! only (`If-None-Match: *`), and the list of a prefix. It does not check signatures, but refuses
//! requests without one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A running server. It serves until the process ends.
#[derive(Clone, Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// What a server does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Objects cannot be written.
    pub read_only: bool,
    /// Requests before one that is answered with "Slow Down".
    pub overloaded_after: Option<u32>,
    /// Requests before one whose answer stops in the middle.
    pub cut_after: Option<u32>,
}

#[derive(Debug, Default)]
struct State {
    /// By bucket and key.
    objects: BTreeMap<String, Vec<u8>>,
    bucket: String,
    faults: Faults,
    requests: u32,
}

struct Request {
    method: String,
    path: String,
    query: String,
    has_signature: bool,
    creates_only: bool,
    body: Vec<u8>,
}

impl Server {
    /// Starts a server with one empty bucket, on a free port of this machine.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(bucket: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let state = Arc::new(Mutex::new(State { bucket: bucket.to_owned(), ..State::default() }));
        let server = Self { address: listener.local_addr()?, state };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                // A client that goes away ends its connection, nothing else.
                std::thread::spawn(move || drop(server.serve(&stream)));
            }
        });
        Ok(server)
    }

    /// The variables of the environment with which clients find the server.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "test-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "key".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ]
    }

    /// Changes what the server does wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.state();
        state.faults = faults;
        state.requests = 0;
    }

    /// Number of requests since the faults were set.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.state().requests
    }

    /// The keys of all objects, without their bucket.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let state = self.state();
        let prefix = format!("/{}/", state.bucket);
        state.objects.keys().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        // The body is a second write, which would wait for the acknowledgement of the first (RFC
        // 896).
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader)? {
            let (number, faults) = {
                let mut state = self.state();
                state.requests += 1;
                (state.requests, state.faults)
            };
            let (status, body) = if !request.has_signature {
                ("403 Forbidden", error("AccessDenied"))
            } else if faults.overloaded_after.is_some_and(|before| number == before + 1) {
                ("503 Slow Down", error("SlowDown"))
            } else {
                self.state().answer(&request)
            };
            let is_head = request.method == "HEAD";
            let headers = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: \"0\"\r\n\
                 Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
                body.len()
            );
            let mut writer = stream;
            writer.write_all(headers.as_bytes())?;
            if faults.cut_after.is_some_and(|before| number == before + 1) {
                // The connection ends in the middle of the body.
                writer.write_all(&body[..body.len() / 2])?;
                return Ok(());
            }
            // The answer to HEAD has the length of the body without the body (RFC 9110 §9.3.2).
            if !is_head {
                writer.write_all(&body)?;
            }
        }
        Ok(())
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> (&'static str, Vec<u8>) {
        let bucket = format!("/{}", self.bucket);
        if request.path != bucket && !request.path.starts_with(&format!("{bucket}/")) {
            return ("404 Not Found", error("NoSuchBucket"));
        }
        if request.path.trim_end_matches('/') == bucket {
            return ("200 OK", self.list(&request.query));
        }
        match request.method.as_str() {
            "GET" | "HEAD" => match self.objects.get(&request.path) {
                Some(object) => ("200 OK", object.clone()),
                None => ("404 Not Found", error("NoSuchKey")),
            },
            "PUT" if self.faults.read_only => ("403 Forbidden", error("AccessDenied")),
            "PUT" if request.creates_only && self.objects.contains_key(&request.path) => {
                ("412 Precondition Failed", error("PreconditionFailed"))
            }
            "PUT" => {
                self.objects.insert(request.path.clone(), request.body.clone());
                ("200 OK", Vec::new())
            }
            _ => ("501 Not Implemented", error("NotImplemented")),
        }
    }

    fn list(&self, query: &str) -> Vec<u8> {
        let prefix = query.split('&').find_map(|pair| pair.strip_prefix("prefix=")).unwrap_or_default();
        // Clients escape the slash in a query.
        let whole = format!("/{}/{}", self.bucket, prefix.replace("%2F", "/"));
        let objects = self.objects.iter().filter(|(key, _)| key.starts_with(&whole));
        let contents: String = objects
            .map(|(key, object)| {
                let key = key.trim_start_matches(&format!("/{}/", self.bucket));
                let size = object.len();
                format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                     <ETag>\"0\"</ETag><Size>{size}</Size></Contents>"
                )
            })
            .collect();
        let count = contents.matches("<Key>").count();
        format!(
            "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>{count}</KeyCount>\
             {contents}</ListBucketResult>"
        )
        .into_bytes()
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        has_signature: false,
        creates_only: false,
        body: Vec::new(),
    };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => request.has_signature = true,
            "if-none-match" => request.creates_only = value.trim() == "*",
            _ => {}
        }
    }
    reader.take(length).read_to_end(&mut request.body)?;
    Ok(Some(request))
}

fn error(code: &str) -> Vec<u8> {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{code}</Message></Error>").into_bytes()
}
