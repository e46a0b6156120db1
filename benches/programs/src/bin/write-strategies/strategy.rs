//! The ways to write. Each ends with all bytes on the disk; only when it says so differs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mkfatimg_benches::random::Random;
use rustix::fs::{FallocateFlags, fallocate};

/// What programs write that write as they go.
pub(crate) const PIECE_BYTES: usize = 4096;

/// Written bytes repeat after this many: a file of them costs memory.
const CONTENTS_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    Growing,
    Overwriting,
    Reserved,
    ReservedAndZeroed,
    ReservedKeepingSize,
    AtOnce,
    InPieces,
    LargeInPieces,
}

/// What a run took.
#[derive(Debug)]
pub(crate) struct Took {
    pub(crate) elapsed: Duration,
    pub(crate) writes: u64,
    pub(crate) fsyncs: u64,
}

/// A file in the writing.
struct Output {
    file: File,
    writes: u64,
    fsyncs: u64,
}

impl Output {
    fn write(&mut self, contents: &[u8], at: u64) -> Result<()> {
        self.writes += 1;
        self.file.write_all_at(contents, at).context("a write failed")
    }

    /// Data and size both: `fdatasync` of a growing file would do as much.
    fn fsync(&mut self) -> Result<()> {
        self.fsyncs += 1;
        self.file.sync_all().context("an fsync failed")
    }

    fn write_pieces(&mut self, contents: &[u8], total_bytes: u64, each_synced: bool) -> Result<()> {
        let pieces = contents.chunks_exact(PIECE_BYTES).cycle();
        for (piece, at) in pieces.zip((0..total_bytes).step_by(PIECE_BYTES)) {
            self.write(piece, at)?;
            if each_synced {
                self.fsync()?;
            }
        }
        Ok(())
    }
}

impl Strategy {
    pub(crate) const ALL: [Self; 8] = [
        Self::Growing,
        Self::Overwriting,
        Self::Reserved,
        Self::ReservedAndZeroed,
        Self::ReservedKeepingSize,
        Self::AtOnce,
        Self::InPieces,
        Self::LargeInPieces,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Growing => "4 KiB and an fsync each, a file that grows",
            Self::Overwriting => "4 KiB and an fsync each, over an existing file",
            Self::Reserved => "4 KiB and an fsync each, after `fallocate`",
            Self::ReservedAndZeroed => {
                "4 KiB and an fsync each, after `fallocate` and a fill with zeros"
            }
            Self::ReservedKeepingSize => {
                "4 KiB and an fsync each, after `fallocate` that keeps the size"
            }
            Self::AtOnce => "one write, one fsync",
            Self::InPieces | Self::LargeInPieces => "4 KiB each, one fsync at the end",
        }
    }

    /// Writes `total_bytes` to a file at `path`, which is made anew and removed after it.
    pub(crate) fn run(self, path: &Path, total_bytes: u64) -> Result<Took> {
        let mut contents = vec![0; CONTENTS_BYTES];
        Random::new(4).fill(&mut contents);
        let whole: Vec<u8> = match self {
            Self::AtOnce => {
                contents.iter().copied().cycle().take(usize::try_from(total_bytes)?).collect()
            }
            _ => Vec::new(),
        };
        if path.exists() {
            fs::remove_file(path)?;
        }
        if self == Self::Overwriting {
            let mut existing = Output { file: File::create(path)?, writes: 0, fsyncs: 0 };
            existing.write_pieces(&[0xA5; PIECE_BYTES], total_bytes, false)?;
            existing.fsync()?;
        }
        let began = Instant::now();
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        let mut output = Output { file, writes: 0, fsyncs: 0 };
        match self {
            Self::Growing | Self::Overwriting => {}
            Self::Reserved => reserve(&output, FallocateFlags::empty(), total_bytes)?,
            Self::ReservedAndZeroed => {
                reserve(&output, FallocateFlags::empty(), total_bytes)?;
                // Large writes: what is counted is the fill, not its clumsiness.
                let zeros = vec![0; CONTENTS_BYTES];
                for at in (0..total_bytes).step_by(CONTENTS_BYTES) {
                    let len = usize::try_from(total_bytes - at)?.min(CONTENTS_BYTES);
                    output.write(&zeros[..len], at)?;
                }
                output.fsync()?;
            }
            Self::ReservedKeepingSize => reserve(&output, FallocateFlags::KEEP_SIZE, total_bytes)?,
            Self::AtOnce | Self::InPieces | Self::LargeInPieces => {}
        }
        match self {
            Self::AtOnce => output.write(&whole, 0)?,
            Self::InPieces | Self::LargeInPieces => {
                output.write_pieces(&contents, total_bytes, false)?;
            }
            _ => output.write_pieces(&contents, total_bytes, true)?,
        }
        if matches!(self, Self::AtOnce | Self::InPieces | Self::LargeInPieces) {
            output.fsync()?;
        }
        let elapsed = began.elapsed();
        let Output { writes, fsyncs, .. } = output;
        fs::remove_file(path)?;
        Ok(Took { elapsed, writes, fsyncs })
    }
}

fn reserve(output: &Output, flags: FallocateFlags, total_bytes: u64) -> Result<()> {
    fallocate(&output.file, flags, 0, total_bytes)
        .context("no room can be reserved; ext4, XFS, btrfs and tmpfs can")
}

#[cfg(test)]
mod tests {
    use super::Strategy;

    #[test]
    fn each_way_makes_as_many_calls_as_its_title_says() {
        let path = std::env::temp_dir().join(format!("write-strategies-{}", std::process::id()));
        let calls = Strategy::ALL.map(|strategy| {
            let took = strategy.run(&path, 16 << 10).unwrap();
            (took.writes, took.fsyncs)
        });
        assert_eq!(calls, [(4, 4), (4, 4), (4, 4), (5, 5), (4, 4), (1, 1), (4, 1), (4, 1)]);
        assert!(!path.exists());
    }
}
