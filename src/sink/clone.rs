//! Large files that the file system can share between source and image instead of copying them.
//! Knows no strategy but this one.

use std::collections::HashSet;
use std::fs::File;
use std::num::NonZeroU64;

use reflink_copy::ReflinkBlockBuilder;

use super::buffer::BLOCK_BYTES;
use super::strategy::Cloning;
use crate::event::Observer;
use crate::image::{Body, Image};
use crate::source::NodeId;
use crate::source::content::Opener;

/// Smaller files are copied as fast.
const MIN_CLONE_BYTES: u64 = 1 << 20;

/// The files whose whole blocks are in the image already.
#[derive(Debug, Default)]
pub(super) struct Cloned {
    /// Ascending.
    files: Vec<NodeId>,
    pub(super) bytes: u64,
    refused: bool,
}

impl Cloned {
    /// How many bytes of a file, from its first on, are in the image already.
    pub(super) fn bytes_of(&self, id: NodeId, size_bytes: u64) -> u64 {
        let is_cloned = size_bytes >= MIN_CLONE_BYTES && self.files.binary_search(&id).is_ok();
        if is_cloned { whole_blocks(size_bytes) } else { 0 }
    }

    /// What came of it.
    pub(super) fn cloning(&self) -> Cloning {
        match (self.bytes, self.refused) {
            (1.., _) => Cloning::Done,
            (0, true) => Cloning::Refused,
            (0, false) => Cloning::None,
        }
    }
}

/// Clones the large files of `image` into `file`, which is as long as the image. All of them come
/// before anything is copied: a file system may write out what lies in memory of the image before
/// each clone. What cannot be cloned is left for the copy, whatever the reason: it meets every
/// fault of the source in the order of the image.
pub(super) fn clone_large_files(image: Image<'_>, file: &File, watch: &dyn Observer) -> Cloned {
    let tree = image.plan().tree();
    let mut opener = Opener::new(tree);
    let mut cloned = Cloned::default();
    // One refusal tells of everything that lies on the same device.
    let mut refused_devices = HashSet::new();
    for segment in image.segments() {
        let Body::Content(id) = segment.body else { continue };
        let device = tree.node(id).identity.device;
        let aligned = segment.at.is_multiple_of(BLOCK_BYTES as u64);
        if segment.len < MIN_CLONE_BYTES || !aligned || refused_devices.contains(&device) {
            continue;
        }
        if watch.must_stop() {
            break;
        }
        let Some(len) = NonZeroU64::new(whole_blocks(segment.len)) else { continue };
        let Ok(content) = opener.open(id) else { continue };
        let clone = ReflinkBlockBuilder::new(content.file(), file, len).to_offset(segment.at);
        match clone.reflink_block() {
            Ok(()) if content.finish().is_ok() => {
                cloned.files.push(id);
                cloned.bytes += len.get();
                watch.advance(len.get());
            }
            Ok(()) => {}
            Err(_) => {
                refused_devices.insert(device);
                cloned.refused = true;
            }
        }
    }
    cloned
}

fn whole_blocks(bytes: u64) -> u64 {
    // The blocks of the file systems that can clone are as large as those of our writes.
    bytes - bytes % BLOCK_BYTES as u64
}
