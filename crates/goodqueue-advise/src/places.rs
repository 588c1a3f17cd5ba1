//! The places of the bottleneck, one file each.

mod access_point;
mod modem;

pub(crate) use access_point::AccessPoint;
pub(crate) use modem::Modem;
