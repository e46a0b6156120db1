//! Results as they lie in files: one line for each run of a command, tabs between the columns.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The first line of each file.
const COLUMNS: &str = "tree\tamount\ttool\tround\toutcome\twall_seconds\tcpu_seconds\tpeak_bytes";

/// One run of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What was read, or what grew.
    pub tree: String,
    /// How much of it where that grows, in files, names or bytes; otherwise 0.
    pub amount: u64,
    /// Which command.
    pub tool: String,
    /// From 1.
    pub round: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// It ended with status 0.
    Done(Cost),
    /// It was stopped after this many seconds.
    Over(f64),
    /// It ended otherwise.
    Failed,
}

/// What a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// By the clock.
    pub wall_seconds: f64,
    /// User and system time of the command and all that it waited for.
    pub cpu_seconds: f64,
    /// Resident memory of the largest of its processes.
    pub peak_bytes: u64,
}

impl Run {
    fn line(&self) -> String {
        let Self { tree, amount, tool, round, outcome } = self;
        let outcome = match outcome {
            Outcome::Done(Cost { wall_seconds, cpu_seconds, peak_bytes }) => {
                format!("done\t{wall_seconds:.6}\t{cpu_seconds:.6}\t{peak_bytes}")
            }
            Outcome::Over(seconds) => format!("over\t{seconds}\t-\t-"),
            Outcome::Failed => "failed\t-\t-\t-".to_owned(),
        };
        format!("{tree}\t{amount}\t{tool}\t{round}\t{outcome}")
    }

    fn parse(line: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [tree, amount, tool, round, outcome, wall, cpu, peak] = columns[..] else {
            return None;
        };
        let outcome = match outcome {
            "done" => Outcome::Done(Cost {
                wall_seconds: wall.parse().ok()?,
                cpu_seconds: cpu.parse().ok()?,
                peak_bytes: peak.parse().ok()?,
            }),
            "over" => Outcome::Over(wall.parse().ok()?),
            "failed" => Outcome::Failed,
            _ => return None,
        };
        Some(Self {
            tree: tree.to_owned(),
            amount: amount.parse().ok()?,
            tool: tool.to_owned(),
            round: round.parse().ok()?,
            outcome,
        })
    }
}

/// Adds `runs` to the end of the file at `path`, which is made with its first line if need be.
///
/// # Errors
/// When the file cannot be written.
pub fn append(path: &Path, runs: &[Run]) -> Result<()> {
    let told = || format!("{}: the results cannot be added", path.display());
    let mut file = OpenOptions::new().append(true).create(true).open(path).with_context(told)?;
    let mut text = String::new();
    if file.metadata().with_context(told)?.len() == 0 {
        text = format!("{COLUMNS}\n");
    }
    for run in runs {
        text += &run.line();
        text.push('\n');
    }
    file.write_all(text.as_bytes()).with_context(told)
}

/// All runs in the file at `path`.
///
/// # Errors
/// When it cannot be read or is no such file.
pub fn read(path: &Path) -> Result<Vec<Run>> {
    let file = File::open(path).with_context(|| format!("{}: cannot be opened", path.display()))?;
    let text = std::io::read_to_string(file)
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    let mut lines = text.lines();
    if lines.next() != Some(COLUMNS) {
        bail!("{}: no file of results; its first line has other columns", path.display());
    }
    let parsed = lines.zip(2..).map(|(line, number)| {
        Run::parse(line)
            .with_context(|| format!("{}: line {number} is no result: {line}", path.display()))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::{Cost, Outcome, Run};

    #[test]
    fn what_is_written_is_read() {
        let cost = Cost { wall_seconds: 1.25, cpu_seconds: 0.5, peak_bytes: 5 << 20 };
        for outcome in [Outcome::Done(cost), Outcome::Over(60.0), Outcome::Failed] {
            let run =
                Run { tree: "small".into(), amount: 3, tool: "cp -r".into(), round: 2, outcome };
            assert_eq!(Run::parse(&run.line()), Some(run));
        }
        assert_eq!(Run::parse("small\t3\tcp"), None);
    }
}
