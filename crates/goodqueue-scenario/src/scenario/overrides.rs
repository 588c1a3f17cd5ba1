//! The options of the command line that change a scenario.

use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde::{Deserialize, Serialize};

use super::document::{BOTH, Document};

/// The options of `compare` and `run` that stand for keys of the scenario, as text as given. With
/// the feature `clap` they are arguments of a command, whose help is the documentation of the
/// fields.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Overrides {
    /// Discipline in tc's grammar, such as 'fq_codel target 13ms'; repeat for several [default:
    /// a modem's buffer (bfifo limit 256kb), red
    /// adaptive, pie, codel, sfq, fq_codel, cake].
    #[cfg_attr(feature = "clap", arg(long = "qdisc", value_name = "TC"))]
    pub qdiscs: Vec<String>,
    /// Discipline from the client, if it is not that of --qdisc; once for all, or once for each
    /// --qdisc. In tables, both are one name, DOWN / UP, which --qdisc takes as well.
    #[cfg_attr(feature = "clap", arg(long = "qdisc-up", value_name = "TC"))]
    pub qdiscs_up: Vec<String>,
    /// Rate towards the client, such as 50mbit [default: 10mbit].
    // `line.down` in a scenario with `[line]`, otherwise `link.down`.
    #[cfg_attr(feature = "clap", arg(long, alias = "down", value_name = "RATE", allow_hyphen_values = true, value_parser = signed))]
    pub rate: Option<String>,
    /// Rate from the client, such as 10mbit [default: 1mbit, or the value of --rate].
    // `line.up` in a scenario with `[line]`, otherwise `link.up`.
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = signed))]
    pub up: Option<String>,
    /// Round-trip time without queueing, such as 20ms [default: 50ms].
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = signed))]
    pub rtt: Option<String>,
    /// Number of TCP flows in each direction [default: 4].
    // They and a ping replace the traffic.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", allow_hyphen_values = true, value_parser = signed))]
    pub flows: Option<String>,
    /// Duration of each run [default: 60s, or 20s with --live or --both].
    #[cfg_attr(feature = "clap", arg(long, alias = "duration", value_name = "TIME", allow_hyphen_values = true, value_parser = signed))]
    pub time: Option<String>,
    /// Seed of the first run [default: 1].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", allow_hyphen_values = true, value_parser = signed))]
    pub seed: Option<String>,
    /// Number of repetitions, with consecutive seeds [default: 1].
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", allow_hyphen_values = true, value_parser = signed))]
    pub seeds: Option<String>,
    /// Mahimahi trace to use as the link towards the client.
    // Relative to the working directory, as the next one.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub trace_down: Option<String>,
    /// Mahimahi trace to use as the link from the client.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub trace_up: Option<String>,
    /// Set a key of the scenario, as in `--set tcp.ecn=true`; repeat for several. `goodqueue
    /// explain scenario` lists all keys.
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=VALUE"))]
    pub set: Vec<String>,
    /// Options that the command itself obeys, with the key of the scenario that each is for:
    /// `--set` may not set it, too.
    #[serde(skip)]
    #[cfg_attr(feature = "clap", arg(skip))]
    pub beside: Vec<(&'static str, &'static str)>,
}

/// Accepts values that begin with a minus, so that the parsers of rates and times can explain what
/// is wrong with them. Refuses an option name, which means that the value was forgotten.
///
/// # Errors
/// The text is the name of an option.
#[cfg(feature = "clap")]
pub fn signed(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        return Err(format!("its value is missing: `{text}` is the next option"));
    }
    Ok(text.to_owned())
}

impl Document {
    /// Applies the options of the command line. A key that they set is no longer swept.
    ///
    /// # Errors
    /// Two options for the same key, or as [`Document::assign`].
    pub fn apply(&mut self, overrides: &Overrides) -> Result<(), Diagnostic> {
        let links = if self.node("line").is_some() { "line" } else { "link" };
        overrides.check(links)?;
        if overrides.qdiscs.is_empty()
            && let Some(up) = overrides.qdiscs_up.first()
        {
            return Err(Diagnostic::new("`--qdisc-up` needs a discipline for the other direction")
                .help(format!("add `--qdisc TC`, or give `{up}` for both directions with `--qdisc`")));
        }
        for (argument, key, value) in overrides.words(links) {
            if let Some(value) = value {
                self.set(argument, &key, value)?;
            }
        }
        if links == "line"
            && let Some(path) = overrides.trace_down.as_ref().or(overrides.trace_up.as_ref())
        {
            let message =
                Diagnostic::new(format!("this scenario takes no trace, such as `{}`", shortened(path)));
            return Err(message.help("its links have shares of the rates in [line]: give rates"));
        }
        if let Some(path) = &overrides.trace_down {
            self.put_trace("--trace-down", "link.down", path)?;
        }
        if let Some(path) = &overrides.trace_up {
            self.put_trace("--trace-up", "link.up", path)?;
        }
        if !overrides.qdiscs.is_empty() {
            self.put_list("--qdisc", "qdiscs", &overrides.lines()?)?;
        }
        overrides.set.iter().try_for_each(|assignment| self.assign("--set", assignment))
    }
}

impl Overrides {
    /// The options that set a key to one word.
    /// `links`: the table with the rates.
    fn words(&self, links: &str) -> [(&'static str, String, Option<&String>); 7] {
        [
            ("--rate", format!("{links}.down"), self.rate.as_ref()),
            ("--up", format!("{links}.up"), self.up.as_ref()),
            ("--rtt", "link.rtt".to_owned(), self.rtt.as_ref()),
            ("--flows", "flows".to_owned(), self.flows.as_ref()),
            ("--time", "duration".to_owned(), self.time.as_ref()),
            ("--seed", "seed".to_owned(), self.seed.as_ref()),
            ("--seeds", "seeds".to_owned(), self.seeds.as_ref()),
        ]
    }

    /// The lines of `--qdisc`, each with its line of `--qdisc-up`.
    fn lines(&self) -> Result<Vec<String>, Diagnostic> {
        let down = &self.qdiscs;
        let up = &self.qdiscs_up;
        let pair = |(down, up): (&String, &String)| format!("{}{BOTH}{}", down.trim(), up.trim());
        match (down.len(), up.as_slice()) {
            (_, []) => Ok(down.clone()),
            (_, [one]) => Ok(down.iter().map(|down| pair((down, one))).collect()),
            (count, up) if up.len() == count => Ok(down.iter().zip(up).map(pair).collect()),
            (count, up) => Err(Diagnostic::new(format!(
                "`--qdisc-up` was given {} times and `--qdisc` {count} times",
                up.len()
            ))
            .allowed("one `--qdisc-up` for each `--qdisc`, in the same order, or one for all")),
        }
    }

    /// Refuses two options for the same key: one of them would have no effect.
    fn check(&self, links: &str) -> Result<(), Diagnostic> {
        for (rate, trace, names) in [
            (&self.rate, &self.trace_down, "--rate and --trace-down"),
            (&self.up, &self.trace_up, "--up and --trace-up"),
        ] {
            if rate.is_some() && trace.is_some() {
                return Err(Diagnostic::new(format!(
                    "{names} exclude each other: a trace is the rate of the link"
                ))
                .help("leave one of the two out"));
            }
        }
        let words = self.words(links);
        let given = words.iter().filter(|option| option.2.is_some());
        let mut taken: Vec<(&str, String)> =
            given.map(|(option, key, _)| (key.as_str(), (*option).to_owned())).collect();
        for (key, option, is_given) in [
            ("link.down.trace", "--trace-down", self.trace_down.is_some()),
            ("link.up.trace", "--trace-up", self.trace_up.is_some()),
            ("qdiscs", "--qdisc", !self.qdiscs.is_empty()),
        ] {
            taken.extend(is_given.then(|| (key, option.to_owned())));
        }
        taken.extend(self.beside.iter().map(|(option, key)| (*key, (*option).to_owned())));
        // An option takes a whole key. After `--set link={...}` another one may still set
        // `link.up`.
        let options = taken.len();
        for assignment in &self.set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            let earlier = taken.iter().enumerate().find(|(number, (taken, _))| {
                is_at_or_below(taken, key) || (*number < options && is_at_or_below(key, taken))
            });
            if let Some((_, (_, option))) = earlier {
                let message = format!("`--set {}` and `{option}` set the same key", shortened(assignment));
                return Err(Diagnostic::new(message).help("leave one of the two out"));
            }
            taken.push((key, format!("--set {}", shortened(assignment))));
        }
        Ok(())
    }
}

/// Returns whether the dotted `key` is `other` or a part of it.
fn is_at_or_below(key: &str, other: &str) -> bool {
    key.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Names;

    fn given(set: &[&str], option: impl FnOnce(&mut Overrides)) -> Overrides {
        let set = set.iter().map(|&set| set.to_owned()).collect();
        let mut overrides = Overrides { set, ..Overrides::default() };
        option(&mut overrides);
        overrides
    }

    #[test]
    fn two_options_for_the_same_key_are_refused_by_name() {
        let word = || Some("1".to_owned());
        let contradictions = [
            (given(&["link.down=5mbit"], |given| given.rate = word()), "--rate"),
            (given(&["link.down.rate=5mbit"], |given| given.rate = word()), "--rate"),
            (given(&["link={}"], |given| given.up = word()), "--up"),
            (given(&["link.rtt = 1ms"], |given| given.rtt = word()), "--rtt"),
            (given(&["flows=2"], |given| given.flows = word()), "--flows"),
            (given(&["flows.0.count=2"], |given| given.flows = word()), "--flows"),
            (given(&["duration=2s"], |given| given.time = word()), "--time"),
            (given(&["seed=2"], |given| given.seed = word()), "--seed"),
            (given(&["seeds=2"], |given| given.seeds = word()), "--seeds"),
            (given(&["qdiscs=pie"], |given| given.qdiscs = vec!["codel".to_owned()]), "--qdisc"),
            (given(&["qdiscs.0=pie"], |given| given.qdiscs = vec!["codel".to_owned()]), "--qdisc"),
            (given(&["link.down.trace=x"], |given| given.trace_down = word()), "--trace-down"),
            (given(&["link.up=1mbit"], |given| given.trace_up = word()), "--trace-up"),
            (
                given(&["output.json=x.json"], |given| given.beside = vec![("--json", "output.json")]),
                "--json",
            ),
            (given(&["output={}"], |given| given.beside = vec![("--series", "output.series")]), "--series"),
            (given(&["seed=2", "seed=3"], |_| ()), "--set seed=2"),
            (given(&["link.up=1mbit", "link={}"], |_| ()), "--set link.up=1mbit"),
        ];
        for (overrides, option) in contradictions {
            let refused = Document::default().apply(&overrides).unwrap_err().to_string();
            assert!(refused.contains(&format!("and `{option}` set the same key")), "{refused}");
        }
    }

    #[test]
    fn options_for_different_keys_add_up() {
        let mut document = Document::default();
        let all = given(
            &["link={rtt=\"9ms\"}", "link.up=1mbit", "seeds=2", "flows=[{count=1}]", "flows.0.count=3"],
            |given| given.seed = Some("7".to_owned()),
        );
        document.apply(&all).unwrap();
        let scenario = document.resolve(&Names::default()).unwrap();
        assert_eq!((scenario.seed, scenario.seeds, scenario.flows[0].count), (7, 2, 3));
        let driver = given(&["link.down.driver=bql"], |given| given.trace_down = Some("x".to_owned()));
        Document::default().apply(&driver).unwrap();
    }
}
