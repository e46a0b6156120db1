//! A FAT as runs of clusters, and who owns each. Knows no directory.

use super::bytes::ImageBytes;
use super::finding::{Fault, Findings};
use super::{VerifyError, stop_if_asked};
use crate::event::Observer;
use crate::fat::geometry::{FIRST_CLUSTER, Geometry};
use crate::fat::kind::FatKind;
use crate::fat::table::{Link, WINDOW_UNIT_BYTES, decode};

const WINDOW_BYTES: usize = 64 << 10;
const WINDOW: usize = WINDOW_BYTES / WINDOW_UNIT_BYTES * WINDOW_UNIT_BYTES;

/// Sixteen million runs, far more than any tree has files.
const MOST_RUNS: usize = 1 << 24;

/// Clusters that follow each other in a chain and on the disk.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
    link: Link,
    owned: bool,
}

/// A stretch of a chain: first and last cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Stretch {
    pub(super) fn clusters(self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// All chains of a volume.
#[derive(Debug)]
pub(super) struct Chains {
    runs: Vec<Run>,
    cluster_count: u32,
    pub(super) free_count: u32,
    pub(super) first_free: Option<u32>,
}

impl Chains {
    /// Reads the FAT once and compares its copies. `None` when it is too fragmented.
    pub(super) fn read(
        image: &(impl ImageBytes + ?Sized),
        geometry: &Geometry,
        media: u8,
        watch: &dyn Observer,
        findings: &mut Findings,
    ) -> Result<Option<Self>, VerifyError> {
        let mut building = Building::new(geometry, media);
        let mut first = vec![0; WINDOW];
        let mut other = vec![0; WINDOW];
        let mut differing = [false; 2];
        let fat_bytes = geometry.fat_bytes();
        let mut at = 0;
        while at < fat_bytes {
            stop_if_asked(watch)?;
            let len = usize::try_from(fat_bytes - at).unwrap_or(WINDOW).min(WINDOW);
            let (window, copy) = (&mut first[..len], &mut other[..len]);
            image.read_at(geometry.fat_at_byte(0) + at, window)?;
            for index in 1..geometry.shape().fat_count {
                image.read_at(geometry.fat_at_byte(index) + at, copy)?;
                let told = &mut differing[usize::from(index)];
                if !*told && let Some(byte) = window.iter().zip(&*copy).position(|(a, b)| a != b) {
                    *told = true;
                    let at_byte = at + byte as u64;
                    findings.add("FAT", Fault::FatsDiffer { copy: index + 1, at_byte });
                }
            }
            building.window(window, geometry.fat_at_byte(0) + at, findings);
            if building.chains.runs.len() > MOST_RUNS {
                findings.add("FAT", Fault::TooFragmented);
                return Ok(None);
            }
            at += len as u64;
        }
        Ok(Some(building.finish()))
    }

    /// Takes the chain that begins at `first` for one owner, and puts it into `stretches` in place of
    /// what is there.
    pub(super) fn claim(&mut self, first: u32, stretches: &mut Vec<Stretch>) -> Result<(), Fault> {
        stretches.clear();
        let mut next = first;
        loop {
            let index = self.runs.partition_point(|run| run.last < next);
            let beyond = next < FIRST_CLUSTER || next - FIRST_CLUSTER >= self.cluster_count;
            let run = match self.runs.get_mut(index) {
                _ if beyond => {
                    return Err(Fault::WildChain { to: next, what: "none of the volume" });
                }
                Some(run) if run.first <= next => run,
                _ => return Err(Fault::WildChain { to: next, what: "free" }),
            };
            if run.owned || run.first != next {
                return Err(Fault::SharedCluster { cluster: next });
            }
            run.owned = true;
            stretches.push(Stretch { first: run.first, last: run.last });
            match run.link {
                Link::Next(to) => next = to,
                Link::Bad => return Err(Fault::BadCluster { cluster: run.last }),
                Link::End | Link::Free => return Ok(()),
            }
        }
    }

    /// Clusters in use that were not claimed: how many, and the first.
    pub(super) fn lost(&self) -> Option<(u64, u32)> {
        let lost = self.runs.iter().filter(|run| !run.owned);
        let first = lost.clone().next()?.first;
        Some((lost.map(|run| u64::from(run.last - run.first) + 1).sum(), first))
    }
}

/// Chains while the FAT goes by.
struct Building {
    chains: Chains,
    kind: FatKind,
    media: u8,
    next_entry: u64,
    /// A run whose last entry led to the next cluster.
    open: Option<Stretch>,
    nonzero_told: bool,
}

impl Building {
    fn new(geometry: &Geometry, media: u8) -> Self {
        let cluster_count = geometry.cluster_count();
        Self {
            chains: Chains { runs: Vec::new(), cluster_count, free_count: 0, first_free: None },
            kind: geometry.kind(),
            media,
            next_entry: 0,
            open: None,
            nonzero_told: false,
        }
    }

    fn window(&mut self, window: &[u8], at_byte: u64, findings: &mut Findings) {
        let last_entry = u64::from(self.chains.cluster_count) + u64::from(FIRST_CLUSTER) - 1;
        // What is zero to the end, as most of a large FAT is, needs no look at each entry; the two
        // reserved entries do.
        let least = if self.next_entry == 0 { WINDOW_UNIT_BYTES } else { 0 };
        let used = window.iter().rposition(|byte| *byte != 0).map_or(0, |byte| byte + 1);
        let used = used.max(least).next_multiple_of(WINDOW_UNIT_BYTES).min(window.len());
        let (entries, zeros) = window.split_at(used);
        for entry in decode(self.kind, entries) {
            if self.next_entry <= last_entry {
                self.entry(entry, findings);
            } else if entry != 0 && !self.nonzero_told {
                self.nonzero_told = true;
                findings.add("FAT behind the last cluster", Fault::NotZero { at_byte });
            }
            self.next_entry += 1;
        }
        let end = self.next_entry + zeros.len() as u64 * 8 / self.kind.entry_bits();
        let free = end.min(last_entry + 1).saturating_sub(self.next_entry);
        if free > 0 {
            // Numbers of clusters, hence of 32 bits.
            self.free(self.next_entry as u32, free as u32);
        }
        self.next_entry = end;
    }

    fn entry(&mut self, entry: u32, findings: &mut Findings) {
        // At most the last cluster's number.
        let cluster = self.next_entry as u32;
        let end_mark = self.kind.end_mark();
        if cluster < FIRST_CLUSTER {
            let expected =
                if cluster == 0 { end_mark & !0xFF | u32::from(self.media) } else { end_mark };
            if entry != expected {
                let index = cluster as u8;
                findings.add("FAT", Fault::ReservedEntry { index, found: entry, expected });
            }
            return;
        }
        if entry & !end_mark != 0 {
            findings.add("FAT", Fault::ReservedBits { cluster });
        }
        match Link::of(self.kind, entry) {
            Link::Free => self.free(cluster, 1),
            Link::Next(to) if to == cluster + 1 => {
                let first = self.open.map_or(cluster, |open| open.first);
                self.open = Some(Stretch { first, last: cluster });
            }
            link => {
                if link == Link::Bad {
                    findings.add("FAT", Fault::BadCluster { cluster });
                }
                if link == Link::End && entry & end_mark != end_mark {
                    findings.add("FAT", Fault::EndMark { cluster, found: entry });
                }
                let first = self.open.take().map_or(cluster, |open| open.first);
                self.chains.runs.push(Run { first, last: cluster, link, owned: false });
            }
        }
    }

    fn free(&mut self, first: u32, count: u32) {
        self.close();
        self.chains.first_free.get_or_insert(first);
        self.chains.free_count += count;
    }

    /// A run that leads into a free cluster, or out of the volume.
    fn close(&mut self) {
        if let Some(Stretch { first, last }) = self.open.take() {
            self.chains.runs.push(Run { first, last, link: Link::Next(last + 1), owned: false });
        }
    }

    fn finish(mut self) -> Chains {
        self.close();
        self.chains
    }
}
