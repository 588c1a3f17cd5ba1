//! A store whose files were changed by an accident, or left by somebody else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{folder, good, goodqueue, refused, said};

/// Returns the files of the runs in a store, and their contents.
fn runs(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_damaged_run_is_named_and_simulated_again_and_the_results_are_those_of_before() {
    let folder = folder();
    let run = ["run", "sweep.toml", "--out", "out", "--json", "all.json", "--jobs", "1"];
    good(folder.path(), &run);
    let before = fs::read(folder.path().join("all.json")).unwrap();
    let stored = runs(&folder.path().join("out/runs"));
    assert_eq!(stored.len(), 8);
    let files: Vec<&PathBuf> = stored.keys().collect();
    // A changed digit, a cut file, an empty one, and one without a checksum.
    let text = String::from_utf8(stored[files[0]].clone()).unwrap();
    let at = text.find("goodput_bps\":").unwrap() + "goodput_bps\":".len();
    let digit = if &text[at..=at] == "9" { "8" } else { "9" };
    fs::write(files[0], format!("{}{digit}{}", &text[..at], &text[at + 1..])).unwrap();
    fs::write(files[1], &stored[files[1]][..stored[files[1]].len() / 2]).unwrap();
    fs::write(files[2], "").unwrap();
    let keyed = String::from_utf8(stored[files[3]].clone()).unwrap();
    fs::write(files[3], format!("{{{}", &keyed[keyed.find("\"key\"").unwrap()..])).unwrap();
    let output = goodqueue(folder.path(), &run);
    let told = said(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("4 of 8 runs had been finished before"), "{told}");
    for file in &files[..4] {
        let name = file.file_name().unwrap().to_str().unwrap();
        let line = told.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {told}"));
        assert!(line.starts_with("a stored run is damaged, so it is simulated again: "), "{line}");
    }
    assert_eq!(told.matches("is damaged").count(), 4, "{told}");
    assert_eq!(fs::read(folder.path().join("all.json")).unwrap(), before);
    assert_eq!(runs(&folder.path().join("out/runs")), stored);
    assert!(said(&goodqueue(folder.path(), &run)).contains("8 of 8 runs had been finished before"));
}

#[test]
fn shards_with_a_damaged_run_are_not_combined_and_the_shard_mends_it() {
    let folder = folder();
    let shard = ["run", "sweep.toml", "--out", "out", "--shard", "1/1"];
    let merge = ["run", "sweep.toml", "--out", "out", "--merge"];
    good(folder.path(), &shard);
    let stored = runs(&folder.path().join("out/runs"));
    let file = stored.keys().find(|path| !path.ends_with("sweep.json")).unwrap();
    fs::write(file, [&stored[file][..], b" "].concat()).unwrap();
    let told = refused(folder.path(), &merge);
    assert!(told.contains("1 of 8 runs in the store are damaged; the first of them is `"), "{told}");
    assert!(told.contains(file.file_name().unwrap().to_str().unwrap()), "{told}");
    assert!(said(&goodqueue(folder.path(), &shard)).contains("a stored run is damaged"));
    assert_eq!(runs(&folder.path().join("out/runs")), stored);
    good(folder.path(), &merge);
}

/// What another user, or an archive, may put in place of files that commands read and write.
#[cfg(unix)]
mod planted {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// Replaces a file by a link to another one.
    fn plant(target: &Path, file: &Path) {
        let _ = fs::remove_file(file);
        symlink(target, file).unwrap();
    }

    #[test]
    fn a_link_in_the_store_is_replaced_by_the_run_and_its_target_stays() {
        let folder = folder();
        let run = ["run", "sweep.toml", "--out", "out"];
        good(folder.path(), &run);
        let stored = runs(&folder.path().join("out/runs"));
        let files: Vec<&PathBuf> = stored.keys().collect();
        let victim = folder.path().join("victim");
        fs::write(&victim, "of a person").unwrap();
        plant(&victim, files[0]);
        plant(&folder.path().join("nowhere"), files[1]);
        plant(Path::new("/dev/zero"), files[2]);
        fs::remove_file(files[3]).unwrap();
        assert!(Command::new("mkfifo").arg(files[3]).status().unwrap().success());
        let output = goodqueue(folder.path(), &run);
        let told = said(&output);
        assert!(output.status.success(), "{told}");
        for file in &files[..4] {
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(told.contains(&format!("{name}`: it is not a regular file")), "{told}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "of a person");
        assert!(!folder.path().join("nowhere").exists());
        assert!(files.iter().all(|file| fs::symlink_metadata(file).unwrap().is_file()));
        assert_eq!(runs(&folder.path().join("out/runs")), stored);
    }

    #[test]
    fn the_folder_of_the_store_may_be_a_link() {
        let folder = folder();
        fs::create_dir(folder.path().join("disk")).unwrap();
        symlink("disk", folder.path().join("out")).unwrap();
        good(folder.path(), &["run", "sweep.toml", "--out", "out"]);
        assert_eq!(runs(&folder.path().join("disk/runs")).len(), 8);
    }

    #[test]
    fn the_description_of_a_sweep_is_not_read_through_a_link() {
        let folder = folder();
        let shard = ["run", "sweep.toml", "--out", "out", "--shard", "1/4"];
        fs::create_dir_all(folder.path().join("out/runs")).unwrap();
        for target in ["/dev/zero", "victim"] {
            plant(Path::new(target), &folder.path().join("out/runs/sweep.json"));
            let told = refused(folder.path(), &shard);
            assert!(
                told.contains("`sweep.json` in `out/runs` cannot be read: it is not a regular file"),
                "{told}"
            );
        }
        assert!(!folder.path().join("victim").exists());
    }

    #[test]
    fn files_that_no_user_named_replace_links() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "of a person").unwrap();
        fs::create_dir(at("man")).unwrap();
        plant(&at("victim"), &at("man/goodqueue-run.1"));
        good(folder.path(), &["man", "--out", "man"]);
        fs::write(at("one.toml"), "duration = \"1s\"\nqdiscs = [\"pfifo\", \"codel\"]\nflows = 1\n").unwrap();
        for name in ["p.pfifo.csv", "r.down.jsonl", "x.codel.flent.gz"] {
            plant(&at("victim"), &at(name));
        }
        good(folder.path(), &["compare", "one.toml", "--packets", "p.csv"]);
        good(folder.path(), &["compare", "one.toml", "--export", "x.flent.gz"]);
        good(folder.path(), &["compare", "one.toml", "--qdisc", "pfifo", "--packets", "r.jsonl"]);
        for name in ["man/goodqueue-run.1", "p.pfifo.csv", "r.down.jsonl", "x.codel.flent.gz"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().is_file(), "{name}");
            assert_ne!(fs::read(at(name)).unwrap(), b"of a person", "{name}");
        }
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "of a person");
        // A name that the user typed is that of the link's target.
        plant(&at("victim"), &at("link.json"));
        good(folder.path(), &["compare", "one.toml", "--json", "link.json"]);
        assert!(fs::symlink_metadata(at("link.json")).unwrap().is_symlink());
        assert!(fs::read_to_string(at("victim")).unwrap().starts_with("{\n  \"goodqueue\":"));
    }
}
