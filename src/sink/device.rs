//! A block device as the system tells of it. Knows nothing of images, and writes nothing.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, SeekFrom, ioctl_blksszget, major, minor, seek};

/// In which the system tells where partitions begin, whatever the device's own sectors.
const SYSTEM_SECTOR_BYTES: u64 = 512;

/// A disk, or a partition of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub(super) path: PathBuf,
    number: u64,
    bytes: u64,
    sector_bytes: u32,
    partition_at_byte: Option<u64>,
}

impl Device {
    /// The device at `path`, which is one.
    ///
    /// # Errors
    /// When it cannot be opened for reading: without the right to, or without a medium in it.
    pub(super) fn find(path: PathBuf) -> io::Result<Self> {
        let file = File::open(&path)?;
        let number = number_of(&file)?;
        let partition_at_byte = match fs::read_to_string(folder_of(number).join("start")) {
            Ok(sectors) => sectors.trim().parse::<u64>().ok().map(|s| s * SYSTEM_SECTOR_BYTES),
            Err(_) => None,
        };
        let bytes = seek(&file, SeekFrom::End(0))?;
        Ok(Self { path, number, bytes, sector_bytes: ioctl_blksszget(&file)?, partition_at_byte })
    }

    /// Bytes of the device.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of its logical sectors: 512 or 4096, of few devices another power of two.
    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    /// Of a partition, the byte of its disk at which it begins.
    pub fn partition_at_byte(&self) -> Option<u64> {
        self.partition_at_byte
    }

    /// Opens it for this process alone: as long as the file is open, nobody mounts it, or any partition
    /// of it, and nobody else opens it so.
    ///
    /// # Errors
    /// `ResourceBusy` where somebody has it; `InvalidData` where another device has the name by now.
    pub(super) fn claim(&self, writable: bool) -> io::Result<File> {
        // The flags of all systems that have this one are positive.
        let exclusive = OFlags::EXCL.bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(writable).custom_flags(exclusive).open(&self.path)?;
        let same = number_of(&file)? == self.number && seek(&file, SeekFrom::End(0))? == self.bytes;
        if same { Ok(file) } else { Err(io::Error::from(io::ErrorKind::InvalidData)) }
    }

    /// Whether nothing may be written to it.
    pub(super) fn is_read_only(&self) -> bool {
        let told = fs::read_to_string(folder_of(self.number).join("ro"));
        told.is_ok_and(|told| told.trim() == "1")
    }

    /// The numbers of the device and of its partitions, its own first.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let partitions = fs::read_dir(folder_of(self.number)).into_iter().flatten().flatten();
        let partitions = partitions.map(|entry| entry.path());
        let partitions = partitions.filter(|folder| folder.join("partition").exists());
        let numbers = partitions.filter_map(|folder| {
            let told = fs::read_to_string(folder.join("dev")).ok()?;
            parse_number(told.trim())
        });
        [self.number].into_iter().chain(numbers).collect()
    }
}

/// Where the system tells of a device.
pub(super) fn folder_of(number: u64) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number)))
}

/// The number of the block device at `path`, if there is one.
pub(super) fn number_at(path: &Path) -> Option<u64> {
    let found = path.metadata().ok()?;
    found.file_type().is_block_device().then(|| found.rdev())
}

/// `8:1` as a number.
pub(super) fn parse_number(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

fn number_of(file: &File) -> io::Result<u64> {
    let found = file.metadata()?;
    if found.file_type().is_block_device() {
        Ok(found.rdev())
    } else {
        Err(io::Error::from(io::ErrorKind::InvalidData))
    }
}
