//! Runs commands in turn, round by round, and measures each: one round holds every command once, in
//! an order of its own, so that slow minutes of the machine hit all of them.

mod measure;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mkfatimg_benches::random::Random;
use mkfatimg_benches::results::{self, Outcome, Run};
use mkfatimg_benches::{ending, summary};

use measure::{Ended, Interrupts};

#[derive(Debug, Parser)]
#[command(
    about = "Runs commands in turn, round by round, and measures each",
    after_help = "Each COMMAND is run by sh -c with no input; its output is dropped, and its messages \
        are shown when it fails.\n\
        Exit status: 0; 1 a command failed; 130 interrupted."
)]
struct Args {
    /// How often each command runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds after which a command is stopped and left out of further rounds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// The command whose wall time the others are divided by; by default the last one
    #[arg(long, value_name = "NAME")]
    reference: Option<String>,
    /// Removed before each run and at the end, outside the timing: an output, file or directory
    #[arg(long, value_name = "PATH")]
    remove: Vec<PathBuf>,
    /// A command that is known to take longer than --timeout: it is noted so, and not run
    #[arg(long, value_name = "NAME")]
    over: Vec<String>,
    /// A command that is known to fail: it is noted so, and not run
    #[arg(long, value_name = "NAME")]
    failed: Vec<String>,
    /// File to which a line is added for each run
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// What is read, for the lines in that file
    #[arg(long, default_value = "-")]
    tree: String,
    /// How much of it where that grows, for the lines in that file
    #[arg(long, default_value_t = 0)]
    amount: u64,
    /// Names and what sh runs
    #[arg(required = true, num_args = 2.., value_name = "NAME COMMAND")]
    commands: Vec<String>,
}

fn main() -> ExitCode {
    ending::of("rounds", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    let (pairs, []) = args.commands.as_chunks::<2>() else {
        bail!("{}: a name without a command", args.commands.join(" "));
    };
    let reference = args.reference.as_deref().unwrap_or(&pairs[pairs.len() - 1][0]);
    for name in args.over.iter().chain(&args.failed).map(String::as_str).chain([reference]) {
        if !pairs.iter().any(|[known, _]| known == name) {
            bail!("{name}: no command has this name");
        }
    }
    let interrupts = Interrupts::watch()?;
    let timeout = Duration::from_secs(u64::from(args.timeout));
    let mut random = Random::new(1);
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let mut all: Vec<Run> = Vec::new();
    let mut failed: Vec<&str> = Vec::new();
    for round in 1..=args.rounds {
        random.shuffle(&mut order);
        let mut of_round: Vec<Option<Run>> = vec![None; pairs.len()];
        for &index in &order {
            let [name, command] = &pairs[index];
            if all.iter().any(|run| run.tool == *name && !matches!(run.outcome, Outcome::Done(_))) {
                continue;
            }
            let outcome = if args.over.contains(name) {
                Outcome::Over(f64::from(args.timeout))
            } else if args.failed.contains(name) {
                Outcome::Failed
            } else {
                remove_outputs(&args.remove)?;
                match measure::run(command, timeout, &interrupts)? {
                    Ended::Well(cost) => Outcome::Done(cost),
                    Ended::TooLate => Outcome::Over(f64::from(args.timeout)),
                    Ended::Badly { status, messages } => {
                        eprintln!("rounds: {}: {name}: {status}: {messages}", args.tree);
                        failed.push(name);
                        Outcome::Failed
                    }
                    Ended::Interrupted => {
                        remove_outputs(&args.remove)?;
                        std::process::exit(130);
                    }
                }
            };
            let (tree, tool) = (args.tree.clone(), name.clone());
            of_round[index] = Some(Run { tree, amount: args.amount, tool, round, outcome });
        }
        // Each round as it ends: what was measured is not lost when a later one is interrupted.
        let of_round: Vec<Run> = of_round.into_iter().flatten().collect();
        if let Some(path) = &args.results {
            results::append(path, &of_round)?;
        }
        all.extend(of_round);
    }
    remove_outputs(&args.remove)?;
    show(&args.tree, &all, reference);
    if !failed.is_empty() {
        bail!("{}: failed: {}", args.tree, failed.join(", "));
    }
    Ok(())
}

fn remove_outputs(paths: &[PathBuf]) -> Result<()> {
    let remove = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    paths.iter().try_for_each(|path| {
        remove(path).with_context(|| format!("{}: cannot be removed", path.display()))
    })
}

fn show(tree: &str, runs: &[Run], reference: &str) {
    let rows = summary::rows(runs, reference);
    let names = rows.iter().map(|row| row.tool.len()).chain([tree.len()]).max().unwrap_or(0);
    let line = |name: &str, [wall, ratio, cpu, peak]: [String; 4]| {
        println!("{name:names$}  {wall:>26}  {ratio:>26}  {cpu:>11}  {peak:>8}");
    };
    line(tree, summary::titles(reference));
    for row in &rows {
        line(&row.tool, row.cells());
    }
}
