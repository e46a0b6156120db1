//! Zeros for those who have to handle every one of them.

use super::buffer::BLOCK_BYTES;

/// On a boundary of blocks, as writes past the page cache want it.
#[repr(align(4096))]
struct Aligned([u8; 64 << 10]);

static ZEROS: Aligned = Aligned([0; 64 << 10]);

/// A block of zeros.
pub(super) fn block() -> &'static [u8] {
    &ZEROS.0[..BLOCK_BYTES]
}

/// `len` zeros in pieces.
pub(super) fn pieces(len: u64) -> impl Iterator<Item = &'static [u8]> {
    let zeros = &ZEROS.0;
    let whole = len / zeros.len() as u64;
    // Less than a piece.
    let rest = (len % zeros.len() as u64) as usize;
    (0..whole).map(|_| &zeros[..]).chain((rest > 0).then_some(&zeros[..rest]))
}
