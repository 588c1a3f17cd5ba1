//! Shards that share a folder.

use std::process::Stdio;
use std::time::Duration;

use super::*;

/// Returns the names and contents of the files below a folder that have one of these endings.
fn files(folder: &Path, ends: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| ends.iter().any(|end| path.to_string_lossy().ends_with(end)))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn kept(folder: &Path) -> usize {
    files(&folder.join("out/runs"), &[".json"]).into_iter().filter(|file| file.0 != "sweep.json").count()
}

#[test]
fn merged_shards_are_byte_equal_to_one_run() {
    let alone = folder();
    let shared = folder();
    let run = ["run", "sweep.toml", "--out", "out"];
    let outputs =
        ["--json", "all.json", "--report", "all.html", "--export", "runs.csv", "--export", "series.csv"];
    let whole = good(alone.path(), &[&run[..], &outputs].concat());
    for shard in ["3/3", "1/3", "2/3"] {
        good(shared.path(), &[&run[..], &["--shard", shard]].concat());
        assert!(!shared.path().join("out/sweep.json").exists(), "a shard has a part of the results only");
    }
    assert_eq!(kept(shared.path()), 8);
    let merged = goodqueue(shared.path(), &[&run[..], &outputs, &["--merge"]].concat());
    assert_eq!(said(&merged), "");
    assert_eq!(String::from_utf8_lossy(&merged.stdout), whole);
    let ends = [".json", ".html", ".csv"];
    assert!(files(alone.path(), &ends) == files(shared.path(), &ends));
    assert!(files(&alone.path().join("out"), &ends) == files(&shared.path().join("out"), &ends));
}

#[test]
fn a_killed_shard_resumes_and_the_merge_waits_for_all_runs() {
    let folder = folder();
    let text = SWEEP.replace("seeds = 2", "seeds = 10");
    fs::write(folder.path().join("sweep.toml"), text).unwrap();
    let shard = ["run", "sweep.toml", "--out", "out", "--jobs", "1", "--shard", "1/2"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .args(shard)
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if folder.path().join("out/runs").exists() && kept(folder.path()) > 2 {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = kept(folder.path());
    let resumed = goodqueue(folder.path(), &shard);
    assert!(resumed.status.success(), "{}", said(&resumed));
    assert!(said(&resumed).contains(&format!("{before} of ")), "{before} runs were kept: {}", said(&resumed));
    let merge = ["run", "sweep.toml", "--out", "out", "--merge"];
    let error = refused(folder.path(), &merge);
    // Two disciplines at two points with ten seeds make 40 runs.
    let missing = 40 - kept(folder.path());
    assert!(error.contains(&format!("{missing} of 40 runs are not in the store `out/runs`")), "{error}");
    assert!(error.contains("run the other shards first"), "{error}");
    good(folder.path(), &["run", "sweep.toml", "--out", "out", "--shard", "2/2"]);
    good(folder.path(), &merge);
}

#[test]
fn a_store_may_be_a_folder_by_path_or_url_and_results_are_no_url() {
    let folder = folder();
    let shared = folder.path().join("shared");
    let url = format!("file://{}", shared.display());
    good(folder.path(), &["run", "sweep.toml", "--store", "shared", "--shard", "1/2"]);
    good(folder.path(), &["run", "sweep.toml", "--store", &url, "--shard", "2/2"]);
    good(folder.path(), &["run", "sweep.toml", "--store", "shared", "--merge"]);
    let error = refused(folder.path(), &["run", "sweep.toml", "--out", "s3://bucket/upload"]);
    assert!(error.contains("keep the finished runs there with `--store s3://bucket/upload`"), "{error}");
    fs::write(shared.join("sweep.json"), "{").unwrap();
    let error = refused(folder.path(), &["run", "sweep.toml", "--store", "shared", "--merge"]);
    assert!(error.contains("choose another folder with `--store`"), "{error}");
}

#[test]
fn a_grown_sweep_simulates_only_the_new_points() {
    let folder = folder();
    let run =
        |shard: &str| goodqueue(folder.path(), &["run", "sweep.toml", "--out", "out", "--shard", shard]);
    assert!([run("1/2"), run("2/2")].iter().all(|output| output.status.success()));
    // A value before the others, a discipline and a seed more.
    let grown = SWEEP
        .replace("[\"10ms\"", "[\"5ms\", \"10ms\"")
        .replace("\"codel\"]", "\"codel\", \"pie\"]")
        .replace("seeds = 2", "seeds = 3");
    fs::write(folder.path().join("sweep.toml"), grown).unwrap();
    let stored: usize = [run("1/2"), run("2/2")]
        .iter()
        .map(|output| said(output).split(" of ").next().unwrap().parse::<usize>().unwrap())
        .sum();
    // Three points, three disciplines and three seeds make 27 runs.
    assert_eq!((stored, kept(folder.path())), (8, 27));
    good(folder.path(), &["run", "sweep.toml", "--out", "out", "--merge"]);
}

#[test]
fn a_shard_that_cannot_be_run_is_refused_before_any_work() {
    let folder = folder();
    fs::write(folder.path().join("other.toml"), SWEEP).unwrap();
    let refusal = |args: &[&str]| refused(folder.path(), &[&["run", "sweep.toml"][..], args].concat());
    for (args, says) in [
        (&["--shard", "0/4"][..], "there is no shard 0 of 4"),
        (&["--shard", "5/4"], "there is no shard 5 of 4"),
        (&["--shard", "-1/4"], "`-1/4` is not a shard"),
        (&["--shard", "half"], "`half` is not a shard"),
        (&["--shard", "1/2", "--merge"], "cannot be used with"),
        (&["--shard", "1/2", "--json", "r.json"], "a shard has only a part of the results"),
        (&["--merge", "--packets", "p.csv"], "packets are not kept"),
        (&["other.toml", "--shard", "1/2"], "`--shard` takes one scenario"),
        (&["--shards", "2"], "--submit"),
        (&["--submit", "cron"], "allowed: slurm, hq, kubernetes, dask, parallel"),
    ] {
        let error = refusal(args);
        assert!(error.contains(says), "{args:?}: {error}");
    }
    assert!(!folder.path().join("goodqueue-results").exists());
}

#[test]
fn a_store_takes_the_shards_of_one_sweep_and_keeps_them() {
    let folder = folder();
    let other = SWEEP.replace("duration = \"1s\"", "duration = \"2s\"");
    fs::write(folder.path().join("other.toml"), other).unwrap();
    good(folder.path(), &["run", "sweep.toml", "--out", "out", "--shard", "1/2"]);
    let before = kept(folder.path());
    for more in [&["--shard", "2/2"][..], &["--merge"], &[]] {
        let error = refused(folder.path(), &[&["run", "other.toml", "--out", "out"][..], more].concat());
        assert!(
            error.contains("`out/runs` holds the shards of another sweep: `duration` is \"1s\" there"),
            "{error}"
        );
        assert!(error.contains("choose another folder with `--out`"), "{error}");
    }
    assert_eq!(kept(folder.path()), before);
    // Another build of the program: appended bytes change the file, but not its behaviour.
    let rebuilt = folder.path().join("rebuilt");
    let mut program = fs::read(env!("CARGO_BIN_EXE_goodqueue")).unwrap();
    program.push(0);
    fs::copy(env!("CARGO_BIN_EXE_goodqueue"), &rebuilt).unwrap();
    fs::write(&rebuilt, program).unwrap();
    let args = ["run", "sweep.toml", "--out", "out", "--shard", "2/2"];
    let output = Command::new(&rebuilt).args(args).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("was begun by goodqueue"), "{}", said(&output));
    assert!(said(&output).contains("the runs in the store are kept"), "{}", said(&output));
}

#[test]
fn a_script_for_a_cluster_runs_every_shard_and_merges_them() {
    let folder = folder();
    let printed = good(
        folder.path(),
        &[
            "run",
            "sweep.toml",
            "--out",
            "out",
            "--export",
            "runs.csv",
            "--submit",
            "parallel",
            "--shards",
            "3",
        ],
    );
    assert!(
        printed.contains("sweep: 8 runs at 2 points of the sweep, in 3 shards of about 3 runs."),
        "{printed}"
    );
    assert!(!folder.path().join("out").exists());
    // GNU parallel may not be installed: a loop of the shell does the same.
    let script = printed
        .replace("parallel --quote ", "while read i; do ")
        .replace("--shard {}/3", "--shard $i/3; done");
    fs::write(folder.path().join("script"), script).unwrap();
    let output = Command::new("bash").arg(folder.path().join("script")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    // A heading and eight runs.
    assert_eq!(fs::read_to_string(folder.path().join("runs.csv")).unwrap().lines().count(), 9);
    assert_eq!(kept(folder.path()), 8);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_or_read_only_store_says_so_and_keeps_what_was_finished() {
    let folder = folder();
    fs::create_dir(folder.path().join("out")).unwrap();
    let script = "mount -t tmpfs -o size=400k none out || exit 77
        run() { \"$GOODQUEUE\" run sweep.toml --out out --jobs 1 $*; }
        run --shard 1/1; echo \"full: $?\" >&2
        mount -o remount,size=100m,ro out; run --shard 1/1; echo \"read-only: $?\" >&2
        mount -o remount,rw out; run --shard 1/1 && run --merge --quiet";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .env("GOODQUEUE", env!("CARGO_BIN_EXE_goodqueue"))
        .current_dir(folder.path())
        .output();
    let Ok(output) = output.inspect_err(|error| eprintln!("skipped: no unshare: {error}")) else { return };
    let said = said(&output);
    if output.status.code() == Some(77) || said.starts_with("unshare:") {
        eprintln!("skipped: no file system of its own: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    for part in [
        "the store `out/runs` cannot be written: No space left on device",
        "allowed: a folder that can be written, with space for all runs",
        "full: 2",
        "Read-only file system",
        "read-only: 2",
        "of 8 runs had been finished before",
        "shard 1/1 has finished: 8 of 8 runs",
    ] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    assert!(!said.contains("\n0 of 8 runs"), "{said}");
}
