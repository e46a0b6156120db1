//! The partition table of UEFI (fat-facts 9): a header and 128 entries at the disk's beginning, and
//! both once more at its end.

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::guid::Guid;
use super::{Disk, Table};

/// UTF-16 units of a partition's name.
pub const LABEL_UNITS: usize = 36;

/// Bytes of a header that mean something.
pub const HEADER_BYTES: usize = 92;
const HEADER_BYTES_FIELD: u32 = 92;
/// Bytes of an entry as we write it, and as everybody does.
pub const ENTRY_BYTES: usize = 128;
const ENTRY_BYTES_FIELD: u32 = 128;
const ENTRIES: u32 = 128;
/// More than this is no table but damage; others write 128.
const MOST_ENTRIES: u32 = 1024;

const SIGNATURE: [u8; 8] = *b"EFI PART";
const REVISION: u32 = 0x0001_0000;
/// That boot code of a BIOS may start it.
const LEGACY_BIOS_BOOTABLE: u64 = 1 << 2;

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawHeader {
    signature: [u8; 8],
    revision: U32,
    header_bytes: U32,
    header_crc: U32,
    reserved: U32,
    own_sector: U64,
    other_sector: U64,
    first_usable: U64,
    last_usable: U64,
    disk: [u8; 16],
    entries_sector: U64,
    entries: U32,
    entry_bytes: U32,
    entries_crc: U32,
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawEntry {
    partition_type: [u8; 16],
    partition: [u8; 16],
    first_sector: U64,
    last_sector: U64,
    attributes: U64,
    label: [U16; LABEL_UNITS],
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<RawHeader>() == HEADER_BYTES && HEADER_BYTES_FIELD as usize == HEADER_BYTES);
    assert!(offset_of!(RawHeader, own_sector) == 24);
    assert!(offset_of!(RawHeader, disk) == 56);
    assert!(offset_of!(RawHeader, entries_crc) == 88);
    assert!(size_of::<RawEntry>() == ENTRY_BYTES && ENTRY_BYTES_FIELD as usize == ENTRY_BYTES);
    assert!(offset_of!(RawEntry, attributes) == 48);
};

/// Sectors of the entries, which fill 16 KiB.
pub fn entries_sectors(sector_bytes: u32) -> u64 {
    (u64::from(ENTRIES) * ENTRY_BYTES as u64).div_ceil(u64::from(sector_bytes))
}

/// What comes after the first 512 bytes: the rest of that sector, header and entries up to the first,
/// which is the only one.
pub(super) fn encode_head(disk: &Disk) -> Vec<u8> {
    let sector_bytes = disk.sector_bytes as usize;
    let entries = encode_entries(disk);
    let header = encode_header(disk, &entries, Side::Head);
    let mut head = vec![0; sector_bytes - super::mbr::MBR_BYTES];
    head.extend_from_slice(&header);
    head.resize(2 * sector_bytes - super::mbr::MBR_BYTES, 0);
    head.extend(entries);
    head
}

/// Entries and header at the disk's end, to the last byte.
pub(super) fn encode_tail(disk: &Disk) -> Vec<u8> {
    let sector_bytes = disk.sector_bytes as usize;
    let entries = encode_entries(disk);
    let header = encode_header(disk, &entries, Side::Tail);
    let mut tail = entries;
    tail.resize(tail.len().next_multiple_of(sector_bytes), 0);
    let entries_bytes = tail.len();
    tail.extend_from_slice(&header);
    tail.resize(entries_bytes + sector_bytes, 0);
    tail
}

/// All entries; only the first is in use.
fn encode_entries(disk: &Disk) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRIES as usize * ENTRY_BYTES);
    if let Table::Gpt { partition, partition_type, label, .. } = &disk.table {
        let mut units = [U16::ZERO; LABEL_UNITS];
        for (to, unit) in units.iter_mut().zip(label.encode_utf16()) {
            *to = unit.into();
        }
        let entry = RawEntry {
            partition_type: partition_type.bytes(),
            partition: partition.bytes(),
            first_sector: disk.first_sector.into(),
            last_sector: (disk.first_sector + disk.sectors.saturating_sub(1)).into(),
            attributes: if disk.bios_bootable { LEGACY_BIOS_BOOTABLE } else { 0 }.into(),
            label: units,
        };
        bytes.extend_from_slice(entry.as_bytes());
    }
    bytes.resize(ENTRIES as usize * ENTRY_BYTES, 0);
    bytes
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Head,
    Tail,
}

fn encode_header(disk: &Disk, entries: &[u8], side: Side) -> [u8; HEADER_BYTES] {
    let Table::Gpt { disk: name, .. } = &disk.table else { return [0; HEADER_BYTES] };
    let last = disk.total_sectors.saturating_sub(1);
    let length = entries_sectors(disk.sector_bytes);
    let (own, other, entries_sector) = match side {
        Side::Head => (1, last, 2),
        Side::Tail => (last, 1, last.saturating_sub(length)),
    };
    let mut header = RawHeader {
        signature: SIGNATURE,
        revision: REVISION.into(),
        header_bytes: HEADER_BYTES_FIELD.into(),
        header_crc: 0.into(),
        reserved: 0.into(),
        own_sector: own.into(),
        other_sector: other.into(),
        first_usable: (2 + length).into(),
        last_usable: last.saturating_sub(length + 1).into(),
        disk: name.bytes(),
        entries_sector: entries_sector.into(),
        entries: ENTRIES.into(),
        entry_bytes: ENTRY_BYTES_FIELD.into(),
        entries_crc: crc32fast::hash(entries).into(),
    };
    header.header_crc = crc32fast::hash(header.as_bytes()).into();
    zerocopy::transmute!(header)
}

/// A header whose digest is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The disk.
    pub disk: Guid,
    /// Sector of the other header.
    pub other_sector: u64,
    /// First sector that partitions may have.
    pub first_usable: u64,
    /// Last sector that partitions may have.
    pub last_usable: u64,
    /// First sector of the entries.
    pub entries_sector: u64,
    /// Their number, at most 1024.
    pub entries: u32,
    /// Bytes of each: a power of two, 128 to 4096.
    pub entry_bytes: u32,
    entries_crc: u32,
}

/// A partition in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the table, counted from 1.
    pub number: u32,
    /// What it holds.
    pub partition_type: Guid,
    /// Its name.
    pub partition: Guid,
    /// Its first sector.
    pub first_sector: u64,
    /// Its last sector, itself included.
    pub last_sector: u64,
    /// Whether boot code of a BIOS may start it.
    pub bios_bootable: bool,
    /// What people call it; units that are no text are replaced.
    pub label: String,
}

/// Whether a header begins here, right or wrong.
pub fn is_header(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE)
}

/// The header that lies in sector `own_sector`; `None` if it is none or not right.
pub fn decode_header(bytes: &[u8; HEADER_BYTES], own_sector: u64) -> Option<Header> {
    let header = RawHeader::read_from_bytes(bytes).ok()?;
    let without_crc = RawHeader { header_crc: 0.into(), ..header };
    let entry_bytes = header.entry_bytes.get();
    let right = header.signature == SIGNATURE
        && header.header_bytes.get() as usize == HEADER_BYTES
        && header.header_crc.get() == crc32fast::hash(without_crc.as_bytes())
        && header.own_sector.get() == own_sector
        && header.entries.get() <= MOST_ENTRIES
        && entry_bytes.is_power_of_two()
        && (ENTRY_BYTES_FIELD..=4096).contains(&entry_bytes);
    right.then(|| Header {
        disk: Guid::from_disk(header.disk),
        other_sector: header.other_sector.get(),
        first_usable: header.first_usable.get(),
        last_usable: header.last_usable.get(),
        entries_sector: header.entries_sector.get(),
        entries: header.entries.get(),
        entry_bytes,
        entries_crc: header.entries_crc.get(),
    })
}

impl Header {
    /// Bytes of all entries: at most 4 MiB.
    pub fn entries_len(&self) -> usize {
        self.entries as usize * self.entry_bytes as usize
    }

    /// The entries in use; `None` if `bytes` have not the digest that the header tells.
    pub fn decode_entries(&self, bytes: &[u8]) -> Option<Vec<Entry>> {
        if crc32fast::hash(bytes) != self.entries_crc {
            return None;
        }
        let entries =
            bytes.chunks_exact(self.entry_bytes as usize).zip(1..).filter_map(|(bytes, number)| {
                let (raw, _) = RawEntry::ref_from_prefix(bytes).ok()?;
                let units = raw.label.iter().map(|unit| unit.get()).take_while(|unit| *unit != 0);
                let label = char::decode_utf16(units);
                Some(Entry {
                    number,
                    partition_type: Guid::from_disk(raw.partition_type),
                    partition: Guid::from_disk(raw.partition),
                    first_sector: raw.first_sector.get(),
                    last_sector: raw.last_sector.get(),
                    bios_bootable: raw.attributes.get() & LEGACY_BIOS_BOOTABLE != 0,
                    label: label.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
                })
            });
        Some(entries.filter(|entry| entry.partition_type != Guid::NIL).collect())
    }
}
