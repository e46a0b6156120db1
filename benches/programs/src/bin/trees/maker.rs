//! Puts files and directories of given names and sizes on the disk, and counts them. Knows no kind
//! of tree.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use mkfatimg_benches::random::Random;

/// 2024-02-29 12:00:00 UTC; the files that follow are two seconds apart, which is what FAT can tell.
const FIRST_SECONDS: u64 = 1_709_208_000;
/// Longer than the window of usual compressors, so that contents do not repeat for them.
const POOL_BYTES: usize = 32 << 20;
const CLUSTER_BYTES: u64 = 4096;
const RECORD_BYTES: u64 = 32;
const UNITS_PER_LONG_PART: u64 = 13;

/// What a tree came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) files: u64,
    pub(crate) directories: u64,
    pub(crate) contents_bytes: u64,
    /// On a disk with blocks of 4 KiB.
    pub(crate) allocated_bytes: u64,
    /// Of the files, in clusters of 4 KiB, holes written out.
    clusters: u64,
    /// Records of each directory.
    records: HashMap<PathBuf, u64>,
}

impl Tally {
    /// Size of a FAT32 image that holds the tree, whoever writes it: two FATs, 4 % and 32 MiB to
    /// spare, never under the 64 MiB at which every tool takes FAT32 for legal; whole MiB.
    pub(crate) fn image_bytes(&self) -> u64 {
        let directory_clusters: u64 = self
            .records
            .values()
            .map(|records| (records * RECORD_BYTES).div_ceil(CLUSTER_BYTES).max(1))
            .sum();
        let clusters = self.clusters + directory_clusters;
        let bytes = clusters * (CLUSTER_BYTES + 2 * 4);
        (bytes + bytes / 25 + (32 << 20)).max(64 << 20).next_multiple_of(1 << 20)
    }
}

/// A tree in the making.
#[derive(Debug)]
pub(crate) struct Maker {
    /// `None`: only count.
    root: Option<PathBuf>,
    pub(crate) random: Random,
    /// Its own, so that the tree is the same whether contents are written or not.
    place: Random,
    pool: Vec<u8>,
    made: Vec<PathBuf>,
    tally: Tally,
}

impl Maker {
    pub(crate) fn new(root: Option<PathBuf>) -> Result<Self> {
        let mut pool = Vec::new();
        if let Some(root) = &root {
            fs::create_dir(root).with_context(|| {
                format!("{}: cannot be made; a tree wants a new directory", root.display())
            })?;
            pool = vec![0; POOL_BYTES];
            Random::new(1).fill(&mut pool);
        }
        let mut tally = Tally::default();
        // Two records of its own and the label.
        tally.records.insert(PathBuf::new(), 3);
        let (random, place) = (Random::new(2), Random::new(3));
        Ok(Self { root, random, place, pool, made: Vec::new(), tally })
    }

    /// A directory in one that is there.
    pub(crate) fn directory(&mut self, path: &str) -> Result<()> {
        self.count_name(path);
        self.tally.directories += 1;
        self.tally.allocated_bytes += CLUSTER_BYTES;
        self.tally.records.insert(PathBuf::from(path), 2);
        if let Some(root) = &self.root {
            let path = root.join(path);
            fs::create_dir(&path).with_context(|| format!("{}: cannot be made", path.display()))?;
            self.made.push(path);
        }
        Ok(())
    }

    /// A file of contents that do not compress.
    pub(crate) fn file(&mut self, path: &str, size_bytes: u64) -> Result<()> {
        self.count_file(path, size_bytes, size_bytes);
        let Some(root) = &self.root else { return Ok(()) };
        let path = root.join(path);
        self.write(&path, size_bytes)
            .with_context(|| format!("{}: cannot be written", path.display()))
    }

    /// A file of which only pieces, as far apart as they can be, hold data.
    pub(crate) fn sparse_file(
        &mut self,
        path: &str,
        size_bytes: u64,
        pieces: u64,
        piece_bytes: u64,
    ) -> Result<()> {
        self.count_file(path, size_bytes, pieces * piece_bytes);
        let Some(root) = &self.root else { return Ok(()) };
        let path = root.join(path);
        let piece_len = usize::try_from(piece_bytes)?.min(POOL_BYTES);
        let write = || {
            let file = File::create_new(&path)?;
            file.set_len(size_bytes)?;
            for piece in 0..pieces {
                // In whole blocks, so that no hole is filled beside it.
                let at = (piece * (size_bytes / pieces)) / CLUSTER_BYTES * CLUSTER_BYTES;
                file.write_all_at(&self.pool[..piece_len], at)?;
            }
            file.set_modified(self.time())
        };
        write().with_context(|| format!("{}: cannot be written", path.display()))
    }

    /// Gives the directories their times, which each file in them has changed.
    pub(crate) fn finish(self) -> Result<Tally> {
        let first = SystemTime::UNIX_EPOCH + Duration::from_secs(FIRST_SECONDS);
        for path in self.made.iter().chain(&self.root) {
            File::open(path)
                .and_then(|directory| directory.set_modified(first))
                .with_context(|| format!("{}: the time cannot be set", path.display()))?;
        }
        Ok(self.tally)
    }

    fn write(&mut self, path: &Path, size_bytes: u64) -> std::io::Result<()> {
        let time = self.time();
        let mut file = File::create_new(path)?;
        let mut rest_bytes = size_bytes;
        while rest_bytes > 0 {
            let window = &self.pool[self.place.place(POOL_BYTES)..];
            let len = usize::try_from(rest_bytes).map_or(window.len(), |n| n.min(window.len()));
            file.write_all(&window[..len])?;
            rest_bytes -= len as u64;
        }
        file.set_modified(time)
    }

    fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(FIRST_SECONDS + 2 * self.tally.files)
    }

    fn count_file(&mut self, path: &str, size_bytes: u64, data_bytes: u64) {
        self.count_name(path);
        self.tally.files += 1;
        self.tally.contents_bytes += size_bytes;
        self.tally.allocated_bytes += data_bytes.next_multiple_of(CLUSTER_BYTES);
        self.tally.clusters += size_bytes.div_ceil(CLUSTER_BYTES);
    }

    fn count_name(&mut self, path: &str) {
        let path = Path::new(path);
        let units = path.file_name().map_or(0, |name| name.len() as u64);
        let parent = path.parent().unwrap_or(Path::new(""));
        let records = 1 + units.div_ceil(UNITS_PER_LONG_PART);
        match self.tally.records.get_mut(parent) {
            Some(count) => *count += records,
            None => unreachable!("{}: made before its directory", path.display()),
        }
    }
}
