//! An image through the crate `fatfs`, in the way that its documentation shows: format, then create
//! and copy one file after the other through a buffered stream. Knows nothing of mkfatimg.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use fatfs::{Dir, FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::BufStream;
use mkfatimg_benches::ending;
use mkfatimg_benches::quantity::parse_bytes;

#[derive(Debug, Parser)]
#[command(about = "Writes TREE into a FAT32 image OUT with the crate fatfs")]
struct Args {
    tree: PathBuf,
    out: PathBuf,
    /// Size of the image
    #[arg(long, value_parser = parse_bytes)]
    size: u64,
}

type Disk = BufStream<File>;

fn copy_directory(from: &Path, into: &Dir<'_, Disk>) -> Result<()> {
    let told = || format!("{}: cannot be listed", from.display());
    for entry in fs::read_dir(from).with_context(told)? {
        let entry = entry.with_context(told)?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().with_context(|| format!("{}: not UTF-8", path.display()))?;
        let kind = entry.file_type().with_context(told)?;
        if kind.is_dir() {
            let made = into
                .create_dir(name)
                .with_context(|| format!("{}: the directory cannot be made", path.display()))?;
            copy_directory(&path, &made)?;
        } else if kind.is_file() {
            copy_file(&path, name, into)
                .with_context(|| format!("{}: cannot be copied", path.display()))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, name: &str, into: &Dir<'_, Disk>) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut file = into.create_file(name)?;
    io::copy(&mut source, &mut file)?;
    Ok(())
}

fn main() -> ExitCode {
    ending::of("fatfs-writer", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    let told = || format!("{}: cannot be made", args.out.display());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&args.out)
        .with_context(told)?;
    file.set_len(args.size).with_context(told)?;
    let mut disk = BufStream::new(file);
    fatfs::format_volume(&mut disk, FormatVolumeOptions::new().fat_type(FatType::Fat32))
        .with_context(told)?;
    let volume = FileSystem::new(disk, FsOptions::new()).with_context(told)?;
    copy_directory(&args.tree, &volume.root_dir())?;
    volume.unmount().with_context(told)
}
