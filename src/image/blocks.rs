//! Which blocks of an image hold something, as block maps count. From the plan: a FAT and a directory
//! are something even where they are zero, and clusters that nothing owns are nothing even where
//! a file system stores them.

use std::ops::Range;

use super::{Image, Region};

/// Bytes of a block of block maps.
pub const MAP_BLOCK_BYTES: u64 = 4096;

impl Image<'_> {
    /// The numbers of the blocks that hold something, in ranges that are in order and do not touch.
    pub fn mapped_blocks(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for segment in self.segments().filter(|segment| segment.region != Region::Free) {
            let first = segment.at / MAP_BLOCK_BYTES;
            let end = (segment.at + segment.len).div_ceil(MAP_BLOCK_BYTES);
            match ranges.last_mut() {
                Some(last) if last.end >= first => last.end = end,
                _ => ranges.push(first..end),
            }
        }
        ranges
    }
}
