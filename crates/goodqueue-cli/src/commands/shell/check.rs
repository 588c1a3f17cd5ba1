//! `goodqueue shell --check`: a check of this machine for everything that real packets need.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue_live::requirements::{self, Finding, Purpose, State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::{Ending, Outcome};
use crate::live::diagnostic;
use crate::output::{self, Outputs};

/// One thing that real packets need or can use.
#[derive(Serialize, JsonSchema, Debug)]
pub(crate) struct Requirement {
    /// Command that needs it: `shell` (and `compare --live`), `shell --nat` or `shape`.
    command: &'static str,
    /// Name of the thing.
    name: &'static str,
    /// `present`, `limited` (the command works without it) or `missing`.
    state: &'static str,
    /// Finding in words.
    found: String,
    /// Advice, or the difference that its absence makes; `null` if it is present.
    advice: Option<String>,
}

/// Prints the findings. Code 1: `shell` does not work here, or `shell --nat` if that is asked for.
pub(super) fn main(json: Option<&Path>, nat: bool) -> Outcome {
    if let Some(json) = json {
        Outputs::default().add("--json", json)?;
    }
    let findings = requirements::findings().map_err(diagnostic)?;
    match json {
        Some(json) => output::write_json("--json", json, &as_json(&findings))?,
        None => output::print(&text(&findings))?,
    }
    let is_asked =
        |finding: &&Finding| finding.purpose == Purpose::Shell || nat && finding.purpose == Purpose::Nat;
    let lacks = findings.iter().filter(is_asked).any(|finding| finding.state == State::Missing);
    Ok(if lacks { Ending::CheckFailed } else { Ending::Done })
}

fn as_json(findings: &[Finding]) -> Vec<Requirement> {
    let one = |finding: &Finding| Requirement {
        command: match finding.purpose {
            Purpose::Shell => "shell",
            Purpose::Nat => "shell --nat",
            Purpose::Shape => "shape",
        },
        name: finding.name,
        state: match finding.state {
            State::Present => "present",
            State::Limited => "limited",
            State::Missing => "missing",
        },
        found: finding.found.clone(),
        advice: finding.advice.clone(),
    };
    findings.iter().map(one).collect()
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let sections = [
        (Purpose::Shell, "goodqueue shell, goodqueue compare --live"),
        (Purpose::Nat, "goodqueue shell --nat, besides"),
        (Purpose::Shape, "goodqueue shape"),
    ];
    for (purpose, heading) in sections {
        let of_purpose = || findings.iter().filter(|finding| finding.purpose == purpose);
        let lacks = of_purpose().filter(|finding| finding.state == State::Missing).count();
        let verdict = match lacks {
            0 => "ready".to_owned(),
            1 => "1 thing is missing".to_owned(),
            many => format!("{many} things are missing"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading}: {verdict}");
        for finding in of_purpose() {
            let state = match finding.state {
                State::Present => "ok",
                State::Limited => "limited",
                State::Missing => "MISSING",
            };
            let _ = writeln!(text, "  {state:7}  {:width$}  {}", finding.name, finding.found);
            if let Some(advice) = &finding.advice {
                let _ = writeln!(text, "           {:width$}  {advice}", "");
            }
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_stands_out_with_its_advice() {
        let finding = |purpose, name, state, advice: Option<&str>| Finding {
            purpose,
            name,
            state,
            found: "found".to_owned(),
            advice: advice.map(str::to_owned),
        };
        let findings = [
            finding(Purpose::Shell, "TUN devices", State::Missing, Some("run `modprobe tun`")),
            finding(Purpose::Shell, "IPv6", State::Present, None),
            finding(Purpose::Nat, "nftables", State::Limited, Some("do without")),
        ];
        insta::assert_snapshot!(text(&findings), @r"
        goodqueue shell, goodqueue compare --live: 1 thing is missing
          MISSING  TUN devices  found
                                run `modprobe tun`
          ok       IPv6         found

        goodqueue shell --nat, besides: ready
          limited  nftables     found
                                do without

        goodqueue shape: ready
        ");
    }
}
