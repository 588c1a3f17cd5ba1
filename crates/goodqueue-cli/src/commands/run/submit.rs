//! `goodqueue run --submit`: the script that runs a sweep's shards on the machines of a cluster.

use clap::ValueEnum;

use crate::typed::quoted;

/// Programs that distribute work to machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Engine {
    /// A job array for sbatch.
    Slurm,
    /// A task array of HyperQueue.
    Hq,
    /// An indexed job of Kubernetes.
    Kubernetes,
    /// A Python program for a Dask cluster.
    Dask,
    /// A script for GNU parallel.
    Parallel,
}

/// The numbers and commands that a script contains.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    /// Name of the scenario.
    pub(crate) name: String,
    pub(crate) runs: usize,
    pub(crate) points: usize,
    pub(crate) shards: u32,
    /// Processors for each shard.
    pub(crate) cpus: u16,
    /// Working directory.
    pub(crate) folder: String,
    /// Path of this program.
    pub(crate) program: String,
    /// Arguments of a shard, without `--shard` and `--jobs`.
    pub(crate) shard: Vec<String>,
    /// Arguments of the command that combines the results.
    pub(crate) merge: Vec<String>,
}

impl Submission {
    /// Returns the script for this engine.
    pub(crate) fn script(&self, engine: Engine) -> String {
        match engine {
            Engine::Slurm => self.slurm(),
            Engine::Hq => self.hq(),
            Engine::Kubernetes => self.kubernetes(),
            Engine::Dask => self.dask(),
            Engine::Parallel => self.parallel(),
        }
    }

    /// Default number of shards: about 100 runs each, and no more than most clusters allow.
    pub(crate) fn shards_for(runs: usize) -> u32 {
        u32::try_from(runs.div_ceil(RUNS_PER_SHARD)).unwrap_or(MOST_SHARDS).clamp(1, MOST_SHARDS)
    }

    fn slurm(&self) -> String {
        let Self { shards, cpus, .. } = self;
        format!(
            "#!/bin/bash\n{}\
             # Start it with `sbatch FILE`, also again: shards resume where they stopped.\n\
             #SBATCH --job-name={}\n\
             #SBATCH --array=1-{shards}\n\
             #SBATCH --cpus-per-task={cpus}\n\
             #SBATCH --time=04:00:00\n\
             #SBATCH --chdir={}\n\
             set -eu\n\
             exec {} --jobs \"$SLURM_CPUS_PER_TASK\" --shard \"$SLURM_ARRAY_TASK_ID/{shards}\"\n\n\
             # When all shards have finished, this command writes the results:\n\
             #   cd {} && {}\n",
            self.about("#"),
            self.name,
            quoted(&self.folder),
            self.command(&self.shard),
            quoted(&self.folder),
            self.command(&self.merge),
        )
    }

    fn hq(&self) -> String {
        let Self { shards, cpus, .. } = self;
        // With `--wait` and `set -e`, the results are combined only after all shards have
        // succeeded.
        let shard =
            format!("exec {} --jobs {cpus} --shard \"$HQ_TASK_ID/{shards}\"", self.command(&self.shard));
        format!(
            "#!/bin/bash\n{}\
             # It needs a HyperQueue server. Run it again after an interruption: shards resume where they stopped.\n\
             set -eu\n\
             cd {}\n\
             hq submit --name {} --array 1-{shards} --cpus {cpus} --time-limit 4h --wait -- bash -c {}\n\
             {}\n",
            self.about("#"),
            quoted(&self.folder),
            self.name,
            quoted(&shard),
            self.command(&self.merge),
        )
    }

    fn kubernetes(&self) -> String {
        let Self { shards, cpus, .. } = self;
        let command = |args: &[String], more: &str| {
            // The path of the program on this machine need not exist in the image.
            let line = format!("exec goodqueue {}{more}", join(args));
            // A string of JSON is one of YAML, too.
            serde_json::Value::from(line).to_string()
        };
        // Kubernetes counts completions from 0, and shards are counted from 1.
        let shard = format!(" --jobs {cpus} --shard \"$((JOB_COMPLETION_INDEX + 1))/{shards}\"");
        // By default a job ends after 6 failed pods (`backoffLimit`), however many shards it has.
        format!(
            "{}\
             # Replace IMAGE (an image with goodqueue) and CLAIM (a volume with the scenario, which all pods may write).\n\
             # Start it with `kubectl apply -f FILE`. When the job is complete, run in such a pod:\n\
             #   goodqueue {}\n\
             apiVersion: batch/v1\n\
             kind: Job\n\
             metadata:\n  name: {}\n\
             spec:\n  completionMode: Indexed\n  completions: {shards}\n  parallelism: {shards}\n  backoffLimit: {shards}\n  \
             template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: goodqueue\n        image: IMAGE\n        \
             workingDir: /sweep\n        command: [\"sh\", \"-c\", {}]\n        \
             resources:\n          requests:\n            cpu: \"{cpus}\"\n        \
             volumeMounts:\n        - name: sweep\n          mountPath: /sweep\n      \
             volumes:\n      - name: sweep\n        persistentVolumeClaim:\n          claimName: CLAIM\n",
            self.about("#"),
            join(&self.merge),
            self.job_name(),
            command(&self.shard, &shard),
        )
    }

    /// Returns the name of the job in Kubernetes.
    fn job_name(&self) -> String {
        // Names in Kubernetes have small letters, digits and hyphens, and do not end with a hyphen
        // (RFC 1123).
        let plain = self.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        // Each pod is named like its job, with a hyphen and its index from 0. Kubernetes refuses a
        // job whose last pod would have too long a name.
        let index = format!("-{}", self.shards.saturating_sub(1));
        // The prefix ends with a hyphen already.
        let name = format!("goodqueue-{}", plain.trim_start_matches('-'));
        let name: String = name.chars().take(LONGEST_LABEL.saturating_sub(index.len())).collect();
        name.trim_end_matches('-').to_owned()
    }

    fn dask(&self) -> String {
        // Without `pure=False`, Dask may give the earlier result of an equal call instead of
        // resuming the shard. A list of JSON is one of Python, too.
        let list = |args: &[String]| {
            let words: Vec<&String> = std::iter::once(&self.program).chain(args).collect();
            serde_json::json!(words).to_string()
        };
        format!(
            "#!/usr/bin/env python3\n{}\
             # Start it with the address of a Dask scheduler, or without one for a cluster on this machine. Run it again\n\
             # after an interruption: shards resume where they stopped.\n\
             import subprocess\n\
             import sys\n\n\
             from dask.distributed import Client, as_completed\n\n\
             SHARDS = {}\n\
             FOLDER = {}\n\
             SHARD = {}\n\
             MERGE = {}\n\n\n\
             def run(index):\n    \
             # One thread each, because Dask starts a shard for each thread of a worker.\n    \
             command = [*SHARD, \"--jobs\", \"1\", \"--shard\", f\"{{index}}/{{SHARDS}}\"]\n    \
             subprocess.run(command, cwd=FOLDER, check=True)\n    \
             return index\n\n\n\
             if __name__ == \"__main__\":\n    \
             client = Client(*sys.argv[1:])\n    \
             for shard in as_completed(client.map(run, range(1, SHARDS + 1), pure=False)):\n        \
             print(f\"shard {{shard.result()}}/{{SHARDS}}\")\n    \
             subprocess.run(MERGE, cwd=FOLDER, check=True)\n",
            self.about("#"),
            self.shards,
            serde_json::Value::from(self.folder.as_str()),
            list(&self.shard),
            list(&self.merge),
        )
    }

    fn parallel(&self) -> String {
        // GNU parallel starts a job for each processor by default, so a shard has one thread.
        let shards = self.shards;
        // parallel gives its words to a shell once more; `--quote` protects them from it.
        format!(
            "#!/bin/bash\n{}\
             # For several machines with the same folders, add `--sshloginfile FILE --workdir .` to parallel. Run it again\n\
             # after an interruption: shards resume where they stopped.\n\
             set -eu\n\
             cd {}\n\
             seq {shards} | parallel --quote {} --jobs 1 --shard {{}}/{shards}\n\
             {}\n",
            self.about("#"),
            quoted(&self.folder),
            self.command(&self.shard),
            self.command(&self.merge),
        )
    }

    /// Returns the first comment.
    fn about(&self, mark: &str) -> String {
        let Self { name, runs, points, shards, .. } = self;
        let many = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        format!(
            "{mark} {name}: {} at {} of the sweep, in {} of about {}.\n",
            many(*runs, "run"),
            many(*points, "point"),
            many(*shards as usize, "shard"),
            many(runs.div_ceil(*shards as usize), "run")
        )
    }

    fn command(&self, args: &[String]) -> String {
        format!("{} {}", quoted(&self.program), join(args))
    }
}

/// Returns the arguments without these options. An option is given with `true` if it takes a value.
pub(crate) fn without(args: &[String], options: &[(&str, bool)]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        match options.iter().find(|option| option.0 == name) {
            // The value is the next word unless it stands behind `=`.
            Some((_, true)) if value.is_none() => drop(words.next()),
            Some(_) => {}
            None => kept.push(word.clone()),
        }
    }
    kept
}

fn join(args: &[String]) -> String {
    args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" ")
}

/// Characters of a name in Kubernetes that is also a host name (RFC 1123).
const LONGEST_LABEL: usize = 63;
/// Runs of a shard: with runs of a second, minutes of work for a few processors.
const RUNS_PER_SHARD: usize = 100;
/// Clusters limit the tasks of an array, often to a little more than this.
const MOST_SHARDS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn submission() -> Submission {
        Submission {
            name: "my.Sweep".to_owned(),
            runs: 400,
            points: 10,
            shards: 4,
            cpus: 4,
            folder: "/shared/my sweeps".to_owned(),
            program: "/opt/goodqueue".to_owned(),
            shard: words("run sweep.toml --out out --quiet"),
            merge: words("run sweep.toml --out out --report it's.html --merge"),
        }
    }

    #[test]
    fn each_engine_gets_all_shards_once_and_the_numbers_of_the_sweep() {
        let all = submission();
        for (engine, parts) in [
            (Engine::Slurm, &["#SBATCH --array=1-4\n", "--shard \"$SLURM_ARRAY_TASK_ID/4\"\n"][..]),
            (Engine::Hq, &["--array 1-4 ", "--shard \"$HQ_TASK_ID/4\"'\n"]),
            (
                Engine::Kubernetes,
                &[
                    "completions: 4\n",
                    "\\\"$((JOB_COMPLETION_INDEX + 1))/4\\\"\"",
                    "name: goodqueue-my-sweep\n",
                ],
            ),
            (Engine::Dask, &["SHARDS = 4\n", "range(1, SHARDS + 1)", "FOLDER = \"/shared/my sweeps\"\n"]),
            (Engine::Parallel, &["seq 4 | parallel", "--shard {}/4\n", "cd '/shared/my sweeps'\n"]),
        ] {
            let script = all.script(engine);
            let first = "my.Sweep: 400 runs at 10 points of the sweep, in 4 shards of about 100 runs.\n";
            for part in parts.iter().chain(&[first, "--merge"]) {
                assert!(script.contains(part), "{engine:?} lacks {part}:\n{script}");
            }
        }
        assert!(all.script(Engine::Slurm).contains(r"--report 'it'\''s.html' --merge"));
    }

    #[test]
    fn every_name_of_a_scenario_gives_a_name_of_a_job() {
        let job = |name: &str, shards: u32| {
            let script =
                Submission { name: name.to_owned(), shards, ..submission() }.script(Engine::Kubernetes);
            let start = script.find("metadata:\n  name: ").unwrap() + "metadata:\n  name: ".len();
            script[start..].lines().next().unwrap().to_owned()
        };
        // No name may end with a hyphen (RFC 1123).
        assert_eq!(job("_", 4), "goodqueue");
        assert_eq!(job("-a.B_", 4), "goodqueue-a-b");
        for (name, shards) in [("x".repeat(100), 1), ("x".repeat(100), 1001), ("a.".repeat(50), 1000)] {
            let job = job(&name, shards);
            // Kubernetes names the last pod like this, in at most 63 characters (RFC 1123).
            let last = format!("{job}-{}", shards - 1);
            assert!((62..=63).contains(&last.len()), "{last}");
            assert!(job.ends_with(|c: char| c.is_ascii_alphanumeric()), "{job}");
        }
    }

    #[test]
    fn shards_have_about_a_hundred_runs_and_clusters_allow_their_number() {
        let shards = [1, 100, 101, 5000, 99_999, 10_000_000].map(Submission::shards_for);
        assert_eq!(shards, [1, 1, 2, 50, 1000, 1000]);
    }

    #[test]
    fn options_are_left_out_with_their_values() {
        let given = words("run a.toml --submit slurm --report=r.html --seeds 3 --shards 4 --quiet");
        let options = [("--submit", true), ("--report", true), ("--shards", true), ("--quiet", false)];
        assert_eq!(without(&given, &options), words("run a.toml --seeds 3"));
    }
}
