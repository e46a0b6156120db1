//! How many clusters a tree fills, for every cluster size at once. Knows no volume.

use crate::fat::geometry::RECORD_BYTES;
use crate::fat::kind::FatKind;

/// The least and the largest cluster that we make.
pub(super) const MIN_CLUSTER_BYTES: u32 = 512;
pub(super) const MAX_CLUSTER_BYTES: u32 = 64 << 10;

/// The cluster sizes from 512 bytes to 64 KiB.
const CLUSTER_SIZES: usize = 8;

/// Clusters that the tree fills.
#[derive(Debug, Clone, Default)]
pub(super) struct Demand {
    /// Of all files, and of all directories but the root, by cluster size.
    clusters: [u64; CLUSTER_SIZES],
    /// Records of the root directory, the label's among them.
    pub(super) root_records: u64,
}

impl Demand {
    pub(super) fn add_file(&mut self, size_bytes: u64) {
        self.add_bytes(size_bytes);
    }

    /// A directory has a cluster even when it is empty.
    pub(super) fn add_directory(&mut self, records: u64) {
        self.add_bytes((records * u64::from(RECORD_BYTES)).max(1));
    }

    fn add_bytes(&mut self, bytes: u64) {
        for (clusters, shift) in self.clusters.iter_mut().zip(MIN_CLUSTER_BYTES.trailing_zeros()..)
        {
            *clusters = clusters.saturating_add(bytes.div_ceil(1 << shift));
        }
    }

    /// Clusters that the tree fills on a volume of that kind; `cluster_bytes` is a power of two
    /// from 512 to 65536.
    pub(super) fn clusters(&self, kind: FatKind, cluster_bytes: u32) -> u64 {
        let index = cluster_bytes.trailing_zeros() - MIN_CLUSTER_BYTES.trailing_zeros();
        let tree = self.clusters.get(index as usize).copied().unwrap_or(u64::MAX);
        let root = match kind {
            FatKind::Fat32 => self.root_clusters(cluster_bytes),
            // The root has an area of its own.
            FatKind::Fat12 | FatKind::Fat16 => 0,
        };
        tree.saturating_add(root)
    }

    fn root_clusters(&self, cluster_bytes: u32) -> u64 {
        (self.root_records * u64::from(RECORD_BYTES)).div_ceil(u64::from(cluster_bytes)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_and_directory_fills_whole_clusters() {
        let mut demand = Demand { root_records: 17, ..Demand::default() };
        demand.add_file(0);
        demand.add_file(513);
        demand.add_directory(2);
        demand.add_directory(0);
        assert_eq!(demand.clusters(FatKind::Fat16, 512), 4);
        assert_eq!(demand.clusters(FatKind::Fat32, 512), 6);
        assert_eq!(demand.clusters(FatKind::Fat32, 65536), 4);
    }
}
