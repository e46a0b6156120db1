//! Draws results as SVG: how many times as long as the limit each tool takes, and how time and memory
//! grow with what is built.

mod axis;
mod bars;
mod growth;
mod svg;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use mkfatimg_benches::{ending, results};

#[derive(Debug, Parser)]
#[command(about = "Draws results of the benchmarks as SVG")]
struct Args {
    #[command(subcommand)]
    chart: Chart,
}

#[derive(Debug, Subcommand)]
enum Chart {
    /// Bars: wall time as a ratio to a reference command, for each tree and tool
    Bars {
        /// File with a line for each run, as rounds writes it
        results: PathBuf,
        /// The SVG file to make
        out: PathBuf,
        /// The command whose wall time the others are divided by
        #[arg(long, value_name = "NAME", default_value = "limit")]
        reference: String,
        /// A command that is measured but not drawn
        #[arg(long, value_name = "NAME")]
        leave_out: Vec<String>,
    },
    /// Lines: seconds and peak memory against how much of TREE there is
    Growth {
        /// File with a line for each run, as rounds writes it
        results: PathBuf,
        /// The SVG file to make
        out: PathBuf,
        /// What grows, as its lines in the file say
        #[arg(long)]
        tree: String,
        /// The unit of the amounts
        #[arg(long)]
        unit: String,
    },
}

fn main() -> ExitCode {
    ending::of("plot", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    let (results, out) = match &args.chart {
        Chart::Bars { results, out, .. } | Chart::Growth { results, out, .. } => (results, out),
    };
    let runs = results::read(results)?;
    let drawn = match &args.chart {
        Chart::Bars { reference, leave_out, .. } => bars::draw(&runs, reference, leave_out),
        Chart::Growth { tree, unit, .. } => growth::draw(&runs, tree, unit),
    };
    let Some(drawn) = drawn else {
        bail!("{}: nothing in it that can be drawn", results.display());
    };
    std::fs::write(out, drawn).with_context(|| format!("{}: cannot be written", out.display()))
}
