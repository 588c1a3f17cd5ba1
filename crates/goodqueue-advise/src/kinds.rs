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

/// Returns the kind of this name. `dsl` is ADSL up to the highest rate of ADSL2+, and VDSL above.
///
/// # Errors
/// There is none.
pub fn kind(name: &str, down: Rate) -> Result<&'static LinkKind, Diagnostic> {
    if name == DSL {
        return Ok(if down <= adsl::FASTEST { &adsl::ADSL } else { &vdsl::VDSL });
    }
    KINDS.iter().find(|kind| kind.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = std::iter::once(DSL).chain(KINDS.iter().map(|kind| kind.name)).collect();
        Diagnostic::new(format!("there is no kind of line `{name}`"))
            .one_of(name, &names)
            .in_argument("--link", name)
    })
}

/// Any kind of DSL.
const DSL: &str = "dsl";
