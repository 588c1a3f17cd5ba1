//! The page of the book about the claims that depend on how a station gets the air, and its
//! measurements.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

const PAGE: &str = "docs/wifi-claims.md";
const KEPT: &str = "docs/measured/wifi-claims.json";
const REMEDY: &str =
    "not measured with this code: UPDATE=measure cargo test --release -p goodqueue-cli --test wifi_claims";

/// The claims about WiFi whose experiments fetch no pages: a page has the same air, and would take
/// most of the time.
const CLAIMS: &[&str] = &[
    "gbw-wifi-fig9",
    "gbw-wifi-fig10a",
    "gbw-wifi-fig10a-axis",
    "gbw-wifi-fig10b",
    "gbw-wifi-transient",
    "gbw-table3",
    "gbw-wifi-table3",
];

/// What the paper does not give, and values that its devices could have had. The first of each is
/// that of the paper's page.
const FACTORS: &[Factor] = &[
    Factor { name: "width", values: &[("40 MHz", &["wifi.width=40"]), ("20 MHz", &["wifi.width=20"])] },
    Factor {
        name: "rates",
        values: &[
            ("highest", &["wifi.mcs=15", "wifi.mcs_up=7"]),
            ("middle", &["wifi.mcs=11", "wifi.mcs_up=3"]),
            ("lowest", &["wifi.mcs=8", "wifi.mcs_up=0"]),
        ],
    },
    Factor {
        name: "attempts of the client",
        values: &[("2", &["wifi.attempts_up=2"]), ("16", &["wifi.attempts_up=16"])],
    },
    Factor {
        name: "frames of the client in an aggregate",
        values: &[
            ("1", &["wifi.aggregate_up=1"]),
            ("2", &["wifi.aggregate_up=2"]),
            ("32", &["wifi.aggregate_up=32"]),
        ],
    },
];

/// Seeds of each experiment. The sweep asks where a claim holds, not for its exact value.
const SEEDS: u64 = 3;

struct Factor {
    name: &'static str,
    /// Names of values, and the settings that make them.
    values: &'static [(&'static str, &'static [&'static str])],
}

/// The verdicts with one combination of values.
#[derive(Serialize, Deserialize)]
struct Measured {
    /// The name of the value of each of [`FACTORS`].
    air: Vec<String>,
    /// By claim: what became of it, and the value if it is a number.
    claims: BTreeMap<String, Found>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Found {
    verdict: String,
    got: Option<f64>,
}

impl Found {
    fn holds(&self) -> bool {
        matches!(&*self.verdict, "reproduced" | "consistent")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every combination of values: for each factor, the index of its value.
fn combinations() -> Vec<Vec<usize>> {
    FACTORS.iter().fold(vec![Vec::new()], |begun, factor| {
        let longer = |begun: &Vec<usize>| {
            let begun = begun.clone();
            (0..factor.values.len()).map(move |value| [&begun[..], &[value]].concat())
        };
        begun.iter().flat_map(longer).collect()
    })
}

/// Judges these claims with this combination of values.
fn measure(combination: &[usize], claims: &[&str]) -> Measured {
    let folder = tempfile::tempdir().expect("a folder");
    let chosen = FACTORS.iter().zip(combination).map(|(factor, &value)| &factor.values[value]);
    let settings = chosen.clone().flat_map(|value| value.1).map(|setting| (*setting).to_owned());
    let settings: Vec<String> = settings
        .chain([format!("seeds={SEEDS}")])
        .flat_map(|setting| ["--set".to_owned(), setting])
        .collect();
    let out = Command::new(env!("CARGO_BIN_EXE_goodqueue"))
        .current_dir(&folder)
        .arg("reproduce")
        .args(claims)
        .args(&settings)
        .args(["--json", "-"])
        .output()
        .expect("it runs");
    let results: Value = serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out.stderr)));
    let of_claim = |claim: &Value| {
        let text = |key: &str| claim[key].as_str().expect("text").to_owned();
        (text("id"), Found { verdict: text("verdict"), got: claim["got"].as_f64() })
    };
    Measured {
        air: chosen.map(|value| value.0.to_owned()).collect(),
        claims: results["claims"].as_array().expect("claims").iter().map(of_claim).collect(),
    }
}

/// `UPDATE=1 cargo test -p goodqueue-cli --test wifi_claims` writes the page; `UPDATE=measure` with
/// `--release` makes all runs again before, which takes half an hour.
#[test]
fn the_page_about_the_air_shows_which_claims_hold_where() {
    let update = std::env::var("UPDATE").unwrap_or_default();
    if update == "measure" {
        let all: Vec<String> = combinations()
            .iter()
            .map(|combination| serde_json::to_string(&measure(combination, CLAIMS)).expect("JSON"))
            .collect();
        std::fs::write(root().join(KEPT), format!("[\n{}\n]\n", all.join(",\n"))).expect("written");
    }
    let kept = std::fs::read(root().join(KEPT)).expect("the measurements");
    let all: Vec<Measured> = serde_json::from_slice(&kept).expect("JSON");
    let fresh = text(&all);
    if !update.is_empty() {
        std::fs::write(root().join(PAGE), &fresh).expect("written");
    }
    let written = std::fs::read_to_string(root().join(PAGE)).expect("the page");
    assert!(written == fresh, "{PAGE} is stale: UPDATE=1 cargo test -p goodqueue-cli --test wifi_claims");
    // One claim on the slowest air, whose runs have the fewest packets, stands for all.
    let slowest: Vec<usize> = FACTORS.iter().map(|factor| factor.values.len() - 1).collect();
    let claim = "gbw-table3-1s-sfq";
    let again = measure(&slowest, &[claim]);
    let before = all.iter().find(|measured| measured.air == again.air).expect("measured");
    assert_eq!(again.claims[claim], before.claims[claim], "{REMEDY}");
}

/// In how many of these combinations a claim holds.
fn count<'m>(claim: &str, among: impl Iterator<Item = &'m Measured>) -> usize {
    among.filter(|measured| measured.claims[claim].holds()).count()
}

/// How many claims hold in a combination.
fn held(measured: &Measured) -> usize {
    measured.claims.values().filter(|found| found.holds()).count()
}

fn text(all: &[Measured]) -> String {
    let own: Vec<&str> = FACTORS.iter().map(|factor| factor.values[0].0).collect();
    let ours = all.iter().find(|measured| measured.air == own).expect("measured");
    let claims = || ours.claims.keys();
    let most = all.iter().map(held).max().expect("measured");
    let nowhere: Vec<String> =
        claims().filter(|claim| count(claim, all.iter()) == 0).map(|claim| format!("`{claim}`")).collect();
    let mut page = format!(
        "# Which claims about WiFi hold in which air\n\n\
         [The good, the bad and the WiFi](../crates/goodqueue-papers/papers/gbw/README.md) does not say how wide the \
         channel of its experiments was, at which rates its devices sent, and how often they tried. This page shows \
         for {} combinations which of {} claims hold. An experiment has {SEEDS} runs here, fewer than on the paper's \
         page, and some verdicts there differ for this reason. A claim holds if it is reproduced, or consistent with \
         the paper's few repetitions.\n\n\
         * No combination has more than {most} of the claims. That of the paper's page has {}.\n\
         * These hold in no combination: {}.\n\
         * We chose the attempts and the errors of the client by table 3, so the claims of its column for one stream \
         do not speak for them.\n\n\
         The page chooses no values. `goodqueue reproduce gbw-wifi gbw-table3 --set wifi.width=20` judges the claims \
         in another air.\n\n\
         ## By claim\n\n\
         The last columns count the combinations with each value.\n\n",
        all.len(),
        ours.claims.len(),
        held(ours),
        nowhere.join(", "),
    );
    let names = FACTORS.iter().map(|factor| {
        let values: Vec<&str> = factor.values.iter().map(|value| value.0).collect();
        format!("{}: {}, of {}", factor.name, values.join("/"), all.len() / values.len())
    });
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "| claim | our values | of {} | {} |",
        all.len(),
        names.collect::<Vec<_>>().join(" | ")
    );
    let _ = writeln!(page, "|---|---|---|{}", "---|".repeat(FACTORS.len()));
    for claim in claims() {
        let by_value = FACTORS.iter().enumerate().map(|(factor, Factor { values, .. })| {
            let counts = values.iter().map(|value| {
                count(claim, all.iter().filter(|measured| measured.air[factor] == value.0)).to_string()
            });
            counts.collect::<Vec<_>>().join("/")
        });
        let cells: Vec<String> = by_value.collect();
        let here = if ours.claims[claim].holds() { "holds" } else { "does not" };
        let _ =
            writeln!(page, "| `{claim}` | {here} | {} | {} |", count(claim, all.iter()), cells.join(" | "));
    }
    let _ = write!(
        page,
        "\n## By combination\n\n| {} | claims that hold, of {} |\n|{}---|\n",
        FACTORS.iter().map(|factor| factor.name).collect::<Vec<_>>().join(" | "),
        ours.claims.len(),
        "---|".repeat(FACTORS.len())
    );
    for measured in all {
        let _ = writeln!(page, "| {} | {} |", measured.air.join(" | "), held(measured));
    }
    let _ = write!(page, "\nThe verdicts are in `{KEPT}`, with the value of each claim that is a number.\n");
    page
}
