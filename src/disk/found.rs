//! The partitions of a disk that is there already. Reads what nobody vouches for: whatever the bytes
//! are, it ends, and takes no more memory than a table may.

use std::io;

use super::gpt::{self, Header};
use super::guid::Guid;
use super::{Scheme, mbr};

/// Sector sizes by which a disk may count, the usual ones first.
pub const SECTOR_BYTES: [u32; 4] = [512, 4096, 1024, 2048];

/// A disk's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDisk {
    /// Which kind of table.
    pub scheme: Scheme,
    /// Bytes of a sector, as a GPT shows them; an MBR does not.
    pub sector_bytes: Option<u32>,
    /// The partitions in use.
    pub partitions: Vec<FoundPartition>,
}

/// A partition in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPartition {
    /// Its place in the table, counted from 1.
    pub number: u32,
    /// First sector.
    pub first_sector: u64,
    /// Sectors.
    pub sectors: u64,
    /// What it holds.
    pub partition_type: FoundType,
}

/// What a partition holds, as its table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundType {
    /// In an MBR.
    Mbr(u8),
    /// In a GPT.
    Gpt(Guid),
}

impl FoundType {
    /// Whether partitions of this type may hold FAT.
    pub fn may_hold_fat(self) -> bool {
        match self {
            // The hidden forms of the first six too.
            Self::Mbr(byte) => {
                matches!(byte & !0x10, 0x01 | 0x04 | 0x06 | 0x0B | 0x0C | 0x0E) || byte == mbr::ESP
            }
            Self::Gpt(guid) => [Guid::ESP, Guid::BASIC_DATA].contains(&guid),
        }
    }
}

/// Why no table was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTable {
    /// Neither kind.
    #[error("has no partition table")]
    None,
    /// A GPT whose digests are not right.
    #[error("has a damaged GPT")]
    Damaged,
}

/// The table of a disk of `length` bytes; `read` fills a buffer from a byte on.
///
/// # Errors
/// Those of `read`.
pub fn find(
    length: u64,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Result<FoundDisk, NoTable>> {
    let mut sector = [0; mbr::MBR_BYTES];
    if length < sector.len() as u64 {
        return Ok(Err(NoTable::None));
    }
    read(0, &mut sector)?;
    let Some(table) = mbr::decode(&sector) else { return Ok(Err(NoTable::None)) };
    let guarded = table.entries.iter().flatten().any(|e| e.partition_type == mbr::PROTECTIVE);
    if guarded {
        return find_gpt(length, read);
    }
    let entries = table.entries.into_iter().zip(1..);
    let partitions: Vec<FoundPartition> = entries
        .filter_map(|(entry, number)| {
            entry.map(|entry| FoundPartition {
                number,
                first_sector: entry.first_sector,
                sectors: entry.sectors,
                partition_type: FoundType::Mbr(entry.partition_type),
            })
        })
        .collect();
    // The boot sector of a volume that fills its disk looks like an empty table.
    if partitions.is_empty() {
        return Ok(Err(NoTable::None));
    }
    Ok(Ok(FoundDisk { scheme: Scheme::Mbr, sector_bytes: None, partitions }))
}

fn find_gpt(
    length: u64,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Result<FoundDisk, NoTable>> {
    for sector_bytes in SECTOR_BYTES {
        let at = u64::from(sector_bytes);
        let mut bytes = [0; gpt::HEADER_BYTES];
        if at + bytes.len() as u64 > length {
            continue;
        }
        read(at, &mut bytes)?;
        let Some(header) = gpt::decode_header(&bytes, 1) else { continue };
        let Some(entries) = read_entries(&header, sector_bytes, length, read)? else {
            return Ok(Err(NoTable::Damaged));
        };
        let partition = |entry: &gpt::Entry| FoundPartition {
            number: entry.number,
            first_sector: entry.first_sector,
            sectors: entry
                .last_sector
                .checked_sub(entry.first_sector)
                .map_or(0, |sectors| sectors.saturating_add(1)),
            partition_type: FoundType::Gpt(entry.partition_type),
        };
        return Ok(Ok(FoundDisk {
            scheme: Scheme::Gpt,
            sector_bytes: Some(sector_bytes),
            partitions: entries.iter().map(partition).collect(),
        }));
    }
    Ok(Err(NoTable::Damaged))
}

/// The entries that a header tells of; `None` if they lie outside the disk or are not right.
///
/// # Errors
/// Those of `read`.
pub fn read_entries(
    header: &Header,
    sector_bytes: u32,
    length: u64,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Option<Vec<gpt::Entry>>> {
    let at = header.entries_sector.checked_mul(u64::from(sector_bytes));
    let end = at.and_then(|at| at.checked_add(header.entries_len() as u64));
    let Some((at, _)) = at.zip(end).filter(|(_, end)| *end <= length) else { return Ok(None) };
    let mut bytes = vec![0; header.entries_len()];
    read(at, &mut bytes)?;
    Ok(header.decode_entries(&bytes))
}
