//! How much there is to store, and whether a file or a directory is more than the format holds.
//! Knows no volume.

use super::Placed;
use super::demand::Demand;
use super::problem::Problem;
use crate::fat::record::MAX_RECORDS;
use crate::source::{NodeId, Tree};

/// The largest file: its size is stored in 32 bits.
pub(super) const MAX_FILE_BYTES: u64 = u32::MAX as u64;

/// Records of `.` and `..`.
const DOT_RECORDS: u64 = 2;

/// Sums over everything that is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files.
    pub files: u64,
    /// Directories, the root not counted.
    pub directories: u64,
    /// Bytes of all files.
    pub content_bytes: u64,
    /// Symbolic links that are stored as what they lead to.
    pub links: u64,
    /// Bytes of files that are stored because of a link.
    pub linked_bytes: u64,
    /// Clusters that something owns.
    pub used_clusters: u32,
}

/// What a tree comes to.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) demand: Demand,
    pub(super) totals: Totals,
}

/// Counts what is not left out. `named_records` are those that the children of each directory take.
pub(super) fn count(
    tree: &Tree,
    placed: &mut [Placed],
    named_records: &[u64],
    labelled: bool,
    problems: &mut Vec<Problem>,
) -> Count {
    let mut count = Count { demand: Demand::default(), totals: Totals::default() };
    count.directories(tree, placed, named_records, labelled, problems);
    count.files(tree, placed, problems);
    count.links(tree, placed);
    count
}

impl Count {
    fn directories(
        &mut self,
        tree: &Tree,
        placed: &mut [Placed],
        named_records: &[u64],
        labelled: bool,
        problems: &mut Vec<Problem>,
    ) {
        for (directory, named) in tree.directories().iter().zip(named_records) {
            let root = *directory == NodeId::ROOT;
            let records = named + if root { u64::from(labelled) } else { DOT_RECORDS };
            let place = placed.get_mut(directory.index()).filter(|place| !place.left_out);
            let Some(place) = place else { continue };
            place.records = u32::try_from(records).unwrap_or(u32::MAX);
            if records > MAX_RECORDS {
                let met_at = (!root).then(|| tree.met_at(*directory));
                problems.push(Problem::DirectoryTooLarge { met_at, records });
            }
            if root {
                self.demand.root_records = records;
            } else {
                self.demand.add_directory(records);
                self.totals.directories += 1;
            }
        }
    }

    fn files(&mut self, tree: &Tree, placed: &[Placed], problems: &mut Vec<Problem>) {
        for (id, place) in tree.ids().zip(placed) {
            let node = tree.node(id);
            if node.is_directory() || place.left_out {
                continue;
            }
            let size_bytes = node.size_bytes();
            if size_bytes > MAX_FILE_BYTES {
                let met_at = tree.met_at(id);
                problems.push(Problem::FileTooLarge { met_at, size_bytes });
                continue;
            }
            self.demand.add_file(size_bytes);
            self.totals.files += 1;
            self.totals.content_bytes = self.totals.content_bytes.saturating_add(size_bytes);
        }
    }

    /// What is stored because a link led to it, or to a directory above it.
    fn links(&mut self, tree: &Tree, placed: &[Placed]) {
        // Parents come before their children.
        let mut through_link = vec![false; tree.len()];
        for (id, place) in tree.ids().zip(placed) {
            let node = tree.node(id);
            let above = through_link.get(node.parent().index()).is_some_and(|linked| *linked);
            let linked = above || node.through_link;
            if let Some(place) = through_link.get_mut(id.index()) {
                *place = linked;
            }
            if linked && !place.left_out {
                self.totals.links += u64::from(node.through_link);
                let bytes = self.totals.linked_bytes.saturating_add(node.size_bytes());
                self.totals.linked_bytes = bytes;
            }
        }
    }
}
