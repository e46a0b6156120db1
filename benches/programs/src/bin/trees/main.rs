//! Makes the source trees of the benchmarks: the same names, sizes, contents and times on each
//! machine.

mod kind;
mod maker;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use mkfatimg_benches::ending;

use kind::{Kind, Wish};
use maker::Maker;

#[derive(Debug, Parser)]
#[command(
    about = "Makes a source tree: the same names, sizes, contents and times on each machine",
    after_help = "Prints one line: kind, files, directories, bytes of contents, bytes that the tree \
        takes on a disk, and bytes of a FAT32 image that holds it with room to spare."
)]
struct Args {
    /// What the tree looks like
    kind: Kind,
    /// Where; must not be there yet
    #[arg(required_unless_present = "dry_run")]
    dir: Option<PathBuf>,
    /// How many files or names, for the kinds that are measured as they grow
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Multiplies numbers and sizes, for a quick try
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    scale: f64,
    /// Make nothing, print the line only
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    ending::of("trees", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    if !(args.scale > 0.0 && args.scale <= 1.0) {
        bail!("--scale {}: more than 0 and at most 1 is possible", args.scale);
    }
    let wish = Wish::new(args.kind, args.count, args.scale)?;
    let root = args.dir.clone().filter(|_| !args.dry_run);
    let mut maker = Maker::new(root)?;
    wish.make(&mut maker)?;
    let tally = maker.finish()?;
    println!(
        "{}\t{}\t{}\t{}\t{}\t{}",
        args.kind,
        tally.files,
        tally.directories,
        tally.contents_bytes,
        tally.allocated_bytes,
        tally.image_bytes()
    );
    Ok(())
}
