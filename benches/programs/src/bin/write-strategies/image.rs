//! The same bytes by `mkfatimg --sync`: a tree of one file, an image, all of it on the disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mkfatimg_benches::random::Random;

const PIECE_BYTES: u64 = 1 << 20;

/// A tree that is there, and what makes an image of it.
#[derive(Debug)]
pub(crate) struct ImageBuild {
    program: PathBuf,
    tree: PathBuf,
    image: PathBuf,
    pub(crate) contents_bytes: u64,
    /// Writes and fsyncs of one build, if strace is there to count them.
    pub(crate) calls: Option<(u64, u64)>,
}

impl ImageBuild {
    pub(crate) fn prepare(
        program: &Path,
        work: &Path,
        name: &str,
        contents_bytes: u64,
    ) -> Result<Self> {
        let tree = work.join(name);
        let told = || format!("{}: cannot be made; it must not be there yet", tree.display());
        fs::create_dir(&tree).with_context(told)?;
        let mut file = File::create(tree.join("contents.bin")).with_context(told)?;
        let mut piece = vec![0; usize::try_from(PIECE_BYTES)?];
        Random::new(5).fill(&mut piece);
        for at in (0..contents_bytes).step_by(piece.len()) {
            let len = usize::try_from((contents_bytes - at).min(PIECE_BYTES))?;
            file.write_all(&piece[..len]).with_context(told)?;
        }
        // What waits to be written would be written by the first fsync that is measured.
        file.sync_all().with_context(told)?;
        let image = work.join(format!("{name}.img"));
        let mut build =
            Self { program: program.to_owned(), tree, image, contents_bytes, calls: None };
        build.calls = build.count_calls(work)?;
        Ok(build)
    }

    pub(crate) fn run(&self) -> Result<Duration> {
        let began = Instant::now();
        let status = self.command(Command::new(&self.program)).status();
        let elapsed = began.elapsed();
        let status =
            status.with_context(|| format!("{}: cannot be started", self.program.display()))?;
        if !status.success() {
            bail!("{}: {status}", self.program.display());
        }
        fs::remove_file(&self.image)?;
        Ok(elapsed)
    }

    pub(crate) fn clean_up(self) -> Result<()> {
        fs::remove_dir_all(&self.tree).with_context(|| format!("{}: stays", self.tree.display()))
    }

    fn command(&self, mut command: Command) -> Command {
        command.args(["--quiet", "--sync", "--from"]).arg(&self.tree).arg(&self.image);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// One build that is not measured, under strace.
    fn count_calls(&self, work: &Path) -> Result<Option<(u64, u64)>> {
        let trace = work.join("trace");
        let mut strace = Command::new("strace");
        strace.args([
            "-f",
            "-qq",
            "-e",
            "trace=write,pwrite64,writev,pwritev,fsync,fdatasync",
            "-o",
        ]);
        strace.arg(&trace).arg(&self.program);
        // Not there, or not allowed: the table says so.
        let Ok(status) = self.command(strace).stderr(Stdio::null()).status() else {
            return Ok(None);
        };
        if !status.success() {
            return Ok(None);
        }
        let calls = fs::read_to_string(&trace)?;
        fs::remove_file(&trace)?;
        fs::remove_file(&self.image)?;
        let count =
            |wanted: &str| calls.lines().filter(|line| line.contains(wanted)).count() as u64;
        // `write(` is the end of pwrite64's name only with its digits, so each is counted once.
        let writes = count(" write(") + count("pwrite64(") + count("writev(") + count("pwritev(");
        Ok(Some((writes, count("sync("))))
    }
}
