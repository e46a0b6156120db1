//! Results as tables in Markdown, one for each tree. Knows files of results, and no tool.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use mkfatimg_benches::results::{self, Run};
use mkfatimg_benches::{ending, summary};

#[derive(Debug, Parser)]
#[command(about = "Shows results as tables in Markdown, one for each tree")]
struct Args {
    /// Files with a line for each run, as rounds writes them
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// The command whose wall time the others are divided by
    #[arg(long, value_name = "NAME", default_value = "limit")]
    reference: String,
}

fn main() -> ExitCode {
    ending::of("table", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    let mut runs = Vec::new();
    for path in &args.results {
        runs.extend(results::read(path)?);
    }
    println!("Median (least to most) of the rounds; the ratio is taken within each round.");
    for tree in summary::in_order(runs.iter().map(|run| run.tree.as_str())) {
        let of_tree: Vec<Run> = runs.iter().filter(|run| run.tree == tree).cloned().collect();
        let mut amounts: Vec<u64> = of_tree.iter().map(|run| run.amount).collect();
        amounts.dedup();
        for amount in amounts {
            let title = if amount == 0 { tree.to_owned() } else { format!("{tree}, {amount}") };
            println!("\n## {title}\n\n| | {} |", summary::titles(&args.reference).join(" | "));
            println!("|---|---|---|---|---|");
            let same: Vec<Run> =
                of_tree.iter().filter(|run| run.amount == amount).cloned().collect();
            for row in summary::rows(&same, &args.reference) {
                println!("| {} | {} |", row.tool, row.cells().join(" | "));
            }
        }
    }
    Ok(())
}
