//! A plan as bytes in order: segments that touch and cover the image, rendered on demand. Knows
//! neither files nor where the bytes go.

pub mod blocks;
mod render;
pub mod segment;

pub use segment::{Body, Meta, Region, Segment};

use crate::disk::Disk;
use crate::plan::Plan;
use crate::source::NodeId;

/// A planned image as a sequence of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    plan: &'a Plan,
}

impl<'a> Image<'a> {
    /// The image that `plan` describes.
    pub fn of(plan: &'a Plan) -> Self {
        Self { plan }
    }

    /// Its plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Segments from byte 0 to the image's end, each beginning where the one before ends, none of
    /// them empty.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + use<'a> {
        let plan = self.plan;
        let geometry = plan.geometry();
        let fixed_root = plan.has_fixed_root();
        let head = head_segments(plan);
        let directories = plan
            .stored_directories()
            .filter(move |id| !(fixed_root && *id == NodeId::ROOT))
            .flat_map(move |id| {
                let at = geometry.cluster_at_byte(plan.first_cluster(id));
                let region = if id == NodeId::ROOT { Region::Root } else { Region::Directories };
                let body = Body::Meta(Meta::Directory(id));
                padded(
                    at,
                    render::directory_bytes(plan, id),
                    whole_clusters(plan, id),
                    body,
                    region,
                )
            });
        let files =
            plan.stored().filter(|id| plan.tree().node(*id).size_bytes() > 0).flat_map(move |id| {
                let at = geometry.cluster_at_byte(plan.first_cluster(id));
                let bytes = plan.tree().node(id).size_bytes();
                padded(at, bytes, whole_clusters(plan, id), Body::Content(id), Region::Files)
            });
        let used_up_to = geometry.cluster_at_byte(2 + plan.totals().used_clusters);
        let free = Segment {
            at: used_up_to,
            len: geometry.volume_bytes() - used_up_to,
            body: Body::Zero,
            region: Region::Free,
        };
        let volume_at = plan.volume_at_byte();
        let volume = head.into_iter().chain(directories).chain(files).chain([free]);
        let volume = volume.map(move |segment| Segment { at: volume_at + segment.at, ..segment });
        let [table, backup] = plan.disk().map(around_segments).unwrap_or_default();
        table.into_iter().chain(volume).chain(backup).filter(|segment| segment.len > 0)
    }

    /// Fills `out` with the bytes of `meta` from its byte `from` on.
    pub fn render(&self, meta: Meta, from: u64, out: &mut [u8]) {
        render::render(self.plan, meta, from, out);
    }
}

/// The partition table and what lies behind the partition.
fn around_segments(disk: &Disk) -> [Vec<Segment>; 2] {
    let (region, body) = (Region::Table, Body::Meta(Meta::Table));
    let head_bytes = disk.head().len() as u64;
    let table = padded(0, head_bytes, disk.partition_at_byte(), body, region);
    let (region, body) = (Region::BackupTable, Body::Meta(Meta::BackupTable));
    let end = disk.partition_at_byte() + disk.partition_bytes();
    let backup_at = disk.bytes() - disk.tail().len() as u64;
    let backup = [
        Segment { at: end, len: backup_at - end, body: Body::Zero, region },
        Segment { at: backup_at, len: disk.bytes() - backup_at, body, region },
    ];
    [table.into(), backup.into()]
}

/// Reserved area, FATs and fixed root directory.
fn head_segments(plan: &Plan) -> Vec<Segment> {
    let geometry = plan.geometry();
    let mut head = Vec::new();
    let reserved = render::reserved_bytes(plan);
    let body = Body::Meta(Meta::Reserved);
    head.extend(padded(0, reserved, geometry.reserved_bytes(), body, Region::Reserved));
    // Whole sectors, so that what is zero to the end stays a hole in a sparse file.
    let sector_bytes = u64::from(geometry.sector_bytes());
    let used = plan.chains().used_bytes().next_multiple_of(sector_bytes).min(geometry.fat_bytes());
    for index in 0..geometry.shape().fat_count {
        let at = geometry.fat_at_byte(index);
        let (body, region) = (Body::Meta(Meta::Fat), Region::Fat(index));
        head.extend(padded(at, used, geometry.fat_bytes(), body, region));
    }
    if plan.has_fixed_root() {
        let bytes = render::directory_bytes(plan, NodeId::ROOT);
        let body = Body::Meta(Meta::Directory(NodeId::ROOT));
        let at = geometry.root_at_byte();
        head.extend(padded(at, bytes, geometry.root_bytes(), body, Region::Root));
    }
    head
}

/// Bytes of the clusters that a node owns.
fn whole_clusters(plan: &Plan, id: NodeId) -> u64 {
    plan.clusters(id) * u64::from(plan.geometry().cluster_bytes())
}

/// `bytes` of a body, then zeros up to `whole`.
fn padded(at: u64, bytes: u64, whole: u64, body: Body, region: Region) -> [Segment; 2] {
    [
        Segment { at, len: bytes, body, region },
        Segment { at: at + bytes, len: whole - bytes, body: Body::Zero, region },
    ]
}
