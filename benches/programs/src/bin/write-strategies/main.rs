//! What it costs to get bytes onto a disk, by the way they are written: in how many pieces, with how
//! many fsyncs, into what kind of file; and beside it mkfatimg, which writes large pieces once.

mod image;
mod strategy;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mkfatimg_benches::ending;
use mkfatimg_benches::quantity::{parse_bytes, show_bytes};
use mkfatimg_benches::random::Random;
use mkfatimg_benches::summary::{Spread, three_digits};

use image::ImageBuild;
use strategy::{PIECE_BYTES, Strategy, Took};

#[derive(Debug, Parser)]
#[command(
    about = "Measures eight ways to write a file that is on the disk at the end, and mkfatimg --sync",
    after_help = "Prints a table in Markdown: the median of the rounds, counts and speed. Opening, \
        reserving, filling with zeros and the last fsync are part of the time; making the file that \
        is then written over is not."
)]
struct Args {
    /// An empty or new directory on the disk that is measured; made if need be
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    /// The mkfatimg to measure; left out without it
    #[arg(long, value_name = "PROGRAM")]
    mkfatimg: Option<PathBuf>,
    /// How often each way is tried
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Bytes that seven of the ways write
    #[arg(long, value_name = "SIZE", default_value = "5M", value_parser = parse_bytes)]
    small: u64,
    /// Bytes that the eighth way writes
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_bytes)]
    large: u64,
}

/// One row of the table.
struct Measured {
    title: String,
    total_bytes: u64,
    took: Vec<Duration>,
    /// Writes and fsyncs, where they are known.
    calls: Option<(u64, u64)>,
}

fn main() -> ExitCode {
    ending::of("write-strategies", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    for total_bytes in [args.small, args.large] {
        if total_bytes == 0 || !total_bytes.is_multiple_of(PIECE_BYTES as u64) {
            bail!("{total_bytes} bytes: not a multiple of {PIECE_BYTES}, the size of a piece");
        }
    }
    fs::create_dir_all(&args.work)
        .with_context(|| format!("{}: cannot be made", args.work.display()))?;
    let strategies = Strategy::ALL.map(|strategy| {
        let total_bytes = if strategy == Strategy::LargeInPieces { args.large } else { args.small };
        (strategy, total_bytes)
    });
    let builds = match &args.mkfatimg {
        Some(program) => vec![
            ImageBuild::prepare(program, &args.work, "small", args.small)?,
            ImageBuild::prepare(program, &args.work, "large", args.large)?,
        ],
        None => Vec::new(),
    };
    let mut rows: Vec<Measured> = strategies
        .iter()
        .map(|(strategy, total_bytes)| (strategy.title().to_owned(), *total_bytes, None))
        .chain(builds.iter().map(|build| {
            ("`mkfatimg --sync`, a tree of one file".to_owned(), build.contents_bytes, build.calls)
        }))
        .map(|(title, total_bytes, calls)| Measured { title, total_bytes, took: Vec::new(), calls })
        .collect();

    let file = args.work.join("written");
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut random = Random::new(1);
    for _ in 0..args.rounds {
        random.shuffle(&mut order);
        for &index in &order {
            let row = &mut rows[index];
            match strategies.get(index) {
                Some((strategy, total_bytes)) => {
                    let Took { elapsed, writes, fsyncs } = strategy
                        .run(&file, *total_bytes)
                        .with_context(|| format!("{}: {}", file.display(), row.title))?;
                    row.took.push(elapsed);
                    row.calls = Some((writes, fsyncs));
                }
                None => row.took.push(builds[index - strategies.len()].run()?),
            }
        }
    }
    for build in builds {
        build.clean_up()?;
    }
    print(&rows, args.rounds);
    Ok(())
}

fn print(rows: &[Measured], rounds: u32) {
    println!("| {rounds} rounds | size | median ms (least to most) | writes | fsyncs | MB/s |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let took = row.took.iter().map(|took| took.as_secs_f64() * 1e3).collect();
        let Some(spread) = Spread::of(took) else { continue };
        let (writes, fsyncs) = match row.calls {
            Some((writes, fsyncs)) => (writes.to_string(), fsyncs.to_string()),
            None => ("not counted".to_owned(), "not counted".to_owned()),
        };
        let megabytes_per_second = row.total_bytes as f64 / 1e3 / spread.median;
        println!(
            "| {} | {} | {spread} | {writes} | {fsyncs} | {} |",
            row.title,
            show_bytes(row.total_bytes),
            three_digits(megabytes_per_second)
        );
    }
}
