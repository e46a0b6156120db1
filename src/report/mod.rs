//! What was planned and done, as facts. Knows no terminal.

pub mod bar;
pub mod block_map;
pub mod depfile;
pub mod human;
pub mod json;
pub mod map;

use std::time::Duration;

use crate::image::{Image, Region};
use crate::plan::Plan;
use crate::sink::Writing;
use crate::source::NodeId;
use crate::verify::Depth;

/// How many of the largest files a report names.
const LARGEST: usize = 10;

/// A build that went well, or a plan that was only looked at.
#[derive(Debug)]
pub struct Report {
    /// The plan.
    pub plan: Plan,
    /// Where the image went; `None` if nothing was written.
    pub written: Option<WrittenTo>,
}

/// Where an image went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenTo {
    /// The output as text.
    pub output: String,
    /// What was written, and how.
    pub writing: Writing,
    /// How it was looked at before it got its name; `None` for a stream.
    pub verified: Option<Verified>,
}

/// How a finished image was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// How closely.
    pub depth: Depth,
    /// How long it took, in wall time.
    pub elapsed: Duration,
}

/// A part of the image and how much of the image it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionExtent {
    /// Which part.
    pub region: Region,
    /// Byte offset in the image.
    pub at: u64,
    /// Bytes.
    pub len: u64,
}

impl Report {
    /// Of an image that was written.
    pub fn written(
        plan: Plan,
        output: String,
        writing: Writing,
        verified: Option<Verified>,
    ) -> Self {
        Self { plan, written: Some(WrittenTo { output, writing, verified }) }
    }

    /// Of a plan.
    pub fn planned(plan: Plan) -> Self {
        Self { plan, written: None }
    }

    /// The parts of the image in order; they touch and cover the image.
    pub fn regions(&self) -> Vec<RegionExtent> {
        let mut regions: Vec<RegionExtent> = Vec::new();
        for segment in Image::of(&self.plan).segments() {
            match regions.last_mut() {
                Some(last) if last.region == segment.region => last.len += segment.len,
                _ => regions.push(RegionExtent {
                    region: segment.region,
                    at: segment.at,
                    len: segment.len,
                }),
            }
        }
        regions
    }

    /// The largest files, largest first.
    pub fn largest(&self) -> Vec<(NodeId, u64)> {
        let tree = self.plan.tree();
        let mut largest: Vec<(NodeId, u64)> = Vec::with_capacity(LARGEST + 1);
        for id in self.plan.stored() {
            let size_bytes = tree.node(id).size_bytes();
            let place = largest.partition_point(|(_, other)| *other >= size_bytes);
            if size_bytes > 0 && place < LARGEST {
                largest.insert(place, (id, size_bytes));
                largest.truncate(LARGEST);
            }
        }
        largest
    }
}

/// A region's name, the same in every report.
pub(crate) fn region_name(region: Region) -> String {
    match region {
        Region::Table => "partition table".to_owned(),
        Region::BackupTable => "behind partition".to_owned(),
        Region::Reserved => "reserved area".to_owned(),
        Region::Fat(index) => format!("FAT {}", index + 1),
        Region::Root => "root directory".to_owned(),
        Region::Directories => "directories".to_owned(),
        Region::Files => "files".to_owned(),
        Region::Free => "free".to_owned(),
    }
}

/// A serial number as it is usually shown.
pub(crate) fn volume_id_text(id: u32) -> String {
    format!("{:04X}-{:04X}", id >> 16, id & 0xFFFF)
}

/// Bytes as they are usually shown.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
