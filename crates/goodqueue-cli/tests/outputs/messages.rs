//! Messages and help that cannot be written.

use super::*;

#[test]
fn messages_that_nobody_can_read_stop_nothing() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("s.toml"), SMALL).unwrap();
    let script = "goodqueue run s.toml --out out >first || exit 1
        goodqueue run s.toml --out out >full 2>/dev/full || exit 2
        { goodqueue run s.toml --out out >closed || echo failed >&3; } 3>&1 2>&1 >/dev/null | true
        cmp first full && cmp first closed || exit 3
        goodqueue compare --qdisc none 2>/dev/full; test $? = 2 || exit 4
        goodqueue replay missing --compare 2>/dev/full >/dev/null; test $? = 2 || exit 5
        goodqueue compare --nonsense 2>/dev/full; test $? = 2 || exit 6";
    let output = in_a_shell(folder.path(), script);
    good(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let folder = TempDir::new().unwrap();
    for args in ["--help", "--version", "compare --help", "list qdiscs"] {
        let output = in_a_shell(folder.path(), &format!("goodqueue {args} > /dev/full"));
        assert_eq!(output.status.code(), Some(2), "{args}");
        assert!(said(&output).starts_with("error: standard output cannot be written"), "{}", said(&output));
        // A closed pipe is not an error.
        let output = in_a_shell(folder.path(), &format!("(goodqueue {args}; echo $? >&2) | true"));
        assert_eq!(said(&output), "0", "{args}");
    }
}
