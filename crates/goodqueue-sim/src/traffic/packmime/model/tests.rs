use super::*;

fn model(rate: f64, seed: u64) -> (Model, Xoshiro256PlusPlus) {
    let mut random = Xoshiro256PlusPlus::new(seed);
    (Model::new(rate, &mut random), random)
}

/// Returns the share of `values` that are at most `bound`.
#[expect(clippy::cast_precision_loss, reason = "numbers of draws")]
fn share_up_to(values: &[u64], bound: u64) -> f64 {
    values.iter().filter(|value| **value <= bound).count() as f64 / values.len() as f64
}

#[test]
fn connections_arrive_at_their_rate() {
    for rate in [2.0, 50.0, 1000.0] {
        // With long-range dependence a mean converges as n^-0.17, so the test averages many short
        // crowds.
        let crowds = 40;
        let each = 600;
        let mut total = 0.0;
        for seed in 0..crowds {
            let (mut model, mut random) = model(rate, seed);
            total += (0..each).map(|_| model.time_to_next(&mut random)).sum::<f64>();
        }
        let mean = total * rate / f64::from(each) / f64::from(u32::try_from(crowds).expect("few"));
        assert!((mean - 1.0).abs() < 0.1, "{rate}: {mean}");
    }
}

#[test]
fn arrivals_are_the_burstier_the_fewer_there_are() {
    // The Weibull shape is 2^x / (1 + 2^x) with x = 0.352 + 0.388 log2 r. It is 0.56 at one
    // connection per second, and nearly 1 (exponential) at 1000.
    let coefficient_of_variation = |shape: f64| {
        let moment = |k: f64| libm::tgamma(1.0 + k / shape);
        (moment(2.0) / moment(1.0).powi(2) - 1.0).sqrt()
    };
    assert!((model(1.0, 1).0.arrival.shape - 0.5607).abs() < 1e-3);
    assert!((model(1000.0, 1).0.arrival.shape - 0.9490).abs() < 1e-3);
    assert!(coefficient_of_variation(model(1.0, 1).0.arrival.shape) > 1.8);
    assert!(coefficient_of_variation(model(1000.0, 1).0.arrival.shape) < 1.1);
}

#[test]
fn arrivals_are_long_range_dependent() {
    // The counts in windows of length m have a variance of m^(2H-2) times the squared mean, with H
    // = d + 1/2 = 0.83. At 4 connections per second white noise has 0.74 of the variance between
    // neighbours, but no effect on long windows. Independent arrivals would give a slope of -1.
    let (mut model, mut random) = model(4.0, 5);
    let gaps: Vec<f64> = (0..60_000).map(|_| model.time_to_next(&mut random)).collect();
    let variance_of_means = |m: usize| {
        let means: Vec<f64> = gaps
            .chunks_exact(m)
            .map(|chunk| chunk.iter().sum::<f64>() / f64::from(u32::try_from(m).expect("small")))
            .collect();
        let n = f64::from(u32::try_from(means.len()).expect("small"));
        let mean = means.iter().sum::<f64>() / n;
        means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
    };
    let slope = libm::log(variance_of_means(320) / variance_of_means(20)) / libm::log(16.0);
    assert!((-0.55..-0.2).contains(&slope), "{slope}");
}

#[test]
fn requests_have_the_quantiles_of_their_table() {
    let mut sizes = Vec::new();
    for seed in 0..60 {
        let (mut model, mut random) = model(100.0, seed);
        sizes.extend((0..600).map(|_| model.request(&mut random)));
    }
    // p = 0.5: A1(1) = 421.8. p = 0.1667, a third of the lower half: 318.0. p = 0.5 + 0.5 (1 -
    // 2^-1.983): 2^9.647.
    for (bound, probability) in [(421, 0.5), (318, 0.1667), (801, 0.5 + 0.5 * (1.0 - 0.253)), (193, 0.0303)] {
        let share = share_up_to(&sizes, bound);
        assert!((share - probability).abs() < 0.02, "{bound}: {share} {probability}");
    }
}

#[test]
fn answers_have_the_quantiles_of_their_tables() {
    let (mut model, mut random) = model(100.0, 1);
    let mut validations = Vec::new();
    let mut downloads = Vec::new();
    let mut runs = [0_u32; 2];
    for _ in 0..200_000 {
        let starts = model.responses.left == 0;
        let size = model.responses.draw(&mut random);
        let is_download = model.responses.is_download;
        runs[usize::from(is_download)] += u32::from(starts);
        if is_download { &mut downloads } else { &mut validations }.push(size);
    }
    for (bound, probability) in [(74, 0.1011), (150, 0.6061), (272, 1.0)] {
        assert!((share_up_to(&validations, bound) - probability).abs() < 0.02, "{bound}");
    }
    // A share of 1 - 2^-1.287 of downloads has at most 2^11.855 bytes, and 1 - 2^-4.225 at most
    // 2^15.098.
    for (bound, log) in [(1359, -0.736), (3704, -1.287), (35_072, -4.225)] {
        let probability = 1.0 - libm::exp2(log);
        assert!((share_up_to(&downloads, bound) - probability).abs() < 0.01, "{bound}");
    }
    assert!(runs[0].abs_diff(runs[1]) <= 1, "runs take turns");
    // The mean length of a run is the sum over k >= 0 of P(W > k) = exp(-(k / scale)^shape).
    for (lengths, (values, runs)) in
        model.responses.lengths.iter().zip([(&validations, runs[0]), (&downloads, runs[1])])
    {
        let expected: f64 =
            (0..10_000).map(|k| libm::exp(-libm::pow(f64::from(k) / lengths.scale, lengths.shape))).sum();
        let measured = f64::from(u32::try_from(values.len()).expect("few")) / f64::from(runs);
        assert!((measured / expected - 1.0).abs() < 0.05, "{measured} {expected}");
    }
}

#[test]
fn one_connection_of_eleven_is_used_again() {
    let (mut model, mut random) = model(10.0, 1);
    let sessions: Vec<Session> = (0..12_000).map(|_| model.persistent(&mut random)).collect();
    let many: Vec<&Session> = sessions.iter().filter(|session| session.exchanges.len() > 1).collect();
    let number = |count: usize| f64::from(u32::try_from(count).expect("few"));
    assert!((number(many.len()) / 12e3 - 0.09).abs() < 0.01, "{}", many.len());
    // A page has 1 + ceil(Weibull(1, 1.578)) objects, with the mean 1 + 1 / (1 - e^(-1/1.578)) =
    // 3.13. Of 100 connections, 82 have one page. The others have 1 + ceil(Weibull(1, 0.417))
    // pages, 2.10 in the mean. Of 100 of these pages, 69 consist of one object.
    let objects = 1.0 + 1.0 / (1.0 - libm::exp(-1.0 / 1.578));
    let pages = 1.0 + 1.0 / (1.0 - libm::exp(-1.0 / 0.417));
    let expected = 0.82 * objects + 0.18 * pages * (0.69 + 0.31 * objects);
    let measured = number(many.iter().map(|session| session.exchanges.len()).sum()) / number(many.len());
    assert!((measured / expected - 1.0).abs() < 0.05, "{measured} {expected}");
    for session in many {
        let first = session.exchanges[0].response;
        let is_same = session.exchanges.iter().all(|exchange| exchange.response == first);
        assert!(first > CACHE_VALIDATION || is_same, "{session:?}");
    }
}

#[test]
fn a_server_answers_within_a_tenth_of_a_second() {
    let mut random = Xoshiro256PlusPlus::new(1);
    let delays: Vec<f64> = (0..100_000).map(|_| server_delay(&mut random)).collect();
    assert!(delays.iter().all(|delay| *delay <= 0.1 && *delay > 0.0));
    // P(delay > 1/305) = P(W < 305) = 1 - 1/e.
    let slower = delays.iter().filter(|delay| **delay > 1.0 / 305.0).count();
    assert!((f64::from(u32::try_from(slower).expect("few")) / 1e5 - 0.632).abs() < 0.01);
}

#[test]
fn knots_are_joined_by_straight_lines() {
    let knots = [(0.0, 1.0), (1.0, 3.0), (2.0, 0.0)];
    let values = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 9.0].map(|x| interpolate(&knots, x));
    assert_eq!(values.map(|y| y.to_string()), ["1", "1", "2", "3", "1.5", "0", "0"]);
    assert_eq!(interpolate(&[], 1.0).to_string(), "0");
}
