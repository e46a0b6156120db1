//! What one thread can do at all: reads every file of a tree once and writes the bytes to one file,
//! through one buffer, each file at a multiple of 4 KiB. Makes no file system, and knows none.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mkfatimg_benches::ending;
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RawDir};
use rustix::io::{pread, pwrite};

/// As large as pays: with more, the processor's cache no longer holds it.
const BUFFER_BYTES: usize = 1 << 20;
/// A cluster of the images that are compared.
const PLACE_BYTES: usize = 4096;
/// What the C library takes for a directory.
const LISTING_BYTES: usize = 32 << 10;

#[derive(Debug, Parser)]
#[command(
    about = "Reads every file of TREE and writes the bytes to OUT: the least an image builder does"
)]
struct Args {
    tree: PathBuf,
    out: PathBuf,
}

/// A file to be read.
struct Source {
    directory: usize,
    /// Where its name begins in `Survey::names`.
    name: usize,
    size_bytes: u64,
}

/// What the walk found. Names lie behind one another, as an image builder that saves memory would
/// keep them.
#[derive(Default)]
struct Survey {
    directories: Vec<Vec<u8>>,
    sources: Vec<Source>,
    names: Vec<u8>,
}

impl Survey {
    fn of(tree: &OwnedFd) -> Result<Self> {
        let mut survey = Self { directories: vec![b".".to_vec()], ..Self::default() };
        let mut next = 0;
        while next < survey.directories.len() {
            survey.look_into(tree, next)?;
            next += 1;
        }
        Ok(survey)
    }

    fn look_into(&mut self, tree: &OwnedFd, directory: usize) -> Result<()> {
        let path = self.directories[directory].clone();
        let told = || format!("{}: cannot be listed", String::from_utf8_lossy(&path));
        let open = fs::openat(
            tree,
            path.as_slice(),
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .with_context(told)?;
        // The listing keeps no handle of its own, which would cost another open for each directory.
        let mut records = Vec::with_capacity(LISTING_BYTES);
        let mut listing = RawDir::new(&open, records.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry.with_context(told)?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            let stat = fs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW)
                .with_context(|| format!("{}: cannot be looked at", name.to_string_lossy()))?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    self.directories.push([&path, b"/".as_slice(), name.to_bytes()].concat());
                }
                FileType::RegularFile => {
                    let size_bytes = stat.st_size as u64;
                    self.sources.push(Source { directory, name: self.names.len(), size_bytes });
                    self.names.extend_from_slice(name.to_bytes_with_nul());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn name(&self, source: &Source) -> Result<&CStr> {
        Ok(CStr::from_bytes_until_nul(&self.names[source.name..])?)
    }
}

/// The output and the buffer before it.
struct Sink {
    file: OwnedFd,
    buffer: Box<[u8]>,
    filled_bytes: usize,
    written_bytes: u64,
}

impl Sink {
    /// Takes the rest of the buffer for a file that begins here.
    fn read_whole(&mut self, file: &OwnedFd, size_bytes: u64) -> Result<()> {
        let mut at = 0;
        while at < size_bytes {
            if self.filled_bytes == BUFFER_BYTES {
                self.flush()?;
            }
            let room = &mut self.buffer[self.filled_bytes..];
            let wanted = usize::try_from(size_bytes - at).map_or(room.len(), |n| n.min(room.len()));
            let read = pread(file, &mut room[..wanted], at)?;
            if read == 0 {
                bail!("it became shorter while it was read");
            }
            self.filled_bytes += read;
            at += read as u64;
        }
        // The buffer is a multiple of places, so the gap always fits.
        let end = self.filled_bytes.next_multiple_of(PLACE_BYTES);
        self.buffer[self.filled_bytes..end].fill(0);
        self.filled_bytes = end;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let mut rest = &self.buffer[..self.filled_bytes];
        while !rest.is_empty() {
            let written = pwrite(&self.file, rest, self.written_bytes)
                .context("the output cannot be written")?;
            self.written_bytes += written as u64;
            rest = &rest[written..];
        }
        self.filled_bytes = 0;
        Ok(())
    }
}

fn copy(tree: &OwnedFd, survey: &Survey, sink: &mut Sink) -> Result<()> {
    let mut directory: Option<(usize, OwnedFd)> = None;
    for source in survey.sources.iter().filter(|source| source.size_bytes > 0) {
        let open = match directory.take() {
            Some((index, open)) if index == source.directory => open,
            _ => fs::openat(
                tree,
                survey.directories[source.directory].as_slice(),
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )?,
        };
        let name = survey.name(source)?;
        let told = || format!("{}: cannot be read", name.to_string_lossy());
        let file = fs::openat(&open, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .with_context(told)?;
        sink.read_whole(&file, source.size_bytes).with_context(told)?;
        directory = Some((source.directory, open));
    }
    sink.flush()
}

fn open_output(path: &Path) -> Result<OwnedFd> {
    // A file that is there already is not overwritten but replaced: its pages would help.
    if path.exists() {
        std::fs::remove_file(path).with_context(|| format!("{}: stays", path.display()))?;
    }
    fs::openat(
        CWD,
        path,
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC,
        Mode::from_raw_mode(0o644),
    )
    .with_context(|| format!("{}: cannot be made", path.display()))
}

fn main() -> ExitCode {
    ending::of("limit", run(&Args::parse()))
}

fn run(args: &Args) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let tree = fs::openat(CWD, &args.tree, flags, Mode::empty())
        .with_context(|| format!("{}: cannot be opened", args.tree.display()))?;
    let survey = Survey::of(&tree)?;
    let mut sink = Sink {
        file: open_output(&args.out)?,
        buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        filled_bytes: 0,
        written_bytes: 0,
    };
    copy(&tree, &survey, &mut sink)
}
