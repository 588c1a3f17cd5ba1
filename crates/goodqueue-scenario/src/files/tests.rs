use super::*;

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("result.json");
    write_whole(&path, b"old", Existing::Used).expect("written");
    write_whole(&path, b"new", Existing::Used).expect("written");
    assert_eq!(std::fs::read(&path).expect("there"), b"new");
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
}

#[test]
fn a_file_that_grows_has_no_name_until_it_is_finished() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let given_up = folder.path().join("given-up.csv");
    let path = folder.path().join("whole.csv");
    for (path, finished) in [(&given_up, false), (&path, true)] {
        let mut file = StreamedFile::create(path, Existing::Used).expect("begun");
        file.write_all(b"half").expect("written");
        assert!(!path.exists());
        if finished {
            file.finish().expect("finished");
        }
    }
    assert!(!given_up.exists());
    assert_eq!(std::fs::read(&path).expect("there"), b"half");
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1);
}

#[cfg(unix)]
#[test]
fn a_link_without_a_target_is_named_before_any_work() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("missing/target", &link).expect("made");
    for said in [check_writable(&link), make_folder(&link), make_folder(&link.join("runs"))] {
        let said = said.expect_err("no target").to_string();
        assert!(said.contains("link` is a symbolic link to `") && said.contains("missing/target`"), "{said}");
    }
    // A link to a new file in a folder that exists is how a user keeps results elsewhere.
    let new = folder.path().join("new");
    std::os::unix::fs::symlink("new-target", &new).expect("made");
    assert!(check_writable(&new).is_ok());
    std::fs::write(folder.path().join("file"), "").expect("written");
    let said = make_folder(&folder.path().join("file/runs")).expect_err("a file").to_string();
    assert!(said.ends_with("file` is not a folder"), "{said}");
    make_folder(&folder.path().join("a/b")).expect("made");
    make_folder(&folder.path().join("a/b")).expect("there");
}

#[test]
fn a_folder_or_a_file_in_no_folder_is_refused_before_any_work() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(check_writable(folder.path()).is_err());
    assert!(check_writable(&folder.path().join("missing/result.json")).is_err());
    // The slash at the end asks for a folder.
    assert!(check_writable(&folder.path().join("result.json/")).is_err());
    assert!(write_whole(folder.path(), b"x", Existing::Used).is_err());
    assert!(check_writable(&folder.path().join("result.json")).is_ok());
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private.json");
        write_whole(&path, b"old", Existing::Used).unwrap();
        // The usual umask of 022 would remove bits of the last one.
        for kept in [0o600, 0o640, 0o666] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            write_whole(&path, b"new", Existing::Used).unwrap();
            assert_eq!(mode(&path), kept);
        }
    }

    #[test]
    fn through_a_symbolic_link_the_file_is_replaced_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("disk")).unwrap();
        for (link, leads_to) in
            [("one.json", "disk/one.json"), ("two.json", "one.json"), ("new.json", "disk/new.json")]
        {
            symlink(leads_to, path(link)).unwrap();
        }
        fs::write(path("disk/one.json"), "old").unwrap();
        for link in ["two.json", "new.json"] {
            check_writable(&path(link)).unwrap();
            write_whole(&path(link), b"new", Existing::Used).unwrap();
            assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink());
        }
        assert_eq!(fs::read(path("disk/one.json")).unwrap(), b"new");
        assert_eq!(fs::read(path("disk/new.json")).unwrap(), b"new");
        symlink("round", path("round")).unwrap();
        assert!(check_writable(&path("round")).is_err());
    }

    #[test]
    fn under_a_name_that_no_user_typed_a_link_is_replaced_and_its_target_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("victim"), "of a person").unwrap();
        symlink("victim", path("link")).unwrap();
        symlink("/dev/full", path("device")).unwrap();
        fs::hard_link(path("victim"), path("second name")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        for name in ["link", "device", "second name", "fifo"] {
            write_whole(&path(name), b"new", Existing::Replaced).unwrap();
            assert!(fs::symlink_metadata(path(name)).unwrap().is_file(), "{name}");
            assert_eq!(fs::read(path(name)).unwrap(), b"new");
        }
        assert_eq!(fs::read(path("victim")).unwrap(), b"of a person");
        assert!(write_whole(folder.path(), b"new", Existing::Replaced).is_err());
    }

    #[test]
    fn a_fifo_is_written_to_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        check_writable(&path).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        write_whole(&path, b"through", Existing::Used).unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(!fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_device_is_written_to_and_a_full_one_says_so() {
        write_whole(Path::new("/dev/null"), b"gone", Existing::Used).unwrap();
        let full = write_whole(Path::new("/dev/full"), b"too much", Existing::Used).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn what_others_left_in_a_shared_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        // As /tmp: everybody may write, and only owners may remove.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        let path = |name: &str| -> PathBuf { folder.path().join(name) };
        fs::write(path("target"), "of another user").unwrap();
        symlink("target", path("planted")).unwrap();
        let other_flow = Some(12_345);
        if std::os::unix::fs::lchown(path("planted"), other_flow, other_flow).is_err() {
            // Only root can create a file of another user.
            return;
        }
        let refused = write_whole(&path("planted"), b"x", Existing::Used).unwrap_err().to_string();
        assert!(refused.contains("belongs to another user"), "{refused}");
        assert!(check_writable(&path("planted")).is_err());
        assert_eq!(fs::read(path("target")).unwrap(), b"of another user");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        write_whole(&path("planted"), b"x", Existing::Used).unwrap();
    }

    #[test]
    fn a_file_is_the_same_by_all_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("x.json", path("link")).unwrap();
        let same = |one: &str, other: &str| {
            FileIdentity::from_path(&path(one)).unwrap() == FileIdentity::from_path(&path(other)).unwrap()
        };
        assert!(same("link", "x.json") && same("x.json", "./x.json") && !same("x.json", "y.json"));
        fs::write(path("x.json"), "").unwrap();
        assert!(same("link", "x.json"));
        assert_eq!(FileIdentity::from_path(Path::new("/dev/null")).unwrap(), None);
    }
}
