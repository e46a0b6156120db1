//! The smallest volume that holds the tree. Layouts for a size come from `size`.

use super::request::Free;
use super::size::{GIB, PREFERRED_CLUSTER_BYTES, Search};
use crate::fat::geometry::{Geometry, fat_sectors};
use crate::fat::kind::FatKind;
use crate::units::align_up;

/// An image whose size is ours to choose is a multiple of so many sectors.
pub(super) const AUTO_SECTORS: u32 = 32;

/// FatFs, the driver of most microcontrollers, mounts no volume of fewer sectors.
pub(super) const WIDELY_READ_SECTORS: u32 = 128;

impl Search<'_> {
    /// The layout that we prefer for a size that is ours to choose: no cluster is smaller than we
    /// prefer, unless a type is asked for that would be large with such.
    pub(super) fn choose_for_auto(&self, total_sectors: u32) -> Option<Geometry> {
        self.choose_among(total_sectors, self.format.kind.is_some())
    }

    /// The fewest sectors, a multiple of 32, whose preferred layout holds the tree with a cluster
    /// to spare at the end.
    ///
    /// The layout follows from the size and the size from the layout. So every type and cluster
    /// size proposes the size at which it would hold the tree, and every place where the
    /// preference changes proposes itself; the least proposal that holds is it.
    pub(super) fn smallest_total(&self) -> Option<u32> {
        let mut proposals: Vec<u64> = [8, 16, 32, 8192]
            .into_iter()
            .map(|gib| gib * GIB / self.sector_bytes() + u64::from(AUTO_SECTORS))
            .collect();
        for cluster_bytes in self.all_cluster_sizes() {
            for kind in self.kinds() {
                let safe = kind.safe_cluster_counts();
                let needed = self.least_count(*kind, cluster_bytes).max(u64::from(*safe.start()));
                let needed = self.count_on_boundary(*kind, cluster_bytes, needed).unwrap_or(needed);
                proposals.extend(self.total_for(*kind, cluster_bytes, needed));
                proposals.extend(self.total_for(*kind, cluster_bytes, u64::from(*safe.end()) + 1));
            }
        }
        let from = |proposal: u64| {
            let least = proposal.max(u64::from(WIDELY_READ_SECTORS));
            let first = least.next_multiple_of(u64::from(AUTO_SECTORS));
            // A pad can swallow a few sectors of the estimate.
            (0..4)
                .filter_map(|step| u32::try_from(first + step * u64::from(AUTO_SECTORS)).ok())
                .find(|total| {
                    self.choose_for_auto(*total).is_some_and(|geometry| self.fits(&geometry, 1))
                })
        };
        proposals.into_iter().filter_map(from).min()
    }

    /// Where reserved sectors are given they cannot move the data area to a boundary that is given too,
    /// but a longer FAT can: the fewest clusters, not under `needed`, whose FAT does. `None` where no
    /// FAT does, or nothing is to be moved so.
    fn count_on_boundary(&self, kind: FatKind, cluster_bytes: u32, needed: u64) -> Option<u64> {
        let (Some(_), Some(align_bytes)) = (self.format.reserved_sectors, self.format.align_bytes)
        else {
            return None;
        };
        let shape = self.shape(kind, cluster_bytes, 0).ok()?;
        let boundary_sectors = u64::from(align_bytes) / self.sector_bytes();
        let before = self.around.start + u64::from(shape.reserved_sectors) + shape.root_sectors();
        let fats = u64::from(shape.fat_count);
        let shortest = fat_sectors(kind, needed, self.sector_bytes());
        let longer = (shortest..shortest.checked_add(boundary_sectors)?)
            .find(|fat| (before + fats * fat).is_multiple_of(boundary_sectors))?;
        // One entry more than a shorter FAT has, less the two that stand for no cluster.
        let least = ((longer - 1) * self.sector_bytes() * 8 / kind.entry_bits()).saturating_sub(1);
        Some(least.max(needed))
    }

    /// The fewest clusters that hold the tree, the room asked for and one more.
    pub(super) fn least_count(&self, kind: FatKind, cluster_bytes: u32) -> u64 {
        let used = self.demand.clusters(kind, cluster_bytes).saturating_add(1);
        match self.free {
            Free::Bytes(_) => used.saturating_add(self.free_clusters(cluster_bytes, 0)),
            Free::Percent(percent) => {
                let kept = u64::from(100 - percent.min(99));
                let whole = (u128::from(used) * 100).div_ceil(u128::from(kept));
                u64::try_from(whole).unwrap_or(u64::MAX)
            }
        }
    }

    /// Sectors that a volume of `count` clusters takes, or a few more: an estimate to search from.
    pub(super) fn total_for(&self, kind: FatKind, cluster_bytes: u32, count: u64) -> Option<u64> {
        let shape = self.shape(kind, cluster_bytes, 0).ok()?;
        let fat = fat_sectors(kind, count, self.sector_bytes());
        let fats = u64::from(shape.fat_count).checked_mul(fat)?;
        let before = u64::from(shape.reserved_sectors) + shape.root_sectors() + fats;
        let boundary = match self.format.align_bytes {
            Some(align_bytes) => u64::from(align_bytes),
            None => u64::from(cluster_bytes.min(PREFERRED_CLUSTER_BYTES)),
        };
        let start = self.around.start;
        let aligned = align_up(start + before, (boundary / self.sector_bytes()).max(1))? - start;
        aligned.checked_add(count.checked_mul(u64::from(shape.sectors_per_cluster))?)
    }
}
