//! From single runs to what is quoted: medians with least and most, and the ratio to a reference
//! command, which is taken within each round since the speed of a machine drifts.

use std::fmt;

use crate::results::{Cost, Outcome, Run};

/// Median, least and most of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The middle one, or half-way between the middle two.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// Of `numbers`; `None` if there are none.
    pub fn of(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        let middle = numbers.len() / 2;
        let median = match numbers.len() % 2 {
            0 => f64::midpoint(numbers[middle - 1], numbers[middle]),
            _ => numbers[middle],
        };
        Some(Self { median, least, most })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, least, most } = *self;
        write!(f, "{} ({} to {})", three_digits(median), three_digits(least), three_digits(most))
    }
}

/// `number` with about three digits that mean something: more would promise too much.
pub fn three_digits(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{number:.2}"),
        size if size >= 0.01 => format!("{number:.3}"),
        _ => format!("{number:.4}"),
    }
}

/// What one command came to on one tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which command.
    pub tool: String,
    /// Seconds by the clock.
    pub wall_seconds: Option<Spread>,
    /// Wall seconds as a ratio to the reference command's of the same round.
    pub ratio: Option<Spread>,
    /// User and system seconds.
    pub cpu_seconds: Option<Spread>,
    /// The most that any round took.
    pub peak_bytes: Option<u64>,
    /// Seconds after which it was stopped, if it was.
    pub over_seconds: Option<f64>,
    /// Whether a run failed.
    pub is_failed: bool,
}

/// A row for each command in `runs`, which are all of one tree, in the order of the first round.
pub fn rows(runs: &[Run], reference: &str) -> Vec<Row> {
    in_order(runs.iter().map(|run| run.tool.as_str()))
        .into_iter()
        .map(|tool| row(runs, tool, reference))
        .collect()
}

/// Each of `names` once, in the order of appearance.
pub fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn row(runs: &[Run], tool: &str, reference: &str) -> Row {
    let own: Vec<&Run> = runs.iter().filter(|run| run.tool == tool).collect();
    let costs: Vec<(u32, Cost)> = own
        .iter()
        .filter_map(|run| match run.outcome {
            Outcome::Done(cost) => Some((run.round, cost)),
            _ => None,
        })
        .collect();
    let ratios = costs.iter().filter_map(|(round, cost)| {
        runs.iter().find_map(|other| match other.outcome {
            Outcome::Done(base) if other.tool == reference && other.round == *round => {
                Some(cost.wall_seconds / base.wall_seconds)
            }
            _ => None,
        })
    });
    Row {
        tool: tool.to_owned(),
        ratio: Spread::of(ratios.collect()),
        wall_seconds: Spread::of(costs.iter().map(|(_, cost)| cost.wall_seconds).collect()),
        cpu_seconds: Spread::of(costs.iter().map(|(_, cost)| cost.cpu_seconds).collect()),
        peak_bytes: costs.iter().map(|(_, cost)| cost.peak_bytes).max(),
        over_seconds: own.iter().find_map(|run| match run.outcome {
            Outcome::Over(seconds) => Some(seconds),
            _ => None,
        }),
        is_failed: own.iter().any(|run| run.outcome == Outcome::Failed),
    }
}

impl Row {
    /// The cells after the command's name: seconds, ratio, CPU seconds, peak memory.
    pub fn cells(&self) -> [String; 4] {
        let dash = || "-".to_owned();
        let shown = |spread: Option<Spread>| spread.map_or_else(dash, |spread| spread.to_string());
        let wall = match (self.is_failed, self.over_seconds) {
            (true, _) => "failed".to_owned(),
            (false, Some(seconds)) => format!("over {seconds} s"),
            (false, None) => shown(self.wall_seconds),
        };
        let is_whole = !self.is_failed && self.over_seconds.is_none();
        let ratio = if is_whole { shown(self.ratio) } else { dash() };
        let cpu = self.cpu_seconds.map_or_else(dash, |cpu| three_digits(cpu.median));
        let peak = self
            .peak_bytes
            .map_or_else(dash, |bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 20)));
        [wall, ratio, cpu, peak]
    }
}

/// The titles of [`Row::cells`].
pub fn titles(reference: &str) -> [String; 4] {
    [
        "seconds".to_owned(),
        format!("ratio to {reference}"),
        "CPU seconds".to_owned(),
        "peak MiB".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tool: &str, round: u32, outcome: Outcome) -> Run {
        Run { tree: "t".into(), amount: 0, tool: tool.into(), round, outcome }
    }

    fn done(wall_seconds: f64) -> Outcome {
        Outcome::Done(Cost { wall_seconds, cpu_seconds: 0.5, peak_bytes: 1 << 20 })
    }

    #[test]
    fn the_ratio_is_taken_within_the_round() {
        // The machine becomes ten times slower; the ratio stays 2.
        let runs = [
            run("base", 1, done(1.0)),
            run("tool", 1, done(2.0)),
            run("base", 2, done(10.0)),
            run("tool", 2, done(20.0)),
        ];
        let rows = rows(&runs, "base");
        assert_eq!(rows[0].tool, "base");
        assert_eq!(rows[1].ratio, Some(Spread { median: 2.0, least: 2.0, most: 2.0 }));
        assert_eq!(rows[1].wall_seconds.unwrap().median, 11.0);
    }

    #[test]
    fn a_command_that_took_too_long_or_failed_stays_in_the_table() {
        let runs = [
            run("a", 1, done(1.0)),
            run("b", 1, Outcome::Over(60.0)),
            run("c", 1, Outcome::Failed),
        ];
        let rows = rows(&runs, "a");
        assert_eq!(rows[1].cells(), ["over 60 s", "-", "-", "-"]);
        assert_eq!(rows[2].cells()[0], "failed");
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [1234.0, 12.34, 1.234, 0.0123, 0.00012].map(three_digits);
        assert_eq!(shown, ["1234", "12.3", "1.23", "0.012", "0.0001"]);
    }
}
