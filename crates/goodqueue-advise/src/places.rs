//! The places of the bottleneck, one file each. A new one is added to
//! [`Bottleneck`] and [`place`].

mod access_point;
mod modem;

use access_point::AccessPoint;
use modem::Modem;

use crate::bottleneck::Bottleneck;
use crate::place::Place;

/// Returns the place of this bottleneck.
pub(crate) fn place(bottleneck: Bottleneck) -> Box<dyn Place> {
    match bottleneck {
        Bottleneck::Modem => Box::new(Modem),
        Bottleneck::AccessPoint { mac } => Box::new(AccessPoint { mac }),
    }
}
