//! A block map, version 2.0, as bmaptool reads it: which blocks of the image have to be copied to a
//! device, with a digest of each range. The others may hold anything.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use super::{Report, hexadecimal};
use crate::image::blocks::MAP_BLOCK_BYTES;

/// What stands for the file's own digest while it is made.
const NO_DIGEST: [u8; 32] = [0; 32];

/// Writes the map of an image whose ranges were digested.
///
/// # Errors
/// Those of `writer`.
pub fn write(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    let unsigned = text(report, &NO_DIGEST);
    let digest = Sha256::digest(unsigned.as_bytes()).into();
    writer.write_all(text(report, &digest).as_bytes())
}

fn text(report: &Report, digest: &[u8; 32]) -> String {
    let image_bytes = report.plan.image_bytes();
    let stretches = report.written.iter().flat_map(|written| &written.writing.digests.stretches);
    let mut ranges = String::new();
    let mut mapped_blocks = 0;
    for (bytes, digest) in stretches {
        let first = bytes.start / MAP_BLOCK_BYTES;
        let last = bytes.end.div_ceil(MAP_BLOCK_BYTES) - 1;
        mapped_blocks += last - first + 1;
        let digest = hexadecimal(digest);
        let blocks = if first == last { first.to_string() } else { format!("{first}-{last}") };
        ranges.push_str(&format!("        <Range chksum=\"{digest}\"> {blocks} </Range>\n"));
    }
    format!(
        "<?xml version=\"1.0\" ?>\n\
         <bmap version=\"2.0\">\n    \
             <ImageSize> {image_bytes} </ImageSize>\n    \
             <BlockSize> {MAP_BLOCK_BYTES} </BlockSize>\n    \
             <BlocksCount> {} </BlocksCount>\n    \
             <MappedBlocksCount> {mapped_blocks} </MappedBlocksCount>\n    \
             <ChecksumType> sha256 </ChecksumType>\n    \
             <BmapFileChecksum> {} </BmapFileChecksum>\n    \
             <BlockMap>\n{ranges}    </BlockMap>\n\
         </bmap>\n",
        image_bytes.div_ceil(MAP_BLOCK_BYTES),
        hexadecimal(digest),
    )
}
