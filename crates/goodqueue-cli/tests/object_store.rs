//! Shards that meet in an object store. The server is on this machine and can be made to fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use goodqueue_testkit::s3::{Faults, Server};
use tempfile::TempDir;

const STORE: &str = "s3://bucket/upload";

fn folder(seeds: u32) -> TempDir {
    let folder = TempDir::new().unwrap();
    let sweep = format!(
        "duration = \"1s\"\nqdiscs = [\"pfifo\", \"codel\"]\nflows = 2\nseeds = {seeds}\nlink.down = \"2mbit\"\n\
         [sweep]\n\"link.rtt\" = [\"10ms\", \"20ms\"]\n"
    );
    fs::write(folder.path().join("sweep.toml"), sweep).unwrap();
    folder
}

/// The command `run sweep.toml` with a clean environment for clients of this server.
fn command(folder: &Path, server: &Server, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodqueue"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.args(["run", "sweep.toml"]).args(args).current_dir(folder).envs(server.environment());
    command
}

fn run(folder: &Path, server: &Server, args: &[&str]) -> Output {
    command(folder, server, args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

fn good(folder: &Path, server: &Server, args: &[&str]) -> String {
    let output = run(folder, server, args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    said(&output)
}

fn refused(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    said(&output)
}

/// Finished runs in the bucket.
fn kept(server: &Server) -> usize {
    server.keys().iter().filter(|key| key.starts_with("upload/") && !key.ends_with("sweep.json")).count()
}

#[test]
fn shards_of_machines_without_a_common_folder_merge_to_the_bytes_of_one_run() {
    let server = Server::start("bucket").unwrap();
    let [alone, one, other] = [folder(2), folder(2), folder(2)];
    good(alone.path(), &server, &["--json", "all.json"]);
    good(one.path(), &server, &["--store", STORE, "--shard", "1/2"]);
    good(other.path(), &server, &["--store", STORE, "--shard", "2/2"]);
    // Two disciplines at two points with two seeds.
    assert_eq!(kept(&server), 8);
    good(one.path(), &server, &["--store", STORE, "--merge", "--json", "all.json"]);
    let [whole, merged] = [&alone, &one].map(|folder| fs::read(folder.path().join("all.json")).unwrap());
    assert!(whole == merged);
    assert!(!one.path().join("goodqueue-results/runs").exists(), "all runs are in the bucket");
}

#[test]
fn a_killed_shard_resumes_from_another_machine() {
    let server = Server::start("bucket").unwrap();
    let [one, other] = [folder(10), folder(10)];
    let shard = ["--store", STORE, "--jobs", "1", "--shard", "1/2"];
    let mut child = command(one.path(), &server, &shard).stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        if kept(&server) > 2 {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = kept(&server);
    let resumed = good(other.path(), &server, &shard);
    assert!(resumed.contains(&format!("{before} of ")), "{before} runs were kept: {resumed}");
    let error = refused(command(other.path(), &server, &["--store", STORE, "--merge"]));
    // Ten seeds make 40 runs.
    let missing = 40 - kept(&server);
    assert!(error.contains(&format!("{missing} of 40 runs are not in the store `{STORE}`")), "{error}");
}

#[test]
fn an_overloaded_server_and_a_cut_connection_cost_no_run() {
    let server = Server::start("bucket").unwrap();
    let folder = folder(1);
    server.set_faults(Faults { overloaded_after: Some(3), cut_after: Some(6), ..Faults::default() });
    good(folder.path(), &server, &["--store", STORE]);
    assert_eq!(kept(&server), 4);
    // The bodies of stored runs, cut while they are read.
    server.set_faults(Faults { cut_after: Some(3), ..Faults::default() });
    let again = good(folder.path(), &server, &["--store", STORE, "--jobs", "1"]);
    assert!(again.contains("4 of 4 runs had been finished before"), "{again}");
    assert!(server.requests() > 4);
}

#[test]
fn two_sweeps_in_one_prefix_are_one_error_and_each_prefix_is_a_store() {
    let server = Server::start("bucket").unwrap();
    let folder = folder(1);
    good(folder.path(), &server, &["--store", STORE, "--shard", "1/2"]);
    let shard = ["--set", "link.up=2mbit", "--shard", "1/2", "--store"];
    let error = refused(command(folder.path(), &server, &[&shard[..], &[STORE]].concat()));
    assert!(error.contains("the store `s3://bucket/upload` holds the shards of another sweep"), "{error}");
    assert!(error.contains("choose another prefix with `--store`"), "{error}");
    good(folder.path(), &server, &[&shard[..], &["s3://bucket/upload2"]].concat());
}

#[test]
fn stores_that_cannot_be_used_are_refused_with_the_reason_and_the_remedy() {
    let server = Server::start("bucket").unwrap();
    let folder = folder(1);
    let at = |url: &str| command(folder.path(), &server, &["--store", url]);
    let mut wrong_address = at(STORE);
    wrong_address.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    let mut unsigned = at(STORE);
    unsigned.env("AWS_SKIP_SIGNATURE", "true");
    for (command, says, remedy) in [
        (at("s3://nowhere/upload"), "the bucket does not exist", "the bucket must exist"),
        (unsigned, "access is denied", "set AWS_ACCESS_KEY_ID"),
        (wrong_address, "cannot be used", "AWS_ENDPOINT_URL"),
        (at("az://container/upload"), "cannot be used", "set AZURE_STORAGE_ACCOUNT_NAME"),
        (at("ftp://host/upload"), "the scheme is unknown", "allowed: a folder, s3://BUCKET/PREFIX"),
    ] {
        let error = refused(command);
        assert!(error.contains("--store") && error.contains(says) && error.contains(remedy), "{error}");
    }
    assert!(server.keys().is_empty());
}

#[test]
fn a_read_only_bucket_is_one_error_and_can_still_be_merged() {
    let server = Server::start("bucket").unwrap();
    let folder = folder(1);
    let read_only = Faults { read_only: true, ..Faults::default() };
    server.set_faults(read_only);
    for args in [&["--store", STORE][..], &["--store", STORE, "--shard", "1/1"]] {
        let error = refused(command(folder.path(), &server, args));
        assert!(
            error.contains(&format!("the store `{STORE}` cannot be written: access is denied")),
            "{error}"
        );
        assert!(
            error.contains("change its permissions or the credentials, then repeat the command"),
            "{error}"
        );
    }
    server.set_faults(Faults::default());
    good(folder.path(), &server, &["--store", STORE]);
    server.set_faults(read_only);
    good(folder.path(), &server, &["--store", STORE, "--merge"]);
}
