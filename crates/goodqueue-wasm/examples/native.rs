//! The runs of a request outside of a browser, for the comparison of both: prints packets and
//! seconds.

use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let request = std::env::args().nth(1).ok_or("usage: native REQUEST")?;
    #[expect(clippy::disallowed_methods, reason = "this program measures real time")]
    let begun = Instant::now();
    let results = goodqueue_wasm::results_of(&request)?;
    let spent = begun.elapsed().as_secs_f64();
    let results: serde_json::Value = serde_json::from_str(&results)?;
    let runs = results["runs"].as_array().into_iter().flatten();
    let packets: u64 = runs.filter_map(|run| run["engine"]["bottleneck_packets"].as_u64()).sum();
    println!("{packets} {spent}");
    Ok(())
}
