//! The bytes of a FAT, computed from the ends of its chains. Knows no file; never holds a table.

use super::geometry::FIRST_CLUSTER;
use super::kind::FatKind;

/// A volume whose chains are single runs, one after the other from cluster 2 on without a gap:
/// then each entry is the next number, or the end mark where a chain ends, or zero past the last.
#[derive(Debug, Clone, Copy)]
pub struct Chains<'a> {
    kind: FatKind,
    media: u8,
    last_clusters: &'a [u32],
}

impl<'a> Chains<'a> {
    /// `last_clusters`: the last cluster of each chain, ascending. `media` is repeated in entry 0.
    pub fn new(kind: FatKind, media: u8, last_clusters: &'a [u32]) -> Self {
        Self { kind, media, last_clusters }
    }

    /// Bytes from the start of the FAT to the end of the last entry that is not zero.
    pub fn used_bytes(&self) -> u64 {
        let last = self.last_clusters.last().copied().unwrap_or(FIRST_CLUSTER - 1);
        ((u64::from(last) + 1) * self.kind.entry_bits()).div_ceil(8)
    }

    /// Fills `out` with the FAT's bytes from byte `at` on. For FAT16 and FAT32 `at` and the length
    /// of `out` are multiples of the entry's width, as all whole sectors are.
    pub fn fill(&self, at: u64, out: &mut [u8]) {
        let width_bytes = self.kind.entry_bits() / 8;
        match self.kind {
            FatKind::Fat12 => self.fill_twelve_bit(at, out),
            FatKind::Fat16 => {
                let mut entries = self.entries_from(at / width_bytes);
                for slot in out.as_chunks_mut::<2>().0 {
                    // A FAT16 entry is 16 bits wide.
                    let [low, high, ..] = entries.next_entry().to_le_bytes();
                    *slot = [low, high];
                }
            }
            FatKind::Fat32 => {
                let mut entries = self.entries_from(at / width_bytes);
                for slot in out.as_chunks_mut::<4>().0 {
                    *slot = entries.next_entry().to_le_bytes();
                }
            }
        }
    }

    /// Two entries share three bytes, and sectors end anywhere within them.
    fn fill_twelve_bit(&self, at: u64, out: &mut [u8]) {
        let mut entries = self.entries_from(at / 3 * 2);
        let mut skip = at % 3;
        let mut out = out.iter_mut();
        loop {
            let pair = entries.next_entry() | entries.next_entry() << 12;
            for byte in pair.to_le_bytes().into_iter().take(3) {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let Some(slot) = out.next() else { return };
                *slot = byte;
            }
        }
    }

    fn entries_from(&self, first: u64) -> Entries<'a> {
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        let passed = self.last_clusters.partition_point(|last| *last < first);
        let ends = self.last_clusters.get(passed..).unwrap_or_default();
        Entries { chains: *self, next: first, ends }
    }
}

struct Entries<'a> {
    chains: Chains<'a>,
    next: u32,
    ends: &'a [u32],
}

impl Entries<'_> {
    fn next_entry(&mut self) -> u32 {
        let cluster = self.next;
        self.next = cluster.saturating_add(1);
        let end_mark = self.chains.kind.end_mark();
        match cluster {
            0 => end_mark & !0xFF | u32::from(self.chains.media),
            // All ones: clean, and no errors met.
            1 => end_mark,
            _ => match self.ends.split_first() {
                None => 0,
                Some((end, rest)) if *end == cluster => {
                    self.ends = rest;
                    end_mark
                }
                Some(_) => self.next,
            },
        }
    }
}

/// What an entry of a FAT says of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing owns it.
    Free,
    /// The chain goes on in this cluster, which need not be one of the volume.
    Next(u32),
    /// The chain ends.
    End,
    /// The medium is bad there.
    Bad,
}

impl Link {
    /// What `entry`, as stored but for the four bits that FAT32 reserves, means.
    pub fn of(kind: FatKind, entry: u32) -> Self {
        let end_mark = kind.end_mark();
        let entry = entry & end_mark;
        match end_mark - entry {
            _ if entry == 0 => Self::Free,
            0..=7 => Self::End,
            8 => Self::Bad,
            _ => Self::Next(entry),
        }
    }
}

/// Bytes in which the FATs of all types have whole entries.
pub const WINDOW_UNIT_BYTES: usize = 12;

/// The entries in a window of a FAT that begins at a multiple of [`WINDOW_UNIT_BYTES`], with the
/// bits that FAT32 reserves. A last entry that is cut, which is none of the volume, is read as if
/// zeros followed.
pub fn decode(kind: FatKind, window: &[u8]) -> impl Iterator<Item = u32> {
    let (twelve, sixteen, thirty_two) = match kind {
        FatKind::Fat12 => (window, &[][..], &[][..]),
        FatKind::Fat16 => (&[][..], window, &[][..]),
        FatKind::Fat32 => (&[][..], &[][..], window),
    };
    let pairs = twelve.chunks(3).flat_map(|chunk| {
        let [a, b, c] = match *chunk {
            [a, b, c] => [a, b, c],
            [a, b] => [a, b, 0],
            [a] => [a, 0, 0],
            _ => [0; 3],
        };
        let pair = u32::from_le_bytes([a, b, c, 0]);
        [pair & 0xFFF, pair >> 12].into_iter().take(chunk.len().min(2))
    });
    let halves = sixteen.as_chunks::<2>().0.iter().map(|half| u32::from(u16::from_le_bytes(*half)));
    let words = thirty_two.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    pairs.chain(halves).chain(words)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn whole(kind: FatKind, ends: &[u32], len: usize) -> Vec<u8> {
        let mut out = vec![0xEE; len];
        Chains::new(kind, 0xF8, ends).fill(0, &mut out);
        out
    }

    #[test]
    fn first_entries_are_media_and_clean_mark() {
        assert_eq!(whole(FatKind::Fat12, &[], 6), [0xF8, 0xFF, 0xFF, 0, 0, 0]);
        assert_eq!(whole(FatKind::Fat16, &[], 6), [0xF8, 0xFF, 0xFF, 0xFF, 0, 0]);
        assert_eq!(
            whole(FatKind::Fat32, &[2], 16),
            [0xF8, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0, 0, 0]
        );
    }

    #[test]
    fn a_chain_counts_up_to_its_end_mark() {
        assert_eq!(
            whole(FatKind::Fat16, &[2, 5], 14),
            [0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 4, 0, 5, 0, 0xFF, 0xFF, 0, 0]
        );
        // 0xFF8 0xFFF | 0xFFF 0x004 | 0x005 0xFFF
        assert_eq!(
            whole(FatKind::Fat12, &[2, 5], 9),
            [0xF8, 0xFF, 0xFF, 0xFF, 0x4F, 0x00, 0x05, 0xF0, 0xFF]
        );
    }

    #[test]
    fn any_window_equals_that_part_of_the_whole() {
        let ends: Vec<u32> = (2..4000).filter(|cluster| cluster % 7 < 3).collect();
        for kind in FatKind::ALL {
            let len = 4096 * 4;
            let all = whole(kind, &ends, len);
            for sector_bytes in [512, 1024, 4096] {
                for at in (0..len).step_by(sector_bytes) {
                    let mut window = vec![0xEE; sector_bytes];
                    Chains::new(kind, 0xF8, &ends).fill(at as u64, &mut window);
                    assert_eq!(window, all[at..at + sector_bytes], "{kind} at {at}");
                }
            }
        }
    }

    #[test]
    fn used_bytes_end_with_the_last_entry() {
        assert_eq!(Chains::new(FatKind::Fat12, 0xF8, &[]).used_bytes(), 3);
        assert_eq!(Chains::new(FatKind::Fat12, 0xF8, &[2]).used_bytes(), 5);
        assert_eq!(Chains::new(FatKind::Fat16, 0xF8, &[2, 9]).used_bytes(), 20);
        assert_eq!(Chains::new(FatKind::Fat32, 0xF8, &[2]).used_bytes(), 12);
    }

    #[test]
    fn what_is_filled_in_is_decoded() {
        let ends: Vec<u32> = (2..3000).filter(|cluster| cluster % 5 < 2).collect();
        for kind in FatKind::ALL {
            let bytes = whole(kind, &ends, 3000 * usize::try_from(kind.entry_bits()).unwrap() / 8);
            let entries: Vec<u32> = decode(kind, &bytes).collect();
            assert_eq!(entries.len(), 3000);
            assert_eq!(entries[0], kind.end_mark() - 7);
            for (cluster, entry) in (2..).zip(&entries[2..]) {
                let expected = match ends.binary_search(&cluster) {
                    Ok(_) => Link::End,
                    Err(place) if place == ends.len() => Link::Free,
                    Err(_) => Link::Next(cluster + 1),
                };
                assert_eq!(Link::of(kind, *entry), expected, "{kind} {cluster}");
            }
        }
    }

    #[test]
    fn marks_are_told_apart() {
        for (entry, link) in [
            (0, Link::Free),
            (1, Link::Next(1)),
            (0xFF6, Link::Next(0xFF6)),
            (0xFF7, Link::Bad),
            (0xFF8, Link::End),
            (0xFFF, Link::End),
        ] {
            assert_eq!(Link::of(FatKind::Fat12, entry), link);
        }
        assert_eq!(Link::of(FatKind::Fat32, 0xF000_0000), Link::Free);
        assert_eq!(Link::of(FatKind::Fat32, 0x1FFF_FFF7), Link::Bad);
    }
}
