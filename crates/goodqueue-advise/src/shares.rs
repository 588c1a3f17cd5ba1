//! The rates of the shapers to try.

/// The rates of the shapers to try, in thousandths of the rate of the modelled line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shares {
    /// Each direction has a rate of its own. All pairs are tried: how much the shaper of one
    /// direction has to leave free depends on the other one, because acknowledgements share its
    /// queue.
    Apart {
        /// Towards the home: the shaper is behind the bottleneck, and has to leave room for bursts.
        down: &'static [u64],
        /// Towards the Internet: the shaper is in front of the bottleneck.
        up: &'static [u64],
    },
    /// Both directions share a medium, and have the same share of it.
    Together(&'static [u64]),
}

impl Shares {
    /// For a line whose rate is known and constant.
    pub(crate) const STEADY: Self = Self::Apart { down: &[950, 980, 900, 850], up: &[950, 980] };
    /// For such a line without cells or a medium that others share.
    pub(crate) const FIBRE: Self = Self::Apart { down: &[950, 980], up: &[950, 980] };
    /// For a line whose rate changes.
    pub(crate) const VARYING: Self = Self::Apart { down: &[800, 950, 650, 500], up: &[800, 950, 650, 500] };

    /// Returns all pairs of shares, towards the home and the Internet. The first is the best guess
    /// before anything is simulated.
    pub(crate) fn pairs(self) -> Vec<[u64; 2]> {
        match self {
            Self::Apart { down, up } => {
                down.iter().flat_map(|down| up.iter().map(move |up| [*down, *up])).collect()
            }
            Self::Together(shares) => shares.iter().map(|share| [*share, *share]).collect(),
        }
    }
}
