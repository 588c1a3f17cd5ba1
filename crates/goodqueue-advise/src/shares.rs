//! The rates of the shapers to try.

/// The rates of the shapers to try, in thousandths of the rate of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shares {
    /// Each direction has a rate of its own: first that towards the Internet is found, then that
    /// towards the home.
    Apart(&'static [u64]),
    /// Both directions share a medium, and have the same share of it.
    Together(&'static [u64]),
}

impl Shares {
    /// For a line whose rate is known and constant.
    pub(crate) const STEADY: Self = Self::Apart(&[1000, 980, 950, 920, 900, 850]);
    /// For a line whose rate changes.
    pub(crate) const VARYING: Self = Self::Apart(&[950, 900, 800, 700, 600, 500]);

    /// Returns the shares of a round of the search, towards the home and the Internet. `best`:
    /// those of the round before. After the last round there are none.
    pub(crate) fn round(self, number: usize, best: Option<[u64; 2]>) -> Vec<[u64; 2]> {
        match (self, number, best) {
            (Self::Apart(shares), 0, _) => {
                let careful = shares.last().copied().unwrap_or(1000);
                shares.iter().map(|up| [careful, *up]).collect()
            }
            (Self::Apart(shares), 1, Some([_, up])) => shares.iter().map(|down| [*down, up]).collect(),
            (Self::Together(shares), 0, _) => shares.iter().map(|share| [*share, *share]).collect(),
            _ => Vec::new(),
        }
    }
}
