//! Work on several threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use goodqueue_tc::diagnostic::Diagnostic;

/// Calls `one` with each number below `count`, the first ones first, on `threads` threads (0: one
/// for each processor), and returns the results in the order of the numbers. A single thread is the
/// caller's own: a browser has no others.
///
/// # Errors
/// That of the lowest number among those for which `one` failed. After an error no further call
/// begins. Or a thread cannot be started.
pub fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    one: impl Fn(usize) -> Result<T, Diagnostic> + Sync,
) -> Result<Vec<T>, Diagnostic> {
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = if threads == 0 { processors() } else { threads }.min(count);
    if threads <= 1 {
        return (0..count).map(one).collect();
    }
    let work = Work {
        next: AtomicUsize::new(0),
        has_failed: AtomicBool::new(false),
        results: Mutex::new((0..count).map(|_| None).collect()),
        failure: Mutex::new(None),
    };
    thread::scope(|scope| {
        let start = |_| {
            let thread = thread::Builder::new().name("run".to_owned());
            let started = thread.spawn_scoped(scope, || work.take_turns(&one));
            started.map_err(|error| {
                // The scope waits for the threads that run already: they end after their present
                // call.
                work.has_failed.store(true, Ordering::Relaxed);
                Diagnostic::new(format!("threads cannot be started: {error}"))
            })
        };
        let started: Vec<_> = (0..threads).map(start).collect::<Result<_, Diagnostic>>()?;
        for thread in started {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Ok::<_, Diagnostic>(())
    })?;
    match work.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => {
            let results = work.results.into_inner().unwrap_or_else(PoisonError::into_inner);
            Ok(results.into_iter().flatten().collect())
        }
    }
}

/// Numbers that threads take one at a time. If a thread took several neighbours, it would still
/// have some near the end while others have none.
struct Work<T> {
    next: AtomicUsize,
    has_failed: AtomicBool,
    /// The threads write into one list, so that no result is held twice.
    results: Mutex<Vec<Option<T>>>,
    /// The error of the lowest number.
    failure: Mutex<Option<(usize, Diagnostic)>>,
}

impl<T> Work<T> {
    fn take_turns(&self, one: &(impl Fn(usize) -> Result<T, Diagnostic> + Sync)) {
        // Stops the other threads if `one` panics.
        let guard = Guard(&self.has_failed);
        let count = self.results.lock().unwrap_or_else(PoisonError::into_inner).len();
        // Relaxed: the locks order the results, and these two only share out the work.
        while !self.has_failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            match one(number) {
                Ok(result) => {
                    self.results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
                }
                Err(error) => {
                    self.has_failed.store(true, Ordering::Relaxed);
                    let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    // The order of the threads is random, and the error must not depend on it.
                    if failure.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                        *failure = Some((number, error));
                    }
                }
            }
        }
        drop(guard);
    }
}

struct Guard<'f>(&'f AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_with_any_number_of_threads() {
        for threads in [0, 1, 2, 7, 100] {
            let squares = side_by_side(20, threads, |number| Ok(number * number)).unwrap();
            assert_eq!(squares, (0..20).map(|number| number * number).collect::<Vec<_>>(), "{threads}");
        }
        assert_eq!(side_by_side(0, 4, Ok).unwrap(), Vec::<usize>::new());
    }

    #[test]
    fn the_first_ones_come_first_and_none_after_an_error() {
        let begun = Mutex::new(Vec::new());
        let error = side_by_side(1000, 2, |number| {
            begun.lock().unwrap().push(number);
            if number == 5 { Err(Diagnostic::new("five")) } else { Ok(()) }
        });
        assert_eq!(error.unwrap_err().problem(), "five");
        let mut begun = begun.into_inner().unwrap();
        begun.sort_unstable();
        assert_eq!(begun, (0..begun.len()).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_reaches_the_caller_with_its_message() {
        let caught = std::panic::catch_unwind(|| {
            side_by_side(8, 2, |number| {
                assert_ne!(number, 3, "three");
                Ok(())
            })
        });
        let message = caught.unwrap_err();
        assert!(message.downcast_ref::<String>().unwrap().contains("three"));
    }
}
