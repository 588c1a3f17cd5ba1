//! The random variables of PackMime-HTTP (Cao, Cleveland, Gao, Jeffay, Smith & Weigle, "Stochastic
//! models for generating synthetic HTTP source traffic", IEEE INFOCOM 2004). The parameters are
//! those of the released version, ns-2's.

use goodqueue::random::Xoshiro256PlusPlus;

use crate::traffic::distribution::{gamma, normal, unit};
use crate::traffic::farima::LongRange;

/// The random variables for one rate of connections.
#[derive(Clone, Debug)]
pub(super) struct Model {
    arrivals: LongRange,
    /// Distribution of the time between connections, in seconds.
    arrival: Weibull,
    requests: LongRange,
    responses: Runs,
    between_pages: LogTwoNormal,
    within_pages: LogTwoNormal,
}

/// The events on one connection.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Session {
    /// Size of each request in bytes.
    pub(super) request: u64,
    /// The requests and their answers, at least one.
    pub(super) exchanges: Vec<Exchange>,
}

/// A request and its answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Exchange {
    /// Time from the previous answer to this request, in seconds; 0 for the first.
    pub(super) gap: f64,
    /// Time that the server takes to answer, in seconds.
    pub(super) work: f64,
    /// Size of the answer in bytes.
    pub(super) response: u64,
}

impl Model {
    /// Creates the model for a mean of `rate` connections per second.
    pub(super) fn new(rate: f64, random: &mut Xoshiro256PlusPlus) -> Self {
        let log_rate = libm::log2(rate);
        let of_rate = |base: f64, slope: f64| logit2_inverse(base + slope * log_rate);
        let shape = of_rate(0.352, 0.388);
        let mean_of_unit_scale = libm::exp(libm::lgamma(1.0 + 1.0 / shape));
        Self {
            // ns-2 cuts the autoregressive form off after 1000 coefficients, and after 5000 for the
            // requests.
            arrivals: LongRange::new(0.33, 1000, of_rate(0.333, 0.414), random),
            arrival: Weibull { shape, scale: 1.0 / (rate * mean_of_unit_scale) },
            requests: LongRange::new(0.31, 5000, of_rate(0.123, 0.494), random),
            responses: Runs {
                lengths: [
                    Weibull { shape: of_rate(0.718, 0.357), scale: 0.775 },
                    Weibull { shape: of_rate(1.293, 0.316), scale: 3.11 },
                ],
                // The first draw ends this empty run, so a run of downloads is the first, as in
                // ns-2.
                is_download: false,
                left: 0,
            },
            // ns-2 draws these means and variances once in a simulation.
            between_pages: LogTwoNormal::new(3.22, 0.73, 1.85, 1.21, random),
            within_pages: LogTwoNormal::new(-4.15, 3.12, 2.35, 1.57, random),
        }
    }

    /// Draws the time from one connection to the next, in seconds.
    pub(super) fn time_to_next(&mut self, random: &mut Xoshiro256PlusPlus) -> f64 {
        // erfc gives the upper tail directly. It stays exact where 1 - Φ(y) would be rounded to 0.
        let above = 0.5 * libm::erfc(self.arrivals.draw(random) * core::f64::consts::FRAC_1_SQRT_2);
        self.arrival.quantile(above)
    }

    /// Draws a connection with one request (HTTP/1.0).
    pub(super) fn single(&mut self, random: &mut Xoshiro256PlusPlus) -> Session {
        let request = self.request(random);
        let response = self.responses.draw(random);
        Session { request, exchanges: vec![Exchange { gap: 0.0, work: server_delay(random), response }] }
    }

    /// Draws a connection that may carry several requests (HTTP/1.1).
    pub(super) fn persistent(&mut self, random: &mut Xoshiro256PlusPlus) -> Session {
        let mut session = self.single(random);
        if unit(random) >= PERSISTENT {
            return session;
        }
        let first = session.exchanges[0].response;
        // Drawn anew for each connection, unlike the gaps.
        let sizes = LogTwoNormal::new(10.62, 0.94, 3.22, 2.43, random);
        // ns-2 rounds the sum of the draw and 1 up. The draw alone is rounded here, which is the
        // same.
        let pages = if unit(random) < ONE_PAGE { 1 } else { PAGES.draw_whole(random) + 1 };
        for page in 0..pages {
            let has_one = pages > 1 && unit(random) < ONE_OBJECT;
            let objects = if has_one { 1 } else { OBJECTS.draw_whole(random) + 1 };
            for object in 0..objects {
                // No gap is before the first object.
                if page == 0 && object == 0 {
                    continue;
                }
                let gaps = if object == 0 { &self.between_pages } else { &self.within_pages };
                let gap = gaps.draw(random);
                // A client whose first answer was "not modified" gets the same answer to its later
                // requests.
                let response = if first > CACHE_VALIDATION { whole_bytes(sizes.draw(random)) } else { first };
                session.exchanges.push(Exchange { gap, work: server_delay(random), response });
            }
        }
        session
    }

    fn request(&mut self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let y = self.requests.draw(random) * core::f64::consts::FRAC_1_SQRT_2;
        // The lower and the upper half of the sizes have one table each. In each half the
        // probabilities run from 0 to 1.
        if y <= 0.0 {
            return whole_bytes(interpolate(REQUEST_LOWER, libm::erfc(-y)));
        }
        whole_bytes(libm::exp2(interpolate(REQUEST_UPPER, libm::log2(libm::erfc(y)))))
    }
}

/// Draws the time that a server takes to answer, in seconds.
fn server_delay(random: &mut Xoshiro256PlusPlus) -> f64 {
    // ns-2 bounds the speed below, so no answer takes longer than 0.1 s.
    1.0 / SERVER.draw(random).max(10.0)
}

/// The sizes of answers: runs of "not modified" alternate with runs of downloads.
#[derive(Clone, Debug)]
struct Runs {
    /// Lengths of the runs: of cache validations, of downloads.
    lengths: [Weibull; 2],
    /// True in a run of downloads.
    is_download: bool,
    /// Answers left in the present run.
    left: u64,
}

impl Runs {
    fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> u64 {
        if self.left == 0 {
            self.is_download = !self.is_download;
            self.left = self.lengths[usize::from(self.is_download)].draw_whole(random);
        }
        // Never below 0, because a run has at least one answer.
        self.left -= 1;
        let above = 1.0 - unit(random);
        whole_bytes(if self.is_download {
            libm::exp2(interpolate(DOWNLOAD, libm::log2(above)))
        } else {
            interpolate(VALIDATION, 1.0 - above)
        })
    }
}

/// A Weibull distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Weibull {
    shape: f64,
    scale: f64,
}

impl Weibull {
    /// Returns the value that is exceeded with probability `above`.
    fn quantile(self, above: f64) -> f64 {
        self.scale * libm::pow(-libm::log(above), 1.0 / self.shape)
    }

    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        self.quantile(1.0 - unit(random))
    }

    /// Draws a value, rounded up to a whole number of at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and is not negative"
    )]
    fn draw_whole(self, random: &mut Xoshiro256PlusPlus) -> u64 {
        (libm::ceil(self.draw(random)) as u64).max(1)
    }
}

/// 2 to the power of a normal variable whose mean and variance are random themselves.
#[derive(Clone, Copy, Debug)]
struct LogTwoNormal {
    mean: f64,
    deviation: f64,
}

impl LogTwoNormal {
    /// Draws mean and variance. The mean is normal; the variance is `error` times a gamma variable
    /// of this shape and mean 1.
    fn new(
        mean: f64,
        variance_of_mean: f64,
        shape: f64,
        error: f64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let mean = mean + variance_of_mean.sqrt() * normal(random);
        Self { mean, deviation: (gamma(shape, random) / shape * error).sqrt() }
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        libm::exp2(self.mean + self.deviation * normal(random))
    }
}

/// Returns 2^x / (1 + 2^x).
fn logit2_inverse(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp2(-x))
}

/// Evaluates the piecewise linear function through `knots`, which is constant beyond them.
fn interpolate(knots: &[(f64, f64)], x: f64) -> f64 {
    let after = knots.partition_point(|knot| knot.0 <= x);
    // In front of the first knot the index wraps to one that does not exist.
    let (Some(&(x0, y0)), Some(&(x1, y1))) = (knots.get(after.wrapping_sub(1)), knots.get(after)) else {
        return if after == 0 { knots.first() } else { knots.last() }.map_or(0.0, |knot| knot.1);
    };
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

/// Truncates a size to whole bytes, at least one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is not negative")]
fn whole_bytes(size: f64) -> u64 {
    (size as u64).max(1)
}

/// Share of the HTTP/1.1 connections that carry more than one request.
const PERSISTENT: f64 = 0.09;
/// Share of these connections that carry one page.
const ONE_PAGE: f64 = 0.82;
/// Share of the pages on the other connections that consist of one object.
const ONE_OBJECT: f64 = 0.69;
/// Number of pages beyond the first.
const PAGES: Weibull = Weibull { shape: 1.0, scale: 0.417 };
/// Number of objects of a page beyond the first.
const OBJECTS: Weibull = Weibull { shape: 1.0, scale: 1.578 };
/// Speed of a server in answers per second.
const SERVER: Weibull = Weibull { shape: 0.63, scale: 305.0 };
/// Largest size, in bytes, of an answer that confirms the cached copy.
const CACHE_VALIDATION: u64 = 275;

// Inverse distribution functions. The knots are thinned from ns-2's hundred. Between knots the
// sizes differ by at most 2 bytes (0.03 in the logarithm).

/// Bytes of a cache validation by probability.
const VALIDATION: &[(f64, f64)] = &[
    (0.0001, 4.6),
    (0.0203, 40.8),
    (0.0304, 53.0),
    (0.0405, 61.5),
    (0.0708, 69.7),
    (0.1011, 74.8),
    (0.1314, 93.6),
    (0.1617, 104.6),
    (0.2021, 112.8),
    (0.2627, 120.5),
    (0.6061, 150.5),
    (0.6566, 157.3),
    (0.6869, 165.0),
    (0.707_09, 172.7),
    (0.7576, 200.6),
    (0.8081, 214.4),
    (0.8788, 240.0),
    (0.9293, 261.5),
    (0.9596, 268.5),
    (1.0, 272.2),
];

/// log2 of a download's bytes by log2 of the probability of a larger one.
const DOWNLOAD: &[(f64, f64)] = &[
    (-18.179, 25.877),
    (-5.694, 15.739),
    (-5.143, 15.378),
    (-4.225, 15.098),
    (-4.041, 15.004),
    (-3.674, 14.693),
    (-2.940, 13.925),
    (-2.205, 13.344),
    (-1.838, 12.901),
    (-1.654, 12.601),
    (-1.287, 11.855),
    (-1.103, 11.413),
    (-0.736, 10.410),
    (-0.0018, 8.108),
];

/// Bytes of a request in the smaller half, by probability.
const REQUEST_LOWER: &[(f64, f64)] = &[
    (0.0, 51.0),
    (0.0101, 93.8),
    (0.0202, 123.3),
    (0.0404, 168.8),
    (0.0505, 184.3),
    (0.0606, 194.0),
    (0.1010, 217.6),
    (0.1414, 253.1),
    (0.1818, 273.8),
    (0.3334, 318.0),
    (0.4344, 339.9),
    (1.0, 421.8),
];

/// log2 of a request's bytes in the larger half, by log2 of the probability of a larger one.
const REQUEST_UPPER: &[(f64, f64)] = &[
    (-17.779, 19.758),
    (-3.598, 10.209),
    (-3.060, 9.935),
    (-1.983, 9.647),
    (-0.906, 8.955),
    (-0.547, 8.827),
    (-0.008, 8.728),
];

#[cfg(test)]
mod tests;
