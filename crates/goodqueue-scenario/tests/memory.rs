//! Memory that scenarios take before and while they run.

#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use goodqueue_scenario::export::{Contents, Format};
use goodqueue_scenario::results::{Run, ScenarioRecord};
use goodqueue_scenario::run::series::Steps;
use goodqueue_scenario::run::{RunSpec, Runs as _, ScenarioRuns};
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session, Watch};
use goodqueue_scenario::store::Store;
use goodqueue_scenario::summary::results;
use goodqueue_scenario::sweep::Sweep;
use goodqueue_sim::Traffic;
use goodqueue_sim::traffic::WebPage;
use goodqueue_tc::diagnostic::Diagnostic;

/// The system's allocator, with the bytes that are taken and the most that were.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn take(bytes: usize) {
    let taken = TAKEN.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(taken, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        TAKEN.fetch_sub(layout.size(), Ordering::Relaxed);
        take(size);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The counters are those of the whole program: one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `work` gives, and the most bytes that it took at a time.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = TAKEN.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (result, MOST.load(Ordering::Relaxed).saturating_sub(before))
}

fn runs(text: &str, folder: &Path) -> Result<ScenarioRuns<'static>, Diagnostic> {
    let document = Document::parse("load.toml", text, folder)?;
    ScenarioRuns::new(Sweep::new(&document, &Names::default())?, None)
}

const MB: usize = 1_000_000;

#[test]
fn a_sweep_holds_the_runs_that_are_under_way_and_not_all_of_them() {
    let _alone = alone();
    let numbers: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    let list = format!("[{}]", numbers.join(","));
    let text = format!(
        "seeds = 35\n[[flows]]\ncount = 4\n[[flows]]\nkind = \"ping\"\n[sweep]\n\"flows.0.client\" = {list}\n\
         \"flows.1.client\" = {list}\n"
    );
    let (count, bytes) = measured(|| {
        let runs = runs(&text, Path::new("")).expect("good");
        // Some of them from every part of the sweep.
        for number in (0..runs.count()).step_by(97) {
            runs.spec(number).expect("good");
        }
        runs.count()
    });
    // Without `qdiscs` there are seven disciplines.
    assert_eq!(count, 20 * 20 * 7 * 35);
    assert!(bytes < 10 * MB, "{bytes} bytes for {count} runs");
}

#[test]
fn each_run_is_made_as_it_was_when_all_were_made_at_once() {
    let _alone = alone();
    let text = "seeds = 3\nseed = 7\nqdiscs = [\"codel\", \"pie\"]\n[sweep]\n\"link.up\" = [\"1mbit\", \"2mbit\"]\n\
                seeds = [1, 3]\n";
    let document = Document::parse("load.toml", text, Path::new("")).expect("TOML");
    let names = Names::default();
    let points = goodqueue_scenario::sweep::expand(&document, &names).expect("good");
    let all = goodqueue_scenario::run::runs_of(&points, None).expect("good");
    let runs = runs(text, Path::new("")).expect("good");
    assert_eq!((runs.count(), all.len()), (16, 16));
    for (number, job) in all.iter().enumerate() {
        let alone = runs.spec(number).expect("there");
        assert_eq!((&alone.key, alone.config.seed), (&job.key, job.config.seed));
        assert_eq!((&alone.labels.qdisc, &alone.labels.sweep), (&job.labels.qdisc, &job.labels.sweep));
    }
    assert!(runs.spec(16).is_err());
}

#[test]
fn a_sweep_that_cannot_finish_is_refused_with_its_number_of_runs() {
    let _alone = alone();
    let refused = |text: &str| runs(text, Path::new("")).expect_err("too much").to_string();
    let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    let (said, bytes) = measured(|| refused(&format!("[sweep]\nseed = {0}\n\"tcp.iw\" = {0}", list(1000))));
    assert!(said.contains("the scenario makes 7000000 runs\n") && said.contains("at most 100000"), "{said}");
    assert!(bytes < 10 * MB, "{bytes}");
    assert!(refused("seeds = 20000").contains("the scenario makes 140000 runs"));
    let swept = "[sweep]\nseeds = [1, 100000]\nqdiscs = [\"pie\", [\"pie\", \"codel\"]]";
    // 100,001 repetitions of the two values of `seeds`, times three disciplines of those of
    // `qdiscs`.
    assert!(refused(swept).contains("the scenario makes 300003 runs"));
    let huge = |keys: usize| {
        let axes: String = (0..keys).map(|key| format!("a{key} = {}\n", list(1000))).collect();
        refused(&format!("[sweep]\n{axes}"))
    };
    assert!(huge(4).contains("the scenario makes 7000000000000 runs"));
    assert!(huge(20).contains("the scenario makes more than 10^38 runs"));
    let many = refused("seeds = 100\nqdiscs = \"pie\"\n[[flows]]\ncount = 100000\n");
    assert!(many.contains("100 runs with 10000000 flows in all"), "{many}");
    // 470 bytes for each flow.
    assert!(many.contains("about 4700 MB") && many.contains("at most 1050 MB"), "{many}");
    // All runs that are allowed, with nine flows each; then too many means over two seeds.
    let ten = "qdiscs = \"pie\"\n[[flows]]\ncount = 8\n[[flows]]\nkind = \"ping\"\n";
    assert!(runs(&format!("seeds = 100000\n{ten}"), Path::new("")).is_ok());
    let quoted = |texts: Vec<String>| format!("[\"{}\"]", texts.join("\",\""));
    let points = quoted((1..=150).map(|ms| format!("{ms}ms")).collect());
    let disciplines = quoted((1..=40).map(|limit| format!("pfifo limit {limit}")).collect());
    let pairs = refused(&format!("seeds = 2\nqdiscs = {disciplines}\n[sweep]\n\"link.rtt\" = {points}"));
    assert!(
        // 150 points with 40 means and 780 differences of two disciplines each.
        pairs.contains("12000 runs") && pairs.contains("123000 means over seeds and differences"),
        "{pairs}"
    );
}

#[test]
fn time_series_that_no_memory_holds_are_refused_unless_a_store_keeps_them() {
    let _alone = alone();
    let with = |steps: Steps| {
        let text = "seeds = 10000\nduration = \"60s\"\n[[flows]]\ncount = 10\n";
        let document = Document::parse("load.toml", text, Path::new("")).expect("TOML");
        ScenarioRuns::with(Sweep::new(&document, &Names::default()).expect("good"), steps)
    };
    let step = goodqueue::Duration::from_millis(100);
    let refused = with(Steps::Given(Some(step))).expect_err("too much").to_string();
    // 10,000 seeds of seven disciplines, 600 steps, and the series of ten flows and two queues.
    assert!(refused.contains("have about 840000000 values") && refused.contains("--series"), "{refused}");
    assert!(with(Steps::Kept { asked: None, are_needed: true }).is_err());
    assert!(with(Steps::Kept { asked: None, are_needed: false }).is_ok());
    assert!(with(Steps::Given(None)).is_ok());
}

#[test]
fn the_results_of_many_runs_take_little_memory() {
    let _alone = alone();
    let text = "seeds = 200\nduration = \"10ms\"\nqdiscs = \"fq_codel\"\n[[flows]]\ncount = 8\nstart_jitter = \"0s\"\n\
                [[flows]]\nkind = \"ping\"\n";
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::of_program(folder.path(), 1).expect("made");
    let runs = runs(text, Path::new("")).expect("good");
    let session = Session::from_runs(&runs).threads(1).with_store(Some(store));
    for (way, work) in [("simulated", true), ("stored", true), ("merged", false)] {
        let before = TAKEN.load(Ordering::Relaxed);
        let all: Vec<Run> = if work {
            session.run(&NoWatch).expect("runs").runs()
        } else {
            session.merged().expect("all of them")
        };
        let each = TAKEN.load(Ordering::Relaxed).saturating_sub(before) / all.len();
        assert_eq!(all.len(), 200);
        assert!(each < 10_000, "{each} bytes of a run that was {way}");
        let (summary, most) = measured(|| goodqueue_scenario::summary::over_seeds(&all));
        assert_eq!(summary.len(), 1);
        assert!(most / all.len() < 6000, "{most} bytes for the means over {} runs", all.len());
    }
}

#[test]
fn an_export_holds_the_rows_of_one_run_and_not_those_of_all() {
    let _alone = alone();
    let text = "seeds = 1\nduration = \"10s\"\nqdiscs = \"fq_codel\"\n[[flows]]\ncount = 8\n";
    let document = Document::parse("load.toml", text, Path::new("")).expect("TOML");
    let sweep = Sweep::new(&document, &Names::default()).expect("good");
    let runs = ScenarioRuns::new(sweep, Some(goodqueue::Duration::from_millis(10))).expect("good");
    let run = Session::from_runs(runs).threads(1).run(&NoWatch).expect("runs").runs().remove(0);
    let results = results(ScenarioRecord::default(), vec![run; 30]);
    for name in ["x.series.csv", "x.series.parquet", "x.flent.gz"] {
        if name.ends_with("parquet") && !cfg!(feature = "parquet") {
            continue;
        }
        let mut files = 0;
        let mut written = Counted(0);
        let ((), most) = measured(|| {
            let place = &mut |_: &Path, _, contents: &mut Contents<'_>| {
                files += 1;
                contents(&mut written).expect("no limit");
                Ok(())
            };
            let format = Format::from_path(Path::new(name)).expect("a format");
            format.write(Path::new(name), &results, place).expect("written");
        });
        assert_eq!(files, if name == "x.flent.gz" { 30 } else { 1 }, "{name}");
        // 18,000 values of a run, as text, as JSON or as columns.
        assert!(most < 20 * MB, "{name}: {most} bytes to write {}", written.0);
    }
}

/// A file that only counts its bytes.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_takes_the_memory_of_its_file_once_however_often_it_is_named() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = (1..=400_000).map(|at| format!("{at}\n")).collect();
    let size = lines.len();
    std::fs::write(folder.path().join("lte.trace"), lines).expect("written");
    let text = "qdiscs = [\"pie\", \"codel\"]\nseeds = 2\nlink.down = { trace = \"lte.trace\" }\n\
                link.up = { trace = \"lte.trace\" }\n[[hops]]\ndown = { trace = \"lte.trace\" }\n\
                [sweep]\n\"tcp.iw\" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
    let (count, bytes) = measured(|| {
        let runs = runs(text, folder.path()).expect("good");
        let all: Vec<_> = (0..runs.count()).map(|number| runs.spec(number).expect("good")).collect();
        all.len()
    });
    assert_eq!(count, 40);
    // While it is read, the list of opportunities may have room for twice as many.
    assert!(bytes < 2 * size, "{bytes} bytes for a file of {size}");
}

#[test]
fn a_file_is_read_once_and_all_points_see_the_same_contents() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lte.trace");
    std::fs::write(&path, "1\n").expect("written");
    let text = "link.down = { trace = \"lte.trace\" }\n[sweep]\nseed = [1, 2]\n";
    let runs = runs(text, folder.path()).expect("good");
    std::fs::write(&path, "1\n2\n9\n").expect("written");
    let [first, last] = [0, runs.count() - 1].map(|number| runs.spec(number).expect("good").into_owned());
    assert_eq!(first.config.links[0].capacity, last.config.links[0].capacity);
}

#[test]
fn a_limit_that_no_memory_holds_takes_none_until_packets_come() {
    let _alone = alone();
    let text = "duration = \"1s\"\nqdiscs = [\"pfifo limit 4294967295\", \"netem delay 1ms limit 4294967295\", \
                \"bfifo limit 4294967295b\", \"fq_codel limit 16777216p memory_limit 4294967295b\"]\n";
    let (runs, bytes) = measured(|| {
        let runs = runs(text, Path::new("")).expect("good");
        Session::from_runs(runs).threads(1).run(&NoWatch).expect("runs")
    });
    assert_eq!(runs.runs().len(), 4);
    assert!(bytes < 20 * MB, "{bytes}");
}

#[test]
fn a_run_whose_queues_outgrow_memory_ends_with_an_error() {
    let _alone = alone();
    for qdisc in ["pfifo limit 4294967295", "netem delay 1000s limit 4294967295"] {
        let text = format!(
            "duration = \"1000s\"\nqdiscs = \"{qdisc}\"\nlink.down = \"1kbit\"\n[[flows]]\nkind = \"cbr\"\n\
             rate = \"10gbit\"\npacket = 100\n"
        );
        let (refused, bytes) = measured(|| {
            let runs = runs(&text, Path::new("")).expect("good");
            Session::from_runs(runs).threads(1).run(&NoWatch).expect_err("too much").to_string()
        });
        assert!(refused.contains("packets are queued or on their way"), "{refused}");
        assert!(bytes < 900 * MB, "{bytes}");
    }
}

/// Stops as soon as a run has started.
#[derive(Default)]
struct Impatient(AtomicUsize);

impl Watch for Impatient {
    fn started(&self, _: usize, _: &RunSpec) {
        self.0.store(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

#[test]
fn many_different_pages_of_many_objects_are_refused() {
    let _alone = alone();
    let page =
        |mb: u64| format!("[[flows]]\nkind = \"web\"\npage = {{ size = \"{mb}mb\", requests = 100000 }}\n");
    let pages = |count| (0..count).map(|number| page(900 + number)).collect::<String>();
    assert!(runs(&pages(20), Path::new("")).is_ok());
    let (said, bytes) = measured(|| runs(&pages(2000), Path::new("")).expect_err("too much").to_string());
    assert!(said.contains("have 2100000 objects") && said.contains("at most 2000000 in all"), "{said}");
    assert!(bytes < 20 * MB, "{bytes}");
}

#[test]
fn a_page_of_many_objects_is_computed_once_for_all_flows_and_points_and_not_before_a_run() {
    let _alone = alone();
    let page = "kind = \"web\"\npage = { size = \"1000000kb\", requests = 100000 }\n";
    let text = format!(
        "qdiscs = [\"pie\", \"codel\"]\nseeds = 2\n[[flows]]\ncount = 100\n{page}[[flows]]\n{page}\
         [sweep]\n\"link.rtt\" = [\"10ms\", \"20ms\"]\n"
    );
    let runs = runs(&text, Path::new("")).expect("good");
    let specs: Vec<_> =
        (0..runs.count()).map(|number| runs.spec(number).expect("good").into_owned()).collect();
    let flows = specs.iter().flat_map(|run| &run.config.flows);
    let pages: Vec<&WebPage> = flows
        .map(|flow| match &flow.traffic {
            Traffic::Web(web) => &web.page,
            other => panic!("{other:?}"),
        })
        .collect();
    // Two points, disciplines and seeds each, and 100 flows and one.
    assert_eq!(pages.len(), 8 * 101);
    assert!(pages.iter().all(|page| !page.is_computed()));
    let unfinished = Session::from_runs(&runs).threads(1).run(&Impatient::default()).expect("no error");
    assert!(unfinished.all.iter().all(Option::is_none));
    assert!(pages.iter().all(|page| !page.is_computed()), "the user had interrupted it before");
    let first = pages[0].objects().as_ptr();
    assert!(pages.iter().all(|page| page.is_computed() && page.objects().as_ptr() == first));
}
