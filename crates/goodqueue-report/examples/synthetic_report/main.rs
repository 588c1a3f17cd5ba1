//! Writes a report of invented results, to show what a report looks like: `synthetic_report
//! [OUT.html] [--sweep]`.

use goodqueue_report::{Options, html};

mod invented;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rates: &[f64] = if args.iter().any(|a| a == "--sweep") { &[2.0, 10.0, 50.0] } else { &[10.0] };
    let out = args.iter().find(|a| !a.starts_with("--")).map_or("report.html", String::as_str);
    let command = "goodqueue compare --rate 10mbit --up 1mbit --rtt 50ms --flows 4 --time 60s --seeds 5";
    let page = html(&invented::results(5, rates), &Options::default().command(command));
    std::fs::write(out, &page)?;
    println!("{out}: {} kB", page.len() / 1000);
    Ok(())
}
