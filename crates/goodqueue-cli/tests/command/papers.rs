//! Claims of papers, and those of RFC 7928.

use serde_json::Value;

use crate::{folder, goodqueue, refusal, refusal_in, stdout};

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
    let args = ["reproduce", "--papers", "papers", "--qdisc", given, "--qdisc", "pie", "--json", "out.json"];
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
    let output = goodqueue(folder.path(), &["reproduce", "--papers", "papers", "--report", "own.html"]);
    assert!(stdout(&output).contains("own: 1 of 1 claims reproduced"));
    let page = std::fs::read_to_string(folder.path().join("own.html")).expect("a report");
    assert!(page.contains("<svg") && page.contains("own-1") && !page.contains("<script"));
    std::fs::write(own.join("claims.toml"), claims.replace("goodput.down", "goodput")).expect("written");
    assert!(refusal_in(folder.path(), &["reproduce", "--papers", "papers"]).contains("own-1"));
}
