//! A part of an image as an image of its own: a volume on its disk. Knows no structure.

use std::io;

use super::bytes::ImageBytes;

/// So many bytes of an image, from one of them on.
#[derive(Debug)]
pub struct Part<'a, I: ?Sized> {
    image: &'a I,
    at: u64,
    len: u64,
}

impl<'a, I: ImageBytes + ?Sized> Part<'a, I> {
    /// The `len` bytes of `image` from byte `at` on; fewer where the image ends.
    ///
    /// # Errors
    /// When the image does not tell its length.
    pub fn new(image: &'a I, at: u64, len: u64) -> io::Result<Self> {
        let len = image.length()?.saturating_sub(at).min(len);
        Ok(Self { image, at, len })
    }
}

impl<I: ImageBytes + ?Sized> ImageBytes for Part<'_, I> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = at.checked_add(buffer.len() as u64).filter(|end| *end <= self.len);
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.image.read_at(self.at + at, buffer)
    }

    fn next_data(&self, at: u64) -> io::Result<Option<u64>> {
        if at >= self.len {
            return Ok(None);
        }
        let found = self.image.next_data(self.at + at)?.map(|data_at| data_at - self.at);
        Ok(found.filter(|data_at| *data_at < self.len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_where_it_ends() {
        let image = [1, 2, 3, 4, 5];
        let part = Part::new(&image[..], 1, 3).unwrap();
        assert_eq!(part.length().unwrap(), 3);
        let mut two = [0; 2];
        part.read_at(1, &mut two).unwrap();
        assert_eq!(two, [3, 4]);
        assert!(part.read_at(2, &mut two).is_err());
        assert!(part.read_at(u64::MAX, &mut two).is_err());
        assert_eq!(part.next_data(2).unwrap(), Some(2));
        assert_eq!(part.next_data(3).unwrap(), None);
        assert_eq!(Part::new(&image[..], 4, 3).unwrap().length().unwrap(), 1);
        assert_eq!(Part::new(&image[..], 9, 3).unwrap().length().unwrap(), 0);
    }
}
