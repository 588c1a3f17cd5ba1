//! Many lines at once: each call steps all of them, in threads.

use goodqueue_tc::diagnostic::Diagnostic;
use rayon::prelude::*;

use crate::environment::{Environment, Step};

/// Environments that are stepped together. Each line is independent, so the number of threads does
/// not change any result.
pub struct Lines<E> {
    lines: Vec<Line<E>>,
    threads: Option<rayon::ThreadPool>,
}

struct Line<E> {
    environment: E,
    /// Seed of the first episode.
    seed: u64,
    /// Number of the present episode.
    episode: u64,
    /// The next step begins a new episode.
    is_over: bool,
    /// Packets that the bottleneck sent in earlier episodes.
    packets: u64,
}

/// Lines that a thread takes at a time. Small, because loads differ.
const AT_A_TIME: usize = 4;

impl<E: Environment> Lines<E> {
    /// Returns `count` lines made by `make`, for `threads` threads (0: one for each processor).
    ///
    /// # Errors
    /// There are no lines, or too many, or the threads cannot be started.
    pub fn new(count: usize, threads: usize, make: impl Fn() -> E) -> Result<Self, Diagnostic> {
        if !(1..=MOST_LINES).contains(&count) {
            return Err(Diagnostic::new(format!("{count} lines are not possible"))
                .allowed(format!("1 to {MOST_LINES}")));
        }
        // 0 stays 0, which rayon takes for one thread for each processor.
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.min(count));
        let pool = (threads != 1 && count > 1).then(|| builder.build()).transpose();
        let threads = pool.map_err(|error| Diagnostic::new(format!("threads cannot be started: {error}")))?;
        let line = || Line { environment: make(), seed: 0, episode: 0, is_over: true, packets: 0 };
        Ok(Self { lines: (0..count).map(|_| line()).collect(), threads })
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Begins an episode on every line, and writes the observations one after another. Later
    /// episodes of a line follow from its seed.
    ///
    /// # Errors
    /// The number of seeds is not that of the lines, or the settings do not fit together.
    pub fn begin(&mut self, seeds: &[u64], observations: &mut [f32]) -> Result<(), Diagnostic> {
        self.expect("seeds", seeds.len(), 1)?;
        self.expect("numbers of the observations", observations.len(), E::OBSERVED.len())?;
        let observations = observations.chunks_mut(E::OBSERVED.len());
        let work = self.lines.iter_mut().zip(observations).zip(seeds).enumerate().collect();
        in_threads(self.threads.as_ref(), work, |(index, ((line, observation), &seed))| {
            (line.seed, line.episode) = (seed, 0);
            line.begin(observation).map_err(at(index))
        })
    }

    /// Steps every line with its action, and writes the observations one after another. A line
    /// whose episode is over ignores its action and begins the next episode; its reward is 0.
    ///
    /// # Errors
    /// The number of actions is not that of the lines, or an action is no number or out of range.
    pub fn step(
        &mut self,
        actions: &[f64],
        observations: &mut [f32],
        steps: &mut [Step],
    ) -> Result<(), Diagnostic> {
        self.expect("actions", actions.len(), 1)?;
        self.expect("results", steps.len(), 1)?;
        self.expect("numbers of the observations", observations.len(), E::OBSERVED.len())?;
        // Nothing has changed when an action is refused.
        for (index, &action) in actions.iter().enumerate() {
            crate::environment::checked(action, E::ACTIONS).map_err(at(index))?;
        }
        let observations = observations.chunks_mut(E::OBSERVED.len());
        let lines = self.lines.iter_mut().zip(observations);
        let work = lines.zip(actions.iter().zip(steps)).enumerate().collect();
        in_threads(self.threads.as_ref(), work, |(index, ((line, observation), (&action, step)))| {
            *step = line.step(action, observation).map_err(at(index))?;
            Ok(())
        })
    }

    /// Writes the measured values of the last step, line after line.
    ///
    /// # Errors
    /// The number of values is not that of the lines times [`Environment::MEASURED`].
    pub fn measure(&self, values: &mut [f64]) -> Result<(), Diagnostic> {
        self.expect("values", values.len(), E::MEASURED.len())?;
        for (line, values) in self.lines.iter().zip(values.chunks_mut(E::MEASURED.len())) {
            line.environment.measure(values);
        }
        Ok(())
    }

    /// Returns the number of packets that all bottlenecks have sent.
    pub fn packets(&mut self) -> u64 {
        self.lines.iter_mut().map(|line| line.packets + line.environment.packets()).sum()
    }

    fn expect(&self, what: &str, given: usize, each: usize) -> Result<(), Diagnostic> {
        let wanted = self.lines.len() * each;
        if given == wanted {
            return Ok(());
        }
        Err(Diagnostic::new(format!("{given} {what} are given")).allowed(format!("{wanted}")))
    }
}

impl<E: Environment> Line<E> {
    fn begin(&mut self, observation: &mut [f32]) -> Result<(), Diagnostic> {
        // Before the new episode begins, with which the environment forgets these packets.
        self.packets += self.environment.packets();
        // The first episode has the seed itself, so that a single line can be had again.
        let seed = match self.episode {
            0 => self.seed,
            later => goodqueue::random::mix_64(self.seed ^ goodqueue::random::mix_64(later)),
        };
        self.environment.begin(seed)?;
        self.is_over = false;
        self.environment.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: f64, observation: &mut [f32]) -> Result<Step, Diagnostic> {
        if self.is_over {
            self.episode += 1;
            self.begin(observation)?;
            return Ok(Step { reward: 0.0, is_over: false });
        }
        let step = self.environment.step(action)?;
        self.is_over = step.is_over;
        self.environment.observe(observation);
        Ok(step)
    }
}

/// Greatest number of lines: about a gigabyte of measurements.
const MOST_LINES: usize = 4096;

/// Does all pieces of work, in the threads or in this one.
fn in_threads<T: Send>(
    threads: Option<&rayon::ThreadPool>,
    work: Vec<T>,
    each: impl Fn(T) -> Result<(), Diagnostic> + Sync + Send,
) -> Result<(), Diagnostic> {
    match threads {
        Some(threads) => threads.install(|| work.into_par_iter().with_min_len(AT_A_TIME).try_for_each(each)),
        None => work.into_iter().try_for_each(each),
    }
}

/// Returns a function that names the line in a message.
fn at(index: usize) -> impl Fn(Diagnostic) -> Diagnostic {
    move |message| message.prefixed(&format!("line {index}"))
}
