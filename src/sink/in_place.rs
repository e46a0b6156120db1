//! Where the image takes the place of what is there: a device, or a part of an image file. Nothing can be
//! kept until the new one is complete, so what makes a disk or a volume of it goes first and comes last:
//! whoever looks in between finds none.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::io::Errno;

use super::buffer::BLOCK_BYTES;
use super::device::Device;
use super::direct::DirectFile;
use super::output::{Output, OutputError};
use super::{Destination, Outcome, WriteError, taken, usage, zeros};
use crate::image::{Image, Region};
use crate::jobs::lock;

/// Where other file systems, RAID and partition tables keep what they are known by: so much of a device's
/// beginning and end is new, whatever the image has there.
const HEAD_BYTES: u64 = 4 << 20;
const TAIL_BYTES: u64 = 1 << 20;

const BLOCK: u64 = BLOCK_BYTES as u64;

/// A block in memory, where writes past the page cache want it.
#[derive(Debug, Clone)]
#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

/// A place that is being written.
#[derive(Debug)]
pub(super) struct InPlace {
    file: File,
    output: Output,
    /// Byte of the file at which the image begins.
    at: u64,
    image_bytes: u64,
    /// Bytes of the device, if it is one.
    device_bytes: Option<u64>,
    direct: Option<DirectFile>,
    /// First bytes of the blocks that come last, ascending, and what they will hold.
    last_blocks: Vec<u64>,
    held_back: Mutex<Vec<Block>>,
    /// Free clusters that may keep what they hold where to zero them takes as long as to write them.
    may_stay: Range<u64>,
    /// Whether the system has refused to zero without writing.
    writes_zeros: AtomicBool,
    /// Whether anything was written that would have to be taken back.
    is_open: bool,
}

impl InPlace {
    /// Takes the place for `image`, and changes nothing of it yet.
    ///
    /// # Errors
    /// When somebody uses it, or it is not what it was.
    pub(super) fn take(output: &Output, image: Image<'_>) -> Result<Self, OutputError> {
        let (file, at) = claim(output)?;
        let image_bytes = image.plan().image_bytes();
        output.check_room(image_bytes)?;
        let device_bytes = output.device().map(Device::bytes);
        // Both lie in the image's first and the volume's first block.
        let volume_block = image.plan().volume_at_byte() / BLOCK * BLOCK;
        let last_blocks = if volume_block > 0 { vec![0, volume_block] } else { vec![0] };
        Ok(Self {
            file,
            output: output.clone(),
            at,
            image_bytes,
            device_bytes,
            direct: None,
            held_back: Mutex::new(vec![Block([0; BLOCK_BYTES]); last_blocks.len()]),
            last_blocks,
            may_stay: device_bytes.map_or(0..0, |bytes| free_range(image, bytes)),
            writes_zeros: AtomicBool::new(false),
            is_open: false,
        })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Byte of the file at which the image begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// From now on writes go past the page cache, if the system lets them.
    pub(super) fn go_past_cache(&mut self) {
        if self.at.is_multiple_of(BLOCK) {
            let name = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
            self.direct = DirectFile::open(&name).ok();
        }
    }

    /// Whether writes go past the page cache, and none was refused so far.
    pub(super) fn is_past_cache(&self) -> bool {
        self.direct.as_ref().is_some_and(|direct| !direct.was_refused())
    }

    /// Makes an end of what is there: from here on there is no disk and no volume until
    /// [`InPlace::complete`].
    pub(super) fn begin(&mut self) -> Result<(), WriteError> {
        self.is_open = true;
        self.empty()?;
        if let Some(bytes) = self.device_bytes {
            let end = self.image_bytes;
            self.make_zero(end..HEAD_BYTES.min(bytes))?;
            self.make_zero(end.max(HEAD_BYTES).max(bytes.saturating_sub(TAIL_BYTES))..bytes)?;
        }
        Ok(())
    }

    /// Writes what was held back, the image's first block as the last, and brings a device's bytes, or
    /// with `--sync` those of a file, to where they stay. What is read of a device afterwards comes
    /// from there.
    pub(super) fn complete(&self) -> Result<(), OutputError> {
        let written = || {
            let held_back = lock(&self.held_back);
            for (at, block) in self.last_blocks.iter().zip(held_back.iter()).rev() {
                self.put(*at, &block.0)?;
            }
            if self.device_bytes.is_some() || self.output.sync {
                self.file.sync_data()?;
            }
            taken::confirm(&self.file)?;
            if self.device_bytes.is_some() {
                // What is read then is at most older than the disk's; and a refusal does no harm.
                let _ = fadvise(&self.file, 0, NonZeroU64::new(0), Advice::DontNeed);
            }
            Ok(())
        };
        written().map_err(|error| self.output.error(error))
    }

    /// It stays.
    pub(super) fn publish(mut self) {
        self.is_open = false;
    }

    /// Zeros for the blocks that make a disk or a volume of it.
    fn empty(&self) -> Result<(), WriteError> {
        let mut blocks = self.last_blocks.iter();
        let emptied = blocks.try_for_each(|at| self.put(*at, zeros::block()));
        Ok(emptied.map_err(|error| self.output.error(error))?)
    }

    /// Makes `range` of the image zero, and tells whether it had to be written for that.
    fn make_zero(&self, range: Range<u64>) -> Result<bool, WriteError> {
        if range.is_empty() || self.punch(&range)? {
            return Ok(false);
        }
        let mut at = range.start;
        for piece in zeros::pieces(range.end - range.start) {
            self.put(at, piece).map_err(|error| self.output.error(error))?;
            at += piece.len() as u64;
        }
        Ok(true)
    }

    /// Lets the file system or the device zero a range, and tells whether it did.
    fn punch(&self, range: &Range<u64>) -> Result<bool, WriteError> {
        if self.writes_zeros.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, flags, self.at + range.start, range.end - range.start) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::NODEV) => {
                self.writes_zeros.store(true, Ordering::Relaxed);
                Ok(false)
            }
            Err(error) => Err(self.output.error(error.into()).into()),
        }
    }

    /// Writes at byte `at` of the image, past the page cache where that can be.
    fn put(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let taken = match &self.direct {
            Some(direct) if at.is_multiple_of(BLOCK) => direct.write(self.at + at, bytes)?,
            _ => 0,
        };
        self.file.write_all_at(&bytes[taken..], self.at + at + taken as u64)
    }
}

impl Destination for InPlace {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let end = at + bytes.len() as u64;
        let mut from = at;
        let mut pieces = Vec::new();
        for (block, held) in self.last_blocks.iter().zip(lock(&self.held_back).iter_mut()) {
            let common = from.max(*block)..end.min(*block + BLOCK);
            if common.is_empty() {
                continue;
            }
            pieces.push(from..common.start);
            from = common.end;
            held.0[within(&common, *block)].copy_from_slice(&bytes[within(&common, at)]);
        }
        pieces.push(from..end);
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let written = self.put(piece.start, &bytes[within(piece, at)]);
            written.map_err(|error| self.output.error(error))?;
        }
        Ok(())
    }

    fn zeros(&self, at: u64, len: u64) -> Result<Outcome, WriteError> {
        let end = at + len;
        if self.punch(&(at..end))? {
            return Ok(Outcome::hole(len));
        }
        let stays = at.max(self.may_stay.start)..end.min(self.may_stay.end);
        if stays.is_empty() {
            self.make_zero(at..end)?;
            return Ok(Outcome::written(len));
        }
        self.make_zero(at..stays.start)?;
        self.make_zero(stays.end..end)?;
        let left_bytes = stays.end - stays.start;
        Ok(Outcome { left_bytes, ..Outcome::written(len - left_bytes) })
    }
}

impl Drop for InPlace {
    /// What was begun and is not to stay is no disk and no volume.
    fn drop(&mut self) {
        if self.is_open {
            // Whoever lets it go has a reason to tell that comes before this one.
            let _ = self.empty();
            let _ = self.file.sync_data();
        }
    }
}

/// Opens what `output` names for this process alone, where that can be, and tells where the image
/// begins in it.
///
/// # Errors
/// When somebody uses it, by name where the system tells; when it must not be written; when it is not
/// what it was.
fn claim(output: &Output) -> Result<(File, u64), OutputError> {
    let error = |error| output.error(error);
    if let Some(device) = output.device() {
        check(output)?;
        let file = device.claim(true).map_err(|cause| refusal(output, cause))?;
        return Ok((file, 0));
    }
    let nothing = || error(io::Error::from(io::ErrorKind::InvalidInput));
    let (path, part) = output.path().zip(output.part_bytes()).ok_or_else(nothing)?;
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(error)?;
    let found = file.metadata().map_err(error)?;
    if !found.is_file() || found.len() < part.end {
        return Err(changed(path));
    }
    Ok((file, part.start))
}

/// Whether a device can be written now; what is no device can.
///
/// # Errors
/// When it must not be written, or somebody uses it, by name where the system tells.
pub(super) fn check(output: &Output) -> Result<(), OutputError> {
    let Some(device) = output.device() else { return Ok(()) };
    let path = || device.path.clone();
    if !output.force {
        return Err(OutputError::NeedsForce { path: path(), bytes: device.bytes() });
    }
    if device.is_read_only() {
        return Err(OutputError::ReadOnly(path()));
    }
    if let Some(usage) = usage::of(device) {
        return Err(OutputError::InUse { path: path(), usage: Some(usage) });
    }
    device.claim(false).map_err(|cause| refusal(output, cause)).map(|_| ())
}

/// Why a device cannot be had.
fn refusal(output: &Output, cause: io::Error) -> OutputError {
    let Some(device) = output.device() else { return output.error(cause) };
    match cause.kind() {
        io::ErrorKind::ResourceBusy => {
            OutputError::InUse { path: device.path.clone(), usage: None }
        }
        io::ErrorKind::InvalidData => changed(&device.path),
        _ => output.error(cause),
    }
}

fn changed(path: &Path) -> OutputError {
    OutputError::Changed(path.to_path_buf())
}

/// The free clusters of `image` that lie neither in the beginning nor in the end of a device, in whole
/// blocks.
fn free_range(image: Image<'_>, device_bytes: u64) -> Range<u64> {
    let free = image.segments().find(|segment| segment.region == Region::Free);
    let Some(free) = free else { return 0..0 };
    let from = free.at.next_multiple_of(BLOCK).max(HEAD_BYTES);
    let end = (free.at + free.len).min(device_bytes.saturating_sub(TAIL_BYTES)) / BLOCK * BLOCK;
    from..end.max(from)
}

/// `range` of the image as places in what begins at byte `at` of it.
fn within(range: &Range<u64>, at: u64) -> Range<usize> {
    // What lies in memory has a length that fits.
    (range.start - at) as usize..(range.end - at) as usize
}
