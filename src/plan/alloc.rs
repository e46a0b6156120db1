//! Clusters for everything, in one upward pass: root, directories parents first, files in tree
//! order. Every chain is one run and no cluster lies between two.

use super::Placed;
use crate::fat::geometry::{FIRST_CLUSTER, Geometry, RECORD_BYTES};
use crate::fat::kind::FatKind;
use crate::source::{NodeId, Tree};

/// Gives every stored node its first cluster and returns the last cluster of each chain. Empty
/// files own none. The tree must fit, see `size`.
pub(super) fn allocate(tree: &Tree, placed: &mut [Placed], geometry: &Geometry) -> Vec<u32> {
    let mut pass = Pass { next: FIRST_CLUSTER, last_clusters: Vec::new(), geometry };
    let files = tree.ids().filter(|id| !tree.node(*id).is_directory());
    for id in tree.directories().iter().copied().chain(files) {
        let Some(place) = placed.get_mut(id.index()) else { continue };
        let bytes = chain_bytes(tree, id, place, geometry.kind());
        if bytes > 0 {
            place.first_cluster = pass.take(bytes);
        }
    }
    pass.last_clusters
}

/// Bytes for which a node has clusters; 0 where it owns none.
pub(super) fn chain_bytes(tree: &Tree, id: NodeId, place: &Placed, kind: FatKind) -> u64 {
    let node = tree.node(id);
    let fixed_root = id == NodeId::ROOT && kind != FatKind::Fat32;
    if place.left_out || fixed_root {
        0
    } else if node.is_directory() {
        // A directory has a cluster even when it is empty.
        (u64::from(place.records) * u64::from(RECORD_BYTES)).max(1)
    } else {
        node.size_bytes()
    }
}

struct Pass<'a> {
    next: u32,
    last_clusters: Vec<u32>,
    geometry: &'a Geometry,
}

impl Pass<'_> {
    fn take(&mut self, bytes: u64) -> u32 {
        let first = self.next;
        // A volume has fewer clusters than 32 bits count, and the tree fits.
        let clusters = u32::try_from(self.geometry.clusters_for(bytes)).unwrap_or(u32::MAX);
        self.next = first.saturating_add(clusters);
        self.last_clusters.push(self.next - 1);
        first
    }
}
