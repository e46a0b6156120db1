//! Decodes a FAT volume: allocation table, directories and chains.

use std::collections::HashMap;
use std::io;

use super::Breaches;
use super::directory::{self, Directory, Entry, MOST_SLOTS, SLOT_BYTES};
use super::geometry::{BootSector, FatType, Geometry};
use super::volume_bytes::{VolumeBytes, u16_at, u32_at};

/// Beyond this number of files and directories the tree is not read on.
pub const MOST_ENTRIES: usize = 1 << 20;

/// Clusters that follow each other on the disk and in their chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub first: u32,
    pub count: u32,
}

/// A volume as its bytes have it.
#[derive(Debug)]
pub struct Volume {
    /// Where the volume starts in the image file, in bytes.
    pub offset: u64,
    pub boot: BootSector,
    pub geometry: Geometry,
    /// The entries 0..=n+1 of the first copy as stored, on FAT32 with their four reserved bits.
    pub fat: Vec<u32>,
    /// Depth first from the root, siblings in the order of their slots.
    pub directories: Vec<Directory>,
    /// Files and directories without dot entries and labels, directory by directory in the order of
    /// `directories`.
    pub entries: Vec<Entry>,
    /// For each number of `fat`: whether a chain that starts at an entry or at the root leads
    /// through it.
    pub owned: Vec<bool>,
}

impl Volume {
    pub(super) fn read(
        bytes: &VolumeBytes,
        boot: BootSector,
        geometry: Geometry,
        breaches: &mut Breaches,
    ) -> io::Result<Volume> {
        let fat = read_fat(bytes, &geometry)?;
        let owned = vec![false; fat.len()];
        let offset = bytes.start();
        let (directories, entries) = (Vec::new(), Vec::new());
        let mut volume = Volume { offset, boot, geometry, fat, directories, entries, owned };
        volume.read_tree(bytes, breaches)?;
        Ok(volume)
    }

    /// The value of a cluster's entry without the reserved bits of FAT32; 0 is a free cluster.
    pub fn next(&self, cluster: u32) -> u32 {
        self.fat.get(cluster as usize).map_or(0, |value| value & self.geometry.fat_type.ones())
    }

    pub fn free_clusters(&self) -> impl Iterator<Item = u32> {
        (2..=self.geometry.last_cluster()).filter(|&cluster| self.next(cluster) == 0)
    }

    /// `/` and the names from the root down to the entry.
    pub fn path(&self, entry: &Entry) -> String {
        let mut names = vec![entry.name()];
        let mut directory = self.directories.get(entry.directory);
        while let Some(above) = directory.and_then(|directory| directory.entry) {
            names.push(self.entries[above].name());
            directory = self.directories.get(self.entries[above].directory);
        }
        names.iter().rev().map(|name| format!("/{name}")).collect()
    }

    pub fn directory_path(&self, directory: &Directory) -> String {
        directory.entry.map_or_else(|| "/".to_owned(), |entry| self.path(&self.entries[entry]))
    }

    /// The entry with this path, written as [`Volume::path`] writes it.
    pub fn find(&self, path: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| self.path(entry) == path)
    }

    /// The directory of each entry that is one and could be read, by index of the entry.
    pub fn directories_by_entry(&self) -> HashMap<usize, &Directory> {
        let with_entry =
            self.directories.iter().filter_map(|directory| Some((directory.entry?, directory)));
        with_entry.collect()
    }

    /// Byte in the volume where a slot of a directory starts; `None` behind the end of its
    /// clusters.
    pub fn slot_position(&self, directory: &Directory, slot: u32) -> Option<u64> {
        let byte = u64::from(slot) * SLOT_BYTES;
        if directory.is_fixed_root {
            return Some(self.geometry.root_directory_position() + byte);
        }
        let mut clusters = byte / self.geometry.cluster_bytes;
        for run in &directory.runs {
            if clusters < u64::from(run.count) {
                let cluster = run.first + clusters as u32;
                return Some(
                    self.geometry.cluster_position(cluster) + byte % self.geometry.cluster_bytes,
                );
            }
            clusters -= u64::from(run.count);
        }
        None
    }

    fn read_tree(&mut self, bytes: &VolumeBytes, breaches: &mut Breaches) -> io::Result<()> {
        let mut root_runs = Vec::new();
        if self.geometry.fat_type == FatType::Fat32 {
            let (runs, flaw) = self.follow(self.boot.root_cluster);
            if let Some(flaw) = flaw {
                breaches.add(27, || format!("/: {flaw}"));
            }
            root_runs = runs;
        }
        self.read_directory(bytes, None, root_runs, breaches)?;
        // A stack, not recursion: directories may be nested as deeply as there are clusters.
        let mut unread = self.subdirectories(0);
        while let Some(entry) = unread.pop() {
            let runs = self.entries[entry].runs.clone();
            self.read_directory(bytes, Some(entry), runs, breaches)?;
            unread.extend(self.subdirectories(self.directories.len() - 1));
        }
        Ok(())
    }

    /// Those with clusters of their own, last first.
    fn subdirectories(&self, directory: usize) -> Vec<usize> {
        let is_readable = |&index: &usize| {
            let entry = &self.entries[index];
            entry.is_directory() && !entry.runs.is_empty()
        };
        self.directories[directory].entries.clone().filter(is_readable).rev().collect()
    }

    fn read_directory(
        &mut self,
        bytes: &VolumeBytes,
        entry: Option<usize>,
        runs: Vec<Run>,
        breaches: &mut Breaches,
    ) -> io::Result<()> {
        let is_fixed_root = entry.is_none() && self.geometry.fat_type != FatType::Fat32;
        let contents = if is_fixed_root {
            let root_bytes = u64::from(self.boot.root_entries) * SLOT_BYTES;
            bytes.read(self.geometry.root_directory_position(), root_bytes)?
        } else {
            self.read_slots(bytes, &runs)?
        };
        let decoded = directory::decode(&contents, entry.is_none(), self.geometry.fat_type);

        let index = self.directories.len();
        let first_entry = self.entries.len();
        self.directories.push(Directory {
            entry,
            is_fixed_root,
            runs,
            slots_used: decoded.slots_used,
            dots: decoded.dots,
            labels: decoded.labels,
            entries: first_entry..first_entry,
        });
        for flaw in decoded.flaws {
            let directory = &self.directories[index];
            breaches.add(flaw.invariant, || {
                format!("{}, slot {}: {}", self.directory_path(directory), flaw.slot, flaw.what)
            });
        }
        for mut entry in decoded.entries {
            if self.entries.len() == MOST_ENTRIES {
                breaches.add(27, || {
                    format!("more than {MOST_ENTRIES} entries: the others are not judged")
                });
                break;
            }
            entry.directory = index;
            if entry.first_cluster != 0 {
                let (runs, flaw) = self.follow(entry.first_cluster);
                if let Some(flaw) = flaw {
                    breaches.add(27, || format!("{}: {flaw}", self.path(&entry)));
                }
                entry.runs = runs;
            }
            self.entries.push(entry);
        }
        self.directories[index].entries.end = self.entries.len();
        Ok(())
    }

    /// The slots in these clusters, but not many more than a directory may have.
    fn read_slots(&self, bytes: &VolumeBytes, runs: &[Run]) -> io::Result<Vec<u8>> {
        let most_bytes = (u64::from(MOST_SLOTS) + 1) * SLOT_BYTES;
        let mut contents = Vec::new();
        for run in runs {
            let missing = most_bytes - contents.len() as u64;
            if missing == 0 {
                break;
            }
            let run_bytes = u64::from(run.count) * self.geometry.cluster_bytes;
            contents.extend(
                bytes.read(self.geometry.cluster_position(run.first), run_bytes.min(missing))?,
            );
        }
        Ok(contents)
    }

    /// Takes possession of a chain as far as it is sound and nobody else's: so no chain is walked
    /// twice or for ever.
    fn follow(&mut self, first: u32) -> (Vec<Run>, Option<String>) {
        let ones = self.geometry.fat_type.ones();
        let mut runs: Vec<Run> = Vec::with_capacity(1);
        let mut cluster = first;
        loop {
            if !self.geometry.is_cluster(cluster) {
                return (
                    runs,
                    Some(format!("its chain leads to {cluster:#x}, which is no cluster")),
                );
            }
            let next = self.next(cluster);
            if next == 0 {
                return (runs, Some(format!("its chain leads to free cluster {cluster}")));
            }
            if self.owned[cluster as usize] {
                return (
                    runs,
                    Some(format!("its chain leads to cluster {cluster}, which has an owner")),
                );
            }
            self.owned[cluster as usize] = true;
            match runs.last_mut() {
                Some(run) if run.first + run.count == cluster => run.count += 1,
                _ => runs.push(Run { first: cluster, count: 1 }),
            }
            if next >= ones - 7 {
                return (runs, None);
            }
            cluster = next;
        }
    }
}

fn read_fat(bytes: &VolumeBytes, geometry: &Geometry) -> io::Result<Vec<u32>> {
    let entry_count = geometry.cluster_count as usize + 2;
    let start = geometry.fat_position(0);
    let mut fat = Vec::with_capacity(entry_count);
    match geometry.fat_type {
        FatType::Fat12 => {
            let table = bytes.read(start, geometry.fat_bytes_needed())?;
            for number in 0..entry_count {
                // The last even entry ends in a half byte, so both of its bytes exist.
                let pair = u16_at(&table, number + number / 2);
                let value = if number % 2 == 0 { pair & 0xFFF } else { pair >> 4 };
                fat.push(u32::from(value));
            }
        }
        FatType::Fat16 => {
            let table = bytes.read(start, geometry.fat_bytes_needed())?;
            fat.extend(table.chunks_exact(2).map(|entry| u32::from(u16_at(entry, 0))));
        }
        FatType::Fat32 => {
            bytes.pieces(start, start + geometry.fat_bytes_needed(), |_, piece| {
                fat.extend(piece.chunks_exact(4).map(|entry| u32_at(entry, 0)));
                Ok(true)
            })?
        }
    }
    Ok(fat)
}
