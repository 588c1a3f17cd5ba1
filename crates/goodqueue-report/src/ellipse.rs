//! The 1-σ ellipse of several runs.
//!
//! Its axes have the length √λᵢ along the eigenvectors of the covariance, and its centre is the
//! median. Winstein, Sivaraman & Balakrishnan (NSDI 2013) summarize latency and goodput of several
//! runs in this way.

/// An ellipse in the plane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ellipse {
    /// Median of each coordinate.
    pub centre: (f64, f64),
    /// Half the long axis, as a vector.
    pub major: (f64, f64),
    /// Half the short axis, as a vector.
    pub minor: (f64, f64),
}

impl Ellipse {
    /// Computes the ellipse of at least two points; `None` for fewer.
    pub fn from_points(points: &[(f64, f64)]) -> Option<Self> {
        // The sample covariance divides by the number of points less one.
        if points.len() < 2 {
            return None;
        }
        let (xx, xy, yy) = covariance(points);
        let mid = f64::midpoint(xx, yy);
        let spread = (((xx - yy) / 2.0).powi(2) + xy * xy).sqrt();
        let long = (mid + spread).max(0.0).sqrt();
        // Rounding may make the smaller eigenvalue of points on a line negative.
        let short = (mid - spread).max(0.0).sqrt();
        // The eigenvector of mid + spread is (xx - λ₂, xy) or (xy, yy - λ₂). The longer of the two
        // is more accurate.
        let lambda2 = mid - spread;
        let (a, b) = if xx >= yy { (xx - lambda2, xy) } else { (xy, yy - lambda2) };
        let norm = libm::hypot(a, b);
        // Equal runs have no direction, and axes of length zero may have any.
        let (ux, uy) = if norm > 0.0 { (a / norm, b / norm) } else { (1.0, 0.0) };
        Some(Self { centre: centre(points), major: (long * ux, long * uy), minor: (-short * uy, short * ux) })
    }

    /// Returns the outline as a closed polygon.
    pub fn outline(&self, corners: u32) -> Vec<(f64, f64)> {
        (0..=corners)
            .map(|i| {
                // The last corner is computed as the first one, so the polygon closes exactly.
                let angle = f64::from(i % corners) / f64::from(corners) * std::f64::consts::TAU;
                // `libm` gives the same bytes on every machine.
                let sin = libm::sin(angle);
                let cos = libm::cos(angle);
                (
                    self.centre.0 + cos * self.major.0 + sin * self.minor.0,
                    self.centre.1 + cos * self.major.1 + sin * self.minor.1,
                )
            })
            .collect()
    }
}

/// Returns the median of each coordinate.
pub fn centre(points: &[(f64, f64)]) -> (f64, f64) {
    (median(points.iter().map(|p| p.0).collect()), median(points.iter().map(|p| p.1).collect()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// Returns the sample covariance, with denominator n - 1.
fn covariance(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = crate::metric::count(points.len());
    let (mx, my) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let sum = points.iter().fold((0.0, 0.0, 0.0), |(xx, xy, yy), p| {
        let dx = p.0 - mx;
        let dy = p.1 - my;
        (xx + dx * dx, xy + dx * dy, yy + dy * dy)
    });
    (sum.0 / (n - 1.0), sum.1 / (n - 1.0), sum.2 / (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: (f64, f64), b: (f64, f64)) -> bool {
        (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9
    }

    #[test]
    fn axes_of_a_known_covariance() {
        // Four points with covariance [[10/3, 2], [2, 10/3]], which has the eigenvalues 16/3 along
        // (1,1) and 4/3 along (-1,1).
        let d = [(2.0, 2.0), (-2.0, -2.0), (1.0, -1.0), (-1.0, 1.0)];
        let scale = |p: &(f64, f64)| (p.0 + 10.0, p.1 + 20.0);
        let (xx, xy, yy) = covariance(&d);
        assert!(
            (xx - 10.0 / 3.0).abs() < 1e-12 && (xy - 2.0).abs() < 1e-12 && (yy - 10.0 / 3.0).abs() < 1e-12
        );
        let e = Ellipse::from_points(&d.iter().map(scale).collect::<Vec<_>>()).unwrap();
        let l1 = (16.0_f64 / 3.0).sqrt();
        let l2 = (4.0_f64 / 3.0).sqrt();
        let half = 0.5_f64.sqrt();
        assert!(close(e.centre, (10.0, 20.0)));
        assert!(close(e.major, (l1 * half, l1 * half)), "{e:?}");
        assert!(close(e.minor, (-l2 * half, l2 * half)), "{e:?}");
    }

    #[test]
    fn axes_may_lie_along_the_coordinates() {
        let e = Ellipse::from_points(&[(0.0, -3.0), (0.0, 3.0), (1.0, 0.0), (-1.0, 0.0)]).unwrap();
        assert!(close(e.major, (0.0, 6.0_f64.sqrt())), "{e:?}");
        assert!(close(e.minor, (-(2.0_f64 / 3.0).sqrt(), 0.0)), "{e:?}");
    }

    #[test]
    fn every_corner_is_one_sigma_away() {
        let points = [(1.0, 5.0), (2.0, 4.0), (4.0, 4.5), (3.0, 1.0), (2.5, 2.0)];
        let e = Ellipse::from_points(&points).unwrap();
        let (xx, xy, yy) = covariance(&points);
        let det = xx * yy - xy * xy;
        for (x, y) in e.outline(16) {
            let dx = x - e.centre.0;
            let dy = y - e.centre.1;
            let mahalanobis = (yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy) / det;
            assert!((mahalanobis - 1.0).abs() < 1e-9);
        }
        assert_eq!(e.outline(16).first(), e.outline(16).last());
    }

    #[test]
    fn one_run_has_no_ellipse_and_equal_runs_a_point() {
        assert_eq!(Ellipse::from_points(&[(1.0, 2.0)]), None);
        let e = Ellipse::from_points(&[(1.0, 2.0), (1.0, 2.0)]).unwrap();
        assert!(close(e.centre, (1.0, 2.0)) && close(e.major, (0.0, 0.0)) && close(e.minor, (0.0, 0.0)));
    }
}
