//! The kinds of lines, one file each. A new one is added to [`KINDS`].

mod adsl;
mod cable;
mod fibre;
mod leo;
mod lte;
mod satellite;
mod vdsl;
mod wifi;
mod wifi_fq;

use goodqueue::Rate;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::kind::LinkKind;

/// All kinds of lines.
pub const KINDS: &[&LinkKind] = &[
    &adsl::ADSL,
    &vdsl::VDSL,
    &cable::CABLE,
    &fibre::FIBRE,
    &lte::LTE,
    &leo::LEO,
    &satellite::SATELLITE,
    &wifi::WIFI,
    &wifi_fq::WIFI_FQ,
];

/// Other names of kinds, each with the kind's own name.
pub const ALIASES: &[(&str, &str)] = &[
    ("docsis", "cable"),
    ("fiber", "fibre"),
    ("ftth", "fibre"),
    ("gpon", "fibre"),
    ("4g", "lte"),
    ("5g", "lte"),
    ("starlink", "leo"),
];

/// Returns the kind of this name, or of this alias, in upper or lower case. `dsl` is ADSL up to the
/// highest rate of ADSL2+, and VDSL above.
///
/// # Errors
/// There is none.
pub fn kind(name: &str, down: Rate) -> Result<&'static LinkKind, Diagnostic> {
    let asked = name.to_lowercase();
    if asked == DSL {
        return Ok(if down <= adsl::FASTEST { &adsl::ADSL } else { &vdsl::VDSL });
    }
    let own = ALIASES.iter().find(|(alias, _)| *alias == asked).map_or(&*asked, |(_, own)| own);
    KINDS.iter().find(|kind| kind.name == own).copied().ok_or_else(|| {
        let names: Vec<&str> = std::iter::once(DSL)
            .chain(KINDS.iter().map(|kind| kind.name))
            .chain(ALIASES.iter().map(|(alias, _)| *alias))
            .collect();
        Diagnostic::new(format!("there is no kind of line `{name}`"))
            .one_of(name, &names)
            .in_argument("--link", name)
    })
}

/// Any kind of DSL.
const DSL: &str = "dsl";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_may_call_their_line_what_its_bill_calls_it() {
        for (name, own) in [("Starlink", "leo"), ("docsis", "cable"), ("GPON", "fibre"), ("5g", "lte")] {
            assert_eq!(kind(name, Rate::from_bps(1)).unwrap().name, own);
        }
        let refused = kind("starlnk", Rate::from_bps(1)).unwrap_err().to_string();
        assert!(refused.contains("did you mean `starlink`?"), "{refused}");
    }

    #[test]
    fn each_alias_names_a_kind_and_is_no_kind_itself() {
        for (alias, own) in ALIASES {
            assert_eq!(kind(alias, Rate::from_bps(1)).unwrap().name, *own);
            assert!(KINDS.iter().all(|kind| kind.name != *alias), "{alias}");
        }
    }
}
