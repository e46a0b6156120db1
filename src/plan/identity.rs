//! The volume's serial number and the names of its disk where none are given: digests of what is
//! planned, so that equal wishes over equal trees give equal images and others most likely do not.

use sha2::{Digest, Sha256};

use super::{Plan, attributes};
use crate::source::NodeId;

/// The volume's serial number, from the plan's [`digest`].
pub(super) fn volume_id([a, b, c, d, ..]: [u8; 32]) -> u32 {
    u32::from_le_bytes([a, b, c, d])
}

/// What the names of the disk and of its partition are made of, from the plan's [`digest`]. The serial number is in it, so that
/// equal trees in volumes that are told apart lie on disks that are told apart.
pub(super) fn disk(of_plan: [u8; 32], volume_id: u32) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(b"mkfatimg disk, version 1");
    digest.update(of_plan);
    digest.update(volume_id.to_le_bytes());
    digest.finalize().into()
}

/// Names, sizes, stamps and options; contents are not read for it.
pub(super) fn digest(plan: &Plan) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(b"mkfatimg volume id, version 1");
    let shape = plan.geometry().shape();
    for number in [
        plan.geometry().kind().entry_bits(),
        u64::from(shape.total_sectors),
        u64::from(shape.bytes_per_sector),
        u64::from(shape.sectors_per_cluster),
        u64::from(shape.reserved_sectors),
        u64::from(shape.fat_count),
        u64::from(shape.root_entries),
        u64::from(plan.facts().media),
        u64::from(plan.facts().hidden_sectors),
    ] {
        digest.update(number.to_le_bytes());
    }
    digest.update(plan.facts().oem_name);
    digest.update(plan.facts().label.map_or([0; 11], |label| label.bytes()));
    for id in plan.stored() {
        if id == NodeId::ROOT {
            continue;
        }
        let node = plan.tree().node(id);
        let name = plan.name(id);
        let stamp = plan.placed(id).stamp;
        let attributes = plan.placed(id).attributes.bits();
        // Zero but for what was asked: numbers stay as they were before attributes could be chosen.
        let unusual = attributes ^ attributes::usual(node).bits();
        // The parent's cluster tells which directory of the volume it is.
        digest.update(plan.first_cluster(node.parent()).to_le_bytes());
        digest.update([u8::from(node.is_directory()) | unusual << 1]);
        digest.update((name.len() as u64).to_le_bytes());
        digest.update(name.as_bytes());
        digest.update(node.size_bytes().to_le_bytes());
        digest.update(stamp.date.to_le_bytes());
        digest.update(stamp.time.to_le_bytes());
    }
    digest.finalize().into()
}
