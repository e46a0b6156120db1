//! What the fuzz targets share: images that are few bytes and many zeros.

use std::io;

use mkfatimg::verify::bytes::ImageBytes;

/// Bytes, patches over them, and zeros up to a length.
#[derive(Debug)]
pub struct Patched<'a> {
    /// The image's beginning.
    pub head: &'a [u8],
    /// Bytes of the image; not below those of `head`.
    pub len: u64,
    /// Where other bytes stand; later ones over earlier ones.
    pub patches: Vec<(u64, &'a [u8])>,
}

impl ImageBytes for Patched<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = at.checked_add(buffer.len() as u64).filter(|end| *end <= self.len);
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.fill(0);
        lay(buffer, at, 0, self.head);
        for (patch_at, bytes) in &self.patches {
            lay(buffer, at, *patch_at, bytes);
        }
        Ok(())
    }

    fn next_data(&self, at: u64) -> io::Result<Option<u64>> {
        let patches = self.patches.iter().map(|(start, bytes)| (*start, bytes.len()));
        let parts = patches.chain([(0, self.head.len())]);
        let next = parts
            .filter(|(start, len)| start + *len as u64 > at)
            .map(|(start, _)| start.max(at))
            .min();
        Ok(next.filter(|next| *next < self.len))
    }
}

/// What of `bytes`, which lie from `bytes_at` on, falls into `buffer`, which lies from `at` on.
fn lay(buffer: &mut [u8], at: u64, bytes_at: u64, bytes: &[u8]) {
    let start = at.max(bytes_at);
    let end = (at + buffer.len() as u64).min(bytes_at + bytes.len() as u64);
    if start < end {
        buffer[(start - at) as usize..(end - at) as usize]
            .copy_from_slice(&bytes[(start - bytes_at) as usize..(end - bytes_at) as usize]);
    }
}

impl Patched<'_> {
    /// Whether the patches leave `head` as it is, and zeros behind it.
    pub fn is(&self, head: &[u8]) -> bool {
        let patched = |bytes: &(u64, &[u8])| bytes.0 + bytes.1.len() as u64;
        let end = self.patches.iter().map(patched).max().unwrap_or(0).min(self.len);
        let mut found = vec![0; end as usize];
        self.read_at(0, &mut found).is_ok()
            && found.iter().enumerate().all(|(at, byte)| *byte == *head.get(at).unwrap_or(&0))
    }
}
