//! A place for a volume in a disk image that is there already: a partition, or the volume at a byte. Reads
//! what nobody vouches for, and writes nothing.
//!
//! | Room | Purpose |
//! |---|---|
//! | `contents` | what lies in a place now |
//! | [`refusal`] | why a volume cannot go there |
#![deny(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::indexing_slicing)]

mod contents;
pub mod refusal;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

pub use refusal::{Fact, NoPlace};

use crate::disk::found::{self, FoundDisk, FoundPartition, FoundType, NoTable};
use crate::disk::mbr;
use contents::Contents;

/// Bytes of a sector where nothing tells.
const USUAL_SECTOR_BYTES: u32 = 512;

/// How a place is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// The volume that begins at this byte.
    Byte(u64),
    /// A partition of the table, counted from 1.
    Partition(u32),
}

/// A place for a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its bytes in the image: whole sectors.
    pub bytes: Range<u64>,
    /// Bytes of the disk's sectors.
    pub sector_bytes: u32,
}

/// The place at `address` in the image file `path`. `sector_bytes` is asked for where nothing else tells
/// by which sectors the disk counts; with `force` a partition may lose what is no FAT volume.
///
/// # Errors
/// When a volume cannot go there, or is not to.
pub fn find(
    path: &Path,
    address: Address,
    sector_bytes: Option<u16>,
    force: bool,
) -> Result<Place, NoPlace> {
    let refuse = |fact| NoPlace { path: path.to_path_buf(), fact };
    let image = open(path).map_err(refuse)?;
    let found = match address {
        Address::Byte(at) => image.at_byte(at),
        Address::Partition(number) => image.partition(number, sector_bytes.map(u32::from), force),
    };
    found.map_err(refuse)
}

/// An image that is looked at.
struct Image {
    file: File,
    bytes: u64,
}

fn open(path: &Path) -> Result<Image, Fact> {
    // To open a FIFO would wait for its writer.
    let kind = fs::metadata(path)?.file_type();
    if kind.is_block_device() {
        return Err(Fact::BlockDevice);
    }
    if !kind.is_file() {
        return Err(Fact::NotAFile);
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok(Image { file, bytes })
}

impl Image {
    /// The volume at byte `at`: what is there tells how long the place is.
    fn at_byte(&self, at: u64) -> Result<Place, Fact> {
        if at >= self.bytes {
            return Err(Fact::Outside { end: at, bytes: self.bytes });
        }
        let Contents::Fat { bytes, sector_bytes } = contents::of(&self.file, at..self.bytes)?
        else {
            return Err(Fact::NoVolume { at });
        };
        let end = at.saturating_add(bytes);
        if end > self.bytes {
            return Err(Fact::Outside { end, bytes: self.bytes });
        }
        if !at.is_multiple_of(sector_bytes.into()) {
            return Err(Fact::WithinSector { at, sector_bytes });
        }
        let place = at..end;
        // A volume may say that it is longer than what was made for it.
        if at > 0
            && let Ok(disk) = self.table()?
        {
            let unit = u64::from(disk.sector_bytes.unwrap_or(sector_bytes));
            for partition in &disk.partitions {
                let other = extent(partition, unit);
                if overlap(&place, &other) && !(other.start <= at && end <= other.end) {
                    return Err(Fact::ReachesOver { end, number: partition.number });
                }
            }
            self.clear_of_table(&disk, &place, unit)?;
        }
        Ok(Place { bytes: place, sector_bytes })
    }

    fn partition(&self, number: u32, asked: Option<u32>, force: bool) -> Result<Place, Fact> {
        let disk = match self.table()? {
            Ok(disk) => disk,
            Err(NoTable::Damaged) => return Err(Fact::DamagedTable),
            Err(NoTable::None) => {
                let volume = contents::of(&self.file, 0..self.bytes)?;
                return Err(Fact::NoTable { is_volume: matches!(volume, Contents::Fat { .. }) });
            }
        };
        let Some(partition) = disk.partitions.iter().find(|other| other.number == number) else {
            let there = disk.partitions.iter().map(|partition| partition.number).collect();
            return Err(Fact::NoPartition { number, there });
        };
        if !partition.partition_type.may_hold_fat() {
            return Err(match partition.partition_type {
                FoundType::Mbr(mbr::EXTENDED_CHS | mbr::EXTENDED_LBA | mbr::EXTENDED_LINUX) => {
                    Fact::Extended { number }
                }
                other => Fact::OtherType { number, partition_type: other },
            });
        }
        let told = disk.sector_bytes;
        let unit = match told {
            Some(sector_bytes) => sector_bytes,
            None => self.unit(partition, asked)?,
        };
        let place = extent(partition, unit.into());
        if place.is_empty() || place.end > self.bytes {
            return Err(Fact::PartitionOutside { number, end: place.end, bytes: self.bytes });
        }
        let mut others = disk.partitions.iter().filter(|other| other.number != number);
        if let Some(other) = others.find(|other| overlap(&place, &extent(other, unit.into()))) {
            return Err(Fact::Overlaps { number, other: other.number });
        }
        self.clear_of_table(&disk, &place, unit.into())?;
        match contents::of(&self.file, place.clone())? {
            Contents::Fat { .. } | Contents::Blank => {}
            Contents::Other(what) if !force => return Err(Fact::Holds { number, what }),
            Contents::Other(_) => {}
        }
        Ok(Place { bytes: place, sector_bytes: unit })
    }

    /// By which sectors an MBR counts: those of the volume that is where it says with them; else those
    /// that are asked for.
    fn unit(&self, partition: &FoundPartition, asked: Option<u32>) -> io::Result<u32> {
        for unit in found::SECTOR_BYTES {
            let place = extent(partition, unit.into());
            if !place.is_empty() && place.end <= self.bytes {
                match contents::of(&self.file, place)? {
                    Contents::Fat { sector_bytes, .. } if sector_bytes == unit => return Ok(unit),
                    _ => {}
                }
            }
        }
        Ok(asked.unwrap_or(USUAL_SECTOR_BYTES))
    }

    fn table(&self) -> io::Result<Result<FoundDisk, NoTable>> {
        found::find(self.bytes, &mut |at, buffer| self.file.read_exact_at(buffer, at))
    }

    /// Looks that nothing of a place belongs to the table.
    fn clear_of_table(&self, disk: &FoundDisk, place: &Range<u64>, unit: u64) -> Result<(), Fact> {
        let sector_bytes = u32::try_from(unit).unwrap_or(USUAL_SECTOR_BYTES);
        let head = disk.scheme.head_sectors(sector_bytes).saturating_mul(unit);
        let tail = disk.scheme.tail_sectors(sector_bytes).saturating_mul(unit);
        if place.start < head || place.end > self.bytes.saturating_sub(tail) {
            return Err(Fact::OverTable);
        }
        Ok(())
    }
}

/// The bytes of a partition of sectors of `unit` bytes.
fn extent(partition: &FoundPartition, unit: u64) -> Range<u64> {
    let start = partition.first_sector.saturating_mul(unit);
    start..start.saturating_add(partition.sectors.saturating_mul(unit))
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}
