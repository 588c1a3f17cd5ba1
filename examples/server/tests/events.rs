//! A client reads the events of its runs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Starts a server in a thread of its own.
fn server() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, goodqueue_server::app()).await.unwrap();
        });
    });
    told.recv().unwrap()
}

fn ask(server: SocketAddr, method: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} /runs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

fn answer(server: SocketAddr, method: &str, body: &str) -> String {
    let mut text = String::new();
    ask(server, method, body).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn each_run_and_then_all_results_come_as_events() {
    let text = answer(server(), "POST", r#"{"time": "300ms", "qdiscs": ["pfifo", "codel"], "seeds": "2"}"#);
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    assert_eq!(text.matches("event: run\n").count(), 4);
    assert!(text.contains("event: progress\n"), "{text}");
    let last = text.split("event: results\ndata: ").nth(1).unwrap().lines().next().unwrap();
    let results: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(results["runs"].as_array().unwrap().len(), 4);
    assert_eq!(results["summary"][1]["qdisc"], "codel");
}

#[test]
fn a_request_is_refused_in_the_words_of_the_command() {
    let server = server();
    let text = answer(server, "POST", r#"{"qdiscs": ["pfifo limmit 5"]}"#);
    assert!(text.starts_with("HTTP/1.1 400 Bad Request") && text.contains("limmit"), "{text}");
    let text = answer(server, "POST", r#"{"trace_down": "/etc/passwd"}"#);
    assert!(text.contains("`trace_down` names a file"), "{text}");
}

#[test]
fn a_client_that_goes_away_ends_its_runs() {
    let server = server();
    let stream = ask(server, "POST", r#"{"time": "10000s", "seeds": "100"}"#);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "event: progress"));
    assert!(answer(server, "GET", "").ends_with('1'));
    drop(lines);
    let has_ended = (0..3000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        answer(server, "GET", "").ends_with('0')
    });
    assert!(has_ended, "the runs go on");
}
