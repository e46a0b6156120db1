//! Zeros for those who have to handle every one of them.

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// `len` zeros in pieces.
pub(super) fn pieces(len: u64) -> impl Iterator<Item = &'static [u8]> {
    let whole = len / ZEROS.len() as u64;
    // Less than a piece.
    let rest = (len % ZEROS.len() as u64) as usize;
    (0..whole).map(|_| &ZEROS[..]).chain((rest > 0).then_some(&ZEROS[..rest]))
}
