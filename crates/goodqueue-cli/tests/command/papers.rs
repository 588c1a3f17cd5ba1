//! Claims of papers, and those of RFC 7928.

use serde_json::Value;

use crate::{folder, goodqueue, refusal, refusal_in, stdout};

#[test]
fn without_a_paper_the_papers_are_listed_with_their_time_and_nothing_runs() {
    let folder = folder();
    let output = goodqueue(folder.path(), &["reproduce", "--jobs", "4"]);
    let text = stdout(&output);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(text.lines().next().is_some_and(|heads| heads.contains("time on 4 processors")), "{text}");
    for paper in ["gbw", "gong", "jk", "l4s", "nj", "rfc7928", "--all"] {
        let row = text.lines().find(|line| line.starts_with(&format!("{paper} ")));
        assert!(row.is_some_and(|row| row.contains(" about ")), "{paper}: {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing has run");
    assert_eq!(
        stdout(&goodqueue(folder.path(), &["list", "papers", "--json", "-"])).matches("\"runs\":").count(),
        6
    );
}

#[test]
fn full_gives_more_repetitions_to_undecided_claims_alone_and_stops_when_they_are_decided() {
    let mine = Mine::new(3, 5);
    mine.claim_less_than(1.0);
    let (decided, said) = mine.reproduce(&["--full"]);
    assert_eq!((decided[1]["repetitions"].as_u64(), said.contains("undecided")), (Some(3), false), "{said}");
    // A limit that equals the mean of the first repetitions is always inside their interval.
    mine.claim_less_than(mean(&decided[1]));
    let (quick, _) = mine.reproduce(&[]);
    assert_eq!(quick[1]["verdict"], "undecided", "{quick}");
    let (full, said) = mine.reproduce(&["--full"]);
    assert!(said.starts_with("mine: 1 undecided claim, 5 runs\n"), "{said}");
    assert_eq!(full[0]["repetitions"], 3, "what is decided is not repeated");
    let repetitions = full[1]["repetitions"].as_u64().expect("repetitions");
    // The full number of repetitions, or twice as many.
    assert!([5, 10].contains(&repetitions), "{full}");
}

#[test]
fn full_does_not_repeat_what_even_the_most_repetitions_would_probably_not_decide() {
    let mine = Mine::new(5, 5);
    mine.claim_less_than(1.0);
    let (first, _) = mine.reproduce(&[]);
    let middle = mean(&first[1]);
    mine.claim_less_than(middle);
    let (on_the_limit, said) = mine.reproduce(&["--full"]);
    assert_eq!(on_the_limit[1]["repetitions"], 5, "{said}");
    assert!(said.contains("mine-close: more runs would probably not decide it\n"), "{said}");
    // Within the interval of five repetitions, and outside that of ten.
    let high = first[1]["checks"][0]["intervals"][0][1].as_f64().expect("an interval");
    mine.claim_less_than(middle + 0.8 * (high - middle));
    let (beside_it, said) = mine.reproduce(&["--full"]);
    assert!(beside_it[1]["repetitions"].as_u64() > Some(5), "{said}");
}

/// A folder with a paper of two claims.
struct Mine {
    folder: tempfile::TempDir,
    quick: u32,
    full: u32,
}

impl Mine {
    /// With these numbers of repetitions.
    fn new(quick: u32, full: u32) -> Self {
        let folder = folder();
        let paper = folder.path().join("papers/mine");
        std::fs::create_dir_all(&paper).expect("a folder");
        let scenario = "qdiscs = [\"codel\"]\nduration = \"2s\"\n[link]\ndown = \"5mbit\"\nup = \"5mbit\"\n\
                        [[flows]]\nkind = \"voip\"\nstart_jitter = \"100ms\"\n[[flows]]\nstart_jitter = \"100ms\"\n";
        std::fs::write(paper.join("x.toml"), scenario).expect("a scenario");
        Self { folder, quick, full }
    }

    /// Writes the claims that the delay is clearly low, and that it is less than `limit`.
    fn claim_less_than(&self, limit: f64) {
        let Self { quick, full, .. } = self;
        let delay = "mean(bottleneck.down.sojourn_s.mean)[codel@x]";
        let claims = format!(
            "name = \"mine\"\ntitle = \"Mine\"\nsource = \"Mine\"\n[[experiments]]\nname = \"x\"\nscenario = \"x.toml\"\n\
             quick = {{ seeds = {quick} }}\nfull = {{ seeds = {full} }}\n\
             [[claims]]\nid = \"mine-clear\"\nkind = \"own\"\nsays = \"clear\"\ncheck = \"{delay} < 10s\"\n\
             [[claims]]\nid = \"mine-close\"\nkind = \"own\"\nsays = \"close\"\ncheck = \"{delay} < {limit}\"\n"
        );
        std::fs::write(self.folder.path().join("papers/mine/claims.toml"), claims).expect("claims");
    }

    /// Returns the results of the claims, and what the command said.
    fn reproduce(&self, more: &[&str]) -> (Value, String) {
        let fixed = ["reproduce", "mine", "--papers", "papers", "--json", "-"];
        let output = goodqueue(self.folder.path(), &[&fixed, more].concat());
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (json["claims"].clone(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The mean delay that a claim of [`Mine`] was judged by.
fn mean(claim: &Value) -> f64 {
    claim["checks"][0]["values"][0].as_f64().expect("a delay")
}

#[test]
fn results_are_written_only_if_a_paper_is_named() {
    for option in [
        ["--json", "x.json"],
        ["--json", "-"],
        ["--report", "x.html"],
        ["--qdisc", "pie"],
        ["--set", "seeds=2"],
    ] {
        let said = refusal(&["reproduce", option[0], option[1]]);
        assert!(said.starts_with(&format!("error: `{}` needs a paper or a claim\n", option[0])), "{said}");
        assert!(said.contains("run every paper with --all"), "{said}");
    }
    assert!(refusal(&["reproduce", "jk", "--all"]).contains("cannot be used with"));
}

#[test]
fn a_claim_is_tried_with_another_setting_where_the_scenario_has_its_table() {
    let folder = folder();
    let claim = "jk-table2-codel-1+1";
    let output = goodqueue(
        folder.path(),
        &["reproduce", claim, "--set", "link.down=2mbit", "--set", "seeds=3", "--json", "-"],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("link.down=2mbit in 1 experiment: "), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["claims"][0]["repetitions"], 3, "{json}");
    let refused = refusal(&["reproduce", claim, "--set", "wifi.width=20"]);
    assert!(refused.contains("no experiment of these claims has the table `[wifi]`"), "{refused}");
}

#[test]
fn claims_are_listed_by_paper_a_line_each_and_one_of_them_as_a_whole() {
    let folder = folder();
    let list = |name: &str| stdout(&goodqueue(folder.path(), &["list", "claims", name]));
    let of_paper = list("jk");
    let claims: Vec<&str> = of_paper.lines().take_while(|line| !line.is_empty()).collect();
    assert!(claims.len() > 20 && claims.iter().all(|line| line.starts_with("jk-")), "{of_paper}");
    assert_eq!(
        list("jk-table2-codel").lines().filter(|line| line.starts_with("jk-table2-codel-")).count(),
        4
    );
    let one = list("jk-table2-codel-1+1");
    for part in [
        "jk-table2-codel-1+1\n",
        "  claim:    95th percentile",
        "  paper:    \"95th",
        "  check:    p95[CoDel@1+1] = 0.09s",
    ] {
        assert!(one.contains(part), "{part}: {one}");
    }
    let json = stdout(&goodqueue(folder.path(), &["list", "claims", "jk", "--json", "-"]));
    let json: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.len(), claims.len());
    assert!(refusal(&["list", "claims", "jkk"]).contains("did you mean `jk`?"));
    assert!(
        list_papers(folder.path()).contains("\njk-table2-codel-1+1 "),
        "a paper is shown with its claims"
    );
}

fn list_papers(folder: &std::path::Path) -> String {
    stdout(&goodqueue(folder, &["list", "papers", "jk"]))
}

#[test]
fn a_claim_of_a_paper_is_tried_with_the_runs_that_it_needs() {
    let folder = folder();
    let args = ["reproduce", "jk-table2-codel-1+1", "rfc7928-12", "--json", "claims.json"];
    let output = goodqueue(folder.path(), &args);
    let text = stdout(&output);
    assert!(text.contains("jk-table2-codel-1+1") && text.contains("reproduced"), "{text}");
    let json = std::fs::read_to_string(folder.path().join("claims.json")).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let claims = json["claims"].as_array().expect("claims");
    for claim in claims {
        for key in ["id", "paper", "kind", "expected", "got", "verdict"] {
            assert!(claim.get(key).is_some(), "{key} of {claim}");
        }
    }
    assert_eq!(claims[0]["expected"], 0.09);
    assert_eq!((&claims[1]["verdict"], &claims[1]["got"]), (&Value::from("not run"), &Value::Null));
    let runs =
        std::fs::read_dir(folder.path().join("goodqueue-results/runs")).expect("runs are kept").count();
    assert_eq!(runs, 400, "one cell of the table, and all of its replications");
    let again = goodqueue(folder.path(), &args);
    assert_eq!(stdout(&again), text);
}

#[test]
fn a_discipline_that_is_given_stands_the_guidelines_instead_of_those_listed() {
    let folder = folder();
    let own = folder.path().join("papers/own");
    std::fs::create_dir_all(&own).expect("made");
    let scenario = "duration = \"2s\"\nqdiscs = [\"pfifo\", \"codel\"]\nflows = 1\n";
    std::fs::write(own.join("load.toml"), scenario).expect("written");
    let claims = "name = \"own\"\ntitle = \"Own\"\nsource = \"none\"\naqm = [\"codel\"]\n\
        [[metrics]]\nname = \"goodput\"\nof = \"mean(goodput.down)\"\nunit = \"Mbit/s\"\nscale = 1e-6\n\
        [[experiments]]\nname = \"load\"\nscenario = \"load.toml\"\n\
        [[claims]]\nid = \"own-1\"\nkind = \"own\"\nsays = \"more\"\n\
        check = \"mean(goodput.down)[{aqm}@load] > mean(goodput.down)[pfifo@load] / 2\"\n";
    std::fs::write(own.join("claims.toml"), claims).expect("written");
    let given = "tbf rate 5mbit burst 5000 [fq_codel]";
    let args = [
        "reproduce",
        "--all",
        "--papers",
        "papers",
        "--qdisc",
        given,
        "--qdisc",
        "pie",
        "--json",
        "out.json",
    ];
    let text = stdout(&goodqueue(folder.path(), &args));
    assert!(text.contains("Mbit/s") && !text.contains(" codel "), "{text}");
    for label in ["pfifo", "pie", "tbf rate 5mbit burst 5000 (fq_codel)"] {
        assert!(text.contains(&format!(" load  {label} ")), "{label}: {text}");
    }
    assert!(refusal(&["reproduce", "jk", "--qdisc", "pie"]).contains("ask `rfc7928`"));
    assert!(refusal(&["reproduce", "rfc7928", "--qdisc", "piee"]).contains("did you mean"));
}

#[test]
fn papers_of_ones_own_are_reproduced_and_reported() {
    let folder = folder();
    let own = folder.path().join("papers/own");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(own.join("load.toml"), "duration = \"2s\"\nqdiscs = [\"codel\", \"pfifo\"]\nflows = 1\n")
        .expect("written");
    let claims = "name = \"own\"\ntitle = \"Own\"\nsource = \"none\"\n\
        [[experiments]]\nname = \"load\"\nscenario = \"load.toml\"\n\
        [[claims]]\nid = \"own-1\"\nkind = \"order\"\nsays = \"more\"\n\
        check = \"mean(goodput.down)[codel@load] > 1mbit\"\n\
        [[figures]]\nid = \"Fig. 1\"\ntitle = \"CDF\"\nform = \"cdf\"\ncells = [\"{codel,pfifo}@load\"]\n\
        of = [\"details.sojourn_s.down\"]\naxes = [\"s\", \"share\"]\n";
    std::fs::write(own.join("claims.toml"), claims).expect("written");
    let listed = stdout(&goodqueue(folder.path(), &["reproduce", "--papers", "papers"]));
    let row = listed.lines().find(|line| line.starts_with("own "));
    assert!(row.is_some_and(|row| row.contains(" unknown ")), "a paper without measured times: {listed}");
    let output =
        goodqueue(folder.path(), &["reproduce", "own", "--papers", "papers", "--report", "own.html"]);
    assert!(stdout(&output).contains("own: 1 of 1 claims reproduced"));
    let page = std::fs::read_to_string(folder.path().join("own.html")).expect("a report");
    assert!(page.contains("<svg") && page.contains("own-1") && !page.contains("<script"));
    std::fs::write(own.join("claims.toml"), claims.replace("goodput.down", "goodput")).expect("written");
    assert!(refusal_in(folder.path(), &["reproduce", "own", "--papers", "papers"]).contains("own-1"));
}
