//! A read-only device for a foreign reader: pages of the image in memory, and a note of what was
//! fetched. Knows no structure.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use super::bytes::ImageBytes;

const PAGE_BYTES: u64 = 256 << 10;
/// FAT, directory and contents each keep a page, and some to spare.
const PAGES: usize = 8;

/// Bytes that were asked for, in order: runs that touch are one.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Fetches below this byte are of no interest.
    from_byte: u64,
    runs: Vec<(u64, u64)>,
}

impl Fetched {
    /// Notes fetches from `from_byte` on.
    pub(super) fn from_byte(from_byte: u64) -> Self {
        Self { from_byte, runs: Vec::new() }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// The first fetch that does not lie within `at..at + len` in ascending order without a gap;
    /// where the fetches end too early, their end.
    pub(super) fn first_outside(&self, at: u64, len: u64) -> Option<u64> {
        let mut next = at;
        for (start, end) in &self.runs {
            if *start != next || *end > at + len {
                return Some(if *start == next { at + len } else { *start });
            }
            next = *end;
        }
        (next != at + len).then_some(next)
    }

    fn note(&mut self, at: u64, len: u64) {
        if at < self.from_byte {
            return;
        }
        let kept = self.runs.len();
        match self.runs.last_mut() {
            Some(last) if last.1 == at => last.1 += len,
            // With two runs something is outside in any case.
            _ if kept < 64 => self.runs.push((at, at + len)),
            _ => {}
        }
    }
}

struct Page {
    index: u64,
    bytes: Vec<u8>,
    used_at: u64,
}

/// The device. Writing to it is an error: a reader that writes has found something to mend.
pub(super) struct Window<'a> {
    image: &'a dyn ImageBytes,
    len: u64,
    at: u64,
    pages: Vec<Page>,
    clock: u64,
    fetched: Rc<RefCell<Fetched>>,
}

impl<'a> Window<'a> {
    pub(super) fn new(
        image: &'a dyn ImageBytes,
        fetched: Rc<RefCell<Fetched>>,
    ) -> io::Result<Self> {
        let len = image.length()?;
        Ok(Self { image, len, at: 0, pages: Vec::new(), clock: 0, fetched })
    }

    fn page(&mut self, index: u64) -> io::Result<&[u8]> {
        self.clock += 1;
        let held = self.pages.iter().position(|page| page.index == index);
        let place = match held {
            Some(place) => place,
            None => self.load(index)?,
        };
        let page = &mut self.pages[place];
        page.used_at = self.clock;
        Ok(&page.bytes)
    }

    /// Reads a page in place of the one that was not used for longest.
    fn load(&mut self, index: u64) -> io::Result<usize> {
        if self.pages.len() < PAGES {
            self.pages.push(Page { index, bytes: Vec::new(), used_at: 0 });
        }
        let place = (0..self.pages.len()).min_by_key(|place| self.pages[*place].used_at);
        let place = place.unwrap_or(0);
        let mut bytes = std::mem::take(&mut self.pages[place].bytes);
        let start = index * PAGE_BYTES;
        bytes.resize((self.len - start).min(PAGE_BYTES) as usize, 0);
        if let Err(error) = self.image.read_at(start, &mut bytes) {
            self.pages.swap_remove(place);
            return Err(error);
        }
        self.pages[place] = Page { index, bytes, used_at: self.clock };
        Ok(place)
    }
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.at;
        if at >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let page = self.page(at / PAGE_BYTES)?;
        let rest = &page[(at % PAGE_BYTES) as usize..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        self.fetched.borrow_mut().note(at, count as u64);
        Ok(count)
    }
}

impl Write for Window<'_> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the image is only read"))
    }

    /// Nothing was written. The reader flushes whenever it lets go of a file.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Window<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_are_held_against_the_planned_place() {
        let mut fetched = Fetched::from_byte(1000);
        fetched.note(10, 4);
        fetched.note(1000, 100);
        fetched.note(20, 4);
        fetched.note(1100, 50);
        assert_eq!(fetched.first_outside(1000, 150), None);
        assert_eq!(fetched.first_outside(1000, 151), Some(1150));
        assert_eq!(fetched.first_outside(1000, 149), Some(1149));
        assert_eq!(fetched.first_outside(1001, 149), Some(1000));
        fetched.note(1300, 1);
        assert_eq!(fetched.first_outside(1000, 151), Some(1300));
        fetched.clear();
        assert_eq!(fetched.first_outside(1000, 0), None);
    }
}
