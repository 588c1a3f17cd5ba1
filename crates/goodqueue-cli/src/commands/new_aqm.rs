//! `goodqueue new-aqm`: the folder of a program with a discipline of your own.
//!
//! The files of the program are those of `examples/own-discipline`, whose AQM is `ramp`, with other
//! names. A test keeps both equal.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue::{Disciplines, registry};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;

use super::{Ending, Outcome};
use crate::{output, typed};

/// Write a program of your own with an AQM of your own, as a start.
///
/// The program is the `goodqueue` command with one more discipline, which all commands know by its
/// name: also in scenarios, in sweeps and inside other disciplines. It has an AQM of 60 lines to
/// change, and tests.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue new-aqm my_aqm                      the folder my_aqm
  goodqueue new-aqm my_aqm --out ~/work/my-aqm
  goodqueue new-aqm my_aqm --path ~/goodqueue   with the crates of a checkout of goodqueue")]
pub(crate) struct NewAqmArgs {
    /// Name of the discipline in tc lines: small letters, digits and underscores.
    name: String,
    /// Folder to make [default: the name of the discipline].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Checkout of goodqueue whose crates the program uses [default: the one that contains the
    /// working directory, otherwise the crates of this version from crates.io].
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

pub(crate) fn main(args: &NewAqmArgs, disciplines: &Disciplines) -> Outcome {
    check_name(&args.name, disciplines).map_err(|error| error.in_argument("NAME", &args.name))?;
    let crates = Crates::from_argument(args.path.as_deref())?;
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let files = files(&args.name, &crates);
    make(&folder, &files).map_err(|error| in_out(&folder, &error))?;
    output::print(&told(&args.name, &folder, &crates))?;
    Ok(Ending::Done)
}

/// Where the crates of goodqueue come from.
#[derive(PartialEq, Eq, Debug)]
enum Crates {
    /// The crates of this version from crates.io.
    Published,
    /// A checkout, by its path.
    Checkout(String),
}

impl Crates {
    fn from_argument(given: Option<&Path>) -> Result<Self, Diagnostic> {
        let is_checkout = |folder: &Path| folder.join("crates/goodqueue-cli/Cargo.toml").is_file();
        let found = match given {
            Some(folder) if is_checkout(folder) => Some(folder.to_owned()),
            Some(folder) => {
                let shown = folder.display().to_string();
                return Err(Diagnostic::new("this folder is not a checkout of goodqueue")
                    .allowed("the folder that contains `crates/goodqueue-cli`")
                    .in_argument("--path", &shown));
            }
            None => {
                // The working directory may have been deleted. Then no checkout is around it.
                let here = std::env::current_dir().unwrap_or_default();
                here.ancestors().find(|folder| is_checkout(folder)).map(Path::to_owned)
            }
        };
        let Some(folder) = found else { return Ok(Self::Published) };
        // The program may be elsewhere.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        Ok(Self::Checkout(typed::for_script("the path of the checkout", folder.as_os_str())?))
    }

    /// Returns the value of a dependency on one of the crates. `options` are the example's, such
    /// as `, default-features = false`.
    fn dependency(&self, name: &str, options: &str) -> String {
        match self {
            Self::Published => format!("{{ version = \"{}\"{options} }}", env!("CARGO_PKG_VERSION")),
            // The text of a string is the same in JSON and in TOML.
            Self::Checkout(folder) => {
                let path = serde_json::Value::from(format!("{folder}/crates/{name}"));
                format!("{{ path = {path}{options} }}")
            }
        }
    }
}

/// The files of the example, and their paths in the folder. The manifest has another name here,
/// because a folder with a manifest is not part of the package around it.
const FILES: &[(&str, &str)] = &[
    (MANIFEST, include_str!("../../new-aqm/Cargo.toml.in")),
    ("README.md", include_str!("../../new-aqm/README.md")),
    ("src/lib.rs", include_str!("../../new-aqm/src/lib.rs")),
    ("src/main.rs", include_str!("../../new-aqm/src/main.rs")),
    ("src/ramp.rs", include_str!("../../new-aqm/src/ramp.rs")),
    ("tests/compare.rs", include_str!("../../new-aqm/tests/compare.rs")),
    ("tests/library.rs", include_str!("../../new-aqm/tests/library.rs")),
    ("tests/live.rs", include_str!("../../new-aqm/tests/live.rs")),
];
const MANIFEST: &str = "Cargo.toml";
/// Where the example's dependencies are.
const PLACE: &str = "../../crates/";

/// Returns the paths and contents of the files for a discipline of this name.
fn files(name: &str, crates: &Crates) -> Vec<(String, String)> {
    // Cargo turns the hyphens of a package into underscores, so Rust code names the crate like the
    // discipline.
    let package = name.replace('_', "-");
    let type_name = type_name(name);
    let names = [
        ("own-discipline", package.as_str()),
        ("own_discipline", name),
        ("ramp", name),
        ("Ramp", type_name.as_str()),
    ];
    let one = |(path, text): &(&str, &str)| {
        let text = if *path == MANIFEST { manifest(text, crates) } else { (*text).to_owned() };
        (renamed(path, &names), renamed(&text, &names))
    };
    FILES.iter().map(one).collect()
}

/// Returns the manifest with dependencies on these crates.
fn manifest(text: &str, crates: &Crates) -> String {
    let line = |line: &str| match line.split_once(" = ") {
        Some((name, value)) if value.contains(PLACE) => {
            // What follows the path: the example's choice of features holds for whoever copies it.
            let options = value.find(", ").map_or("", |start| value[start..].trim_end_matches(" }"));
            format!("{name} = {}\n", crates.dependency(name, options))
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Replaces all names at once, because the new ones may contain the old ones.
fn renamed(text: &str, names: &[(&str, &str)]) -> String {
    let mut all = String::new();
    let mut rest = text;
    let next = |rest: &str| {
        let found =
            names.iter().filter_map(|(old, new)| Some((rest.find(old)?, old.len(), (*new).to_owned())));
        found.min_by_key(|found| found.0)
    };
    while let Some((at, length, new)) = next(rest) {
        all.push_str(&rest[..at]);
        all.push_str(&new);
        rest = &rest[at + length..];
    }
    all + rest
}

/// Returns the name of the type: `my_aqm` becomes `MyAqm`.
fn type_name(name: &str) -> String {
    // `check_name` allows ASCII only, so the first byte is the first letter.
    let part = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    name.split('_').map(part).collect()
}

/// Checks that tc lines, Rust and cargo accept the name.
fn check_name(name: &str, disciplines: &Disciplines) -> Result<(), Diagnostic> {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let is_name = name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('_').all(is_word)
        // The name of a type has no underscores, so `a_1` and `a1` would be one.
        && name.split('_').skip(1).all(|part| part.starts_with(|c: char| c.is_ascii_lowercase()));
    if !is_name {
        return Err(Diagnostic::new(format!("`{name}` cannot be the name of a discipline")).allowed(format!(
            "1 to {LONGEST} small letters, digits and underscores, with a letter at the beginning and after \
             each underscore, such as my_aqm"
        )));
    }
    if disciplines.find(name).is_some() || registry::find_preset(name).is_some() {
        return Err(Diagnostic::new(format!("a discipline is called `{name}`")).help("choose another name"));
    }
    if RESERVED.contains(&name) || name.starts_with("goodqueue") {
        return Err(Diagnostic::new(format!(
            "`{name}` has a meaning in Rust, in tc lines or in the program"
        ))
        .help(format!("choose another name, such as `{name}_aqm`")));
    }
    Ok(())
}

/// Makes the folder, which may not exist, and its files.
fn make(folder: &Path, files: &[(String, String)]) -> io::Result<()> {
    // `create_dir_all` would accept a folder that exists.
    DirBuilder::new().create(folder)?;
    for (path, text) in files {
        let path = folder.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::OpenOptions::new()
            .write(true)
            // Nothing is replaced or written through a symbolic link.
            .create_new(true)
            .open(&path)
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))?;
    }
    Ok(())
}

fn in_out(folder: &Path, error: &io::Error) -> Diagnostic {
    let shown = folder.display().to_string();
    let problem = match error.kind() {
        io::ErrorKind::AlreadyExists => Diagnostic::new("this folder exists, and nothing in it is replaced")
            .help("choose another folder with --out"),
        _ => Diagnostic::new(format!("the folder cannot be made: {error}"))
            .help("choose a new folder with --out, in one that exists and can be written"),
    };
    problem.in_argument("--out", &shown)
}

/// Returns what was made, and what to do next.
fn told(name: &str, folder: &Path, crates: &Crates) -> String {
    let shown = printable::line(&folder.display().to_string()).into_owned();
    let from = match crates {
        Crates::Published => format!("goodqueue {} from crates.io", env!("CARGO_PKG_VERSION")),
        Crates::Checkout(path) => format!("goodqueue in {path}"),
    };
    format!(
        "{shown} has a program with the discipline `{name}`, which uses {from}.\n\n\
         The algorithm is in src/{name}.rs. What to run:\n  \
         cd {}\n  \
         cargo test\n  \
         cargo run --release -- compare --qdisc {name} --qdisc codel --qdisc fq_codel\n  \
         cargo run --release -- compare --qdisc {name} --explain drop\n",
        typed::quoted(&shown)
    )
}

/// Longest name: names stand in tables.
const LONGEST: usize = 20;
/// Words of Rust, of cargo's folders, of tc, of this command, and names that the program uses.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "aqm",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "class",
    "command",
    "compared",
    "config_error",
    "configure",
    "const",
    "continue",
    "core",
    "crate",
    "datagram",
    "deps",
    "dev",
    "diagnostic",
    "disciplines",
    "do",
    "document",
    "drop",
    "duration",
    "dyn",
    "else",
    "enum",
    "examples",
    "exit_code",
    "extern",
    "false",
    "filter",
    "final",
    "fn",
    "for",
    "gen",
    "handle",
    "if",
    "impl",
    "in",
    "incremental",
    "instant",
    "kind",
    "let",
    "lib",
    "link",
    "loop",
    "macro",
    "main",
    "match",
    "mod",
    "move",
    "mut",
    "none",
    "option",
    "output",
    "override",
    "overrides",
    "parameter",
    "parent",
    "path",
    "priv",
    "proc_macro",
    "pub",
    "qdisc",
    "random",
    "ref",
    "result",
    "return",
    "root",
    "scenario",
    "seen",
    "self",
    "settings",
    "source",
    "state",
    "static",
    "std",
    "string",
    "struct",
    "sudo",
    "super",
    "tc",
    "test",
    "tests",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unit",
    "unix_stream",
    "unsafe",
    "unsized",
    "use",
    "value",
    "variant",
    "vec",
    "verdict",
    "virtual",
    "where",
    "while",
    "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-discipline")
    }

    #[test]
    fn the_files_are_those_of_the_example() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("new-aqm");
        for (path, text) in FILES {
            let of_example = fs::read_to_string(example().join(path)).unwrap();
            if std::env::var_os("UPDATE").is_some() {
                let name = if *path == MANIFEST { "Cargo.toml.in" } else { path };
                fs::write(here.join(name), of_example).unwrap();
            } else {
                assert_eq!(*text, of_example, "{path} differs from the example: run this test with UPDATE=1");
            }
        }
        for folder in ["src", "tests"] {
            for entry in fs::read_dir(example().join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let path = format!("{folder}/{name}");
                assert!(FILES.iter().any(|file| file.0 == path), "{path} of the example is missing");
            }
        }
    }

    #[test]
    fn another_name_stands_at_every_place() {
        let made = files("tramp", &Crates::Published);
        let of = |path: &str| &made.iter().find(|file| file.0 == path).unwrap().1;
        assert!(of("src/tramp.rs").contains("Kind::new(\"tramp\", "));
        assert!(of("src/main.rs").contains("use tramp::Tramp;"));
        let manifest: toml::Table = of("Cargo.toml").parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some("tramp"));
        for (path, text) in &made {
            let others = text.replace("tramp", "").replace("Tramp", "");
            let is_left = |old: &str| others.to_lowercase().contains(old);
            assert!(
                !["ramp", "own-discipline", "own_discipline"].into_iter().any(is_left),
                "{path}: {others}"
            );
        }
        assert_eq!(type_name("my_own_aqm2"), "MyOwnAqm2");
    }

    #[test]
    fn the_example_is_made_by_its_own_names() {
        let checkout = Crates::Checkout("../..".to_owned());
        let made = files("ramp", &checkout);
        // Only the package of the example has a name of its own.
        let manifest = made[0].1.replace("name = \"ramp\"", "name = \"own-discipline\"");
        assert_eq!(manifest, FILES[0].1);
        let algorithm = made.iter().find(|file| file.0 == "src/ramp.rs").unwrap();
        assert_eq!(algorithm.1, fs::read_to_string(example().join("src/ramp.rs")).unwrap());
    }

    #[test]
    fn names_that_something_else_has_are_refused() {
        let refused = |name: &str| check_name(name, &Disciplines::new()).unwrap_err().to_string();
        for name in
            ["", "My", "1st", "a-b", "a__b", "_a", "a_", "a_1", "a/b", "../a", "ä", "a_name_that_is_too_long"]
        {
            assert!(refused(name).contains("cannot be the name"), "{name}");
        }
        for name in ["codel", "fq_codel", "fq_nocodel"] {
            assert!(refused(name).contains("a discipline is called"), "{name}");
        }
        for name in ["match", "test", "tc", "link", "state", "goodqueue_tc"] {
            assert!(refused(name).contains("has a meaning"), "{name}");
        }
        for name in ["my_aqm", "a", "pi2", "codel2"] {
            assert_eq!(check_name(name, &Disciplines::new()), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_path_with_a_quote_stays_one_value() {
        let manifest = manifest(FILES[0].1, &Crates::Checkout("/a \"b\"\\c".to_owned()));
        let manifest: toml::Table = manifest.parse().unwrap();
        let path = manifest["dependencies"]["goodqueue"]["path"].as_str();
        assert_eq!(path, Some("/a \"b\"\\c/crates/goodqueue"));
    }

    #[test]
    fn published_crates_keep_the_options_of_the_example() {
        let manifest: toml::Table = manifest(FILES[0].1, &Crates::Published).parse().unwrap();
        let command = &manifest["dependencies"]["goodqueue-cli"];
        assert_eq!(command["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
        assert_eq!(command["default-features"].as_bool(), Some(false));
    }
}
