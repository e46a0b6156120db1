//! The bytes of any window of any structure, from the plan alone: the same plan gives the same
//! bytes whatever the clock, the host or the order in which windows are asked for.

use super::segment::Meta;
use crate::disk::Disk;
use crate::fat::boot::encode_reserved_area;
use crate::fat::record::{Entry, RECORD_BYTES, encode_label, encode_long};
use crate::plan::Plan;
use crate::source::NodeId;

/// Fills `out` with the bytes of `meta` from its byte `from` on.
pub(super) fn render(plan: &Plan, meta: Meta, from: u64, out: &mut [u8]) {
    match meta {
        Meta::Reserved => Window { skip: from, out }.put(&reserved_area(plan)),
        Meta::Fat => plan.chains().fill(from, out),
        Meta::Table => put_whole(plan.disk().map(Disk::head), from, out),
        Meta::BackupTable => put_whole(plan.disk().map(Disk::tail), from, out),
        Meta::Directory(id) => render_directory(plan, id, Window { skip: from, out }),
    }
}

fn put_whole(bytes: Option<Vec<u8>>, from: u64, out: &mut [u8]) {
    Window { skip: from, out }.put(&bytes.unwrap_or_default());
}

/// Bytes of the reserved area up to its last that is not zero.
pub(super) fn reserved_bytes(plan: &Plan) -> u64 {
    reserved_area(plan).len() as u64
}

/// Bytes of a directory's records.
pub(super) fn directory_bytes(plan: &Plan, id: NodeId) -> u64 {
    u64::from(plan.placed(id).records) * RECORD_BYTES as u64
}

fn reserved_area(plan: &Plan) -> Vec<u8> {
    encode_reserved_area(plan.geometry(), plan.facts(), plan.free_clusters())
}

/// The part of a structure that is asked for: bytes are put one after the other, those before it
/// are passed over, those after it ignored.
struct Window<'a> {
    skip: u64,
    out: &'a mut [u8],
}

impl Window<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let passed = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= passed as u64;
        let wanted = &bytes[passed..];
        let count = wanted.len().min(self.out.len());
        let (now, later) = std::mem::take(&mut self.out).split_at_mut(count);
        now.copy_from_slice(&wanted[..count]);
        self.out = later;
    }

    fn is_full(&self) -> bool {
        self.out.is_empty()
    }

    /// Passes over `bytes` that are not worth encoding if all of them lie before the window.
    fn passes(&mut self, bytes: u64) -> bool {
        let passes = self.skip >= bytes;
        if passes {
            self.skip -= bytes;
        }
        passes
    }
}

fn render_directory(plan: &Plan, id: NodeId, mut window: Window<'_>) {
    if id == NodeId::ROOT {
        if let Some(label) = &plan.facts().label {
            window.put(&encode_label(label, plan.label_stamp()));
        }
    } else if let Some(entry) = entry_of(plan, id) {
        let parent = plan.tree().node(id).parent();
        let parent_cluster = if parent == NodeId::ROOT { 0 } else { plan.first_cluster(parent) };
        window.put(&entry.encode_dot());
        window.put(&entry.encode_dot_dot(parent_cluster));
    }
    for child in plan.stored_children(id) {
        if window.is_full() {
            return;
        }
        let Some((entry, name)) = entry_of(plan, child).zip(plan.placed(child).name) else {
            continue;
        };
        if window.passes((u64::from(name.long_parts) + 1) * RECORD_BYTES as u64) {
            continue;
        }
        if name.long_parts > 0 {
            for part in encode_long(&plan.name(child), name.short) {
                window.put(&part);
            }
        }
        window.put(&entry.encode());
    }
}

/// The short record of a node; `None` for the root, which has none.
fn entry_of(plan: &Plan, id: NodeId) -> Option<Entry> {
    let node = plan.tree().node(id);
    let placed = plan.placed(id);
    let name = placed.name?;
    Some(Entry {
        name: name.short,
        attributes: placed.attributes,
        case_bits: name.case_bits,
        stamp: placed.stamp,
        first_cluster: placed.first_cluster,
        // The plan refuses larger files.
        size_bytes: u32::try_from(node.size_bytes()).unwrap_or(u32::MAX),
    })
}
